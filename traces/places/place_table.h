/* A table of code places: where events happened in the recorded program. It has each text once, and
 * the number of a text for each event with a place. tapool's own formats store this instead of the
 * stacks of a capture.
 *
 * An event may have a stack as well: its place, the place that called it, and so on. Stacks share
 * what they have in common:
 *
 *     stacks  0 main    1 parse <- 0    2 read <- 0    3 grow <- 1 */
#ifndef TP_PLACE_TABLE_H
#define TP_PLACE_TABLE_H

#include "alloc/base/spill.h"
#include "alloc/base/texts.h"
#include "traces/format.h"

#define TP_PLACE_TEXTS_MAX  (1u << 18) /* distinct texts; events with further ones get no place */
#define TP_NO_PLACE         TP_NO_TEXT
#define TP_PLACE_STACKS_MAX (1u << 20) /* places of stacks, of all together */
#define TP_PLACE_DEPTH_MAX  64         /* places of one stack */
#define TP_PLACES_AT_ONCE   1024

struct tp_place_item {
    uint64_t event;
    uint32_t text;  /* number of the text, from 0 in the order of first use */
    uint32_t stack; /* number of the stack + 1; 0: the place is all that is known */
};

/* A place in a stack, and the stack that it was called from. */
struct tp_place_stack {
    uint32_t text;
    uint32_t caller; /* its number + 1; 0: none is known */
    uint32_t depth;  /* places from here to the outer end */
};

int tp_place_table_new(struct tp_place_table **out, struct tp_err *err);
void tp_place_table_free(struct tp_place_table *t); /* NULL is fine */

/* Sets *number to that of a text, which is cleaned and cut; TP_NO_PLACE if it is empty or there are
 * too many texts. `text` has `bytes` bytes and needs no NUL. */
int tp_place_table_text(struct tp_place_table *t, const char *text, size_t bytes, uint32_t *number,
                        struct tp_err *err);

/* Sets the place of an event, which must be behind all events that have one. TP_NO_PLACE sets
 * nothing. */
int tp_place_table_set(struct tp_place_table *t, uint64_t event, uint32_t number,
                       struct tp_err *err);

/* Sets *stack to the number + 1 of a place that was called from `caller`, as in tp_place_stack. It
 * is `caller` where there is no room for more: stacks are built from their outer end on. */
int tp_place_table_call(struct tp_place_table *t, uint32_t text, uint32_t caller, uint32_t *stack,
                        struct tp_err *err);
/* tp_place_table_set with a stack and its text. `stack` is a number + 1; 0 sets nothing. */
int tp_place_table_set_stack(struct tp_place_table *t, uint64_t event, uint32_t stack,
                             struct tp_err *err);
uint32_t tp_place_table_stacks(const struct tp_place_table *t); /* how many there are */
const struct tp_place_stack *tp_place_table_stack(const struct tp_place_table *t, uint32_t number);

/* The share of the events whose places were kept; all zero: of every one. */
struct tp_place_sampling tp_place_table_sampling(const struct tp_place_table *t);
void tp_place_table_sample(struct tp_place_table *t, struct tp_place_sampling sampling);

/* Looks an event up, in as many steps as a search in halves takes. out->text is TP_NO_PLACE where
 * its place is not known. */
int tp_place_table_find(const struct tp_place_table *t, uint64_t event, struct tp_place_item *out,
                        struct tp_err *err);

/* The text of a number, which must be in the table. */
const char *tp_place_table_get(const struct tp_place_table *t, uint32_t number);
uint32_t tp_place_table_texts(const struct tp_place_table *t);
uint64_t tp_place_table_count(const struct tp_place_table *t); /* events with a place */

/* Asks `places` for at most TP_PLACES_AT_ONCE events. A text is "" if the place is not known. */
int tp_places_find(const struct tp_places *places, const uint64_t *events, size_t count,
                   char (*out)[TP_PLACE_TEXT], struct tp_err *err);

/* Collects the places of `count` events in a new table: of those in `events`, which ascend, or,
 * where that is NULL, of 1 to `count`. `stop` is called from time to time; its status ends the
 * work. */
int tp_place_table_gather(const struct tp_places *places, const uint64_t *events, uint64_t count,
                          int (*stop)(struct tp_err *err), struct tp_place_table **out,
                          struct tp_err *err);

/* The same with where they were called from, which some formats read from the file again: slower.
 */
int tp_place_table_gather_stacks(const struct tp_places *places, const uint64_t *events,
                                 uint64_t count, int (*stop)(struct tp_err *err),
                                 struct tp_place_table **out, struct tp_err *err);

/* The table behind `places`, which owns it. If there is none, makes one. Only for readers that fill
 * their places in this way. */
int tp_place_table_of(struct tp_places *places, struct tp_place_table **out, struct tp_err *err);

/* The table behind `places`; NULL: there is none. Its events count those that were cut off, too. */
const struct tp_place_table *tp_places_table(const struct tp_places *places);

/* Whether some of them are known with where they were called from. */
bool tp_places_have_callers(const struct tp_places *places);

/* Adds the place of an event to the table behind `places`, under the rules of
 * tp_place_table_set. */
int tp_places_add(struct tp_places *places, uint64_t event, const char *text, size_t bytes,
                  struct tp_err *err);

/* Reads items in order. Begin with a zeroed one except for `table`, which may be NULL. */
struct tp_place_cursor {
    const struct tp_place_table *table;
    const struct tp_place_item *item; /* current item; NULL: not read yet, or no more */
    struct tp_spill_cursor items;
};

/* Goes forward to the first item whose event is at least `event`. *out is NULL if there is none. */
int tp_place_cursor_look(struct tp_place_cursor *c, uint64_t event,
                         const struct tp_place_item **out, struct tp_err *err);

#endif
