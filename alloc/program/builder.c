/* Builds a program, one instruction at a time.
 *
 *   instruction --> ranges --> slot table --> demand --> pending window --> tp_program_append
 *
 * The builder is strict: it knows size, alignment, device and references of every slot and refuses
 * an instruction that contradicts them, because replaying a program does not check it again.
 * Memory: the windows that are kept, one pending window, and 24 bytes per slot. A reset takes one
 * step however many slots are live, because slots store the epoch of their device. */
#include "alloc/program/live.h"
#include "alloc/program/program_internal.h"

#include <inttypes.h>

struct tp_builder {
    struct tp_builder_cfg cfg;
    struct tp_program *program;
    struct tp_live live;
    uint64_t time;  /* recorded time so far, ns: the sum of the gaps */
    uint64_t event; /* event of the last instruction */
    bool started;   /* the initial heap is complete */

    struct tp_insn *insns; /* the pending window, TP_WINDOW_MAX instructions */
    struct tp_jump *jumps;
    uint32_t count, jump_count;
    size_t jump_room;
    uint64_t counted; /* bytes of windows charged to cfg.budget */
    uint32_t hashed;  /* instructions of the pending window that were given to the hash callback */
    uint64_t first_event, first_time;
};

int tp_builder_new(const struct tp_builder_cfg *cfg, struct tp_builder **out, struct tp_err *err)
{
    *out = NULL;
    struct tp_builder *b = calloc(1, sizeof *b);
    if (!b)
        return tp_fail(err, TP_ENOMEM, "out of memory while starting a program");
    b->cfg = *cfg;
    if (!b->cfg.memory_limit)
        b->cfg.memory_limit = TP_PROGRAM_MEMORY;
    b->program = tp_program_new();
    b->insns = malloc(TP_WINDOW_MAX * sizeof *b->insns);
    if (!b->program || !b->insns) {
        tp_builder_free(b);
        return tp_fail(err, TP_ENOMEM, "out of memory while starting a program");
    }
    tp_live_begin(&b->live);
    b->program->facts.kind = (uint8_t)cfg->kind;
    b->program->facts.devices = 1;
    b->program->facts.threads = 1;
    b->program->facts.streams = 1;
    *out = b;
    return TP_OK;
}

void tp_builder_free(struct tp_builder *b)
{
    if (!b)
        return;
    tp_program_release(b->program);
    tp_budget_change(b->cfg.budget, b->counted, 0);
    TP_GROW_END(&b->live.slots, &b->live.capacity, .budget = b->cfg.budget);
    free(b->insns);
    free(b->jumps);
    free(b);
}

/* ---- windows ---- */

void tp_builder_flush(struct tp_builder *b)
{
    if (b->cfg.hash && b->hashed < b->count)
        b->cfg.hash(b->cfg.hash_ctx, b->insns + b->hashed,
                    (b->count - b->hashed) * sizeof *b->insns);
    b->hashed = b->count;
}

static int give_window(const struct tp_builder *b, const struct tp_kept_window *w,
                       struct tp_err *err)
{
    const struct tp_window window = {.insns = b->insns,
                                     .jumps = b->jumps,
                                     .count = w->count,
                                     .jump_count = w->jump_count,
                                     .first_event = w->first_event,
                                     .first_insn = w->first_insn,
                                     .first_time = w->first_time,
                                     .initial_heap = w->initial_heap != 0};
    return b->cfg.sink(b->cfg.sink_ctx, b, &window, err);
}

/* Keeps a window in memory while the budget allows it, else in the file. */
static int keep_window(struct tp_builder *b, struct tp_kept_window *w, struct tp_err *err)
{
    struct tp_program *p = b->program;
    uint64_t most = tp_budget_most(b->cfg.budget, b->counted);
    int rc = tp_program_append(p, w, b->insns, b->jumps,
                               most < b->cfg.memory_limit ? most : b->cfg.memory_limit, err);
    uint64_t held = p->fd < 0 ? p->data_bytes : 0;
    tp_budget_change(b->cfg.budget, b->counted, held);
    b->counted = held;
    return rc;
}

static int close_window(struct tp_builder *b, struct tp_err *err)
{
    if (b->count == 0)
        return TP_OK;
    tp_builder_flush(b);
    struct tp_kept_window w = {.first_event = b->first_event,
                               .first_time = b->first_time,
                               .count = b->count,
                               .jump_count = b->jump_count,
                               .initial_heap = !b->started};
    if (b->started)
        w.first_insn = b->program->facts.instructions - b->count;
    int rc = b->cfg.sink ? give_window(b, &w, err) : keep_window(b, &w, err);
    if (rc)
        return rc;
    b->count = 0;
    b->jump_count = 0;
    b->hashed = 0;
    return TP_OK;
}

/* Records a jump: the next instruction does not belong to the event after the last one. */
static int add_jump(struct tp_builder *b, uint64_t event, struct tp_err *err)
{
    int rc = TP_GROW(&b->jumps, &b->jump_room, b->jump_count + 1u, err, .what = "the program");
    if (rc)
        return rc;
    b->jumps[b->jump_count++] = (struct tp_jump){.index = b->count, .event = event};
    return TP_OK;
}

/* Makes room for one more instruction in the pending window, closing a full one. */
static int make_room(struct tp_builder *b, uint64_t event, struct tp_err *err)
{
    if (b->count == TP_WINDOW_MAX) {
        int rc = close_window(b, err);
        if (rc)
            return rc;
    }
    if (b->count == 0) {
        b->first_event = event;
        b->first_time = b->time;
        return TP_OK;
    }
    return event && event != b->event + 1 ? add_jump(b, event, err) : TP_OK;
}

const struct tp_live_slot *tp_builder_object(const struct tp_builder *b, uint32_t slot)
{
    assert(slot < b->live.used && tp_live_is(&b->live, &b->live.slots[slot]));
    return &b->live.slots[slot];
}

/* ---- strictness ---- */

static int broken(const struct tp_builder *b, const struct tp_insn *in, const char *what,
                  struct tp_err *err)
{
    const char *name = in->op < TP_OP_COUNT ? tp_op_rows[in->op].name : "?";
    uint64_t at = b->started ? b->program->facts.instructions : b->program->facts.initial_heap;
    return tp_fail(err, TP_EBROKEN,
                   "%sinstruction %" PRIu64 " ('%s', slot %" PRIu32 ", size %" PRIu64 "): %s",
                   b->started ? "" : "initial heap: ", at, name, in->slot, in->size, what);
}

uint64_t tp_builder_program_bytes(const struct tp_builder *b)
{
    return b->program->data_bytes + b->count * sizeof *b->insns;
}

/* Makes all checks and reservations that can fail, so that a refused instruction changes
 * nothing. */
static int check(struct tp_builder *b, const struct tp_insn *in, struct tp_err *err)
{
    const struct tp_live *live = &b->live;
    struct tp_limits limits = {.slots = live->used < UINT32_MAX ? live->used + 1 : live->used,
                               .threads = TP_MAX_THREADS,
                               .streams = TP_MAX_STREAMS,
                               .devices = TP_MAX_DEVICES,
                               .marks = (uint32_t)b->program->names.count};
    const char *wrong = tp_insn_wrong(in, &limits);
    if (!wrong)
        wrong = tp_live_wrong(live, in);
    if (wrong)
        return broken(b, in, wrong, err);
    if (b->time > UINT64_MAX - in->gap_ns)
        return tp_fail(err, TP_EINPUT, "the trace lasts longer than 2^64 ns");
    if (!tp_op_is(in->op, TP_ASKS))
        return TP_OK;
    bool is_new = tp_op_is(in->op, TP_IS_NEW);
    uint64_t had = is_new ? 0 : tp_live_size(&live->slots[in->slot]);
    if (live->bytes - had + in->size > TP_MAX_LIVE_BYTES)
        return tp_fail(err, TP_EINPUT, "more than 2^61 bytes are live at once");
    return is_new && in->slot == live->used
               ? tp_live_reach(&b->live, UINT32_MAX, b->cfg.budget, err)
               : TP_OK;
}

/* ---- effects ---- */

/* Appends an instruction that has passed `check`. */
static void store(struct tp_builder *b, const struct tp_insn *in)
{
    struct tp_program_facts *f = &b->program->facts;
    b->insns[b->count++] = *in;
    if (in->thread >= f->threads)
        f->threads = in->thread + 1u;
    if (in->stream >= f->streams && in->stream != TP_ALL_STREAMS)
        f->streams = in->stream + 1u;
    if (in->device >= f->devices && in->device != TP_ALL_DEVICES)
        f->devices = (uint16_t)(in->device + 1u);
    b->live.used += tp_op_is(in->op, TP_IS_NEW) && in->slot == b->live.used;
    f->objects += tp_op_is(in->op, TP_IS_NEW);
    tp_live_apply(&b->live, in, f->devices);
}

int tp_builder_initial_heap(struct tp_builder *b, const struct tp_insn *insn, struct tp_err *err)
{
    if (b->started)
        return broken(b, insn, "the initial heap is complete", err);
    if (insn->op != TP_ALLOC)
        return broken(b, insn, "the initial heap holds only allocations", err);
    if (insn->gap_ns)
        return broken(b, insn, "the initial heap has no time", err);
    int rc = check(b, insn, err);
    if (!rc)
        rc = make_room(b, 0, err);
    if (rc)
        return rc;
    store(b, insn);
    b->program->facts.initial_heap++;
    struct tp_live_device *d = &b->live.devices[insn->device];
    tp_live_peak(d, 0, UINT64_MAX, b->time);
    d->peak.initial_heap_bytes = d->bytes;
    return TP_OK;
}

/* The heap goes into the hash as the bytes that it has in memory, behind a separator that tells it
 * from instructions: a strategy may do other things with the same initial heap. */
static void hash_heap(struct tp_builder *b, const struct tp_heap *heap)
{
    static const uint8_t boundary[sizeof(struct tp_insn)] = {0xfe};
    if (!b->cfg.hash)
        return;
    tp_builder_flush(b);
    b->cfg.hash(b->cfg.hash_ctx, boundary, sizeof boundary);
    b->cfg.hash(b->cfg.hash_ctx, heap->segments, heap->segment_count * sizeof *heap->segments);
    if (heap->block_count)
        b->cfg.hash(b->cfg.hash_ctx, heap->blocks, heap->block_count * sizeof *heap->blocks);
}

/* The i-th object of an initial heap has slot i, because a new slot is the lowest that was never
 * used.
 */
static const char *heap_differs(const struct tp_builder *b, const struct tp_heap *heap)
{
    struct tp_heap_place at = {0};
    const char *wrong = NULL;
    if (heap->block_count != b->program->facts.initial_heap)
        return "it has more or fewer blocks than were live";
    for (uint32_t i = 0; !wrong && i < heap->block_count; i++) {
        const struct tp_live_slot *s = &b->live.slots[i];
        const struct tp_insn insn = {.slot = i, .device = s->device, .size = tp_live_size(s)};
        wrong = tp_heap_differs(heap, &at, &insn);
    }
    return wrong;
}

int tp_builder_heap(struct tp_builder *b, const struct tp_heap *heap, struct tp_err *err)
{
    if (b->started || b->program->heap.segment_count)
        return tp_fail(err, TP_EBROKEN, "the heap at the start came too late, or twice");
    const char *wrong = tp_heap_wrong(heap, TP_MAX_STREAMS, TP_MAX_DEVICES);
    if (!wrong)
        wrong = heap_differs(b, heap);
    if (wrong)
        return tp_fail(err, TP_EINPUT, "the heap at the start is wrong: %s", wrong);
    int rc = tp_program_keep_heap(b->program, heap, err);
    if (rc || !heap->segment_count)
        return rc;
    struct tp_program_facts *f = &b->program->facts;
    for (uint64_t i = 0; i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        f->streams = s->stream < f->streams ? f->streams : s->stream + 1u;
        f->devices = s->device < f->devices ? f->devices : (uint16_t)(s->device + 1u);
    }
    hash_heap(b, heap);
    return TP_OK;
}

/* Ends the initial heap. The separator goes into the hash, because the same allocations in the
 * the initial heap and after it are different programs. */
static void end_initial_heap(struct tp_builder *b)
{
    static const uint8_t boundary[sizeof(struct tp_insn)] = {0xff};
    if (b->cfg.hash && b->program->facts.initial_heap)
        b->cfg.hash(b->cfg.hash_ctx, boundary, sizeof boundary);
}

int tp_builder_add(struct tp_builder *b, const struct tp_insn *insn, uint64_t event,
                   struct tp_err *err)
{
    if (!b->started) {
        int rc = close_window(b, err);
        if (rc)
            return rc;
        end_initial_heap(b);
        b->started = true;
    }
    if (event == 0 || event < b->event)
        return broken(b, insn, "its event number falls", err);
    int rc = check(b, insn, err);
    if (!rc)
        rc = make_room(b, event, err);
    if (rc)
        return rc;
    store(b, insn);
    struct tp_program_facts *f = &b->program->facts;
    b->time += insn->gap_ns;
    b->event = event;
    f->ops[insn->op]++;
    f->operations += tp_op_is_operation(insn->op);
    if (insn->device != TP_ALL_DEVICES) /* an instruction for all devices adds no bytes */
        tp_live_peak(&b->live.devices[insn->device], event, f->instructions, b->time);
    f->instructions++;
    return TP_OK;
}

/* ---- names ---- */

const struct tp_texts *tp_builder_marks(const struct tp_builder *b)
{
    return &b->program->names;
}

int tp_builder_mark(struct tp_builder *b, const char *text, uint32_t *index, struct tp_err *err)
{
    struct tp_texts *names = &b->program->names;
    *index = tp_texts_find(names, text, strlen(text));
    if (*index == TP_NO_TEXT && names->count == TP_MAX_MARKS)
        return tp_fail(err, TP_EINPUT, "more than 65,536 distinct phase names");
    return *index == TP_NO_TEXT ? tp_texts_need(names, text, strlen(text), index, err) : TP_OK;
}

/* ---- the end ---- */

static int end_facts(struct tp_builder *b, const struct tp_builder_end *end, struct tp_err *err)
{
    struct tp_program_facts *f = &b->program->facts;
    if (end->events && end->events < b->event)
        return tp_fail(err, TP_EBROKEN, "the trace has %" PRIu64 " events but uses number %" PRIu64,
                       end->events, b->event);
    if (end->streams > TP_MAX_STREAMS || end->devices > TP_MAX_DEVICES)
        return tp_fail(err, TP_EBROKEN, "too many streams or devices are declared");
    f->events = end->events ? end->events : b->event;
    f->time_known = end->time_known;
    f->recorded_threads = end->recorded_threads;
    if (end->streams > f->streams)
        f->streams = end->streams;
    if (end->devices > f->devices)
        f->devices = end->devices;
    if (end->hash)
        memcpy(f->hash, end->hash, TP_HASH_SIZE);
    f->marks = (uint32_t)b->program->names.count;
    f->slots = b->live.used;
    f->duration_ns = b->time;
    for (uint32_t i = 0; i < f->devices; i++) {
        f->live_at_end += b->live.devices[i].objects;
        f->live_at_end_bytes += b->live.devices[i].bytes;
    }
    return TP_OK;
}

static int end_demand(struct tp_builder *b, struct tp_err *err)
{
    struct tp_program *p = b->program;
    p->demand = calloc(p->facts.devices, sizeof *p->demand);
    if (!p->demand)
        return tp_fail(err, TP_ENOMEM, "out of memory while building the program");
    for (uint32_t i = 0; i < p->facts.devices; i++) {
        p->demand[i] = b->live.devices[i].peak;
        if (!p->facts.time_known)
            p->demand[i].time_ns = 0;
    }
    return TP_OK;
}

int tp_builder_finish(struct tp_builder *b, const struct tp_builder_end *end,
                      struct tp_program **out, struct tp_err *err)
{
    *out = NULL;
    int rc = close_window(b, err);
    if (!rc)
        rc = end_facts(b, end, err);
    if (!rc)
        rc = end_demand(b, err);
    if (!rc) {
        *out = b->program;
        b->program = NULL;
    }
    tp_builder_free(b);
    return rc;
}
