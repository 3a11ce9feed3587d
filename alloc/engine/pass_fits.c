/* Finds the smallest device on which no allocation fails, by bisection over untimed replays. They
 * always run on the virtual source, because the question is how much memory the strategy needs.
 *
 *     low   the most that the program requested at once, in whole pages of the device: with
 *           less, no strategy can serve it (a page where the initial heap, which is part of that,
 * is not replayed) high  the peak of a replay without a limit
 *
 * Each replay answers for a range of capacities, because a strategy notices a capacity only by
 * refused requests. It behaves the same on every device that has at least its peak and less than
 * the smallest size at which a refused request would have succeeded:
 *
 *                      tried
 *     low      peak ... | ... least refused       high
 *      |--------[================)-----------------|     one replay answers for all of it
 *
 * Capacities that a replay has answered are not replayed, and the result is the same as if every
 * step were tried.
 *
 * A strategy gives idle memory back before it fails, so the result can lie below its peak. Known
 * weakness: where a strategy fails with more memory but not with less, only one such boundary is
 * found. A replay answers for its own capacity alone where the strategy asks for the size of its
 * device; of one that cannot begin without a size nothing is searched. */
#include "alloc/engine/passes.h"

#include <stdlib.h>
#include <string.h>

enum { DOUBLINGS = 8 }; /* of the peak without a limit */

struct fits {
    struct tp_replay_cfg cfg; /* configuration with the virtual source and the limit above it */
    void *virtual_opts, *limit_opts;
    uint64_t *failed;     /* failed allocations of the last replay, by device */
    uint64_t *peak;       /* peak reserved bytes of the last replay, by device */
    uint64_t from, below; /* the last replay answers for capacities in [from, below) */
    uint64_t granule;     /* unit in which the source gives up memory, bytes */
    bool sized;           /* the strategy wants a device whose size is known */
    struct tp_err *err;
};

static void *default_opts(const struct tp_source_ops *ops, struct tp_err *err)
{
    void *opts = calloc(1, ops->opts_size);
    if (opts && !tp_opts_defaults(ops->options, opts, err))
        return opts;
    free(opts);
    return NULL;
}

/* If the run's source is virtual, its options are kept. Wrappers of the run are left out. */
static int fits_open(struct fits *f, const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    uint16_t devices = tp_program_facts(cfg->program)->devices;
    *f = (struct fits){.cfg = *cfg, .err = err};
    f->virtual_opts = default_opts(&tp_source_virtual, err);
    f->limit_opts = default_opts(&tp_source_limit, err);
    f->failed = calloc(devices, sizeof *f->failed);
    f->peak = calloc(devices, sizeof *f->peak);
    if (!f->virtual_opts || !f->limit_opts || !f->failed || !f->peak)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    bool simulated = cfg->layers[0].ops == &tp_source_virtual;
    f->cfg.layers[0] = (struct tp_source_layer){&tp_source_virtual,
                                                simulated ? cfg->layers[0].opts : f->virtual_opts};
    f->cfg.layers[1] = (struct tp_source_layer){&tp_source_limit, f->limit_opts};
    f->cfg.layer_count = 2;
    f->cfg.stop_on_oom = devices == 1; /* with one device the first failure is the answer */
    f->cfg.occupy = TP_OCCUPY_NONE;
    f->cfg.shared = (struct tp_replay_shared){0};
    /* a real device counts in pages for any kind of trace */
    if (tp_replay_source_flags(cfg) & TP_SRC_DEVICE)
        return tp_opts_parse(tp_source_virtual.options, f->virtual_opts, "page=device", "virtual",
                             err);
    return TP_OK;
}

static void fits_close(struct fits *f)
{
    free(f->virtual_opts);
    free(f->limit_opts);
    free(f->failed);
    free(f->peak);
}

/* Sets the range of capacities for which the replay answers. Devices share a clock, so that a
 * difference on one can affect the others. */
static void answers_for(struct fits *f, const struct tp_account *a, uint64_t capacity)
{
    if (a->asked && capacity) {
        f->from = capacity > f->from ? capacity : f->from;
        f->below = capacity + 1 < f->below ? capacity + 1 : f->below;
        return;
    }
    f->from = a->peak_reserved > f->from ? a->peak_reserved : f->from;
    if (a->least_refused && a->least_refused < f->below)
        f->below = a->least_refused;
}

/* Replays the program once on devices of `capacity` bytes each; 0: without a limit. */
static int try_capacity(struct fits *f, uint64_t capacity)
{
    struct tp_replayer p;
    char spec[64];
    snprintf(spec, sizeof spec, "capacity=%llu", (unsigned long long)capacity);
    int status = tp_opts_parse(tp_source_limit.options, f->limit_opts, spec, "limit", f->err);
    if (status)
        return status;
    status = tp_replayer_open(&p, &f->cfg, f->cfg.strategy, f->err);
    /* it could be opened for the run itself, whose device may have a size */
    f->sized = status == TP_EUSAGE && !capacity;
    if (f->sized)
        return TP_OK;
    /* the strategy could not even be opened with this capacity */
    if (status == TP_EOOM && capacity) {
        memset(f->failed, 0xff, tp_program_facts(f->cfg.program)->devices * sizeof *f->failed);
        f->from = capacity;
        f->below = capacity + 1;
        return TP_OK;
    }
    if (status)
        return status;
    f->from = 0;
    f->below = UINT64_MAX;
    uint64_t ticks;
    status = tp_replay_once(&p, tp_replay_untimed, NULL, NULL, &ticks, f->err);
    for (uint16_t d = 0; d < p.facts->devices; d++) {
        f->failed[d] = p.instances[d].failed;
        f->peak[d] = p.instances[d].account.peak_reserved;
        answers_for(f, &p.instances[d].account, capacity);
        f->granule = tp_src_granule(&p.instances[d].stack[0]);
    }
    return tp_replayer_end(&p, status, f->err);
}

/* Bisection. Invariant: `high` serves everything, and capacities below `low` do not. A capacity of
 * 0 is never tried, because it would mean no limit. */
static int bisect(struct fits *f, uint16_t device, uint64_t low, uint64_t high, uint64_t *out)
{
    /* capacities whose answer is known without another replay */
    uint64_t fails_below = 0, serves_from = UINT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2 / f->granule * f->granule;
        bool known = middle < fails_below || middle >= serves_from;
        int status = known ? TP_OK : try_capacity(f, middle);
        if (status)
            return status;
        if (!known && f->failed[device])
            fails_below = f->below;
        else if (!known)
            serves_from = f->from;
        if (middle < fails_below)
            low = middle + f->granule;
        else
            high = middle;
    }
    *out = high;
    return TP_OK;
}

/* A replay without a limit has shown that `high` serves everything, unless the strategy takes no
 * more than a share of a device whose size it knows: then twice as much is tried, and so on. */
static int find_capacity(struct fits *f, uint16_t device, uint64_t high, uint64_t *out)
{
    const struct tp_demand *demand = tp_program_demand(f->cfg.program, device);
    uint64_t least = f->cfg.drop_initial_heap || !demand->bytes ? 1 : demand->bytes;
    uint64_t low = (least + f->granule - 1) / f->granule * f->granule;
    int status = bisect(f, device, low, high, out);
    for (unsigned i = 0; !status && *out == high && i < DOUBLINGS; i++) {
        status = try_capacity(f, high);
        if (status || !f->failed[device])
            return status;
        low = high + f->granule;
        high *= 2;
        status = bisect(f, device, low, high, out);
    }
    return status;
}

int tp_pass_fits(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct fits f;
    uint16_t devices = tp_program_facts(cfg->program)->devices;
    if (!tp_strategy_has_ranges(cfg->strategy))
        return TP_OK; /* the strategy failed even without a limit, so min_capacity stays TP_NONE */
    uint64_t *high = calloc(devices, sizeof *high);
    int status = fits_open(&f, cfg, err);
    if (!status && !high)
        status = tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    if (!status)
        status = try_capacity(&f, 0);
    for (uint16_t d = 0; !status && d < devices; d++)
        high[d] = f.sized || f.failed[d] ? TP_NONE : f.peak[d];
    for (uint16_t d = 0; !status && d < devices; d++) {
        tp_progress(cfg, "min capacity", (double)d / devices);
        if (high[d] != TP_NONE)
            status = find_capacity(&f, d, high[d], &out->devices[d].min_capacity);
    }
    if (!status && !f.sized)
        out->flags |= TP_RUN_FITS;
    fits_close(&f);
    free(high);
    return status;
}
