/* What went wrong while a window was replayed, as a sentence that names the event; see replayer.h.
 */
#include "alloc/engine/replayer.h"

#include <stdio.h>

int tp_replayer_fault(struct tp_replayer *p, int status, struct tp_err *err)
{
    for (uint32_t d = 0; d < p->facts->devices; d++) {
        struct tp_source *src = p->instances[d].env.source;
        int fault = src ? tp_src_fault(src, err) : TP_OK;
        if (fault)
            return fault;
    }
    return status ? status : tp_fail(err, TP_EDEVICE, "the device or its driver failed");
}

int tp_replayer_lost(struct tp_replayer *p, const char *where, struct tp_err *err)
{
    return p->lost ? tp_prefix(err, tp_replayer_fault(p, TP_OK, err), "%s", where) : TP_OK;
}

static int device_failed(struct tp_replayer *p, uint64_t event, struct tp_err *err)
{
    char where[32];
    snprintf(where, sizeof where, "event %llu", (unsigned long long)event);
    if (p->unqueued == TP_EUNSUP)
        return tp_hint(err,
                       tp_fail(err, TP_EDEVICE,
                               "%s: there is no kernel here that could keep a device busy", where),
                       "'--occupy memset' needs none");
    if (p->unqueued)
        return tp_fail(err, TP_EDEVICE, "%s: the device cannot be kept busy with this block (%s)",
                       where, tp_status_text(p->unqueued));
    return p->lost ? tp_replayer_lost(p, where, err)
                   : tp_fail(err, TP_EDEVICE, "%s: %s", where, tp_status_text(TP_EDEVICE));
}

int tp_replayer_check(struct tp_replayer *p, const struct tp_window *w, struct tp_err *err)
{
    if (!p->broken)
        return TP_OK;
    const struct tp_insn *insn = p->broken_insn;
    uint64_t event = tp_window_event(w, (uint32_t)(insn - w->insns));
    if (p->broken == TP_ESTOP)
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (p->broken == TP_EDEVICE && p->device)
        return device_failed(p, event, err);
    if (p->broken == TP_ENOMEM)
        return tp_fail(err, TP_ENOMEM, "event %llu: tapool itself ran out of memory",
                       (unsigned long long)event);
    /* only an alignment can be unsupported */
    if (p->broken == TP_EUNSUP && tp_op_is(insn->op, TP_ASKS))
        return tp_fail(err, TP_EUSAGE, "event %llu: strategy '%s' cannot align to %llu bytes",
                       (unsigned long long)event, p->strategy->name,
                       (unsigned long long)(UINT64_C(1) << insn->align_log2));
    return tp_fail(err, TP_EBROKEN, "event %llu: strategy '%s' refused a correct call (%s)",
                   (unsigned long long)event, p->strategy->name, tp_status_text(p->broken));
}
