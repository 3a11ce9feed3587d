/* See memory_passes.h. A strategy is replayed in a fork of this process: all that the fork writes
 * becomes its own page, so it is counted wherever it lies, and what it inherited is not. A real
 * allocator is replayed in a tapool that is started afresh, because its heap would be inherited.
 *
 * The resident pass is replayed by the recorded threads: what a malloc keeps for each of them may
 * be many times what one thread leaves. So is the mapped pass, unless one thread is asked for: then
 * it is the same every time.
 *
 * The resident pass is replayed three times, and the middle of the three counts: what the kernel
 * says may differ by a few pages. Where the first one took long it stays alone. */
#include "cmd/jobs/memory_passes.h"

#include "alloc/base/clock.h"
#include "alloc/engine/crew.h"
#include "alloc/engine/process_watch.h"
#include "cmd/jobs/child.h"
#include "cmd/jobs/fork_replay.h"

#include <errno.h>
#include <stdlib.h>

enum { PASSES = 3 };
#define LONG_NS UINT64_C(500000000) /* a pass that took longer is not repeated */

unsigned tp_memory_passes_of(const struct tp_replay_cfg *cfg)
{
    if (!tp_watch_applies(cfg))
        return cfg->passes & ~(unsigned)TP_MEMORY_PASSES;
    return tp_strategy_takes_source(cfg->strategy) ? cfg->passes & ~(unsigned)TP_PASS_MAPPED
                                                   : cfg->passes;
}

/* ---- three passes as one ---- */

static void sort_two(uint64_t *a, uint64_t *b)
{
    uint64_t less = *a < *b ? *a : *b;
    *b = *a < *b ? *b : *a;
    *a = less;
}

static struct tp_spread spread_of(uint64_t a, uint64_t b, uint64_t c)
{
    sort_two(&a, &b);
    sort_two(&b, &c);
    sort_two(&a, &b);
    if (c == TP_NONE) /* a pass did not get so far */
        return (struct tp_spread){TP_NONE, TP_NONE, TP_NONE};
    return (struct tp_spread){a, b, c};
}

/* The three values of a member, and in *pass the one that has the middle one. */
static struct tp_spread spread_at(const struct tp_resident r[PASSES], size_t member, int *pass)
{
    uint64_t values[PASSES];
    for (int i = 0; i < PASSES; i++)
        values[i] =
            ((const struct tp_spread *)(const void *)((const char *)&r[i] + member))->median;
    struct tp_spread all = spread_of(values[0], values[1], values[2]);
    for (*pass = 0; *pass < PASSES - 1 && values[*pass] != all.median;)
        ++*pass;
    return all;
}

/* The course is that of the pass whose peak is the middle one, and parts are of those whose memory
 * they add up to. */
static void join(const struct tp_resident r[PASSES], struct tp_resident *out)
{
    int peak, at_peak, end;
    struct tp_spread peaks = spread_at(r, offsetof(struct tp_resident, peak), &peak);
    struct tp_spread at_peaks = spread_at(r, offsetof(struct tp_resident, at_peak), &at_peak);
    struct tp_spread ends = spread_at(r, offsetof(struct tp_resident, end), &end);
    *out = r[peak];
    out->passes = PASSES;
    out->at_peak = at_peaks;
    out->peak = peaks;
    out->end = ends;
    out->parts_at_peak = r[at_peak].parts_at_peak;
    out->parts_end = r[end].parts_end;
    out->errors_at_peak = r[at_peak].errors_at_peak;
    out->errors_end = r[end].errors_end;
}

/* ---- replaying ---- */

int tp_replay_apart(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct tp_run *out, struct tp_err *err)
{
    return tp_strategy_takes_source(cfg->strategy) ? tp_fork_replay(cfg, spec->label, out, err)
                                                   : tp_child_replay(cfg, spec, out, err);
}

int tp_memory_start(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    uint64_t *out, struct tp_err *err)
{
    const struct tp_strategy_spec *asked[2] = {spec, NULL};
    struct tp_strategy_spec plain;
    uint64_t rss[2][PASSES];
    int status = spec->preload ? tp_strategy_spec_parse(&plain, "system", err) : TP_OK;
    *out = 0;
    if (status || !spec->preload)
        return status;
    asked[1] = &plain;
    for (int i = 0; !status && i < 2 * PASSES; i++)
        status = tp_child_rss(asked[i % 2], cfg->interrupted, &rss[i % 2][i / 2], err);
    tp_strategy_spec_release(&plain);
    if (status)
        return status;
    uint64_t with = spread_of(rss[0][0], rss[0][1], rss[0][2]).median;
    uint64_t without = spread_of(rss[1][0], rss[1][1], rss[1][2]).median;
    if (with == TP_NONE || without == TP_NONE)
        *out = TP_NONE;
    else if (with > without)
        *out = with - without;
    return TP_OK;
}

/* Those that were recorded; calls of a device are not bound to threads. */
static uint32_t recorded_threads(const struct tp_replay_cfg *cfg)
{
    return tp_program_facts(cfg->program)->kind == TP_KIND_HOST ? TP_CREW_MAX : 1;
}

static int replay_resident(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                           struct tp_run *scratch, struct tp_resident *out, struct tp_err *err)
{
    struct tp_resident r[PASSES] = {{0}};
    struct tp_replay_cfg one = *cfg;
    uint64_t from = tp_wall_ns();
    uint32_t count = 0;
    int status = TP_OK;
    one.passes = TP_PASS_RESIDENT;
    one.threads = recorded_threads(cfg);
    one.progress = NULL; /* the process that is measured would write what it prints */
    while (!status && count < PASSES) {
        if (cfg->progress)
            cfg->progress(cfg->progress_ctx, "resident", (double)count / PASSES);
        scratch->passes = 0;
        status = tp_replay_apart(&one, spec, scratch, err);
        r[count++] = scratch->resident;
        if (!scratch->resident.passes || (count == 1 && tp_wall_ns() - from > LONG_NS))
            break;
    }
    if (count == PASSES && r[PASSES - 1].passes)
        join(r, out);
    else
        *out = r[0];
    return status ? status : tp_memory_start(cfg, spec, &out->start, err);
}

/* A child that cannot be followed is no error: what is mapped is then not known. */
static int replay_mapped(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                         struct tp_run *scratch, struct tp_mapped *out, struct tp_err *err)
{
    struct tp_replay_cfg one = *cfg;
    one.passes = TP_PASS_MAPPED;
    one.threads = cfg->threads > 1 ? recorded_threads(cfg) : 1;
    one.progress = NULL;
    if (cfg->progress)
        cfg->progress(cfg->progress_ctx, "mapped", 0);
    scratch->passes = 0;
    int status = tp_replay_apart(&one, spec, scratch, err);
    *out = scratch->mapped;
    out->known &= !status;
    out->why = status && !out->why ? EIO : out->why;
    return status;
}

int tp_memory_passes(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                     struct tp_run *out, struct tp_err *err)
{
    struct tp_run *scratch = calloc(1, tp_run_size(tp_program_facts(cfg->program)->devices));
    int status = scratch ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status && cfg->passes & TP_PASS_RESIDENT)
        status = replay_resident(cfg, spec, scratch, &out->resident, err);
    if (!status && cfg->passes & TP_PASS_MAPPED)
        status = replay_mapped(cfg, spec, scratch, &out->mapped, err);
    out->passes |= cfg->passes & TP_MEMORY_PASSES;
    free(scratch);
    return status;
}
