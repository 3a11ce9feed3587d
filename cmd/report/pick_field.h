/* Internal to the Pick: the strategies of a question while its steps remove some. */
#ifndef TP_PICK_FIELD_H
#define TP_PICK_FIELD_H

#include "cmd/report/pick.h"

#define TP_PICK_CLOSE 1.05 /* values within this factor count as equal */

struct tp_pick_field {
    const struct tp_pick_question *q;
    size_t count;
    bool in[TP_PICK_MAX];
    size_t left_at[TP_PICK_MAX]; /* the step that removed it */
    bool fits;                   /* `min_capacity` is known for all strategies that may be picked */
};

static inline const struct tp_choice *tp_pick_choice(const struct tp_pick_field *f, size_t i)
{
    return &f->q->list[i];
}

/* How many are still in. */
static inline size_t tp_pick_count_in(const struct tp_pick_field *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        count += f->in[i];
    return count;
}

/* What memory is judged by, in bytes, and the name of its column. */
double tp_pick_need(const struct tp_pick_field *f, size_t i);
const char *tp_pick_need_name(const struct tp_pick_field *f);

/* Whether x is certainly and relevantly faster than y; *change is ns(x) / ns(y) - 1. */
bool tp_pick_is_faster(const struct tp_pick_field *f, size_t x, size_t y, double *change);

struct tp_text tp_pick_bytes(const struct tp_pick_field *f, double value);

/* Takes all that are still in as chosen, and names them in the head. */
void tp_pick_fill(const struct tp_pick_field *f, struct tp_pick *out);

/* Appends to one of the texts of a pick. */
#define tp_pick_say(text, ...) tp_append(text, TP_PICK_WORDS, __VA_ARGS__)

/* The answer on the host, of those that are in: two or more. */
void tp_pick_on_host(struct tp_pick_field *f, struct tp_pick *out);

#endif
