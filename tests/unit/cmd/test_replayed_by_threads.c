/* Every strategy of the registry replays traces with eight threads, by eight OS threads and by
 * three: producer to consumer, and a web server whose objects are freed by any thread. The passes
 * are the timed ones, so with the thread sanitizer this is what looks for races between the
 * engine's threads, and in strategies as they are really called; it orders what it sees, so fewer
 * objects show as much. The allocator of the C library replays in this process here. */
#include "alloc/base/clock.h"
#include "alloc/base/own.h"
#include "alloc/engine/replay.h"
#include "cmd/jobs/catalog.h"
#include "tests/unit/profile_rig.h"

#include <stdlib.h>

extern const struct tp_profile tp_profile_producer_consumer, tp_profile_web_server;
extern const struct tp_source_ops tp_source_host;

static struct tp_clock a_clock = {.ns_per_tick = 1};

static void replay(struct tp_program *program, const struct tp_strategy *s, uint32_t threads)
{
    const struct tp_program_facts *f = tp_program_facts(program);
    struct tp_run *run = calloc(1, tp_run_size(f->devices));
    struct tp_err err = {0};
    void *opts = calloc(1, s->opts_size + 1), *host = calloc(1, tp_source_host.opts_size + 1);
    assert_true(run && opts && host);
    assert_int_equal(tp_opts_defaults(s->options, opts, NULL), TP_OK);
    assert_int_equal(tp_opts_defaults(tp_source_host.options, host, NULL), TP_OK);
    struct tp_replay_cfg cfg = {.program = program,
                                .strategy = s,
                                .strategy_opts = opts,
                                .layers = {{&tp_source_host, host}},
                                .layer_count = tp_strategy_takes_source(s),
                                .clock = &a_clock,
                                .touch = TP_TOUCH_FIRST,
                                .passes = TP_PASS_THROUGHPUT | TP_PASS_LATENCY,
                                .min_replays = 2,
                                .min_time_ns = 1000,
                                .repeat = 1,
                                .threads = threads,
                                .cores = threads / 3};
    if (tp_replay(&cfg, run, &err))
        fail_msg("%s: %s", s->name, err.text);
    assert_int_equal(run->throughput.crew.threads, threads < f->threads ? threads : f->threads);
    uint64_t calls = 0;
    for (int k = 0; k < TP_LAT_KINDS; k++)
        calls += run->latency.kinds[k].hist.count;
    assert_int_equal(calls, run->latency.replays * f->operations);
    assert_int_equal(run->skipped_operations, 0);
    tp_opts_release(s->options, opts);
    free(opts);
    free(host);
    free(run);
}

static void replay_all(struct tp_program *program)
{
    for (size_t i = 0; tp_strategies[i]; i++) {
        if (tp_strategies[i]->caps & (TP_CAP_ASYNC | TP_CAP_PRELOAD))
            continue; /* needs a GPU, or a library in its process */
        replay(program, tp_strategies[i], 8);
        replay(program, tp_strategies[i], 3);
    }
    tp_program_release(program);
}

TEST(a_web_server)
{
    replay_all(profile_program(
        &tp_profile_web_server,
        TP_SANITIZED ? "count=60,live=100,threads=8" : "count=200,live=300,threads=8", 1));
}

TEST(producer_and_consumer)
{
    replay_all(profile_program(&tp_profile_producer_consumer,
                               TP_SANITIZED ? "count=1000" : "count=3000", 1));
}
