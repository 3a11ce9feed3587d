/* Internal to the usage pass: when frames are taken, and how (usage_frames.c). */
#ifndef TP_USAGE_FRAMES_H
#define TP_USAGE_FRAMES_H

#include "alloc/engine/frames.h"
#include "alloc/engine/usage.h"

/* *out is NULL where cfg asks for no frames, or there can be none. TP_ENOMEM. Adds what watches the
 * ranges to the sources of `cfg`, which points to *out from then on. */
int tp_usage_frames_open(struct tp_usage_frames **out, struct tp_replay_cfg *cfg,
                         struct tp_err *err);
void tp_usage_frames_close(struct tp_usage_frames *f); /* NULL is fine */

/* In the order of a replay: after the prologue; before an instruction; when the block of a slot has
 * been handed out or has changed its size; after the instruction; after the last one. */
void tp_usage_frames_begin(struct tp_usage *u);
void tp_usage_frames_before(struct tp_usage *u, uint64_t event);
void tp_usage_frames_block(struct tp_usage *u, uint32_t slot);
void tp_usage_frames_after(struct tp_usage *u, const struct tp_window *w, uint32_t index);
void tp_usage_frames_end(struct tp_usage *u);

/* Whether most was reserved at a moment of which there is no frame, because the credit was spent,
 * and the same could be played once more. Then the next replay with these frames takes only those,
 * and stops behind the last one. `f` may be NULL. */
bool tp_usage_frames_missed(struct tp_usage_frames *f, const struct tp_replay_cfg *cfg);

#endif
