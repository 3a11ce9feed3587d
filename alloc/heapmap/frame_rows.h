/* The rows of a frame (frames.h) as bytes: a heap is written as finely as it fits, and read again.
 *
 * A number has 7 bits in a byte, the lowest first, and 0x80 in all bytes but the last. All sizes
 * are in units of 1 << unit_log2 bytes; "signed" is a number that was doubled, and for a negative
 * one its complement.
 *
 *     frame   row row ...
 *     row     number  by how much the number of its first range is above that of the row before
 *             number  ranges - 1: small ranges that follow each other may share a row
 *             number  size, to the end of its last piece
 *             piece piece ... 0
 *     piece   byte    gap << 3 | kind + 1               kind: enum tp_walk_kind, TP_FRAME_MIXED
 *             number  size
 *             number  if gap: so much before it is not mapped
 *             live    signed: by how much its event is above that of the last live one before
 *             mixed   number: pieces in it; number: kinds in it, bit 1 << kind for each;
 *                     number: size of each of these kinds, ascending; if one is live: signed, the
 *                     event of the largest live one, as above */
#ifndef TP_FRAME_ROWS_H
#define TP_FRAME_ROWS_H

#include "alloc/strategy.h"

enum { TP_FRAME_RESOLUTION = 512 }; /* parts of a row, or of all rows, that are seen apart */

/* The kind of a merged piece, beside those of enum tp_walk_kind. */
enum { TP_FRAME_MIXED = TP_WALK_COUNT };

/* ---- reading ---- */

struct tp_frame_row {
    uint64_t number; /* of its first range, from 1 in the order of getting; stays the same */
    uint64_t ranges; /* that share the row, one behind the other */
    uint64_t size;   /* bytes to the end of its last piece */
};

struct tp_frame_piece {
    uint64_t offset, size; /* bytes; what lies between two pieces is not mapped */
    uint32_t kind;         /* enum tp_walk_kind, or TP_FRAME_MIXED */
    /* live: the event that gave the block its size; mixed: that of its largest live block; 0:
     * before the first event, or none is live */
    uint64_t event;
    uint64_t pieces; /* in it; 1, unless it is mixed */
    uint64_t
        bytes[TP_WALK_COUNT]; /* of each kind; less than `size` in all where not all is mapped */
};

/* Reads rows, each with its pieces:
 *
 *     while (tp_frame_row(&reader, &row))
 *         while (tp_frame_piece(&reader, &piece)) */
struct tp_frame_reader {
    const uint8_t *at, *end;
    uint64_t number, event, offset; /* before the next row or piece */
    unsigned unit_log2;             /* of the sizes in the rows; below 64 */
    bool in_row;
    bool broken; /* the bytes are no rows: nothing more is read */
};

bool tp_frame_row(struct tp_frame_reader *r, struct tp_frame_row *out);     /* false: no more */
bool tp_frame_piece(struct tp_frame_reader *r, struct tp_frame_piece *out); /* false: no more */

/* ---- writing ---- */

/* A piece of a heap. */
struct tp_heap_piece {
    uint64_t number;       /* of its range */
    uint64_t offset, size; /* bytes; from the begin of the range */
    uint64_t event;        /* of a live one */
    uint32_t kind;         /* enum tp_walk_kind */
    uint32_t slot;         /* of a live one */
};

/* A range and where its pieces are, at least one, which do not overlap, by offset. */
struct tp_heap_range {
    uint64_t number;
    uint64_t size;  /* to the end of its last piece */
    uint64_t bytes; /* of its pieces */
    size_t first, count;
};

struct tp_heap_layout {
    const struct tp_heap_range *ranges; /* by number */
    size_t range_count;
    const struct tp_heap_piece *pieces;
    size_t piece_count;
};

/* Writes a number and returns its end. */
enum { TP_FRAME_NUMBER_MOST = 10 }; /* bytes */
static inline uint8_t *tp_frame_number(uint8_t *at, uint64_t value)
{
    for (; value >> 7; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/* Bytes that rows at their coarsest need at most: three rows, each of them one merged piece before
 * and behind a whole one. */
enum { TP_FRAME_ROWS_LEAST = 1024 };

/* Where rows go, and what was written. */
struct tp_frame_room {
    uint8_t *at;
    uint32_t bytes;  /* at least TP_FRAME_ROWS_LEAST */
    uint32_t length; /* of what was written, bytes */
    uint8_t unit_log2, bundle_log2;
};

/* Writes a heap as finely as it fits; `coarseness` as of tp_frames_add. */
void tp_frame_write(const struct tp_heap_layout *heap, struct tp_frame_room *room,
                    unsigned *coarseness);

#endif
