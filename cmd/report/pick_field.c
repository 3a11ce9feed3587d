/* See pick_field.h. */
#include "cmd/report/pick_field.h"

double tp_pick_need(const struct tp_pick_field *f, size_t i)
{
    return f->fits ? tp_pick_choice(f, i)->min_capacity : tp_pick_choice(f, i)->peak;
}

bool tp_pick_is_faster(const struct tp_pick_field *f, size_t x, size_t y, double *change)
{
    const struct tp_choice *a = tp_pick_choice(f, x), *b = tp_pick_choice(f, y);
    *change = a->ns / b->ns - 1;
    if (f->q->strategy_time || a->cold != b->cold)
        return false;
    if (f->q->faster)
        return f->q->faster(f->q->ctx, x, y, change);
    return a->high < b->low && a->ns * TP_PICK_CLOSE < b->ns;
}

struct tp_text tp_pick_bytes(const struct tp_pick_field *f, double value)
{
    return tp_bytes((uint64_t)value, f->q->exact);
}

const char *tp_pick_need_name(const struct tp_pick_field *f)
{
    if (f->fits)
        return "min capacity";
    return f->q->resident ? "total resident" : "peak reserved";
}

void tp_pick_fill(const struct tp_pick_field *f, struct tp_pick *out)
{
    size_t left = tp_pick_count_in(f);
    for (size_t i = 0; i < f->count; i++)
        if (f->in[i]) {
            const char *joint = out->count + 1 == left ? " or " : ", ";
            tp_pick_say(out->head, "%s%s", out->count ? joint : "Pick ",
                        tp_pick_choice(f, i)->label);
            out->chosen[out->count++] = i;
        }
}
