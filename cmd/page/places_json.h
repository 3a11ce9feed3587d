/* Who asked for what, in the JSON of a page: one table of places for its frames and its curves.
 *
 *     "places": {
 *       "texts": ["optimizer.py:78 step"],    the most frequent first
 *       "events": "Rgc..." }                  base 64 of numbers as in the rows of a frame
 *                                             (alloc/heapmap/frame_rows.h): of each event that has
 * a place its number, less that of the one before it, and 2 * index of the text + freed
 *
 * freed 1: the event frees what was asked for at that place. An index behind the last text: it is
 * one of many other places. */
#ifndef TP_PLACES_JSON_H
#define TP_PLACES_JSON_H

#include "cmd/ui/json_out.h"
#include "traces/places/place_table.h"

enum { TP_PLACES_NAMED = 512 }; /* texts of one table */

/* An event and its place. */
struct tp_placed {
    uint64_t event;
    uint64_t rank; /* those of the higher ranks are left out first */
    uint32_t text; /* number in a table; TP_NO_PLACE: not known, it is not written */
    bool freed;
};

struct tp_placed_list {
    struct tp_placed *items;
    size_t count, room;
};

int tp_placed_add(struct tp_placed_list *l, struct tp_placed item, struct tp_err *err);
void tp_placed_drop(struct tp_placed_list *l); /* a zeroed one is fine */

/* By event, each once: of several, the first of the lowest rank. */
void tp_placed_sort(struct tp_placed_list *l);

/* The texts of a table that are named. */
struct tp_place_names {
    const struct tp_place_table *table; /* borrowed; NULL: no places are known */
    struct tp_chosen_place *chosen;     /* of all texts; the first `count` are named */
    uint32_t *numbers;                  /* by text: index among those + 1; 0: it is not named */
    size_t texts, count;
};

int tp_place_names_open(struct tp_place_names *n,
                        const struct tp_place_table *table); /* TP_ENOMEM */
void tp_place_names_close(struct tp_place_names *n);

/* Bytes that the events of a sorted list whose rank is not above `most` take at most, with their
 * texts. These are the ones that are named then. */
size_t tp_place_names_size(struct tp_place_names *n, const struct tp_placed_list *l, uint64_t most);

/* Adds the member "places" to `in`, with those of rank 0 of a sorted list, and of the others, by
 * rank, as many as fit into `more` bytes beside them. Adds nothing where no place is known.
 * TP_ENOMEM, which j remembers too. */
int tp_json_places(struct tp_json *j, cJSON *in, const struct tp_place_table *table,
                   const struct tp_placed_list *l, size_t more);

#endif
