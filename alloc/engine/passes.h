/* Internal to the engine: the passes that tp_replay runs. Each plays a fresh instance. */
#ifndef TP_PASSES_H
#define TP_PASSES_H

#include "alloc/engine/player.h"

/* A pass repeats until what it times adds up to its time, or until its repetitions have lasted half
 * as long again, whatever is done in them. For a repetition is more than what is timed: the
 * prologue is placed again, windows are read, readings sorted, live blocks freed. After a large
 * prologue a few timed calls would need hours to add up. */
#define TP_WALL_SHARE 1.5

/* What the repetitions of a pass have used up. */
struct tp_spent {
    double timed_ns, wall_ns;
};

static inline bool tp_spent_all(const struct tp_spent *s, double time_ns)
{
    return s->timed_ns >= time_ns || s->wall_ns >= TP_WALL_SHARE * time_ns;
}

/* The share of `time_ns`, for progress. */
static inline double tp_spent_share(const struct tp_spent *s, double time_ns)
{
    double wall = s->wall_ns / TP_WALL_SHARE;
    return (s->timed_ns > wall ? s->timed_ns : wall) / (time_ns + 1);
}

int tp_pass_usage(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_fits(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_verify(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_throughput(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_count(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_latency(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);

/* A window of the counting pass, untimed; valgrind knows it by its name (see pass_count.c). */
void tp_play_counted(struct tp_player *p, const struct tp_window *w);

/* Plays the whole program once, from the first event. `play` is timed by one stamp around each
 * window; `per_window`, which may be NULL, is called after it, untimed. What is live at the end is
 * drained, untimed. Sets *ticks to the time inside the windows. */
typedef void tp_window_fn(void *ctx, struct tp_player *p, const struct tp_window *w);
int tp_play_once(struct tp_player *p, tp_play_fn *play, tp_window_fn *per_window, void *ctx,
                 uint64_t *ticks, struct tp_err *err);

/* The same for passes that time nothing: `fn` plays each window and returns a status, which ends
 * it. `pass` is what progress calls it. What is live at the end stays. */
typedef int tp_watch_fn(void *ctx, struct tp_player *p, const struct tp_window *w,
                        struct tp_err *err);
int tp_play_watched(struct tp_player *p, const char *pass, tp_watch_fn *fn, void *ctx,
                    struct tp_err *err);

static inline void tp_progress(const struct tp_replay_cfg *cfg, const char *pass, double fraction)
{
    if (cfg->progress)
        cfg->progress(cfg->progress_ctx, pass, fraction);
}

#endif
