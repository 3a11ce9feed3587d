/* Internal to the engine: the passes that tp_replay runs. Each plays a fresh instance. */
#ifndef TP_PASSES_H
#define TP_PASSES_H

#include "alloc/player.h"

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
