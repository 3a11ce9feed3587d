/* The resident pages of a process at several moments as cells of one size, so that moments can be
 * laid side by side.
 *
 *     address  | cell | cell | cell |  ~  | cell | cell |     ~ nothing here is resident at any
 *                1, 2, 4, ... pages                             moment, however long it is
 *
 * A cell is the smallest power of two pages with which no more than the cells that are asked for
 * are left, of all moments together. Memory: 56 bytes for each cell of each moment. */
#ifndef TP_PAGE_MAP_H
#define TP_PAGE_MAP_H

#include "cmd/pages/holders.h"

enum {
    TP_MAP_CELLS = 4096,      /* the most of a moment */
    TP_MAP_CELLS_ALL = 80000, /* and of all moments, at a cell a moment or more */
    TP_MAP_HOLDERS = 6,       /* groups that are told apart */
    /* The holder of a cell is one of these groups by its rank, or: */
    TP_MAP_OTHER = TP_MAP_HOLDERS, /* another group */
    TP_MAP_UNKNOWN,                /* blocks whose group is not known */
    TP_MAP_NONE                    /* nothing: no page of it is partly free */
};

/* The names of the groups that are told apart, by rank. All are borrowed. */
struct tp_map_names {
    const char *names[TP_MAP_HOLDERS];
    uint32_t count;
    bool sizes; /* they are sizes of blocks */
};

struct tp_map_cell {
    struct tp_page_parts parts; /* of its resident pages; all 0: none is */
    uint32_t holder;            /* of most of its partly free bytes, shared as holders.h says */
};

struct tp_page_map {
    uint64_t page;  /* bytes of one */
    unsigned shift; /* a cell is 1 << shift pages */
    size_t count, moments;
    uint64_t *numbers;               /* owned: of the cells, ascending: their first page >> shift */
    struct tp_map_cell *cells;       /* owned: `count` for each moment */
    uint64_t every[TP_PAGE_MOMENTS]; /* of so many runs of pages one is in the list of the moment */
};

/* Lays the cells of these lists, 1..TP_PAGE_MOMENTS; they are empty. TP_ENOMEM. */
int tp_page_map_open(const struct tp_page_list *lists, size_t count, struct tp_page_map *out,
                     struct tp_err *err);
void tp_page_map_close(struct tp_page_map *m); /* a zeroed one is fine */

/* Fills the cells of a moment from its list. `slots`: of the program, of so many `groups`;
 * `ranks`: of each group, below TP_MAP_HOLDERS, or TP_MAP_OTHER. Blocks whose group is not known by
 * chance hold nothing, where others stand for them. TP_ENOMEM. */
int tp_page_map_fill(struct tp_page_map *m, size_t moment, const struct tp_page_list *list,
                     const struct tp_held_slot *slots, uint32_t groups, const uint8_t *ranks,
                     struct tp_err *err);

static inline const struct tp_map_cell *tp_page_map_at(const struct tp_page_map *m, size_t moment)
{
    return &m->cells[moment * m->count];
}

/* Whether something that is not resident lies before a cell. */
static inline bool tp_page_map_gap(const struct tp_page_map *m, size_t cell)
{
    return cell && m->numbers[cell] != m->numbers[cell - 1] + 1;
}

#endif
