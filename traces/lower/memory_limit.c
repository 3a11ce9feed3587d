/* See memory_limit.h. With garbage_collection_threshold a group that goes back may also be garbage,
 * if the program had set its share of the device: the limit then follows from the threshold that
 * was passed. Both are followed, and where only one of them agrees with the peak, it was that. */
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
        double limit = (double)s->before / s->rules->collect_above;
        uint64_t bytes = limit < 0x1p63 ? (uint64_t)limit : UINT64_MAX;
        s->collected = !s->out->undecided++ || bytes < s->collected ? bytes : s->collected;
        s->first_group = s->first_group ? s->first_group : s->event;
    } else {
        note_retry(s, s->event);
    }
    s->mapping = true;
    s->taken = 0;
}

static void take_note(struct tp_limit_scan *s, const struct tp_insn *in)
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
        take_note(s, in);
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

void tp_limit_end(struct tp_limit_scan *s, uint64_t peak, bool garbage)
{
    struct tp_memory_limit *out = s->out;
    bool collected = garbage || s->collected > peak;
    bool retried = !garbage && out->below > peak;
    if (!out->undecided)
        return;
    if (collected == retried) {
        out->below = UINT64_MAX;
        return;
    }
    if (collected) {
        out->collections = out->undecided;
        out->below = s->collected > peak ? s->collected : UINT64_MAX;
    } else {
        out->first_retry =
            out->retries && out->first_retry < s->first_group ? out->first_retry : s->first_group;
        out->retries += out->undecided;
    }
    out->undecided = 0;
}
