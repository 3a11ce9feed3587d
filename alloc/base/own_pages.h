/* The private pages that this process has written, one by one, by the kernel's page tables: those
 * that tp_written_read (process_memory.h) counts, and those given back lazily (MADV_FREE), which
 * are resident until the kernel needs them.
 *
 *     /proc/self/smaps      mappings, and what the kernel counts of each
 *     /proc/self/pagemap    8 bytes for each of their pages: present, of no file, mapped here alone
 *     mincore               where that file is forbidden, or its bits are missing: present or not
 *
 * By mincore, pages that were only read and pages that are shared with the parent are listed too,
 * and written pages of files and pages in swap are not.
 *
 * If there are more pages than room, every n-th run of 512 pages is listed whole (2 MiB, of 4 KiB
 * each). A hash of its number decides, so that no stride of a program does. n is doubled as needed
 * and stays so: of two lists of a reader the later one is of the same runs, or of fewer of them.
 *
 * Readings allocate nothing, and their room is shared memory, which is not among these pages. A
 * huge page is listed as the pages of usual size that it consists of. Pages of shared mappings (of
 * files, memfd, or MAP_SHARED) are not private: only their ranges are listed. */
#ifndef TP_OWN_PAGES_H
#define TP_OWN_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TP_OWN_PAGES_MOST = 1 << 24, /* pages of a list; of 4 KiB: 64 GiB */
    TP_RUN_SHIFT = 9             /* pages of a run: 512 */
};

struct tp_shared_range {
    uint64_t from, to; /* addresses */
};

struct tp_own_pages {
    int smaps, pagemap; /* pagemap -1: by mincore */
    uint64_t page;      /* bytes of one */
    void *buffer;       /* for both files */
    uint64_t *number;   /* address / page, ascending */
    size_t count, room;
    unsigned shift;                 /* one of 2^shift runs is listed */
    struct tp_shared_range *shared; /* ascending; neighbours are one */
    size_t shared_count;
    /* bytes of private mappings on huge pages, and of those that are locked (mlock) */
    uint64_t huge_page, locked;
};

/* `folder` is /proc/self, or what a test puts in its place; `room`: pages of a list. false: the
 * kernel does not say, or there is no memory; then there is nothing to close. */
bool tp_own_pages_open(struct tp_own_pages *p, const char *folder, size_t room);
void tp_own_pages_close(struct tp_own_pages *p);

/* Lists the pages as they are now. false: the kernel does not say. */
bool tp_own_pages_read(struct tp_own_pages *p);

/* The run of a page, and whether it is listed where one of 2^shift is. */
static inline uint64_t tp_run_of_page(uint64_t number)
{
    return number >> TP_RUN_SHIFT;
}
bool tp_run_is_listed(uint64_t run, unsigned shift);

/* Zeroed memory that is shared with forks, takes only the pages that are written, even in a process
 * that has locked its future memory (mlockall), and is in no figure of process_memory.h; NULL:
 * there is none. */
void *tp_shared_get(size_t bytes);
void tp_shared_put(void *p, size_t bytes); /* NULL is fine */

#endif
