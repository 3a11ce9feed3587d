/* See own_pages.h. A mapping is read when all lines of its entry have been seen: one without a
 * written page, such as a range that is only reserved, costs no reading of page tables.
 *
 * Known weakness: a mapping is read whole, 2 s for each TiB of addresses, so one with far more
 * addresses than memory (a sanitizer's) is not read at all. */
#include "alloc/base/own_pages.h"

#include "alloc/base/random.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    BUFFER = 1 << 16, /* bytes for what is read at once of each file */
    ENTRY = 8,        /* bytes of an entry of the page map */
    WIDEST = 1 << 28, /* pages of the largest mapping that is read: 1 TiB of 4 KiB */
    SHARED = 1 << 20, /* ranges of shared mappings */
    FILES = 64        /* characters of the longest folder, and the name of a file in it */
};
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define OF_FILE (UINT64_C(1) << 61) /* or of shared memory */
#define ALONE   (UINT64_C(1) << 56) /* mapped by one process, once */

/* Locked memory is filled when it is mapped, but not where it cannot be read. */
void *tp_shared_get(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    munlock(p, bytes);
    if (!mprotect(p, bytes, PROT_READ | PROT_WRITE))
        return p;
    munmap(p, bytes);
    return NULL;
}

void tp_shared_put(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}

/* ---- pages ---- */

/* Reads what the kernel says of pages from `from` on, of at most `count`. Returns how many it were;
 * 0: it does not say. */
static uint64_t read_pages(const struct tp_own_pages *p, uint64_t from, uint64_t count)
{
    uint64_t most = p->pagemap < 0 ? BUFFER : BUFFER / ENTRY;
    count = count < most ? count : most;
    if (p->pagemap < 0)
        return mincore((void *)(uintptr_t)(from * p->page), count * p->page, p->buffer) ? 0 : count;
    ssize_t got = pread(p->pagemap, p->buffer, count * ENTRY, (off_t)(from * ENTRY));
    return got > 0 && got % ENTRY == 0 ? (uint64_t)got / ENTRY : 0;
}

/* Whether the page at an index of what was read is one of this process alone. */
static bool is_own(const struct tp_own_pages *p, uint64_t index)
{
    if (p->pagemap < 0)
        return ((const unsigned char *)p->buffer)[index] & 1;
    uint64_t entry = ((const uint64_t *)p->buffer)[index];
    if (entry & OF_FILE)
        return false;
    return entry & SWAPPED || (entry & PRESENT && entry & ALONE);
}

static bool says_own(const struct tp_own_pages *p, const void *at)
{
    return read_pages(p, (uintptr_t)at / p->page, 1) == 1 && is_own(p, 0);
}

/* Whether the page map tells a private page that was written from a shared one: a file that can be
 * read may be empty, or without the bits (Linux before 4.2). */
static bool has_bits(const struct tp_own_pages *p)
{
    volatile unsigned char *mine =
        mmap(NULL, p->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->pagemap < 0 || mine == MAP_FAILED)
        return false;
    mine[0] = 1;
    bool has = says_own(p, (void *)(uintptr_t)mine) && !says_own(p, p->buffer);
    munmap((void *)(uintptr_t)mine, p->page);
    return has;
}

/* ---- opening ---- */

static int open_in(const char *folder, const char *name)
{
    char path[2 * FILES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool tp_own_pages_open(struct tp_own_pages *p, const char *folder, size_t room)
{
    long page = sysconf(_SC_PAGESIZE);
    *p = (struct tp_own_pages){.smaps = open_in(folder, "smaps"),
                               .pagemap = open_in(folder, "pagemap"),
                               .page = page > 0 ? (uint64_t)page : 0,
                               .buffer = tp_shared_get(2 * BUFFER),
                               .room = room,
                               .number = tp_shared_get(room * sizeof *p->number),
                               .shared = tp_shared_get(SHARED * sizeof *p->shared)};
    if (p->smaps < 0 || !p->page || !p->buffer || !p->number || !p->shared) {
        tp_own_pages_close(p);
        return false;
    }
    if (!has_bits(p))
        close_file(&p->pagemap);
    return true;
}

void tp_own_pages_close(struct tp_own_pages *p)
{
    close_file(&p->pagemap);
    close_file(&p->smaps);
    tp_shared_put(p->buffer, 2 * BUFFER);
    tp_shared_put(p->number, p->room * sizeof *p->number);
    tp_shared_put(p->shared, SHARED * sizeof *p->shared);
    *p = (struct tp_own_pages){.pagemap = -1, .smaps = -1};
}

/* ---- runs ---- */

bool tp_run_is_listed(uint64_t run, unsigned shift)
{
    return !shift || !(tp_random_split(&run) >> (64 - shift));
}

/* Halves the runs that are listed. */
static bool halve(struct tp_own_pages *p)
{
    enum { SHIFT_MOST = 32 };
    size_t kept = 0;
    if (p->shift == SHIFT_MOST)
        return false;
    p->shift++;
    for (size_t i = 0; i < p->count; i++)
        if (tp_run_is_listed(tp_run_of_page(p->number[i]), p->shift))
            p->number[kept++] = p->number[i];
    p->count = kept;
    return true;
}

static bool add_own_page(struct tp_own_pages *p, uint64_t number)
{
    while (tp_run_is_listed(tp_run_of_page(number), p->shift)) {
        if (p->count < p->room) {
            p->number[p->count++] = number;
            return true;
        }
        if (!halve(p))
            return false;
    }
    return true;
}

static uint64_t end_of_run(uint64_t number, uint64_t most)
{
    uint64_t end = (tp_run_of_page(number) + 1) << TP_RUN_SHIFT;
    return end < most ? end : most;
}

/* ---- mappings ---- */

/* An entry of smaps. */
struct own_mapping {
    uint64_t from, to; /* page numbers */
    bool private, shared;
    bool anonymous; /* of no file, and none of the kernel's own: what mincore says is its pages' */
    bool counted;   /* the kernel says how many pages it has */
    bool some;      /* it has some */
};

static bool add_shared(struct tp_own_pages *p, uint64_t from, uint64_t to)
{
    struct tp_shared_range *last = p->shared_count ? &p->shared[p->shared_count - 1] : NULL;
    if (last && last->to == from) {
        last->to = to;
        return true;
    }
    if (p->shared_count == SHARED)
        return false;
    p->shared[p->shared_count++] = (struct tp_shared_range){from, to};
    return true;
}

static bool add_mapping(struct tp_own_pages *p, const struct own_mapping *m)
{
    if (m->shared)
        return add_shared(p, m->from * p->page, m->to * p->page);
    if (!m->private || (m->counted && !m->some) || (p->pagemap < 0 && !m->anonymous))
        return true;
    if (m->to - m->from > WIDEST)
        return false;
    for (uint64_t from = m->from, some; from < m->to; from += some) {
        uint64_t to = p->shift ? end_of_run(from, m->to) : m->to;
        if (!tp_run_is_listed(tp_run_of_page(from), p->shift)) {
            some = to - from;
            continue;
        }
        if (!(some = read_pages(p, from, to - from)))
            return false;
        for (uint64_t i = 0; i < some; i++)
            if (is_own(p, i) && !add_own_page(p, from + i))
                return false;
    }
    return true;
}

/* "7f0000000000-7f0000021000 rw-p 00000000 00:00 0    [heap]"; what lies in the upper half is the
 * kernel's (vsyscall), and has no entries. false: it is no such line. */
static bool parse_mapping(const struct tp_own_pages *p, const char *line, struct own_mapping *out)
{
    enum { SHARING = 4 }; /* behind "rwx" and the blank: p or s */
    char *end;
    uint64_t from = strtoull(line, &end, 16);
    if (*end != '-')
        return false;
    uint64_t to = strtoull(end + 1, &end, 16);
    if (*end != ' ' || strnlen(end, SHARING + 1) <= SHARING)
        return false;
    *out = (struct own_mapping){.from = from / p->page,
                                .to = to / p->page,
                                .private = end[SHARING] == 'p' && !(from >> 63),
                                .shared = end[SHARING] == 's'};
    strtoull(end + SHARING + 1, &end, 16);             /* the offset in its file */
    strtoull(end + strcspn(end, ":\n") + 1, &end, 16); /* the device */
    uint64_t file = strtoull(end, &end, 10);
    out->anonymous = !file && strncmp(end + strspn(end, " "), "[v", 2) != 0;
    return true;
}

/* "Anonymous:   8 kB" */
static void note_line(struct tp_own_pages *p, const char *line, struct own_mapping *m)
{
    const struct {
        const char *name;
        uint64_t *bytes; /* what it adds to; NULL: nothing */
        bool pages;      /* if it is not 0, there are pages */
    } rows[] = {{"Anonymous:", NULL, true},
                {"Swap:", NULL, true},
                {"AnonHugePages:", &p->huge_page, false},
                {"Private_Hugetlb:", &p->huge_page, true},
                {"Locked:", &p->locked, false}};
    for (size_t i = 0; m->private && i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].name);
        if (strncmp(line, rows[i].name, length) != 0)
            continue;
        uint64_t kb = strtoull(line + length, NULL, 10);
        m->counted |= rows[i].pages;
        m->some |= rows[i].pages && kb;
        if (rows[i].bytes)
            *rows[i].bytes += kb << 10;
    }
}

/* A line of smaps begins a mapping, whose number is hexadecimal, or says something of it. */
static bool add_line(struct tp_own_pages *p, const char *line, struct own_mapping *m)
{
    struct own_mapping next;
    if (!parse_mapping(p, line, &next)) {
        note_line(p, line, m);
        return true;
    }
    bool added = add_mapping(p, m);
    *m = next;
    return added;
}

/* The text is longer than the buffer, and lines may be cut where a reading ends. */
bool tp_own_pages_read(struct tp_own_pages *p)
{
    char *text = (char *)p->buffer + BUFFER;
    struct own_mapping m = {0};
    size_t used = 0;
    ssize_t got;
    p->count = p->shared_count = 0;
    p->huge_page = p->locked = 0;
    if (lseek(p->smaps, 0, SEEK_SET))
        return false;
    while ((got = read(p->smaps, text + used, BUFFER - 1 - used)) > 0) {
        char *line = text, *end;
        used += (size_t)got;
        text[used] = '\0';
        for (; (end = strchr(line, '\n')); line = end + 1)
            if (!add_line(p, line, &m))
                return false;
        used -= (size_t)(line - text);
        memmove(text, line, used);
        if (used == BUFFER - 1)
            return false;
    }
    return !got && !used && m.to && add_mapping(p, &m);
}
