/* Who keeps the pages: the free bytes of pages with live blocks, by the groups of those blocks.
 *
 *     page     | A live | free            | B live | free     |     free: half A's, half B's
 *
 * The free bytes of a page are shared equally by the groups that have a live block on it. They add
 * up to the partly free pages of the ledger (alloc/engine/page_ledger.h).
 *
 * Where a share of the blocks only was recorded with its call stack, those without one stand on a
 * page for their size class, and what they hold is given to the groups of that class as the blocks
 * with a stack hold it: an estimate. */
#ifndef TP_HOLDERS_H
#define TP_HOLDERS_H

#include "alloc/engine/page_list.h"
#include "traces/places/site_groups.h"

/* What is known of each slot's block. */
struct tp_held_slot {
    uint32_t group; /* + 1; 0: not known */
    bool from_start;
    bool sampled; /* its group is, or would be, known by chance */
    uint64_t age; /* in any unit */
};

struct tp_holder {
    uint32_t group;      /* TP_HOLDER_UNKNOWN: of blocks whose group is not known */
    double partly_free;  /* bytes */
    double live, blocks; /* live blocks on partly free pages; bytes of them, and how many */
    double pages;        /* partly free ones with a block of it */
    uint64_t oldest;     /* of these blocks; 0: not known */
};
#define TP_HOLDER_UNKNOWN UINT32_MAX

struct tp_holders {
    struct tp_holder *rows; /* owned; the most partly free bytes first; those that hold none are
                               left out */
    size_t count;
    uint64_t partly_free, pages; /* bytes and partly free pages of the whole list */
    bool estimated;
};

/* `slots`: of the program. Work: pages + blocks. TP_ENOMEM. */
int tp_holders_of(const struct tp_page_list *list, const struct tp_held_slot *slots,
                  uint32_t groups, struct tp_holders *out, struct tp_err *err);
void tp_holders_release(struct tp_holders *h); /* a zeroed one is fine */

/* The blocks of a list page by page. Begin with a zeroed one. */
struct tp_page_walk {
    size_t page; /* the next one */
    uint64_t low, high;
    struct tp_page_use use;
    uint64_t covered; /* at least what is taken */
};

/* Goes to the next page; false: there is none. */
bool tp_page_walk_next(const struct tp_page_list *list, struct tp_page_walk *w);

static inline bool tp_page_is_partly_free(const struct tp_page_walk *w)
{
    return w->use.taken && w->covered > w->use.taken;
}

/* What shares a page: a group, all blocks without one, or, of blocks whose group would be
 * known by chance, their size class. */
struct tp_page_sharer {
    uint32_t number;
    const struct tp_page_block *block; /* its first one on the page */
};

struct tp_page_sharers {
    const struct tp_page_list *list;
    const struct tp_held_slot *slots;
    uint32_t groups;
    uint64_t *seen; /* owned: the last page of each number, from 1 */
    uint64_t page;
    struct tp_page_sharer *here; /* owned: of this page */
    size_t count;
};

/* Numbers are those of groups, then of size classes, then of what is not known. */
static inline bool tp_sharer_is_group(const struct tp_page_sharers *s, uint32_t number)
{
    return number < s->groups;
}
static inline bool tp_sharer_is_class(const struct tp_page_sharers *s, uint32_t number)
{
    return number >= s->groups && number < s->groups + TP_SITE_SIZE_CLASSES;
}

/* The number by which a block shares a page. */
uint32_t tp_sharer_of(const struct tp_page_sharers *s, const struct tp_page_block *b);

/* TP_ENOMEM: nothing is to be closed. */
int tp_page_sharers_open(struct tp_page_sharers *s, const struct tp_page_list *list,
                         const struct tp_held_slot *slots, uint32_t groups, struct tp_err *err);
void tp_page_sharers_close(struct tp_page_sharers *s);

/* Finds those of the page. */
void tp_page_sharers_at(struct tp_page_sharers *s, const struct tp_page_walk *w);

#endif
