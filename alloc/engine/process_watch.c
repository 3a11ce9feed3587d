/* See process_watch.h. */
#include "alloc/engine/process_watch.h"

#include "alloc/base/own.h"
#include "alloc/engine/crew.h"

#include <string.h>

#define TELL_NS UINT64_C(1000000) /* the library's clock is set in steps of so much */

enum { STEPS = 100, STACK_BYTES = 128 << 10, PAGE = 4096 };

/* How often readings of a kind are taken. */
struct pace {
    uint64_t step;                 /* requested bytes from one to the next */
    uint64_t spent_ns, allowed_ns; /* time of readings since the step was doubled; then it is */
};

struct watched {
    struct tp_process_watch *w;
    const struct tp_demand *demand;
    uint64_t requested; /* bytes now */
    uint64_t next;      /* requested bytes at the next reading at a new peak */
    uint64_t seen;      /* requested bytes at the last reading */
    uint64_t event, clock;
    /* wall time of the begin; recorded time when the clock was set; how far ahead it is */
    uint64_t started_ns, told, ahead_ns;
    uint32_t index;          /* of the last instruction in its window */
    struct pace rise, swing; /* at new peaks; for the course alone */
    uint32_t asked;          /* the next asked event */
    bool begun;              /* the initial heap is over */
    const struct tp_replayer *replayer;
    uint64_t *sizes; /* of several threads: bytes of each slot's object */
};

/* ---- readings ---- */

static void slow_down(struct pace *p)
{
    p->spent_ns = 0;
    p->step *= 2;
}

/* Keeps what was read at r->event. The initial heap is one point, when it is over. */
static void keep(struct watched *r, uint64_t held)
{
    const struct tp_course_point point = {held, r->event, r->clock};
    r->w->peak = held > r->w->peak ? held : r->w->peak;
    if (r->w->course && r->begun && tp_course_add(r->w->course, &point))
        slow_down(&r->swing);
}

static uint64_t look(struct watched *r, struct pace *pace)
{
    uint64_t from = tp_wall_ns(), held = r->w->read(r->w->ctx);
    if (held != TP_NONE) {
        held = held > r->w->base ? held - r->w->base : 0;
        keep(r, held);
    }
    r->seen = r->requested;
    pace->spent_ns += tp_wall_ns() - from;
    if (pace->spent_ns >= pace->allowed_ns)
        slow_down(pace);
    return held;
}

/* Whether requested bytes are far from those of the last reading. */
static bool has_swung(const struct watched *r)
{
    uint64_t by = r->requested > r->seen ? r->requested - r->seen : r->seen - r->requested;
    return r->w->course && r->begun && by >= r->swing.step;
}

/* ---- the library's clock ---- */

/* Where the program waited and the replay does not, the library's clock goes ahead. */
static void pass_time(struct watched *r, const struct tp_replayer *p, uint64_t gap_ns)
{
    r->clock += p->facts->time_known ? gap_ns : 0;
    if (r->clock - r->told < TELL_NS)
        return;
    if (!p->cfg->clock_ahead)
        return;
    uint64_t real = tp_wall_ns() - r->ahead_ns - r->started_ns;
    r->told = r->clock;
    if (r->clock > real && r->clock - real > r->ahead_ns) {
        r->ahead_ns = r->clock - real;
        p->cfg->clock_ahead(r->ahead_ns);
    }
}

/* ---- observing ---- */

static void before(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    struct watched *r = p->observer_state;
    pass_time(r, p, w->insns[index].gap_ns);
}

static void block(struct tp_replayer *p, const struct tp_insn *insn, const struct tp_block *block,
                  bool both)
{
    struct watched *r = p->observer_state;
    (void)block, (void)both;
    /* the slot of a REALLOC still has the old size */
    r->requested += insn->size;
    r->requested -= insn->op == TP_REALLOC ? tp_slot_size(&p->slots[insn->slot]) : 0;
}

static void leaving(struct tp_replayer *p, uint32_t slot)
{
    (void)p, (void)slot;
}

static void gone(struct tp_replayer *p, uint32_t slot, const struct tp_insn *insn)
{
    struct watched *r = p->observer_state;
    (void)insn;
    r->requested -= tp_slot_size(&p->slots[slot]);
}

static void failed(struct tp_replayer *p, const struct tp_insn *insn)
{
    (void)p, (void)insn;
}

static bool is_demand(const struct watched *r, const struct tp_window *w, uint32_t index)
{
    return !w->initial_heap && w->first_insn + index == r->demand->insn;
}

static bool is_asked(const struct watched *r, uint64_t event)
{
    return r->asked < r->w->asked_count && event >= r->w->asked[r->asked];
}

/* Several instructions may be of one event, such as a pause and what follows it: the last counts.
 */
static bool ends_asked(const struct watched *r, const struct tp_window *w, uint32_t index)
{
    if (r->asked >= r->w->asked_count)
        return false;
    uint64_t event = tp_window_event(w, index);
    bool last = index + 1 == w->count || tp_window_event(w, index + 1) != event;
    return last && is_asked(r, event);
}

static bool is_due(const struct watched *r, const struct tp_window *w, uint32_t index)
{
    if (ends_asked(r, w, index))
        return true;
    return is_demand(r, w, index) || r->requested >= r->next || has_swung(r);
}

static void tell(const struct watched *r, enum tp_watch_when when)
{
    const struct tp_watch_moment m = {when, r->event, r->clock, r->asked >= r->w->asked_count};
    if (r->w->moment)
        r->w->moment(r->w->ctx, r->replayer, &m);
}

static void at_demand(struct watched *r, uint64_t held)
{
    r->w->at_peak = held;
    tell(r, TP_WATCH_PEAK);
}

/* Several events may be asked for behind which nothing happens. */
static void at_asked(struct watched *r)
{
    while (is_asked(r, r->event))
        r->asked++;
    tell(r, TP_WATCH_ASKED);
}

/* Takes a reading behind an instruction, if there is to be one. */
static void look_behind(struct watched *r, const struct tp_window *w, uint32_t index)
{
    r->index = index;
    if (!is_due(r, w, index))
        return;
    bool demand = is_demand(r, w, index), rise = r->requested >= r->next;
    r->event = tp_window_event(w, index);
    uint64_t held = look(r, demand || rise ? &r->rise : &r->swing);
    if (demand)
        at_demand(r, held);
    else if (rise)
        r->next = r->requested + r->rise.step;
    if (ends_asked(r, w, index))
        at_asked(r);
}

static void after(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    look_behind(p->observer_state, w, index);
}

static const struct tp_observer watching = {before, block, leaving, gone, failed, after};

/* Called before the first event. */
static void initial_heap_done(struct watched *r)
{
    bool demand = !r->demand->event; /* it is highest in the initial heap */
    r->begun = true;
    r->event = r->clock = r->told = 0;
    r->started_ns = tp_wall_ns();
    if (demand)
        at_demand(r, look(r, &r->rise));
    else if (r->w->course)
        look(r, &r->swing);
    if (is_asked(r, 0))
        at_asked(r);
}

static int watch_window(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                        struct tp_err *err)
{
    struct watched *r = ctx;
    if (!r->begun)
        initial_heap_done(r);
    r->index = 0;
    tp_replay_observed(p, w);
    r->event = tp_window_event(w, r->index);
    return tp_replayer_check(p, w, err);
}

/* ---- several threads ---- */

static void note_sizes(struct watched *r, const struct tp_replayer *p)
{
    for (uint32_t i = 0; i < p->facts->slots; i++) {
        r->sizes[i] = p->slots[i].addr ? tp_slot_size(&p->slots[i]) : 0;
        r->requested += r->sizes[i];
    }
}

/* Counts an instruction before it is replayed; returns the bytes that it asks for. */
static uint64_t advance(struct watched *r, const struct tp_replayer *p, const struct tp_insn *insn)
{
    pass_time(r, p, insn->gap_ns);
    if (insn->op == TP_RESET)
        r->requested = 0;
    if (insn->op == TP_FREE)
        r->requested -= insn->size;
    if (!tp_op_is(insn->op, TP_ASKS))
        return 0;
    r->requested += insn->size - (insn->op == TP_REALLOC ? r->sizes[insn->slot] : 0);
    r->sizes[insn->slot] = insn->size;
    return insn->size;
}

/* The end of the piece that begins at `from`; its instructions are counted. */
static uint32_t end_of_piece(struct watched *r, const struct tp_replayer *p,
                             const struct tp_window *w, uint32_t from)
{
    uint64_t asked = 0;
    uint32_t at = from;
    bool goes_on = true;
    for (; at < w->count && goes_on; at++) {
        asked += advance(r, p, &w->insns[at]);
        goes_on = asked < r->demand->bytes / STEPS && w->insns[at].op != TP_THREAD_END &&
                  !is_due(r, w, at);
    }
    return at;
}

static void note_position(const struct tp_replayer *p, const struct tp_window *w, uint32_t from,
                          uint32_t to)
{
    if (p->cfg->position) {
        p->cfg->position->first = tp_window_event(w, from);
        p->cfg->position->last = tp_window_event(w, to - 1);
    }
}

static int watch_together(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                          struct tp_err *err)
{
    struct watched *r = ctx;
    int status = TP_OK;
    if (!r->begun) {
        note_sizes(r, p);
        initial_heap_done(r);
    }
    for (uint32_t from = 0, to; !status && from < w->count && !p->stop; from = to) {
        to = end_of_piece(r, p, w, from);
        note_position(p, w, from, to);
        tp_crew_replay_range(p, w, from, to);
        status = tp_crew_check(p->crew, err);
        if (!status)
            status = tp_replayer_check(p, w, err);
        if (!status && !p->stop)
            look_behind(r, w, to - 1);
    }
    r->event = tp_window_event(w, r->index);
    return status;
}

/* ---- the base ---- */

/* Writes every page of [at, at + size), and changes nothing. */
static void write_pages(void *at, size_t size)
{
    volatile unsigned char *bytes = at;
    for (size_t i = 0; i < size; i += PAGE)
        bytes[i] = bytes[i];
    if (size)
        bytes[size - 1] = bytes[size - 1];
}

__attribute__((noinline)) static void write_stack(void)
{
    unsigned char stack[STACK_BYTES];
    memset(stack, 0, sizeof stack);
    write_pages(stack, sizeof stack);
}

/* Reads all windows once, which makes their buffers as large as they become. */
static int write_windows(struct tp_replayer *p, struct tp_err *err)
{
    struct tp_window w;
    int got;
    while ((got = tp_cursor_next(p->cursor, &w, err)) > 0) {
        if (tp_replayer_interrupted(p))
            return tp_fail(err, TP_ESTOP, "interrupted");
        if (p->resets && tp_resets_window(p->resets, &w, err))
            return TP_ENOMEM;
    }
    return -got;
}

/* Writes all that the engine will write, and reads the base. */
static int begin_at(void *ctx, struct tp_replayer *p, struct tp_err *err)
{
    struct watched *r = ctx;
    int status = write_windows(p, err);
    write_pages(p->slots, p->facts->slots * sizeof *p->slots);
    write_pages(p->instances, p->facts->devices * sizeof *p->instances);
    write_pages(r->sizes, r->sizes ? p->facts->slots * sizeof *r->sizes : 0);
    if (p->crew)
        tp_crew_memory(p->crew, write_pages);
    write_pages(r->w->course, r->w->course ? sizeof *r->w->course : 0);
    write_stack();
    r->w->read(r->w->ctx); /* the kernel's and the reader's own first time */
    r->w->base = r->w->read(r->w->ctx);
    if (r->w->begun)
        r->w->begun(r->w->ctx);
    return status;
}

/* ---- the replay ---- */

static int replay(struct watched *r, const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    struct tp_replayer p;
    bool together = tp_crew_threads(cfg) > 1;
    int status = tp_replayer_open(&p, cfg, cfg->strategy, err);
    if (status)
        return status;
    p.observer = together ? NULL : &watching;
    p.observer_state = r;
    r->replayer = &p;
    if (!cfg->shared.opened)
        status = begin_at(r, &p, err);
    if (!status)
        status =
            tp_replay_watched(&p, r->w->pass, together ? watch_together : watch_window, r, err);
    if (!status) {
        r->w->end = look(r, &r->rise);
        if (r->asked < r->w->asked_count) {
            r->asked = r->w->asked_count;
            tell(r, TP_WATCH_ASKED);
        }
        tell(r, TP_WATCH_END);
    }
    if (r->w->ended)
        r->w->ended(r->w->ctx);
    p.observer = NULL;
    tp_replayer_drain(&p);
    return tp_replayer_end(&p, status, err);
}

int tp_watch_process(struct tp_process_watch *w, const struct tp_replay_cfg *cfg,
                     struct tp_err *err)
{
    struct watched r = {.w = w, .demand = tp_program_demand(cfg->program, 0)};
    struct tp_replay_cfg hooked = *cfg;
    uint32_t slots = tp_crew_threads(cfg) > 1 ? tp_program_facts(cfg->program)->slots : 0;
    /* The bookkeeping of a real allocator is its own affair; what the engine opens for it is the
     * engine's. A strategy's state and tables are the strategy's. */
    hooked.shared.opened = tp_strategy_takes_source(cfg->strategy) ? begin_at : NULL;
    hooked.shared.opened_ctx = &r;
    hooked.shared.lifetimes = true;
    r.next = r.demand->bytes / STEPS + 1;
    r.rise = (struct pace){.step = r.next, .allowed_ns = TP_WATCH_SPENT_NS};
    r.swing = (struct pace){.step = r.next, .allowed_ns = TP_WATCH_COURSE_NS};
    w->base = w->at_peak = TP_NONE;
    w->peak = w->end = 0;
    r.sizes = slots ? tp_own_zeroed(slots, sizeof *r.sizes) : NULL;
    if (slots && !r.sizes)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    int status = replay(&r, &hooked, err);
    tp_own_free(r.sizes);
    return status;
}

bool tp_watch_applies(const struct tp_replay_cfg *cfg)
{
    return tp_replay_source_flags(cfg) & TP_SRC_HOST &&
           tp_program_facts(cfg->program)->devices == 1;
}
