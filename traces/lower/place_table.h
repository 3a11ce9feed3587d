/* Where events happened in the recorded program, kept: each text once, and a number for each event
 * that has one. What tapool's own formats store of a capture's stacks. */
#ifndef TP_PLACE_TABLE_H
#define TP_PLACE_TABLE_H

#include "alloc/base/spill.h"
#include "alloc/base/texts.h"
#include "traces/format.h"

#define TP_PLACE_TEXTS_MAX (1u << 18) /* distinct ones; events with others have no place */
#define TP_NO_PLACE        TP_NO_TEXT
#define TP_PLACES_AT_ONCE  1024

struct tp_place_table;

struct tp_place_item {
    uint64_t event;
    uint32_t text; /* its number, from 0 in the order of first use */
    uint32_t reserved;
};

int tp_place_table_new(struct tp_place_table **out, struct tp_err *err);
void tp_place_table_free(struct tp_place_table *t); /* NULL is fine */

/* The number of a text, which is cleaned and cut; TP_NO_PLACE: it is empty, or there are too many.
 */
int tp_place_table_text(struct tp_place_table *t, const char *text, size_t bytes, uint32_t *number,
                        struct tp_err *err);

/* The place of an event behind all that have one; TP_NO_PLACE is none. */
int tp_place_table_set(struct tp_place_table *t, uint64_t event, uint32_t number,
                       struct tp_err *err);

/* The text of a number that there is. */
const char *tp_place_table_get(const struct tp_place_table *t, uint32_t number);
uint64_t tp_place_table_count(const struct tp_place_table *t); /* events with a place */

/* Asks `places` for up to TP_PLACES_AT_ONCE events; every text is "" where it knows none. */
int tp_places_find(const struct tp_places *places, const uint64_t *events, size_t count,
                   char (*out)[TP_PLACE_TEXT], struct tp_err *err);

/* All that `places` knows of the events 1 to `events`. `stop` is asked from time to time. */
int tp_place_table_gather(const struct tp_places *places, uint64_t events,
                          int (*stop)(struct tp_err *err), struct tp_place_table **out,
                          struct tp_err *err);

/* The table behind `places`, made and given to it where there is none. Only for a reader that fills
 * its places in this way. */
int tp_place_table_of(struct tp_places *places, struct tp_place_table **out, struct tp_err *err);

/* Adds the place of an event to such a table. */
int tp_places_add(struct tp_places *places, uint64_t event, const char *text, size_t bytes,
                  struct tp_err *err);

/* Reads items in order. Zeroed but for the table, which may be NULL: it starts with the first. */
struct tp_place_cursor {
    const struct tp_place_table *table;
    const struct tp_place_item *item; /* that was not passed; NULL: not read yet, or none */
    struct tp_spill_cursor items;
};

/* The first item that was not passed and is of `event` or one behind it; NULL: none. */
int tp_place_cursor_look(struct tp_place_cursor *c, uint64_t event,
                         const struct tp_place_item **out, struct tp_err *err);

#endif
