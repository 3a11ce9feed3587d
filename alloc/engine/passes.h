/* Internal to the engine: the passes that tp_replay runs. Each replays a fresh instance. */
#ifndef TP_PASSES_H
#define TP_PASSES_H

#include "alloc/engine/replayer.h"

/* A pass repeats until its timed parts add up to its time, or until its repetitions as a whole have
 * lasted this many times as long. The second limit is needed because a repetition also places the
 * initial_heap, reads windows, sorts readings and frees live blocks, none of which is timed: after
 * a large initial_heap, a few timed calls would need hours to add up. */
#define TP_WALL_SHARE 1.5

/* Time that the repetitions of a pass have used. */
struct tp_spent {
    double timed_ns, wall_ns;
};

static inline bool tp_spent_all(const struct tp_spent *s, double time_ns)
{
    return s->timed_ns >= time_ns || s->wall_ns >= TP_WALL_SHARE * time_ns;
}

/* The used share of `time_ns`, for progress. */
static inline double tp_spent_share(const struct tp_spent *s, double time_ns)
{
    double wall = s->wall_ns / TP_WALL_SHARE;
    return (s->timed_ns > wall ? s->timed_ns : wall) / (time_ns + 1);
}

int tp_pass_usage(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_fits(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_verify(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_throughput(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_resident(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_mapped(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_count(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);
int tp_pass_latency(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);

/* Replays a window of the counting pass, untimed. Valgrind finds this function by its name (see
 * pass_count.c). */
void tp_replay_counted(struct tp_replayer *p, const struct tp_window *w);

/* Replays the whole program once, from the first event. `replay` is timed as a whole for each
 * window; `per_window`, which may be NULL, is called after each window, untimed. Blocks that are
 * live at the end are freed, untimed. Sets *ticks to the time inside the windows. */
typedef void tp_window_fn(void *ctx, struct tp_replayer *p, const struct tp_window *w);
int tp_replay_once(struct tp_replayer *p, tp_replay_fn *replay, tp_window_fn *per_window, void *ctx,
                   uint64_t *ticks, struct tp_err *err);

/* Replays the whole program once for a pass that times nothing: `fn` replays each window, and a
 * status other than TP_OK ends the replay. `pass` is its name for progress. Blocks that are live at
 * the end stay live. */
typedef int tp_watch_fn(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                        struct tp_err *err);
int tp_replay_watched(struct tp_replayer *p, const char *pass, tp_watch_fn *fn, void *ctx,
                      struct tp_err *err);

static inline void tp_progress(const struct tp_replay_cfg *cfg, const char *pass, double fraction)
{
    if (cfg->progress)
        cfg->progress(cfg->progress_ctx, pass, fraction);
}

#endif
