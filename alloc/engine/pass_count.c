/* The counting pass: how many instructions one replay takes on a fresh instance.
 *
 *     read a window   tp_replay_counted        read a window   tp_replay_counted        drain
 *     -------------  [===============]       -------------  [===============]       -----
 *
 * Only the parts in brackets count. They are counted by the pass itself where the processor's
 * counter can be read, or from outside by callgrind wherever valgrind runs, which collects between
 * entry and exit of tp_replay_counted (--toggle-collect). Callgrind finds the function by its name,
 * so it must not be inlined, cloned or left by a tail call.
 *
 * The first replay on an instance is counted. Unlike a time, a count is not distorted by start-up
 * effects, and a second replay would only add the same again. Instructions of the kernel are not
 * counted.
 *
 * Known weakness: the count of a strategy that gets its tables from libc, or hashes addresses,
 * depends a little on the state in which reading the trace left the heap: 0.5% between a .json and
 * its .tpt. To compare counts, use the same file. */
#include "alloc/engine/counter.h"
#include "alloc/engine/passes.h"

#if __has_attribute(noclone)
#define BY_NAME __attribute__((noinline, noclone, used, externally_visible))
#else
#define BY_NAME __attribute__((noinline, used))
#endif

BY_NAME void tp_replay_counted(struct tp_replayer *p, const struct tp_window *w)
{
    tp_replay_untimed(p, w);
    __asm__ volatile("" : : : "memory"); /* keeps the call above from becoming a tail call */
}

static int count_window(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                        struct tp_err *err)
{
    const struct tp_instruction_counter *c = ctx;
    tp_counter_start(c);
    tp_replay_counted(p, w);
    tp_counter_stop(c);
    return tp_replayer_check(p, w, err);
}

static int replay_counted(struct tp_replayer *p, struct tp_instruction_counter *c,
                          struct tp_err *err)
{
    int status = tp_replay_watched(p, "instructions", count_window, c, err);
    tp_replayer_drain(p);
    return status ? status : tp_replayer_lost(p, "after the last event", err);
}

int tp_pass_count(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct tp_replayer p;
    struct tp_instruction_counter c;
    struct tp_replay_cfg untimed = *cfg;
    /* without a clock the number of parts of a window does not depend on time */
    untimed.clock = NULL;
    int status = tp_replayer_open(&p, &untimed, cfg->strategy, err);
    if (status)
        return status;
    bool counts = tp_counter_open(&c) == 0;
    status = replay_counted(&p, &c, err);
    if (!status && counts)
        out->instructions = tp_counter_read(&c);
    tp_counter_close(&c);
    return tp_replayer_end(&p, status, err);
}
