/* The program: keeps windows in memory or in a file, and reads them through cursors.
 *
 * Windows stay in memory until their bytes exceed the limit; then all of them are moved to an
 * unlinked file, and later windows are appended to it. Windows from a file are checked before they
 * are used, because a child process may have been given any file. Known weakness: the check covers
 * single instructions only; whether a slot is live is checked by the builder alone. */
#include "alloc/base/grow.h"
#include "alloc/program/program_internal.h"

#include <inttypes.h>
#include <unistd.h>

/* What is wrong with the members that only some operations have; NULL: nothing. */
static const char *operands_wrong(const struct tp_insn *in, const struct tp_limits *limits)
{
    unsigned flags = tp_op_rows[in->op].flags;
    bool object = flags & (TP_IS_NEW | TP_IS_LIVE);
    if (object && in->slot >= limits->slots)
        return "the slot is out of range";
    if (object && flags & TP_HAS_SIZE && (in->size == 0 || in->size > TP_MAX_SIZE))
        return "the size is out of range";
    if (flags & TP_OF_NEXT && !tp_is_pool(in->size))
        return "the pool is out of range";
    if (flags & TP_HAS_NAME && in->slot >= limits->marks)
        return "there is no such mark";
    if (flags & TP_HAS_NOTE && (in->align_log2 >= TP_NOTE_COUNT || in->size > TP_MAX_SIZE))
        return "there is no such note";
    if (flags & TP_HAS_NOTE && in->slot && in->slot >= limits->slots)
        return "the slot is out of range";
    return NULL;
}

const char *tp_insn_wrong(const struct tp_insn *in, const struct tp_limits *limits)
{
    if (in->op >= TP_OP_COUNT)
        return "there is no such operation";
    const char *wrong = operands_wrong(in, limits);
    if (wrong)
        return wrong;
    if (in->align_log2 > TP_MAX_ALIGN_LOG2)
        return "the alignment is out of range";
    if (in->thread >= limits->threads)
        return "the thread is out of range";
    if (in->device >= limits->devices &&
        !(in->device == TP_ALL_DEVICES && tp_insn_may_be_of_all(in)))
        return "the device is out of range";
    if (in->stream >= limits->streams && !tp_insn_of_all_streams(in))
        return "the stream is out of range";
    return NULL;
}

struct tp_program *tp_program_new(void)
{
    struct tp_program *p = tp_own_zeroed(1, sizeof *p);
    if (!p)
        return NULL;
    p->fd = -1;
    p->names.how.what = "phase names";
    return p;
}

static void release_built(struct tp_program *p)
{
    for (uint64_t i = 0; p->blocks && i < p->facts.windows; i++)
        free(p->blocks[i]);
    free(p->blocks);
    free(p->windows);
    free(p->demand);
    free(p->heap_bytes);
    tp_texts_release(&p->names);
}

void tp_program_release(struct tp_program *p)
{
    if (!p)
        return;
    if (!p->tail)
        release_built(p);
    if (p->fd >= 0)
        close(p->fd);
    if (p->backing)
        p->backing->release(p->backing_ctx);
    tp_own_free(p->loaded);
    tp_own_free(p->tail);
    tp_own_free(p);
}

const struct tp_program_facts *tp_program_facts(const struct tp_program *p)
{
    return &p->facts;
}

const struct tp_demand *tp_program_demand(const struct tp_program *p, uint16_t device)
{
    return device < p->facts.devices ? &p->demand[device] : NULL;
}

const struct tp_texts *tp_program_marks(const struct tp_program *p)
{
    return &p->names;
}

const char *tp_program_mark(const struct tp_program *p, uint32_t index)
{
    return index < p->names.count ? tp_texts_get(&p->names, index) : NULL;
}

const struct tp_heap *tp_program_heap(const struct tp_program *p)
{
    return p->heap.segment_count ? &p->heap : NULL;
}

int tp_program_keep_heap(struct tp_program *p, const struct tp_heap *heap, struct tp_err *err)
{
    size_t segments = heap->segment_count * sizeof *heap->segments;
    size_t blocks = heap->block_count * sizeof *heap->blocks;
    if (!segments)
        return TP_OK;
    char *bytes = malloc(segments + blocks);
    if (!bytes)
        return tp_fail(err, TP_ENOMEM, "out of memory while building the program");
    memcpy(bytes, heap->segments, segments);
    if (blocks)
        memcpy(bytes + segments, heap->blocks, blocks);
    p->heap_bytes = bytes;
    p->heap = *heap;
    p->heap.segments = (void *)bytes;
    p->heap.blocks = (void *)(bytes + segments);
    return TP_OK;
}

uint64_t tp_window_event(const struct tp_window *w, uint32_t index)
{
    assert(index < w->count);
    if (w->initial_heap)
        return 0;
    uint32_t low = 0, high = w->jump_count; /* all jumps before `low` are at or before `index` */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->jumps[middle].index <= index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return w->first_event + index;
    return w->jumps[low - 1].event + (index - w->jumps[low - 1].index);
}

/* ---- keeping windows ---- */

static int grow_index(struct tp_program *p, struct tp_err *err)
{
    size_t least = p->facts.windows + 1;
    int rc = TP_GROW(&p->windows, &p->window_room, least, err, .what = "the program");
    return rc ? rc : TP_GROW(&p->blocks, &p->block_room, least, err, .what = "the program");
}

/* Moves everything kept so far to a new file. */
static int spool_all(struct tp_program *p, struct tp_err *err)
{
    int fd = -1;
    int rc = tp_spool_open(&fd, err);
    for (uint64_t i = 0; !rc && i < p->facts.windows; i++)
        rc = tp_spool_write(fd, p->blocks[i], tp_kept_window_bytes(&p->windows[i]),
                            p->windows[i].offset, err);
    if (rc) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    for (uint64_t i = 0; i < p->facts.windows; i++) {
        free(p->blocks[i]);
        p->blocks[i] = NULL;
    }
    p->fd = fd;
    p->facts.spooled_bytes = p->data_bytes;
    return TP_OK;
}

static int keep_in_memory(const struct tp_kept_window *w, const struct tp_insn *insns,
                          const struct tp_jump *jumps, void **block, struct tp_err *err)
{
    char *bytes = malloc(tp_kept_window_bytes(w));
    if (!bytes)
        return tp_fail(err, TP_ENOMEM, "out of memory while building the program");
    memcpy(bytes, insns, w->count * sizeof *insns);
    if (w->jump_count)
        memcpy(bytes + w->count * sizeof *insns, jumps, w->jump_count * sizeof *jumps);
    *block = bytes;
    return TP_OK;
}

static int keep_in_file(struct tp_program *p, const struct tp_kept_window *w,
                        const struct tp_insn *insns, const struct tp_jump *jumps,
                        struct tp_err *err)
{
    size_t insn_bytes = w->count * sizeof *insns;
    int rc = tp_spool_write(p->fd, insns, insn_bytes, w->offset, err);
    if (!rc && w->jump_count)
        rc = tp_spool_write(p->fd, jumps, w->jump_count * sizeof *jumps, w->offset + insn_bytes,
                            err);
    if (!rc)
        p->facts.spooled_bytes += tp_kept_window_bytes(w);
    return rc;
}

int tp_program_append(struct tp_program *p, struct tp_kept_window *w, const struct tp_insn *insns,
                      const struct tp_jump *jumps, uint64_t limit, struct tp_err *err)
{
    assert(w->count > 0 && w->count <= TP_WINDOW_MAX && w->jump_count <= w->count);
    w->offset = p->data_bytes;
    void *block = NULL;
    int rc = grow_index(p, err);
    if (!rc && p->fd < 0 && p->data_bytes + tp_kept_window_bytes(w) > limit)
        rc = spool_all(p, err);
    if (!rc && p->fd >= 0)
        rc = keep_in_file(p, w, insns, jumps, err);
    else if (!rc)
        rc = keep_in_memory(w, insns, jumps, &block, err);
    if (rc)
        return rc;
    p->windows[p->facts.windows] = *w;
    p->blocks[p->facts.windows] = block;
    p->facts.windows++;
    p->data_bytes += tp_kept_window_bytes(w);
    return TP_OK;
}

/* ---- facts that came from a file ---- */

uint64_t tp_program_ops(const struct tp_program_facts *f, unsigned flags)
{
    uint64_t sum = 0;
    for (unsigned op = 0; op < TP_OP_COUNT; op++)
        sum += tp_op_is(op, flags) ? f->ops[op] : 0;
    return sum;
}

static bool indices_fit(const struct tp_program_facts *f)
{
    return f->devices >= 1 && f->devices <= TP_MAX_DEVICES && f->threads >= 1 &&
           f->threads <= TP_MAX_THREADS && f->streams >= 1 && f->streams <= TP_MAX_STREAMS &&
           f->marks <= TP_MAX_MARKS;
}

const char *tp_program_facts_wrong(const struct tp_program_facts *f, uint64_t most)
{
    uint64_t all = 0, operations = 0;
    for (unsigned op = 0; op < TP_OP_COUNT; op++) {
        if (f->ops[op] > f->instructions)
            return "a count is wrong";
        all += f->ops[op];
        operations += tp_op_is_operation(op) ? f->ops[op] : 0;
    }
    if (f->kind > TP_KIND_DEVICE || f->time_known > 1)
        return "the kind is wrong";
    if (!indices_fit(f))
        return "a number of indices is out of range";
    if (f->instructions > most || f->initial_heap > most - f->instructions ||
        all != f->instructions || operations != f->operations)
        return "the number of instructions is wrong";
    if (f->objects != f->initial_heap + tp_program_ops(f, TP_IS_NEW) || f->slots > f->objects ||
        f->live_at_end > f->slots || f->live_at_end_bytes > TP_MAX_LIVE_BYTES)
        return "the number of objects is wrong";
    return NULL;
}

const char *tp_demand_wrong(const struct tp_demand *demand, const struct tp_program_facts *f)
{
    for (uint32_t i = 0; i < f->devices; i++) {
        const struct tp_demand *d = &demand[i];
        if (d->bytes > TP_MAX_LIVE_BYTES || d->initial_heap_bytes > d->bytes ||
            d->event > f->events || d->time_ns > f->duration_ns)
            return "the peak is out of range";
        if (d->event ? d->insn >= f->instructions : d->insn != UINT64_MAX)
            return "the peak is at no instruction";
    }
    return NULL;
}

/* ---- windows that are kept elsewhere ---- */

static int heap_is_wrong(const struct tp_backed_cfg *cfg, const char *wrong, struct tp_err *err)
{
    return tp_fail(err, TP_EINPUT, "%s: the heap at the start is wrong: %s", cfg->name, wrong);
}

static int compare_heap(struct tp_cursor *c, const struct tp_backed_cfg *cfg, struct tp_err *err)
{
    struct tp_heap_place at = {0};
    struct tp_window w = {.initial_heap = true};
    const char *wrong = NULL;
    int got = 1;
    while (!wrong && w.initial_heap && (got = tp_cursor_next(c, &w, err)) == 1)
        for (uint32_t i = 0; !wrong && w.initial_heap && i < w.count; i++)
            wrong = tp_heap_differs(cfg->heap, &at, &w.insns[i]);
    if (got < 0)
        return -got;
    return wrong ? heap_is_wrong(cfg, wrong, err) : TP_OK;
}

/* Reads the initial heap once, because heap and initial_heap come from different parts of a file.
 */
static int take_heap(struct tp_program *p, const struct tp_backed_cfg *cfg, struct tp_err *err)
{
    const struct tp_heap *heap = cfg->heap;
    struct tp_cursor *c = NULL;
    const char *wrong = tp_heap_wrong(heap, p->facts.streams, p->facts.devices);
    if (!wrong && heap->block_count != p->facts.initial_heap)
        wrong = "it has more or fewer blocks than were live";
    if (wrong)
        return heap_is_wrong(cfg, wrong, err);
    int rc = tp_cursor_open(p, &c, err);
    if (!rc)
        rc = compare_heap(c, cfg, err);
    tp_cursor_close(c);
    return rc ? rc : tp_program_keep_heap(p, heap, err);
}

int tp_program_backed(const struct tp_backing *backing, void *ctx, const struct tp_backed_cfg *cfg,
                      struct tp_program **out, struct tp_err *err)
{
    int rc = TP_OK;
    struct tp_program *p = tp_program_new();
    if (!p) {
        backing->release(ctx);
        return tp_fail(err, TP_ENOMEM, "out of memory while opening the program");
    }
    p->backing = backing;
    p->backing_ctx = ctx;
    p->facts = *cfg->facts;
    p->facts.windows = 0; /* no windows are kept in memory or in `fd` */
    p->demand = malloc(p->facts.devices * sizeof *p->demand);
    if (p->demand)
        memcpy(p->demand, cfg->demand, p->facts.devices * sizeof *p->demand);
    else
        rc = tp_fail(err, TP_ENOMEM, "out of memory while opening the program");
    p->names = *cfg->marks;
    *cfg->marks = (struct tp_texts){0};
    if (!rc && cfg->heap)
        rc = take_heap(p, cfg, err);
    if (rc) {
        tp_program_release(p);
        return rc;
    }
    *out = p;
    return TP_OK;
}

/* ---- reading windows ---- */

static int damaged(uint64_t window, uint32_t at, const char *what, struct tp_err *err)
{
    return tp_fail(err, TP_EINPUT,
                   "the program file is damaged: window %" PRIu64 ", entry %" PRIu32 ": %s", window,
                   at, what);
}

static int check_jumps(const struct tp_kept_window *w, const struct tp_jump *jumps, uint64_t window,
                       uint64_t events, struct tp_err *err)
{
    uint64_t index = 0, event = w->first_event;
    for (uint32_t i = 0; i < w->jump_count; i++) {
        const struct tp_jump *j = &jumps[i];
        if (j->index <= index || j->index >= w->count || j->reserved != 0)
            return damaged(window, i, "the index of a jump is out of order", err);
        if (j->event < event || j->event > events)
            return damaged(window, i, "the event of a jump is out of order", err);
        index = j->index;
        event = j->event;
    }
    return TP_OK;
}

int tp_program_read(const struct tp_program *p, uint64_t i, void *block, struct tp_err *err)
{
    const struct tp_kept_window *w = &p->windows[i];
    const struct tp_program_facts *f = &p->facts;
    int rc = tp_spool_read(p->fd, block, tp_kept_window_bytes(w), w->offset, err);
    if (rc)
        return rc;
    struct tp_limits limits = {f->slots, f->threads, f->streams, f->devices, f->marks};
    const struct tp_insn *insns = block;
    for (uint32_t at = 0; at < w->count; at++) {
        const char *wrong = tp_insn_wrong(&insns[at], &limits);
        if (!wrong && w->initial_heap && insns[at].op != TP_ALLOC)
            wrong = "the initial heap holds only allocations";
        if (wrong)
            return damaged(i, at, wrong, err);
    }
    return check_jumps(w, (const struct tp_jump *)(const void *)(insns + w->count), i, f->events,
                       err);
}

struct tp_cursor {
    const struct tp_program *program;
    void *backed;  /* cursor of the program's backing; NULL: the program has no backing */
    uint64_t next; /* number of the next window */
    void *buffer;  /* memory for the largest window; NULL when windows are in memory */
};

int tp_cursor_open(struct tp_program *p, struct tp_cursor **out, struct tp_err *err)
{
    *out = NULL;
    size_t largest = 0;
    for (uint64_t i = 0; p->fd >= 0 && i < p->facts.windows; i++)
        if (tp_kept_window_bytes(&p->windows[i]) > largest)
            largest = tp_kept_window_bytes(&p->windows[i]);
    struct tp_cursor *c = tp_own_zeroed(1, sizeof *c);
    if (c && largest)
        c->buffer = tp_own_zeroed(1, largest);
    if (!c || (largest && !c->buffer)) {
        tp_own_free(c);
        return tp_fail(err, TP_ENOMEM, "out of memory while opening the program");
    }
    c->program = p;
    int rc = p->backing ? p->backing->open(p->backing_ctx, &c->backed, err) : TP_OK;
    if (rc) {
        c->backed = NULL;
        tp_cursor_close(c);
        return rc;
    }
    *out = c;
    return TP_OK;
}

void tp_cursor_close(struct tp_cursor *c)
{
    if (!c)
        return;
    if (c->backed)
        c->program->backing->close(c->backed);
    tp_own_free(c->buffer);
    tp_own_free(c);
}

void tp_cursor_rewind(struct tp_cursor *c)
{
    c->next = 0;
    if (c->backed)
        c->program->backing->rewind(c->backed);
}

int tp_cursor_next(struct tp_cursor *c, struct tp_window *out, struct tp_err *err)
{
    const struct tp_program *p = c->program;
    if (c->backed)
        return p->backing->next(c->backed, out, err);
    if (c->next >= p->facts.windows)
        return 0;
    const struct tp_kept_window *w = &p->windows[c->next];
    const void *block = p->blocks[c->next];
    if (!block) {
        int rc = tp_program_read(p, c->next, c->buffer, err);
        if (rc)
            return -rc;
        block = c->buffer;
    }
    const struct tp_insn *insns = block;
    *out = (struct tp_window){
        .insns = insns,
        .jumps = (const struct tp_jump *)(const void *)(insns + w->count),
        .count = w->count,
        .jump_count = w->jump_count,
        .first_event = w->first_event,
        .first_insn = w->first_insn,
        .first_time = w->first_time,
        .initial_heap = w->initial_heap != 0,
    };
    c->next++;
    return 1;
}

int tp_program_walk(struct tp_program *p, tp_take_window *take, void *ctx, struct tp_err *err)
{
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    int got = 0, rc = tp_cursor_open(p, &cursor, err);
    while (!rc && (got = tp_cursor_next(cursor, &w, err)) == 1)
        rc = take(ctx, &w, err);
    tp_cursor_close(cursor);
    return !rc && got < 0 ? -got : rc;
}
