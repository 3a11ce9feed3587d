/* See explainer.h. */
#include "cmd/why/explainer.h"

#include <stdlib.h>
#include <unistd.h>

int tp_explained_open(struct tp_explained *x, const char *path, uint64_t max_memory,
                      struct tp_err *err)
{
    *x = (struct tp_explained){.by = NULL};
    int rc = tp_recorded_open(&x->file, path, max_memory, err);
    for (size_t i = 0; rc == TP_OK && !x->by && tp_explainers[i]; i++)
        if (tp_explainers[i]->certifier == x->file.by)
            x->by = tp_explainers[i];
    if (rc != TP_OK || x->by)
        return rc;
    return tp_fail(err, TP_EUNSUP, "%s: recordings of %s are not explained",
                   tp_input_name(x->file.reading.in), x->file.by->by);
}

void tp_explained_close(struct tp_explained *x)
{
    tp_recorded_close(&x->file);
}

int tp_stand_in(const struct tp_stand_in_ask *ask, struct tp_why_replayed *out, struct tp_err *err)
{
    int rc = TP_EINPUT;
    *out = (struct tp_why_replayed){.fd = -1};
    for (size_t i = 0; rc == TP_EINPUT && tp_explainers[i]; i++) {
        tp_why_replayed_close(out);
        if (tp_explainers[i]->stand_in)
            rc = tp_explainers[i]->stand_in(ask, out, err);
    }
    return rc;
}

void tp_why_replayed_close(struct tp_why_replayed *r)
{
    if (r->fd >= 0)
        close(r->fd);
    free(r->remarks);
    *r = (struct tp_why_replayed){.fd = -1};
}

bool tp_explained_has(const struct tp_explained *x, uint32_t device, bool all, uint32_t wanted)
{
    return (all || device == wanted) && x->file.by->part(x->file.state, device).memory;
}

int tp_explained_fail(const struct tp_explained *x, bool all, uint32_t wanted, const char *file,
                      struct tp_err *err)
{
    return all ? x->file.by->fail_silent(x->file.state, err)
               : tp_fail(err, TP_EINPUT, "%s: device %u has no memory", file, (unsigned)wanted);
}
