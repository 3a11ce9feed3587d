/* See failed_request.h. */
#include "traces/lower/failed_request.h"

static bool is_note(const struct tp_insn *in, enum tp_note note)
{
    return in->op == TP_NOTE && in->align_log2 == note;
}

enum tp_failed_part tp_failed_request_next(struct tp_failed_request *f, const struct tp_insn *in,
                                           uint64_t event)
{
    struct tp_insn *next = &f->awaited;
    if (is_note(in, TP_NOTE_OOM)) {
        *f = (struct tp_failed_request){.awaited = *in, .event = event, .waits = true};
        next->op = TP_ALLOC;
        return TP_FAILED_NONE;
    }
    bool between = is_note(in, TP_NOTE_DEVICE_FREE) || tp_op_is(in->op, TP_OF_NEXT);
    if (!f->waits || event != f->event || (next->op == TP_ALLOC && between))
        return TP_FAILED_NONE;
    f->waits = in->op == next->op && in->size == next->size && in->stream == next->stream &&
               in->device == next->device && (in->op == TP_ALLOC || in->slot == next->slot);
    if (!f->waits)
        return TP_FAILED_NONE;
    if (in->op == TP_ALLOC) {
        next->op = TP_FREE;
        next->slot = in->slot;
        return TP_FAILED_ALLOC;
    }
    f->waits = false;
    return TP_FAILED_FREE;
}
