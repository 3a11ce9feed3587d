/* Frames: what the heap of a strategy looked like at the moments of a replay that are worth seeing.
 *
 *     bytes held   |        ____ .          B begin   D the trace peak   R most reserved
 *                  |   .---'    '-+--.      F first failure   E end: these are always kept
 *                  |  +               '-    + marks and large changes: the least telling go first
 *                  B     +  D R  F     E
 *
 * A frame has a row for each range that the strategy holds, in the order in which it got them, and
 * a row has the pieces that the strategy's walk names, in the order of their places. What is too
 * small to be seen is merged and says how many bytes of each kind it has, so that the pieces of a
 * frame and its page_rest are its reserved bytes, always.
 *
 * Everything lies in one block of memory without pointers, whose size is known beforehand: a
 * process fills it where its parent reads it.
 *
 *     | struct tp_frames | a device: its frames in order | ... | a frame | ... | its rows | ... |
 */
#ifndef TP_FRAMES_H
#define TP_FRAMES_H

#include "alloc/heapmap/frame_rows.h"
#include "alloc/program/program.h"

enum {
    TP_FRAMES_MOST = 512, /* of a device */
    TP_FRAMES_LEAST = 5   /* as many as there are reasons for which a frame is always kept */
};

/* Why a frame was taken; several of them, or-ed. Those before TP_FRAME_MARK are always kept, and
 * there is at most one frame for each. */
enum tp_frame_reason {
    TP_FRAME_BEGIN = 1,    /* before the first event */
    TP_FRAME_DEMAND = 2,   /* the trace peak of the trace */
    TP_FRAME_RESERVED = 4, /* an event after which most is reserved */
    TP_FRAME_FAILED = 8,   /* the first allocation failed */
    TP_FRAME_END = 16,     /* after the last event that was replayed */
    TP_FRAME_MARK = 32,    /* a phase began */
    TP_FRAME_CHANGE = 64,  /* much was taken or given back since the frame before */
    TP_FRAME_REASONS = 7
};

/* The state of a device between two events. Sizes are bytes. */
struct tp_frame {
    uint64_t event;     /* the last one before it; 0: before the first */
    uint64_t time_ns;   /* since the trace began; TP_NONE: not known */
    uint64_t requested; /* by the program, of live blocks */
    uint64_t allocated; /* for them */
    uint64_t reserved;
    uint64_t page_rest;            /* of the device's pages, in no range */
    uint64_t kinds[TP_WALK_COUNT]; /* by enum tp_walk_kind; with page_rest they are `reserved` */
    uint32_t reasons;              /* enum tp_frame_reason, or-ed; never 0 */
    uint32_t mark;                 /* index of the name of the phase; UINT32_MAX: none */
    uint32_t ranges;               /* held */
    uint32_t length;               /* bytes of its rows */
    uint16_t place;                /* of the rows among those of the device */
    uint8_t unit_log2;             /* of the sizes in its rows */
    /* ranges share a row only with those whose numbers >> bundle_log2 are the same */
    uint8_t bundle_log2;
    uint32_t zero;
};

/* Frames of all devices. What is behind it is private. */
struct tp_frames {
    uint64_t bytes; /* of the whole */
    uint32_t devices;
    uint32_t most; /* frames of a device */
    uint32_t room; /* bytes for the rows of a frame */
    uint32_t zero;
};

/* ---- for who wants frames ---- */

/* Bytes for frames of `devices` devices (at most TP_MAX_DEVICES), `most` of each (1 to
 * TP_FRAMES_MOST; fewer than TP_FRAMES_LEAST count as these). About 2 MiB, at most 10 MiB: more
 * frames have less room each, and with many devices there are fewer. */
size_t tp_frames_size(uint32_t devices, uint32_t most);

/* Whether frames are taken of a strategy: it has a walk, and the source knows its ranges. */
static inline bool tp_frames_possible(const struct tp_strategy *s)
{
    return s->walk && tp_strategy_has_ranges(s);
}

/* Begins with no frames in zeroed memory of that size, which the caller owns. */
void tp_frames_open(struct tp_frames *f, uint32_t devices, uint32_t most);

/* Whether frames that another process filled can be read: every count, index and row is in its
 * bounds, events are those of the program, and the sums agree. */
bool tp_frames_hold(const struct tp_frames *f, uint32_t most, const struct tp_program_facts *facts);

/* ---- for who reads them ---- */

/* Frames of a device, and the index-th of them by event. */
uint32_t tp_frames_count(const struct tp_frames *f, uint32_t device);
const struct tp_frame *tp_frames_at(const struct tp_frames *f, uint32_t device, uint32_t index);

/* Frames of a device that were taken and left out again, because others tell more. */
uint64_t tp_frames_left_out(const struct tp_frames *f, uint32_t device);

/* The frame->length bytes of the rows, as drawn above. */
const uint8_t *tp_frame_bytes(const struct tp_frames *f, uint32_t device,
                              const struct tp_frame *frame);

/* The index of the frame that is missed least: one that lies where a line between its neighbours
 * would put it. `list` has `count` frames of a device (at least one) by event. The frames that are
 * always kept come last, the end and the beginning first among them. */
size_t tp_frames_least(const struct tp_frame *const *list, size_t count);

/* Reads the rows of a frame. */
struct tp_frame_reader tp_frame_read(const struct tp_frames *f, uint32_t device,
                                     const struct tp_frame *frame);

/* ---- for who takes them ---- */

/* Adds a frame of a device, of which the caller has set all above `ranges`; it comes behind the
 * frames whose event is not above its own. With more than `most` frames the one that is missed
 * least goes. `coarseness` is what made the rows of the last frame of this device fit, at first 0.
 * Takes steps in proportion to pieces and ranges, times the logarithm of the highest number. */
void tp_frames_add(struct tp_frames *f, uint32_t device, const struct tp_frame *frame,
                   const struct tp_heap_layout *heap, unsigned *coarseness);

/* The last frame that was added; NULL: none. Only its reasons may be changed. */
struct tp_frame *tp_frames_last(struct tp_frames *f, uint32_t device);

/* Takes a reason from the frame that has it, which is kept for a change then. */
void tp_frames_withdraw(struct tp_frames *f, uint32_t device, uint32_t reason);

#endif
