/* The counting pass: how many instructions one replay takes on a fresh instance.
 *
 *     read a window   tp_play_counted        read a window   tp_play_counted        drain
 *     -------------  [===============]       -------------  [===============]       -----
 *
 * Only what is in brackets counts. Two can count it: the pass itself, where the processor's counter
 * can be read; and callgrind from outside, which collects between the entry and the exit of
 * tp_play_counted (--toggle-collect), wherever valgrind runs. So that function is found by its
 * name, and nothing may inline, clone or leave it by a jump.
 *
 * The replay is the first one on its instance: unlike a time, a count is not hidden by what
 * starting up costs, and a second one would only add the same again. What the kernel does is not
 * counted.
 *
 * Known weakness: a policy that asks libc for its tables, or hashes addresses, depends a little on
 * what reading the trace left in the heap: 0.5 % between a .json and its .tpt. Counts that are to
 * be compared read the same file. */
#include "alloc/engine/counter.h"
#include "alloc/engine/passes.h"

#if __has_attribute(noclone)
#define BY_NAME __attribute__((noinline, noclone, used, externally_visible))
#else
#define BY_NAME __attribute__((noinline, used))
#endif

BY_NAME void tp_play_counted(struct tp_player *p, const struct tp_window *w)
{
    tp_play_untimed(p, w);
    __asm__ volatile("" : : : "memory"); /* a call, no jump: this function has an end */
}

static int count_window(void *ctx, struct tp_player *p, const struct tp_window *w,
                        struct tp_err *err)
{
    const struct tp_instruction_counter *c = ctx;
    tp_counter_start(c);
    tp_play_counted(p, w);
    tp_counter_stop(c);
    return tp_player_check(p, w, err);
}

static int play_counted(struct tp_player *p, struct tp_instruction_counter *c, struct tp_err *err)
{
    int status = tp_play_watched(p, "instructions", count_window, c, err);
    tp_player_drain(p);
    return status ? status : tp_player_lost(p, "after the last event", err);
}

int tp_pass_count(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct tp_player p;
    struct tp_instruction_counter c;
    struct tp_replay_cfg untimed = *cfg;
    untimed.clock = NULL; /* how long a part of a window takes must not change how many there are */
    int status = tp_player_open(&p, &untimed, cfg->strategy, err);
    if (status)
        return status;
    bool counts = tp_counter_open(&c) == 0;
    status = play_counted(&p, &c, err);
    if (!status && counts)
        out->instructions = tp_counter_read(&c);
    tp_counter_close(&c);
    return tp_player_end(&p, status, err);
}
