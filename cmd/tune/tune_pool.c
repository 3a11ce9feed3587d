/* See tune.h. Each file is replayed by a tapool of its own: a driver does not live through a
 * fork, and what happens to it there happens to that process. */
#include "cmd/tune/tune.h"

#include "cmd/jobs/gpus.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/results/record.h"
#include "cmd/stats/measure.h"
#include "cmd/ui/text.h"

#include <math.h>

static uint64_t largest(const struct tp_record *r, const char *metric)
{
    const struct tp_metric *m = tp_metric_find(metric, NULL);
    double most = 0;
    for (uint16_t d = 0; m && d < r->devices; d++) {
        double value = tp_record_value(r, m, d);
        most = isnan(value) || value < most ? most : value;
    }
    return (uint64_t)most;
}

static int measure(struct tp_tune *t, size_t file, const struct tp_prepared *trace,
                   const struct tp_trial_cfg *how, struct tp_err *err)
{
    const struct tp_tune_file *f = &t->files[file];
    struct tp_text source =
        f->capacity ? tp_text_of("cuda+limit:capacity=%llu", (unsigned long long)f->capacity)
                    : tp_text_of("cuda");
    const struct tp_measure m = {.trace = trace->path,
                                 .strategy = "cudaMallocAsync:pool=own",
                                 .source = source.s,
                                 .passes = "usage",
                                 .core = -1,
                                 .timeout_ns = how->timeout_ns,
                                 .interrupted = how->interrupted};
    struct tp_stored result = {.path = NULL};
    int status = tp_measure(&m, &result, err);
    if (!status && result.count == 1) {
        uint64_t peak = largest(result.runs, "peak_reserved");
        if (peak > t->pool.peak_reserved) {
            t->pool.peak_reserved = peak;
            t->pool.peak_file = file;
        }
        t->pool.failed += largest(result.runs, "failed_allocations");
    }
    tp_stored_release(&result);
    return status;
}

/* Replays one file; what goes wrong with the device is noted. */
static int replay_file(struct tp_tune *t, size_t file, const struct tp_open_opts *o,
                       const struct tp_trial_cfg *how, struct tp_err *err)
{
    struct tp_prepared trace = {.fd = -1};
    int status = tp_measure_prepare(t->files[file].path, o, &trace, err);
    if (!status)
        status = measure(t, file, &trace, how, err);
    tp_prepared_release(&trace);
    if (status == TP_ESTOP || status == TP_ENOMEM)
        return status;
    t->pool_status = status;
    if (status)
        t->pool_err = *err;
    return TP_OK;
}

int tp_tune_measure_pool(struct tp_tune *t, const struct tp_open_opts *o,
                         const struct tp_trial_cfg *how, struct tp_err *err)
{
    struct tp_gpu gpu = {.cuda = NULL};
    bool there = tp_gpu_open(&gpu) && tp_gpu_has_pools(&gpu);
    int status = TP_OK;
    t->pool.calls = UINT64_MAX; /* nobody sees them */
    t->pool_status = there ? TP_OK
                           : tp_fail(&t->pool_err, TP_EDEVICE,
                                     "the driver's pool can only be measured on a GPU");
    tp_gpu_close(&gpu);
    for (size_t i = 0; !status && !t->pool_status && i < t->file_count; i++)
        status = replay_file(t, i, o, how, err);
    return status;
}
