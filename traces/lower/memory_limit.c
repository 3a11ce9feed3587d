/* See memory_limit.h. With garbage_collection_threshold a group that goes back is garbage, unless
 * the request fails all the same: its limit follows from the share that was passed. */
#include "traces/lower/memory_limit.h"

static void lower(struct tp_limit_scan *s, uint64_t bytes)
{
    if (bytes < s->out->below)
        s->out->below = bytes;
}

static void note_retry(struct tp_limit_scan *s, uint64_t event)
{
    if (!s->out->retries++)
        s->out->first_retry = event;
}

static bool collects(const struct tp_limit_scan *s)
{
    return s->rules->collect_above > 0;
}

/* Memory is taken right behind a group that went back. */
static void end_group(struct tp_limit_scan *s)
{
    if (collects(s)) {
        s->out->collections++;
        lower(s, (uint64_t)((double)s->before / s->rules->collect_above));
        return;
    }
    note_retry(s, s->event);
    s->mapping = true;
    s->taken = 0;
}

static void take(struct tp_limit_scan *s, const struct tp_insn *in)
{
    if (s->giving && !s->asked)
        end_group(s);
    if (!s->mapping)
        return;
    s->taken += in->size;
    if (in->align_log2 == TP_NOTE_SEGMENT_ALLOC) {
        lower(s, s->before + s->taken);
        s->mapping = false;
    }
}

/* The cache was freed, and what is reserved since then and the new segment are still too much. */
static void fail(struct tp_limit_scan *s, const struct tp_insn *in, uint64_t event,
                 uint64_t reserved)
{
    uint64_t bytes = s->rules->segment(in->size) + s->rules->unit;
    note_retry(s, s->giving && !s->asked ? s->event : event);
    lower(s, reserved + bytes);
}

static void give(struct tp_limit_scan *s, uint64_t event, uint64_t reserved)
{
    if (s->giving)
        return;
    s->giving = true;
    s->before = reserved;
    s->event = event;
}

static void on_note(struct tp_limit_scan *s, const struct tp_insn *in, uint64_t event,
                    uint64_t reserved)
{
    switch ((enum tp_note)in->align_log2) {
    case TP_NOTE_SEGMENT_FREE:
    case TP_NOTE_SEGMENT_UNMAP:
        give(s, event, reserved);
        return;
    case TP_NOTE_SEGMENT_ALLOC:
    case TP_NOTE_SEGMENT_MAP:
        take(s, in);
        break;
    case TP_NOTE_OOM:
        fail(s, in, event, reserved);
        break;
    default: /* the address of the one before, and the like */
        return;
    }
    s->giving = s->asked = false;
}

void tp_limit_follow(struct tp_limit_scan *s, const struct tp_insn *in, uint64_t event,
                     uint64_t reserved)
{
    if (in->op == TP_NOTE) {
        on_note(s, in, event, reserved);
        return;
    }
    if (s->mapping) /* the request for which memory was mapped */
        lower(s, s->before + s->taken);
    s->giving = s->mapping = false;
    s->asked = in->op == TP_TRIM;
}
