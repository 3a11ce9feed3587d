/* See verify.h. */
#include "cmd/pytorch/verify/verify.h"

#include "alloc/base/numbers.h"
#include "cmd/ui/stop.h"
#include "traces/formats/pytorch/pytorch_heap.h"

#include <stdlib.h>

int tp_snapshot_open(struct tp_snapshot_file *f, const char *path, uint64_t max_memory,
                     struct tp_err *err)
{
    *f = (struct tp_snapshot_file){
        .opts = {.device = -1, .max_memory = max_memory, .stop = tp_stop_asked},
        .budget = {.limit = max_memory}};
    f->reading = (struct tp_reading){.opts = &f->opts, .budget = &f->budget};
    int rc = tp_input_open(path, max_memory, tp_stop_asked, &f->reading.in, err);
    if (rc != TP_OK)
        return rc;
    f->snapshot = calloc(1, sizeof *f->snapshot);
    if (!f->snapshot)
        return tp_input_no_memory(f->reading.in, err);
    f->snapshot->reading = &f->reading;
    rc = tp_pytorch_read(f->snapshot, err);
    return rc == TP_OK ? tp_pytorch_date_segments(f->snapshot, err) : rc;
}

void tp_snapshot_close(struct tp_snapshot_file *f)
{
    if (f->snapshot)
        tp_pytorch_release(f->snapshot);
    free(f->snapshot);
    tp_input_close(f->reading.in);
}

int tp_snapshot_silent(const struct tp_pytorch *s, struct tp_err *err)
{
    const char *name = tp_input_name(s->reading->in);
    const struct tp_pytorch_silence silence = tp_pytorch_silence(s);
    uint64_t pinned = s->devices[TP_PYTORCH_HOST].count;
    if (pinned)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT,
                               "%s: no events of a GPU: its %s are of pinned memory of the host",
                               name, tp_plural(pinned, "event").s),
                       "'tapool info' and 'tapool tune' show them: --space='%s'",
                       TP_PYTORCH_HOST_SPACE);
    return tp_hint(err, tp_fail(err, TP_EINPUT, "%s: no events: %s", name, silence.why), "%s",
                   silence.hint);
}
