/* The rows of a frame (alloc/heapmap/frame_rows.h) as lines of a picture, on which what is too
 * small to be seen is merged.
 *
 *     |=======|  |==|          a line is a row of the frame; where there are more rows than lines,
 *     |====||=====|            they follow each other on a line: in the order of their numbers,
 *     |==========|             always */
#ifndef TP_HEAP_LINES_H
#define TP_HEAP_LINES_H

#include "alloc/heapmap/frames.h"

enum {
    TP_HEAP_LINES = 24,   /* at most, of a heap */
    TP_HEAP_WIDTH = 8520, /* tenths of a pixel: the length of the longest line */
    TP_HEAP_GAP = 20 /* the same before a row that follows another one; at most its own length */
};

/* Where a row lies. */
struct tp_heap_row {
    uint32_t line;
    uint32_t begin; /* tenths of a pixel */
};

struct tp_heap_lines {
    const struct tp_frames *frames;
    const struct tp_frame *frame;
    uint32_t device;
    struct tp_heap_row *rows; /* owned */
    size_t count, room;
    uint32_t lines;
    uint64_t scale; /* bytes of TP_HEAP_WIDTH; 1 or more */
    bool shared;    /* rows follow each other on lines */
    uint32_t least; /* tenths of a pixel: what is narrower is merged */
};

/* A stretch of a line, in tenths of a pixel. */
struct tp_heap_stretch {
    uint32_t line, begin, end;
    uint32_t kind; /* enum tp_walk_kind; TP_WALK_COUNT: a row from its begin to its end */
};
typedef void tp_heap_stretch_fn(void *ctx, const struct tp_heap_stretch *s);

/* Lays the rows of a frame. tp_heap_lines_drop afterwards in any case. TP_ENOMEM. */
int tp_heap_lines_lay(struct tp_heap_lines *h, const struct tp_frames *frames, uint32_t device,
                      const struct tp_frame *frame, struct tp_err *err);
/* Lays them again to a scale of at least that many bytes, so that several heaps can share it. */
void tp_heap_lines_rescale(struct tp_heap_lines *h, uint64_t scale);
void tp_heap_lines_drop(struct tp_heap_lines *h);

/* Merges more and more, until at most `most` stretches are left, or each row has one of each kind.
 */
void tp_heap_lines_merge(struct tp_heap_lines *h, size_t most);

/* Calls `fn` for each stretch, line by line. Merged pieces are one stretch for each of their kinds,
 * side by side, so lengths are true to what was merged. */
void tp_heap_lines_each(const struct tp_heap_lines *h, tp_heap_stretch_fn *fn, void *ctx);

#endif
