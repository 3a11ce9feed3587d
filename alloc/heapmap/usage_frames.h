/* Internal to the usage pass: when frames are taken, and how (usage_frames.c). */
#ifndef TP_USAGE_FRAMES_H
#define TP_USAGE_FRAMES_H

#include "alloc/heapmap/frames.h"
#include "alloc/heapmap/usage.h"

/* *out is NULL where cfg asks for no frames, or there can be none. TP_ENOMEM. Adds what watches the
 * ranges to the sources of `cfg`, which points to *out from then on. */
int tp_usage_frames_open(struct tp_usage_frames **out, struct tp_replay_cfg *cfg,
                         struct tp_err *err);
void tp_usage_frames_close(struct tp_usage_frames *f); /* NULL is fine */

/* Connects them with a replay that begins. */
void tp_usage_frames_join(struct tp_usage_frames *f, struct tp_usage *u);

/* Of a device: while all of it holds there is nothing to do after an instruction. */
struct tp_frames_watch {
    uint64_t low, width; /* bytes: allocated - low is at most `width` */
    uint64_t reserved;   /* bytes: as many as before */
    uint64_t next;       /* index of an instruction that has not come yet */
};

/* Whether frames need not look at an instruction of the program that has been replayed. */
static inline bool tp_usage_frames_idle(const struct tp_usage *u, const struct tp_insn *insn,
                                        uint64_t at)
{
    const unsigned of_all = 1u << TP_MARK | 1u << TP_THREAD_END;
    if (insn->device == TP_ALL_DEVICES || of_all >> insn->op & 1)
        return false;
    const struct tp_usage_device *d = &u->devices[insn->device];
    const struct tp_frames_watch *w = &u->watches[insn->device];
    return d->allocated - w->low <= w->width && d->account->reserved == w->reserved && at < w->next;
}

/* In the order of a replay: after the initial heap; after an instruction at which they are not
 * idle; where an allocation failed; when a window has been replayed; after the last one. */
void tp_usage_frames_begin(struct tp_usage *u);
void tp_usage_frames_after(struct tp_usage *u, const struct tp_window *w, uint32_t index);
void tp_usage_frames_failed(struct tp_usage *u, uint16_t device);
void tp_usage_frames_replayed(struct tp_usage *u, const struct tp_window *w);
void tp_usage_frames_end(struct tp_usage *u);

/* Whether most was reserved at a moment of which there is no frame, because the credit was spent,
 * and the same could be replayed once more. Then the next replay with these frames takes only
 * those, and stops behind the last one. `f` may be NULL. */
bool tp_usage_frames_missed(struct tp_usage_frames *f, const struct tp_replay_cfg *cfg);

#endif
