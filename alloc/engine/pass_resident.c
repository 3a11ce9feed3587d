/* The resident pass: untimed. It plays the program once as a program would use its blocks, writing
 * each of them wholly, and asks the kernel how much memory of this process has been written that
 * nobody else has (alloc/base/process_memory.h).
 *
 *     base        before the sources and the strategy are opened
 *     reading     at the event of peak demand, and at each new peak of requested bytes, in steps of
 *                 1 % of peak demand
 *     reading     after the last event, before live blocks are freed
 *
 * What the engine itself needs is written before the base is read: slots, the buffers of every
 * window, lists of RESETs, some stack. So the difference is what the strategy has written for
 * itself, and what the program has written in its blocks. A strategy's state and tables count as
 * far as they are written: they are memory of the policy, like that of a real allocator.
 *
 * A reading walks the page tables, about 1 ms for each 30 to 100 MiB. After SPENT_NS of readings
 * the step doubles, again and again: at 100 GiB about ten readings a second long are left of the
 * hundred, and the one at peak demand is always among them.
 *
 * The figure is that of the whole process, so it is one of a process that does nothing else: the
 * caller starts a fresh one (cmd/measure/memory_passes.h). Known weakness: a source's own table of
 * ranges is in it, 64 bytes for each range that is held at once. */
#include "alloc/base/process_memory.h"
#include "alloc/engine/passes.h"

#include <string.h>

enum { STEPS = 100, STACK_BYTES = 128 << 10, PAGE = 4096 };
#define SPENT_NS UINT64_C(250000000)

struct resident {
    const struct tp_demand *demand;
    struct tp_written written;
    uint64_t base;
    uint64_t requested;  /* bytes now */
    uint64_t next, step; /* requested bytes at the next reading, and from there to the one after */
    uint64_t spent_ns;   /* time of readings since the step was doubled */
    uint64_t at_peak, peak, end;
    bool begun; /* the prologue is over */
};

/* ---- readings ---- */

static uint64_t look(struct resident *r)
{
    uint64_t from = tp_wall_ns(), now = tp_written_read(&r->written);
    uint64_t held = now == TP_NONE ? TP_NONE : now > r->base ? now - r->base : 0;
    if (held != TP_NONE && held > r->peak)
        r->peak = held;
    r->spent_ns += tp_wall_ns() - from;
    if (r->spent_ns >= SPENT_NS) {
        r->spent_ns = 0;
        r->step *= 2;
    }
    return held;
}

static void look_at_new_peak(struct resident *r)
{
    if (r->requested < r->next)
        return;
    look(r);
    r->next = r->requested + r->step;
}

/* ---- observing ---- */

static void before(struct tp_player *p, const struct tp_window *w, uint32_t index)
{
    (void)p, (void)w, (void)index;
}

static void block(struct tp_player *p, const struct tp_insn *insn, const struct tp_block *block,
                  bool both)
{
    struct resident *r = p->observer_state;
    (void)block, (void)both;
    /* the slot of a REALLOC still has the old size */
    r->requested += insn->size;
    r->requested -= insn->op == TP_REALLOC ? tp_slot_size(&p->slots[insn->slot]) : 0;
}

static void leaving(struct tp_player *p, uint32_t slot)
{
    (void)p, (void)slot;
}

static void gone(struct tp_player *p, uint32_t slot, const struct tp_insn *insn)
{
    struct resident *r = p->observer_state;
    (void)insn;
    r->requested -= tp_slot_size(&p->slots[slot]);
}

static void failed(struct tp_player *p, const struct tp_insn *insn)
{
    (void)p, (void)insn;
}

static void after(struct tp_player *p, const struct tp_window *w, uint32_t index)
{
    struct resident *r = p->observer_state;
    if (!w->prologue && w->first_insn + index == r->demand->insn)
        r->at_peak = look(r);
    else
        look_at_new_peak(r);
}

static const struct tp_observer resident_observer = {before, block, leaving, gone, failed, after};

static int resident_window(void *ctx, struct tp_player *p, const struct tp_window *w,
                           struct tp_err *err)
{
    struct resident *r = ctx;
    if (!r->begun && !r->demand->event) /* demand is highest in the prologue */
        r->at_peak = look(r);
    r->begun = true;
    tp_play_observed(p, w);
    return tp_player_check(p, w, err);
}

/* ---- the base ---- */

__attribute__((noinline)) static void write_stack(void)
{
    volatile unsigned char stack[STACK_BYTES];
    for (size_t i = 0; i < sizeof stack; i += PAGE)
        stack[i] = 1;
    stack[sizeof stack - 1] = 1;
}

/* Reads all windows once, which makes their buffers as large as they become. */
static int write_windows(struct tp_player *p, struct tp_err *err)
{
    struct tp_window w;
    int got;
    while ((got = tp_cursor_next(p->cursor, &w, err)) > 0) {
        if (tp_player_interrupted(p))
            return tp_fail(err, TP_ESTOP, "interrupted");
        if (p->resets && tp_resets_window(p->resets, &w, err))
            return TP_ENOMEM;
    }
    return -got;
}

/* Writes all that the engine will write, and reads the base. */
static int begin_at(void *ctx, struct tp_player *p, struct tp_err *err)
{
    struct resident *r = ctx;
    int status = write_windows(p, err);
    memset(p->slots, 0, p->facts->slots * sizeof *p->slots);
    memset(p->instances, 0, p->facts->devices * sizeof *p->instances);
    write_stack();
    tp_written_read(&r->written); /* the kernel's and the reader's own first time */
    r->base = tp_written_read(&r->written);
    return status;
}

/* ---- the pass ---- */

static int play(struct resident *r, const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    struct tp_player p;
    int status = tp_player_open(&p, cfg, cfg->strategy, err);
    if (status)
        return status;
    p.observer = &resident_observer;
    p.observer_state = r;
    status = tp_play_watched(&p, "resident", resident_window, r, err);
    if (!status)
        r->end = look(r);
    p.observer = NULL;
    tp_player_drain(&p);
    return tp_player_end(&p, status, err);
}

static struct tp_spread once(uint64_t value)
{
    return (struct tp_spread){value, value, value};
}

/* Memory of one device only: the process has one figure for all. */
int tp_pass_resident(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(cfg->program);
    struct resident r = {.demand = tp_program_demand(cfg->program, 0), .at_peak = TP_NONE};
    struct tp_replay_cfg whole = *cfg;
    bool host = cfg->strategy->caps & TP_CAP_FOREIGN || tp_replay_source_flags(cfg) & TP_SRC_HOST;
    out->resident =
        (struct tp_resident){0, once(TP_NONE), once(TP_NONE), once(TP_NONE), cfg->huge_pages};
    if (!host || f->devices > 1 || !tp_written_open(&r.written, "/proc/self"))
        return TP_OK;
    whole.touch = TP_TOUCH_ALL;
    whole.shared.opened = begin_at;
    whole.shared.opened_ctx = &r;
    r.step = r.next = r.demand->bytes / STEPS + 1;
    bool were_off = cfg->huge_pages || tp_huge_pages_off(true);
    int status = play(&r, &whole, err);
    if (!were_off)
        tp_huge_pages_off(false);
    tp_written_close(&r.written);
    if (!status && r.base != TP_NONE && r.end != TP_NONE)
        out->resident =
            (struct tp_resident){1, once(r.at_peak), once(r.peak), once(r.end), cfg->huge_pages};
    return status;
}
