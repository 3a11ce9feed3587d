/* How a real device is kept busy; see occupier.h.
 *
 *     window    insn 0    1    2    3    4   | end
 *     stream         A    B    A    B    A   |
 *     busy for      2-0  3-1  4-2   to the window's end, where nothing of the stream follows
 *
 * Durations come from one scan from the end of the window to its beginning, which remembers the
 * time of each stream's next event. Events of the next window are not considered, which affects
 * only the last work of each stream among 65,536 instructions. */
#include "alloc/engine/occupier.h"

#include <stdlib.h>

struct tp_occupier {
    uint64_t *next;     /* by device and stream: time of its next event in the window + 1, or 0 */
    uint64_t *next_all; /* by device: time of the next event of all its streams + 1, or 0 */
    uint16_t *stream;   /* by slot: stream of the block */
    uint32_t ns[TP_WINDOW_MAX]; /* by instruction of the window: length of its work */
    tp_addr before;             /* old address of the block whose REALLOC is being replayed */
};

int tp_occupy_open(struct tp_replayer *p, struct tp_err *err)
{
    const struct tp_program_facts *f = p->facts;
    if (!p->device || p->cfg->occupy == TP_OCCUPY_NONE)
        return TP_OK;
    struct tp_occupier *o = p->occupier = calloc(1, sizeof *o);
    if (o) {
        o->next = calloc((size_t)f->devices * f->streams, sizeof *o->next);
        o->next_all = calloc(f->devices, sizeof *o->next_all);
        o->stream = calloc(f->slots ? f->slots : 1, sizeof *o->stream);
    }
    if (o && o->next && o->next_all && o->stream)
        return TP_OK;
    return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
}

void tp_occupy_close(struct tp_replayer *p)
{
    if (!p->occupier)
        return;
    free(p->occupier->next);
    free(p->occupier->next_all);
    free(p->occupier->stream);
    free(p->occupier);
    p->occupier = NULL;
}

/* ---- durations ---- */

static uint32_t scaled_ns(double ns, double scale)
{
    double scaled = ns * scale;
    if (!(scaled > 0)) /* also true for NAN */
        return 0;
    return scaled < TP_OCCUPY_MAX_NS ? (uint32_t)scaled : TP_OCCUPY_MAX_NS;
}

/* The entry of the instruction's stream on one of its devices, or of the device where the
 * instruction names all streams. */
static uint64_t *entry_of(const struct tp_replayer *p, const struct tp_insn *insn, uint32_t device)
{
    const struct tp_occupier *o = p->occupier;
    return insn->stream == TP_ALL_STREAMS
               ? &o->next_all[device]
               : &o->next[(size_t)device * p->facts->streams + insn->stream];
}

/* The earlier of two times. Both are stored plus 1, with 0 for never; `end` where both are
 * never. */
static uint64_t sooner(uint64_t a, uint64_t b, uint64_t end)
{
    uint64_t first = !b || (a && a < b) ? a : b;
    return first ? first - 1 : end;
}

static uint64_t length_of(const struct tp_window *w)
{
    uint64_t ns = 0;
    for (uint32_t i = 1; i < w->count; i++)
        ns += w->insns[i].gap_ns;
    return ns;
}

static void forget_times(struct tp_replayer *p, const struct tp_window *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        const struct tp_insn *insn = &w->insns[i];
        TP_EACH_DEVICE (d, insn, p->facts->devices)
            if (tp_op_is(insn->op, TP_ON_STREAM))
                *entry_of(p, insn, d) = 0;
    }
}

void tp_occupy_window(struct tp_replayer *p, const struct tp_window *w)
{
    struct tp_occupier *o = p->occupier;
    const uint64_t end = length_of(w);
    uint64_t now = end;
    double scale = p->cfg->occupy_scale;
    for (uint32_t i = w->count; i-- > 0; now -= i ? w->insns[i].gap_ns : 0) {
        const struct tp_insn *insn = &w->insns[i];
        if (!tp_op_is(insn->op, TP_ON_STREAM))
            continue;
        TP_EACH_DEVICE (d, insn, p->facts->devices) {
            uint64_t *entry = entry_of(p, insn, d);
            uint64_t next = sooner(*entry, o->next_all[d], end);
            double ns = p->facts->time_known ? (double)(next - now) : TP_OCCUPY_UNTIMED_NS;
            o->ns[i] = scaled_ns(ns, scale);
            *entry = now + 1;
        }
    }
    forget_times(p, w);
}

/* ---- between two operations ---- */

/* Notes the first bad status of a call that keeps the device busy, and the loss of the device. */
static void note_status(struct tp_replayer *p, const struct tp_insn *insn, int status)
{
    if (!status && !p->lost)
        return;
    if (!p->broken) {
        p->broken = TP_EDEVICE;
        p->broken_insn = insn;
        p->unqueued = p->lost ? TP_OK : status;
    }
}

static void follow(struct tp_replayer *p, struct tp_source *src, const struct tp_insn *insn,
                   uint16_t after)
{
    if (insn->stream != after)
        note_status(p, insn, tp_src_follow(src, insn->stream, after));
}

static void work(struct tp_replayer *p, struct tp_source *src, const struct tp_window *w,
                 const struct tp_insn *insn)
{
    const struct tp_slot *slot = &p->slots[insn->slot];
    if (slot->addr && !p->in_initial_heap)
        note_status(p, insn,
                    tp_src_work(src, insn->stream, slot->addr, tp_slot_size(slot),
                                p->occupier->ns[insn - w->insns], p->cfg->occupy));
}

static void queue_after(struct tp_replayer *p, struct tp_source *src, const struct tp_window *w,
                        const struct tp_insn *insn)
{
    struct tp_occupier *o = p->occupier;
    if (tp_op_is(insn->op, TP_IS_NEW)) {
        o->stream[insn->slot] = insn->stream;
        work(p, src, w, insn);
    } else if (insn->op == TP_REALLOC) {
        /* the new block belongs to the stream that freed the old one */
        o->stream[insn->slot] = insn->stream;
        if (p->slots[insn->slot].addr != o->before)
            work(p, src, w, insn);
    } else if (insn->op == TP_USE && p->slots[insn->slot].addr) {
        follow(p, src, insn, o->stream[insn->slot]);
        work(p, src, w, insn);
    }
    note_status(p, insn, TP_OK);
}

static void order_before(struct tp_replayer *p, struct tp_source *src, const struct tp_insn *insn)
{
    struct tp_occupier *o = p->occupier;
    /* What a SYNC waits for is the program's work; what else the driver does in it, such as giving
     * back memory of a pool, is a cost of the strategy. */
    if (insn->op == TP_SYNC)
        tp_src_drained(src, insn->stream);
    /* a program that frees everything has waited for all work first */
    else if (o && insn->op == TP_RESET)
        tp_src_drained(src, TP_ALL_STREAMS);
    if (o && (insn->op == TP_FREE || insn->op == TP_REALLOC)) {
        o->before = p->slots[insn->slot].addr;
        if (o->before)
            follow(p, src, insn, o->stream[insn->slot]);
    }
    note_status(p, insn, TP_OK);
}

/* The source of a device; NULL for the empty strategy, which takes the same stamps but queues
 * nothing. */
static struct tp_source *source_of(const struct tp_replayer *p, uint32_t device)
{
    return p->lost ? NULL : p->instances[device].env.source;
}

void tp_occupy_between(struct tp_replayer *p, const struct tp_window *w, const struct tp_insn *done,
                       const struct tp_insn *next)
{
    uint64_t start = tp_stamp();
    struct tp_source *src;
    uint32_t devices = p->facts->devices;
    if (done && p->occupier)
        TP_EACH_DEVICE (d, done, devices)
            if ((src = source_of(p, d)))
                queue_after(p, src, w, done);
    if (next)
        TP_EACH_DEVICE (d, next, devices)
            if ((src = source_of(p, d)))
                order_before(p, src, next);
    p->aside_ticks += tp_stamp() - start;
}
