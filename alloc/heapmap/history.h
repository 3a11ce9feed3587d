/* What a strategy does with memory while a program is replayed once, untimed: every segment that it
 * takes and gives back, every block, every request that fails, in order; and what it holds at the
 * end.
 *
 *     source   get, put, map, unmap --\
 *     replayer   alloc, free, failed  ---+--> tp_history_sink.event
 *     end      segments, with the blocks in them --> tp_history_sink.segment
 *
 * Addresses are not those of the source: segments lie one behind the other in the order in which
 * the strategy has them, and no address comes twice. So a history is the same on every machine, and
 * an allocator that orders segments by address orders them as the strategy does.
 *
 * As in the recordings of an allocator, what is live before the first event is in no event. */
#ifndef TP_HISTORY_H
#define TP_HISTORY_H

#include "alloc/engine/replay_cfg.h"

enum tp_history_action {
    TP_HISTORY_ALLOC,
    TP_HISTORY_FREE_REQUESTED,
    TP_HISTORY_FREE_COMPLETED,
    TP_HISTORY_SEGMENT_ALLOC,
    TP_HISTORY_SEGMENT_FREE,
    TP_HISTORY_SEGMENT_MAP,
    TP_HISTORY_SEGMENT_UNMAP,
    TP_HISTORY_OOM,
    TP_HISTORY_MARK
};

struct tp_history_event {
    uint64_t event;   /* of the trace */
    uint64_t time_ns; /* since the trace began; without recorded times an event takes 1 us */
    uint64_t addr;    /* 0: the action has none */
    uint64_t size;    /* bytes that were asked for; of a segment, or a part, those that it has */
    uint64_t pool;    /* in which it did so (tp_pool_number); 0: that of all others */
    uint64_t left;    /* OOM: bytes that the device had left; TP_NONE: not known */
    uint32_t mark;    /* MARK: index of its name */
    uint16_t device, stream;
    uint8_t action; /* enum tp_history_action */
};

/* A block of a segment; the blocks of one cover it without gaps. */
struct tp_history_block {
    uint64_t addr, size;
    uint64_t requested; /* bytes; 0: the block is free */
    uint64_t event;     /* of the call that asked for it; 0: free, or live before the first event */
    bool pending;       /* its free was requested, and is not completed */
};

/* Memory that is held at the end: a range of the source, or what is mapped side by side. */
struct tp_history_segment {
    uint64_t addr, size;
    uint64_t event; /* during which it was taken; 0: before the first */
    uint64_t pool;  /* as in struct tp_history_event */
    uint16_t device;
    uint16_t stream; /* of the request for which it was taken */
    bool small;      /* that request was for at most TP_HISTORY_SMALL bytes */
    bool mapped;
};
#define TP_HISTORY_SMALL (UINT64_C(1) << 20) /* bytes: where PyTorch draws the line */

/* Both return a status; one other than TP_OK ends the replay. */
struct tp_history_sink {
    int (*event)(void *ctx, const struct tp_history_event *e, struct tp_err *err);
    /* called after the last event, by device and address */
    int (*segment)(void *ctx, const struct tp_history_segment *s,
                   const struct tp_history_block *blocks, size_t count, struct tp_err *err);
    void *ctx;
};

/* Replays the program as `cfg` says, by one thread. The strategy's memory must lie in
 * ranges (tp_strategy_has_ranges). The errors are those of tp_replay and of the sink; TP_EINPUT:
 * all segments together need more addresses than there are. */
int tp_history(const struct tp_replay_cfg *cfg, const struct tp_history_sink *sink,
               struct tp_err *err);

#endif
