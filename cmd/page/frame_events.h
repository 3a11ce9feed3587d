/* Frames of the heap between the replay that takes them and the writers that draw them: their
 * memory, what they show, and where in the recorded program that was selected. */
#ifndef TP_FRAME_EVENTS_H
#define TP_FRAME_EVENTS_H

#include "alloc/heapmap/frames.h"
#include "cmd/results/captured.h"
#include "cmd/results/result.h"

/* Gets memory for frames that forks of this process fill; 0 for `most`, or a strategy of which no
 * frames are taken: *out is NULL. TP_ENOMEM. */
int tp_replay_frames_open(const struct tp_strategy *s, const struct tp_program_facts *facts,
                          uint64_t most, struct tp_frames **out, struct tp_err *err);
void tp_replay_frames_close(struct tp_frames *f, const struct tp_program_facts *facts,
                            uint64_t most); /* NULL is fine */

/* The frames after the replay; NULL: there are none, or something wrote over them. */
const struct tp_frames *tp_replay_frames_of(const struct tp_frames *f,
                                            const struct tp_program_facts *facts, uint64_t most);

/* How long each frame of a device stays while they are thinned to fewer and fewer: with at most
 * `ranks[i]` frames or more the i-th is among them. `ranks` has room for all. */
void tp_frame_ranks(const struct tp_frames *f, uint32_t device, uint16_t *ranks);

/* An event that gave a live block of a frame its size. */
struct tp_frame_event {
    uint64_t event;
    uint64_t rank; /* the lowest of a frame that shows it */
};

/* Those of all frames, ascending, each once; *out is freed by the caller. TP_ENOMEM. */
int tp_frame_events(const struct tp_frames *f, struct tp_frame_event **out, size_t *count,
                    struct tp_err *err);

/* Looks up the places of the events that the frames of these results show, which are all of one
 * trace. What cannot be looked up gives no places, which is no error. */
void tp_frame_places_find(struct tp_captured *c, const struct tp_trace *t,
                          const struct tp_result *results, size_t count,
                          int (*stop)(struct tp_err *err));

#endif
