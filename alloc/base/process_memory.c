/* See process_memory.h. The figures are those of /proc/self/smaps_rollup, sums over all mappings:
 *
 *     Anonymous    pages of no file        those of this process + those shared with its parent
 *     Pss_Anon     their shares            those of this process + half of those shared
 *     own          2 x Pss_Anon - Anonymous
 *
 * Pss_Shmem is memory that is mapped twice, which counts half in each mapping (alias of the source
 * `host`). Swap and SwapPss are the same for pages in swap. LazyFree pages are anonymous still, but
 * given back. Private_Dirty is not used, because it has pages of files in it: those of a library
 * that was built a moment ago are dirty until the disk has them. Reading walks the page tables:
 * about 10 ms for 300 MiB.
 *
 * Known weakness: a page that three processes share is counted wrongly, but alike in every reading.
 */
#include "alloc/base/process_memory.h"

#include "alloc/base/units.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool tp_written_open(struct tp_written *w, const char *folder)
{
    snprintf(w->buffer, sizeof w->buffer, "%s/smaps_rollup", folder);
    w->fd = open(w->buffer, O_RDONLY | O_CLOEXEC);
    w->unshared = false;
    return w->fd >= 0;
}

void tp_written_close(struct tp_written *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

/* Reads the whole file from its start. false: it cannot be read, or is longer than it can be. */
static bool read_all(struct tp_written *w)
{
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used < sizeof w->buffer; used += (size_t)got)
        if ((got = pread(w->fd, w->buffer + used, sizeof w->buffer - used, (off_t)used)) < 0)
            return false;
    if (used == sizeof w->buffer)
        return false;
    w->buffer[used] = '\0';
    return used > 0;
}

/* The number of kB in the line that begins with `name`; -1: there is none. */
static long long kb_of(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length))
            return strtoll(line + length, NULL, 10);
    }
    return -1;
}

uint64_t tp_written_read(struct tp_written *w)
{
    static const struct {
        const char *name;
        int times;
        bool needed;
    } rows[] = {{"Pss_Anon:", 2, true},  {"Anonymous:", -1, true}, {"SwapPss:", 2, false},
                {"Swap:", -1, false},    {"LazyFree:", -1, false}, {"Private_Hugetlb:", 1, false},
                {"Pss_Shmem:", 1, false}};
    size_t count = sizeof rows / sizeof *rows - w->unshared; /* the last one is of shared memory */
    long long sum = 0;
    if (!read_all(w))
        return TP_NONE;
    for (size_t i = 0; i < count; i++) {
        long long kb = kb_of(w->buffer, rows[i].name);
        if (kb < 0 && rows[i].needed)
            return TP_NONE;
        sum += kb < 0 ? 0 : rows[i].times * kb;
    }
    return sum > 0 ? (uint64_t)sum << 10 : 0;
}

uint64_t tp_rss_read(struct tp_written *w)
{
    long long kb = read_all(w) ? kb_of(w->buffer, "Rss:") : -1;
    return kb < 0 ? TP_NONE : (uint64_t)kb << 10;
}

/* ---- mapped ---- */

bool tp_mapped_open(int *fd, const char *folder)
{
    char path[128];
    snprintf(path, sizeof path, "%s/statm", folder);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    return *fd >= 0;
}

void tp_mapped_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* The sixth number of statm: pages of data and stack. */
uint64_t tp_mapped_read(int fd)
{
    enum { NUMBERS = 6 };
    char text[128], *at = text, *end;
    unsigned long long pages = 0;
    long page = sysconf(_SC_PAGESIZE);
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    if (got <= 0 || page <= 0)
        return TP_NONE;
    text[got] = '\0';
    for (int i = 0; i < NUMBERS; i++, at = end) {
        pages = strtoull(at, &end, 10);
        if (end == at)
            return TP_NONE;
    }
    return pages * (uint64_t)page;
}

/* A folder has two links, and one more for each folder in it. */
uint64_t tp_process_threads(void)
{
    struct stat tasks;
    return !stat("/proc/self/task", &tasks) && tasks.st_nlink > 2 ? tasks.st_nlink - 2 : 0;
}

/* ---- huge pages ---- */

bool tp_huge_pages_off(bool off)
{
    int before = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    prctl(PR_SET_THP_DISABLE, off, 0, 0, 0);
    return before > 0;
}

uint64_t tp_huge_page_bytes(void)
{
    enum { ENTRY_BYTES = 8 };
    long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? (uint64_t)page * (uint64_t)page / ENTRY_BYTES : 0;
}
