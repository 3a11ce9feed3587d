/* The pages of a process at asked moments of its resident pass (page_ledger.h), one by one, with
 * the live blocks: written by the process that replays, read by the one that asks.
 *
 *     file     list | list | ...           one for each moment, in their order
 *     list     head | blocks by address | pages by number
 *
 * Pages that the process had written before the first event are left out, as in the parts. Bytes of
 * a page that are covered have been part of a block at some time, rounding included. */
#ifndef TP_PAGE_LIST_H
#define TP_PAGE_LIST_H

#include "alloc/base/err.h"
#include "alloc/engine/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_PAGE_MOMENTS = 66 };

/* What the resident pass is asked for beside its figures. */
struct tp_page_asked {
    int fd;     /* of an empty file, which the lists are written to */
    bool purge; /* at the last moment the allocator is told to give free memory back, and the pages
                   are listed once more */
    uint32_t count;
    uint64_t events[TP_PAGE_MOMENTS]; /* ascending; a list is of the moment after one of them */
};

struct tp_page_block {
    uint64_t addr, requested, allocated; /* allocated >= requested */
    uint64_t slot;                       /* of the program */
};

/* number << 16 | covered / 8 */
typedef uint64_t tp_listed_page;
enum { TP_LISTED_PAGE_SHIFT = 16, TP_LISTED_PAGE_STEP = 8, TP_LISTED_PAGE_MOST = 1 << 18 };

static inline uint64_t tp_listed_number(tp_listed_page page)
{
    return page >> TP_LISTED_PAGE_SHIFT;
}

static inline uint64_t tp_listed_covered(tp_listed_page page)
{
    return (page & ((1U << TP_LISTED_PAGE_SHIFT) - 1)) * TP_LISTED_PAGE_STEP;
}

/* The blocks on a page, and how many of its bytes are theirs. Begin with a zeroed one. */
struct tp_page_use {
    size_t first, end;    /* of those that may lie on it */
    uint64_t live, taken; /* bytes: requested, and allocated */
};

/* Goes on to the page at [low, high), behind the last one. `blocks`: by address, none of which
 * overlap. */
void tp_page_use_at(struct tp_page_use *u, const struct tp_page_block *blocks, size_t count,
                    uint64_t low, uint64_t high);

/* Bytes of [from, to) that lie in [low, high). */
static inline uint64_t tp_overlap(uint64_t from, uint64_t to, uint64_t low, uint64_t high)
{
    from = from > low ? from : low;
    to = to < high ? to : high;
    return to > from ? to - from : 0;
}

/* Adds a page with so many bytes of live blocks, `taken` with their rounding, of those covered. */
static inline void tp_page_parts_add(struct tp_page_parts *sum, uint64_t page, uint64_t live,
                                     uint64_t taken, uint64_t covered)
{
    sum->resident += page;
    sum->live += live;
    sum->rounding += taken - live;
    sum->partly_free += taken ? covered - taken : 0;
    sum->free_pages += taken ? 0 : covered;
    sum->own += page - covered;
}

enum tp_page_list_flags {
    TP_PAGE_LIST_LAST = 1, /* no asked moment is behind this one */
    TP_PAGE_LIST_PURGED = 2
};

struct tp_page_list_head {
    uint64_t magic;
    uint64_t event, clock; /* the last event before; recorded ns since the trace began */
    uint64_t flags;        /* enum tp_page_list_flags, or-ed */
    uint64_t page;         /* bytes of one */
    uint64_t every;        /* 1: all pages are listed; n: those of every n-th run (own_pages.h) */
    struct tp_page_parts parts;
    uint64_t blocks, pages; /* that follow */
};
#define TP_PAGE_LIST_MAGIC UINT64_C(0x317473696c656761)

struct tp_page_list {
    struct tp_page_list_head head;
    const struct tp_page_block *blocks; /* by address, none of which overlap */
    const tp_listed_page *pages;        /* ascending */
};

struct tp_page_lists {
    struct tp_page_list *lists; /* owned */
    size_t count;
    void *file; /* mapped */
    size_t size;
};

/* Maps the lists of a file that a replay has written. Nothing of it is believed: a list whose
 * blocks or pages are not in order, whose parts do not add up, or that is cut off, ends the lists.
 * `slots`: of the program. `out` must be released in every case. TP_EIO, TP_ENOMEM. */
int tp_page_lists_open(int fd, uint64_t slots, struct tp_page_lists *out, struct tp_err *err);
void tp_page_lists_close(struct tp_page_lists *l); /* a zeroed one is fine */

#endif
