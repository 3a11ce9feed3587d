/* See pytorch_lower.h. Known weakness: annotations of several threads are treated as if they were
 * nested. */
#include "traces/formats/pytorch/pytorch_lower.h"

#include "alloc/base/ascending.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
    const struct tp_pytorch_annotation *x = a, *y = b;
    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return tp_order(x->order, y->order);
}

void tp_pytorch_sort_annotations(struct tp_pytorch *s)
{
    if (s->annotation_count > 1)
        qsort(s->annotations, s->annotation_count, sizeof *s->annotations, by_time);
}

/* Ends an annotation: removes the innermost open one of that name. */
static void leave(struct tp_pytorch_phases *p, uint16_t name)
{
    uint32_t kept = p->nested < TP_PYTORCH_NESTED_MAX ? p->nested : TP_PYTORCH_NESTED_MAX;
    uint32_t i = kept;
    while (i > 0 && p->open[i - 1] != name)
        i--;
    if (i == 0)
        return;
    memmove(&p->open[i - 1], &p->open[i], (kept - i) * sizeof *p->open);
    p->nested = kept - 1;
}

bool tp_pytorch_pass_phases(struct tp_pytorch_phases *p, const bool *taken, int64_t time_us,
                            int64_t *last_us)
{
    const struct tp_pytorch *s = p->snapshot;
    bool some = false;
    for (; p->next < s->annotation_count; p->next++) {
        const struct tp_pytorch_annotation *a = &s->annotations[p->next];
        if (a->time_us > time_us)
            break;
        if (a->device >= 0 && taken && !taken[a->device])
            continue;
        if (!a->begins)
            leave(p, a->name);
        else if (p->nested < TP_PYTORCH_NESTED_MAX)
            p->open[p->nested++] = a->name;
        some = true;
        *last_us = a->time_us;
    }
    return some;
}

uint32_t tp_pytorch_phase(const struct tp_pytorch_phases *p)
{
    return p->nested ? p->open[p->nested - 1] : TP_PYTORCH_NO_PHASE;
}

const char *tp_pytorch_phase_name(const struct tp_pytorch *s, uint32_t phase)
{
    const char *text =
        phase == TP_PYTORCH_NO_PHASE ? NULL : tp_pickle_text(s->pickle, (uint16_t)phase);
    return text || phase == TP_PYTORCH_NO_PHASE ? text : "?";
}
