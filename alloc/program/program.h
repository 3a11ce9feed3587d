/* The program: what every trace format is lowered to and every strategy is replayed from.
 *
 *     trace formats --> builder --> program --> cursor --> passes, repetitions, child processes
 *
 * A program is a re-openable, hashed sequence of windows of at most 64 Ki instructions, kept in
 * memory up to TP_PROGRAM_MEMORY bytes and beyond that in an unlinked file in $TMPDIR. It is built
 * once and never changes; any number of cursors may read it, from any process that has its
 * descriptor.
 *
 *     initial_heap windows | window 0 | window 1 | ... | window n-1
 *     untimed ALLOCs   | up to 65,536 instructions each, with the numbers of their events */
#ifndef TP_PROGRAM_H
#define TP_PROGRAM_H

#include "alloc/base/err.h"
#include "alloc/base/every.h"
#include "alloc/program/heap.h"
#include "alloc/program/op.h"

#include <assert.h>
#include <stddef.h>

/* What a NOTE says; `size` holds its bytes. */
enum tp_note {
    TP_NOTE_OTHER,
    TP_NOTE_OOM, /* an allocation of `size` bytes failed in the recorded program */
    /* follows a TP_NOTE_OOM: bytes that the device had left at that moment */
    TP_NOTE_DEVICE_FREE,
    /* the recorded allocator took a segment of `size` bytes from the driver */
    TP_NOTE_SEGMENT_ALLOC,
    TP_NOTE_SEGMENT_FREE, /* the recorded allocator gave a segment back */
    TP_NOTE_SEGMENT_MAP,  /* a part was mapped into an expandable segment */
    TP_NOTE_SEGMENT_UNMAP,
    /* the recorded program freed `slot`; the FREE follows when streams allow */
    TP_NOTE_FREE_REQUESTED,
    TP_NOTE_SNAPSHOT, /* a snapshot was taken */
    /* follows a note about a segment or a part of one: its address / TP_NOTE_AT_UNIT */
    TP_NOTE_SEGMENT_AT,
    TP_NOTE_COUNT
};

enum { TP_NOTE_AT_UNIT = 512 };

/* One instruction. gap_ns is the time since the previous instruction; 0 where time is unknown. */
struct tp_insn {
    uint8_t op;         /* enum tp_op */
    uint8_t align_log2; /* 0..TP_MAX_ALIGN_LOG2 */
    uint16_t thread;    /* dense, recycled after THREAD_END */
    uint16_t stream;    /* dense */
    uint16_t device;    /* dense */
    uint32_t slot;      /* dense, recycled: below the peak number of live objects */
    uint32_t gap_ns;
    uint64_t size; /* bytes */
};
static_assert(sizeof(struct tp_insn) == 24, "the hot loop and the hash rely on 24 bytes");

#define TP_WINDOW_MAX     65536u               /* instructions in a window */
#define TP_PROGRAM_MEMORY (UINT64_C(32) << 20) /* bytes kept in memory before spooling */
#define TP_MAX_SIZE       (UINT64_C(1) << 48)  /* bytes of one object */
#define TP_MAX_LIVE_BYTES (UINT64_C(1) << 61)  /* bytes requested by all live objects together */
#define TP_MAX_ALIGN_LOG2 30
#define TP_MAX_THREADS    65535u
#define TP_MAX_STREAMS    65535u /* TP_ALL_STREAMS is no stream */
#define TP_MAX_DEVICES    256u
#define TP_MAX_MARKS      65536u /* distinct names */
#define TP_HASH_SIZE      32     /* SHA-256 */

enum tp_kind { TP_KIND_HOST, TP_KIND_DEVICE };

/* The alignment of a request that names none: 16 bytes on the host, 256 on a device. */
static inline uint8_t tp_usual_align_log2(enum tp_kind kind)
{
    return kind == TP_KIND_HOST ? 4 : 8;
}

/* The devices that an instruction names: from tp_insn_first_device up to, but not including,
 * tp_insn_end_device. */
static inline uint32_t tp_insn_first_device(const struct tp_insn *insn)
{
    return insn->device == TP_ALL_DEVICES ? 0 : insn->device;
}

static inline uint32_t tp_insn_end_device(const struct tp_insn *insn, uint32_t devices)
{
    return insn->device == TP_ALL_DEVICES ? devices : insn->device + 1u;
}

/* A `for` loop over the numbers of the devices that an instruction names. */
#define TP_EACH_DEVICE(d, insn, devices)                                                           \
    for (uint32_t d = tp_insn_first_device(insn); d < tp_insn_end_device(insn, devices); d++)

/* Does the instruction name all streams of a device? */
static inline bool tp_insn_of_all_streams(const struct tp_insn *insn)
{
    return insn->stream == TP_ALL_STREAMS &&
           (tp_op_rows[insn->op].flags & TP_STREAMS) == TP_STREAMS;
}

/* May the instruction name all devices at once? */
static inline bool tp_insn_may_be_of_all(const struct tp_insn *insn)
{
    return tp_op_is(insn->op, TP_OF_ALL) &&
           (!tp_op_is(insn->op, TP_HAS_STREAM) || tp_insn_of_all_streams(insn));
}

/* What the indices of an instruction must stay below. */
struct tp_limits {
    uint32_t slots, threads, streams, devices, marks;
};

/* NULL, or what is wrong with one instruction by itself, without regard to earlier ones. */
const char *tp_insn_wrong(const struct tp_insn *in, const struct tp_limits *limits);

/* A jump in the numbers of events: instruction `index` of the window is event `event`, and later
 * instructions count on from there. */
struct tp_jump {
    uint32_t index;
    uint32_t reserved; /* 0 */
    uint64_t event;
};

/* Instructions that are decoded together. Valid until the cursor moves on. */
struct tp_window {
    const struct tp_insn *insns;
    const struct tp_jump *jumps; /* ascending by index */
    uint32_t count;
    uint32_t jump_count;
    uint64_t first_event; /* event of insns[0], counted from 1; 0 in the initial heap */
    uint64_t first_insn;  /* index of insns[0] in the program, from 0, initial heap not counted */
    uint64_t first_time;  /* ns since the trace began, before insns[0].gap_ns */
    bool initial_heap;
};

/* The event of the index-th instruction of a window. */
uint64_t tp_window_event(const struct tp_window *w, uint32_t index);

/* Peak demand of one device: the first point where its requested bytes are highest. It is a
 * property of the program, so it does not depend on allocations that a strategy fails. */
struct tp_demand {
    uint64_t bytes;
    uint64_t event; /* 0: in the initial heap, or the trace allocates nothing */
    /* index of the instruction that reaches the peak; UINT64_MAX when event is 0 */
    uint64_t insn;
    uint64_t time_ns;            /* since the trace began; 0 where time is unknown */
    uint64_t initial_heap_bytes; /* bytes of this device that were live when the recording began */
};

/* What is known of a program without replaying it. Counts leave the initial heap out unless stated
 * otherwise. */
struct tp_program_facts {
    /* SHA-256 over the instructions. An initial heap is followed by a separator of 24 bytes that is
     * no instruction: 0xff and zeros; before it comes the heap, if there is one (builder.c) */
    uint8_t hash[TP_HASH_SIZE];
    uint8_t kind;          /* enum tp_kind */
    uint8_t time_known;    /* every event had a time */
    uint16_t devices;      /* >= 1 */
    uint32_t slots;        /* peak number of live objects */
    uint32_t threads;      /* >= 1: highest index used, plus 1 */
    uint32_t streams;      /* >= 1 */
    uint32_t marks;        /* distinct names */
    uint64_t events;       /* events read from the file; IDLE and repairs do not count */
    uint64_t instructions; /* all instructions, untimed ones included */
    uint64_t operations;   /* timed instructions */
    uint64_t ops[TP_OP_COUNT];
    uint64_t initial_heap; /* instructions in the initial heap */
    uint64_t objects;      /* ALLOCs and ADOPTs, initial heap included */
    uint64_t live_at_end;  /* objects */
    uint64_t live_at_end_bytes;
    uint64_t duration_ns;
    uint64_t recorded_threads; /* distinct threads in the trace (indices are recycled) */
    uint64_t windows;          /* windows, those of the initial heap included */
    uint64_t spooled_bytes;    /* bytes of the program in a file; 0: it is in memory */
};

/* Number of operations whose row has at least one of these flags. */
uint64_t tp_program_ops(const struct tp_program_facts *f, unsigned flags);

struct tp_program;
struct tp_builder;
struct tp_cursor;

/* ---- building (front ends only) ---- */

/* Feeds the front end's hash: called with every run of instructions in program order before they
 * are stored, and with a separator of 24 bytes where an initial heap ends and events follow. */
typedef void tp_hash_fn(void *ctx, const void *data, size_t size);

/* Takes a whole window as it is built; the window is borrowed for the call. tp_builder_marks has
 * the names of its marks. A status other than TP_OK ends the building. */
typedef int tp_window_sink(void *ctx, const struct tp_builder *b, const struct tp_window *w,
                           struct tp_err *err);

struct tp_texts;
struct tp_budget;

struct tp_builder_cfg {
    enum tp_kind kind;
    tp_hash_fn *hash; /* may be NULL: the hash stays zero */
    void *hash_ctx;
    uint64_t memory_limit;    /* bytes before spooling; 0 = TP_PROGRAM_MEMORY */
    struct tp_budget *budget; /* charged for windows in memory and for slots; NULL: no budget */
    tp_window_sink *sink; /* takes the windows instead of the program, which then has its facts */
    void *sink_ctx;       /* but no windows to read. NULL: the program keeps them */
};

int tp_builder_new(const struct tp_builder_cfg *cfg, struct tp_builder **out, struct tp_err *err);

/* Appends an ALLOC to the initial heap; any other operation, or a call after the first
 * tp_builder_add, is TP_EBROKEN. */
int tp_builder_initial_heap(struct tp_builder *b, const struct tp_insn *insn, struct tp_err *err);

/* Gives the program the heap that the recording began with: after the last tp_builder_initial_heap
 * and before the first tp_builder_add, at most once. TP_EINPUT: it contradicts itself or the
 * initial heap.
 */
int tp_builder_heap(struct tp_builder *b, const struct tp_heap *heap, struct tp_err *err);

/* Appends one instruction that stands for `event` (from 1, never falling). The builder is strict:
 * an ALLOC into a live slot, a FREE of a free one, a wrong size in FREE, an index out of range are
 * TP_EBROKEN. TP_EINPUT: more than TP_MAX_LIVE_BYTES live. */
int tp_builder_add(struct tp_builder *b, const struct tp_insn *insn, uint64_t event,
                   struct tp_err *err);

/* Returns the index of a phase name for MARK (equal names share one) in *index. */
int tp_builder_mark(struct tp_builder *b, const char *name, uint32_t *index, struct tp_err *err);

const struct tp_texts *tp_builder_marks(const struct tp_builder *b); /* names of marks, by index */

/* Bytes of the program so far, in memory and in the file together. */
uint64_t tp_builder_program_bytes(const struct tp_builder *b);

/* Gives the hash callback the instructions that it has not seen yet. To be called before the hash
 * is read for tp_builder_end. */
void tp_builder_flush(struct tp_builder *b);

/* What tp_builder_finish must be told because only the front end knows it. */
struct tp_builder_end {
    /* events in the file; 0: as many as the last instruction says; a smaller number is TP_EBROKEN
     */
    uint64_t events;
    bool time_known;
    uint64_t recorded_threads;
    uint32_t streams;    /* streams declared, used or not; 0: as many as are used */
    uint16_t devices;    /* devices declared; 0: as many as are used */
    const uint8_t *hash; /* TP_HASH_SIZE bytes, or NULL */
};

/* Makes the program. Frees the builder whether it succeeds or fails. */
int tp_builder_finish(struct tp_builder *b, const struct tp_builder_end *end,
                      struct tp_program **out, struct tp_err *err);
void tp_builder_free(struct tp_builder *b); /* NULL is fine */

/* ---- reading ---- */

const struct tp_program_facts *tp_program_facts(const struct tp_program *p);
const struct tp_demand *tp_program_demand(const struct tp_program *p, uint16_t device);
const struct tp_texts *tp_program_marks(const struct tp_program *p);
const char *tp_program_mark(const struct tp_program *p, uint32_t index); /* NULL: no such mark */

/* The heap that the recording began with, with a block for each ALLOC of the initial heap; NULL: it
 * is not known. */
const struct tp_heap *tp_program_heap(const struct tp_program *p);

/* Drops a reference; the last one frees the program. NULL is fine. Not thread safe. */
void tp_program_release(struct tp_program *p);

/* Reads the windows of a program in a file of its own format (.tpt) into memory, if they take at
 * most TP_PROGRAM_MEMORY bytes, so that nothing is decoded while it is replayed: decoding beside a
 * strategy takes the caches from it. No cursor may be open. On failure nothing has changed. */
int tp_program_load(struct tp_program *p, struct tp_err *err);

/* Writes the whole program to a descriptor for a child process; the caller closes it. The file
 * holds the decoded instructions, whatever form the program is kept in, so the child decodes
 * nothing. */
int tp_program_export(struct tp_program *p, int *fd, struct tp_err *err);

/* Opens what tp_program_export wrote and checks all lengths. Takes the descriptor over, even on
 * failure. */
int tp_program_import(int fd, struct tp_program **out, struct tp_err *err);

/* Reads the windows of a program that is kept in a file of its own format (.tpt). All members are
 * set. */
struct tp_backing {
    int (*open)(void *ctx, void **cursor, struct tp_err *err);
    /* same results as tp_cursor_next; windows and instructions have been checked against the facts
     */
    int (*next)(void *cursor, struct tp_window *out, struct tp_err *err);
    void (*rewind)(void *cursor);
    void (*close)(void *cursor);
    void (*release)(void *ctx); /* called when the program's last reference is dropped */
};

/* Checks facts that came from a file for values out of range and for sums that contradict one
 * another: NULL, or what is wrong. `most`: the largest possible number of instructions, the
 * initial heap's included. */
const char *tp_program_facts_wrong(const struct tp_program_facts *f, uint64_t most);

/* Checks the peaks of all devices against the facts: NULL, or what is wrong. */
const char *tp_demand_wrong(const struct tp_demand *demand, const struct tp_program_facts *f);

/* What a program with a tp_backing needs beside its windows. */
struct tp_backed_cfg {
    const struct tp_program_facts *facts;
    const struct tp_demand *demand; /* array of facts->devices peaks */
    struct tp_texts *marks;         /* facts->marks names; the program takes them over */
    /* TP_EINPUT, with the name before it: it contradicts itself or the initial heap. NULL: none */
    const struct tp_heap *heap;
    const char *name;
};

/* Makes a program whose windows are read through `backing`. Takes `ctx` over, even on failure. */
int tp_program_backed(const struct tp_backing *backing, void *ctx, const struct tp_backed_cfg *cfg,
                      struct tp_program **out, struct tp_err *err);

/* A cursor starts before the first window. The program must outlive it. */
int tp_cursor_open(struct tp_program *p, struct tp_cursor **out, struct tp_err *err);
void tp_cursor_close(struct tp_cursor *c); /* NULL is fine */
void tp_cursor_rewind(struct tp_cursor *c);

/* 1 = *out holds the next window (the initial heap's first), 0 = end, else -status with err set. */
int tp_cursor_next(struct tp_cursor *c, struct tp_window *out, struct tp_err *err);

/* Hands every window to `take`, in order; what it returns other than 0 ends the walk. */
typedef int tp_take_window(void *ctx, const struct tp_window *w, struct tp_err *err);
int tp_program_walk(struct tp_program *p, tp_take_window *take, void *ctx, struct tp_err *err);

#endif
