/* See own_pages.h. Known weakness: a mapping is read whole, 1 ms for each GiB of addresses, so one
 * with far more addresses than memory (a sanitizer's) is not read at all. */
#include "alloc/base/own_pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ENTRIES = 8192,       /* of the page map that are read at once */
    BUFFER = ENTRIES * 8, /* bytes */
    WIDEST = 1 << 26      /* pages of the largest mapping that is read */
};
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define OF_FILE (UINT64_C(1) << 61) /* or of shared memory */
#define ALONE   (UINT64_C(1) << 56) /* mapped by one process, once */

void *tp_shared_get(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void tp_shared_put(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}

bool tp_own_pages_open(struct tp_own_pages *p)
{
    long page = sysconf(_SC_PAGESIZE);
    *p = (struct tp_own_pages){.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC),
                               .maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC),
                               .page = page > 0 ? (uint64_t)page : 0,
                               .buffer = tp_shared_get(2 * BUFFER),
                               .number = tp_shared_get(TP_OWN_PAGES_MOST * sizeof(uint64_t))};
    if (p->pagemap >= 0 && p->maps >= 0 && p->page && p->buffer && p->number)
        return true;
    tp_own_pages_close(p);
    return false;
}

void tp_own_pages_close(struct tp_own_pages *p)
{
    if (p->pagemap >= 0)
        close(p->pagemap);
    if (p->maps >= 0)
        close(p->maps);
    tp_shared_put(p->buffer, 2 * BUFFER);
    tp_shared_put(p->number, TP_OWN_PAGES_MOST * sizeof(uint64_t));
    *p = (struct tp_own_pages){.pagemap = -1, .maps = -1};
}

static bool is_own(uint64_t entry)
{
    if (entry & OF_FILE)
        return false;
    return entry & SWAPPED || (entry & PRESENT && entry & ALONE);
}

/* Adds the pages of a mapping, whose page numbers are [from, to). */
static bool add_mapping(struct tp_own_pages *p, uint64_t from, uint64_t to)
{
    const uint64_t *entry = p->buffer;
    if (to - from > WIDEST)
        return false;
    while (from < to) {
        uint64_t some = to - from < ENTRIES ? to - from : ENTRIES;
        ssize_t got =
            pread(p->pagemap, p->buffer, some * sizeof *entry, (off_t)(from * sizeof *entry));
        if (got <= 0 || got % (ssize_t)sizeof *entry)
            return false;
        some = (uint64_t)got / sizeof *entry;
        for (uint64_t i = 0; i < some; i++) {
            if (!is_own(entry[i]))
                continue;
            if (p->count == TP_OWN_PAGES_MOST)
                return false;
            p->number[p->count++] = from + i;
        }
        from += some;
    }
    return true;
}

/* "7f0000000000-7f0000021000 rw-p 00000000 ..." */
static bool add_line(struct tp_own_pages *p, const char *line)
{
    enum { SHARING = 4 }; /* behind "rwx" and the blank: p or s */
    char *end;
    uint64_t from = strtoull(line, &end, 16) / p->page;
    if (*end != '-')
        return false;
    uint64_t to = strtoull(end + 1, &end, 16) / p->page;
    if (*end != ' ' || strnlen(end, SHARING + 1) <= SHARING)
        return false;
    /* what lies in the upper half is the kernel's (vsyscall), and has no entries */
    return end[SHARING] != 'p' || from >> 62 || from * p->page >> 63 || add_mapping(p, from, to);
}

/* The list of mappings is longer than the buffer, and lines may be cut where a reading ends. */
bool tp_own_pages_read(struct tp_own_pages *p)
{
    char *text = (char *)p->buffer + BUFFER;
    size_t used = 0;
    ssize_t got;
    p->count = 0;
    if (lseek(p->maps, 0, SEEK_SET))
        return false;
    while ((got = read(p->maps, text + used, BUFFER - 1 - used)) > 0) {
        char *line = text, *end;
        used += (size_t)got;
        text[used] = '\0';
        for (; (end = strchr(line, '\n')); line = end + 1)
            if (!add_line(p, line))
                return false;
        used -= (size_t)(line - text);
        memmove(text, line, used);
        if (used == BUFFER - 1)
            return false;
    }
    return !got && !used;
}
