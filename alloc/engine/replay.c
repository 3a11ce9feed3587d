/* tp_replay checks the configuration and runs the passes in order. */
#include "alloc/engine/replay.h"

#include "alloc/engine/crew.h"
#include "alloc/engine/measured.h"
#include "alloc/engine/passes.h"

static int check_threads(const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(cfg->program);
    uint32_t threads = tp_crew_threads(cfg);
    bool host = tp_replay_source_flags(cfg) & TP_SRC_HOST;
    if (cfg->threads > 1 && (f->kind != TP_KIND_HOST || f->devices > 1 || !host))
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "--threads replays host traces in this machine's memory: %s",
                               host ? "this trace is a device trace" : "'--source host'"),
                       "'--threads 1' replays everything on one thread");
    if (threads > TP_CREW_MAX)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "%u threads are too many: at most %d can replay together", threads,
                               TP_CREW_MAX),
                       "'--threads 64' replays recorded thread i on thread i mod 64");
    return TP_OK;
}

static int check_configuration(const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    int status = tp_strategy_check(cfg->strategy, err);
    if (!status)
        status = check_threads(cfg, err);
    if (status || !tp_strategy_takes_source(cfg->strategy))
        return status;
    if (!cfg->layer_count || cfg->layer_count >= TP_SOURCE_LAYERS)
        return tp_fail(err, TP_EUSAGE,
                       "the replay needs one memory source and at most %d source wrappers",
                       TP_SOURCE_LAYERS - 2);
    for (uint32_t i = 0; !status && i < cfg->layer_count; i++)
        status = tp_source_check(cfg->layers[i].ops, err);
    return status ? status : tp_strategy_fits(cfg->strategy, cfg->layers[0].ops, err);
}

static uint32_t flags_of(const struct tp_replay_cfg *cfg)
{
    return (tp_replay_source_flags(cfg) & TP_SRC_DEVICE ? TP_RUN_DEVICE : 0) |
           (cfg->strategy->caps & TP_CAP_ASYNC ? TP_RUN_POOL : 0);
}

static void begin_run(struct tp_run *out, const struct tp_program_facts *facts)
{
    out->device_count = facts->devices;
    out->instructions = TP_NONE;
    tp_measured_clear(out);
}

int tp_replay(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    typedef int pass_fn(const struct tp_replay_cfg *, struct tp_run *, struct tp_err *);
    static const struct {
        enum tp_pass pass;
        pass_fn *run;
        bool threads; /* may be replayed by several; the others are exact, and serial */
    } passes[] = {
        {TP_PASS_VERIFY, tp_pass_verify, true},     {TP_PASS_USAGE, tp_pass_usage, false},
        {TP_PASS_FITS, tp_pass_fits, false},        {TP_PASS_THROUGHPUT, tp_pass_throughput, true},
        {TP_PASS_LATENCY, tp_pass_latency, true},   {TP_PASS_COUNT, tp_pass_count, false},
        {TP_PASS_RESIDENT, tp_pass_resident, true}, {TP_PASS_MAPPED, tp_pass_mapped, true}};
    const struct tp_program_facts *facts = tp_program_facts(cfg->program);
    void *current = NULL;
    struct tp_replay_cfg own = *cfg;
    own.shared.current = &current;
    if (!out->passes)
        begin_run(out, facts);
    out->passes |= cfg->passes;
    out->flags |= flags_of(cfg);
    if (tp_replay_source_flags(cfg) & TP_SRC_VIRTUAL && !facts->time_known)
        out->flags |= TP_RUN_SYNTHETIC_TIME;
    int status = check_configuration(cfg, err);
    struct tp_err ignored; /* what cannot be kept in memory is replayed from its file */
    if (!status && cfg->passes & (TP_PASS_THROUGHPUT | TP_PASS_LATENCY))
        (void)tp_program_load(cfg->program, &ignored);
    for (size_t i = 0; !status && i < sizeof passes / sizeof *passes; i++) {
        own.threads = passes[i].threads ? cfg->threads : 1;
        if (cfg->passes & passes[i].pass)
            status = passes[i].run(&own, out, err);
        bool lacks = status == TP_EIO || status == TP_ENOMEM;
        if (lacks && own.threads > 1 && cfg->threads_if_possible) {
            own.threads = 1;
            status = passes[i].run(&own, out, err);
        }
    }
    if (!status && cfg->strategy->library)
        cfg->strategy->library(out->library, sizeof out->library);
    return status;
}
