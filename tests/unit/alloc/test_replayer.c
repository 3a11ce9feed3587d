/* The replay loop, in every variant that it is compiled in: each call gets its own request, its own
 * thread and its own device, and each block is touched as it should be.
 *
 * The strategy here writes down what it is called with; the program is then gone through once more,
 * and what was written down must be what the program says, call by call. */
#include "alloc/base/random.h"
#include "alloc/engine/passes.h"
#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <string.h>

extern const struct tp_source_ops tp_source_host;

enum { PAGE = 4096, PLACES = 64, PLACE = 4 * PAGE, GUARD = 16, STRIDE = 64 };
enum { SHORT = 400, LONG = TP_WINDOW_MAX + 500, SLOTS = 24, CALLS_MAX = 2 * LONG + SLOTS };

/* ---- the strategy ---- */

enum call_kind { ALLOC, FREE, RESIZE, RETAIN, RELEASE, USE, SYNC, RESET, TRIM, FINI };

struct call {
    enum call_kind kind;
    int status;
    uint32_t device, thread; /* as the handles say */
    uint64_t size, align;
    uint16_t stream;
    tp_addr addr; /* given, or handed out */
};

static struct call *calls;
static size_t call_count;
static uint32_t devices_open;
static enum tp_touch expected_touch;
static _Alignas(PAGE) unsigned char places[PLACES][PLACE];
static struct place {
    tp_addr addr; /* 0: free */
    uint64_t size;
    uint32_t device;
    bool fresh; /* as it was allocated: neither resized nor a copy */
    bool grown; /* when it was resized last */
} used[PLACES];
static const unsigned char zeros[PLACE];
static uint32_t next_place;

struct recorder {
    uint32_t device;
    char *first_thread;
};

static int recorder_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)env, (void)opts, (void)err;
    ((struct recorder *)st)->device = devices_open++;
    return TP_OK;
}

static void recorder_fini(void *st)
{
    (void)st;
}

/* Threads are started in their order. */
static int recorder_thread_init(void *st, void *thr)
{
    struct recorder *r = st;
    if (!r->first_thread)
        r->first_thread = thr;
    return TP_OK;
}

static struct call *note(void *st, void *thr, enum call_kind kind)
{
    const struct recorder *r = st;
    assert_true(call_count < CALLS_MAX);
    struct call *c = &calls[call_count++];
    *c = (struct call){.kind = kind, .device = r->device};
    if (thr)
        c->thread = (uint32_t)(((char *)thr - r->first_thread) / STRIDE);
    return c;
}

static void recorder_thread_fini(void *st, void *thr)
{
    note(st, thr, FINI);
}

static struct call *note_request(void *st, void *thr, enum call_kind kind, const struct tp_req *rq)
{
    struct call *c = note(st, thr, kind);
    c->size = rq->size;
    c->align = rq->align;
    c->stream = rq->stream;
    return c;
}

/* A rule that the test can follow: what is full depends on the size alone. */
static int status_of(uint64_t size)
{
    return size % 11 == 10 ? TP_EOOM : TP_OK;
}

static tp_addr last_freed; /* since the last alloc */

/* Set where the engine was told to reallocate by copy: bytes of the old block. */
static uint64_t copied_from;

static int recorder_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct call *c = note_request(st, thr, ALLOC, rq);
    uint64_t from = copied_from;
    copied_from = 0;
    c->status = status_of(rq->size);
    if (c->status)
        return c->status;
    while (used[next_place % PLACES].addr)
        next_place++;
    uint32_t i = next_place++ % PLACES;
    /* aligned to what is asked for and to no more */
    c->addr = (uintptr_t)places[i] + (rq->align < PAGE ? rq->align : 0);
    last_freed = 0;
    used[i] = (struct place){c->addr, rq->size, c->device, !from, rq->size > from};
    memset((void *)(uintptr_t)c->addr, 0, rq->size + GUARD);
    *out = (struct tp_block){c->addr, rq->size};
    return TP_OK;
}

static struct place *place_of(tp_addr addr)
{
    uint32_t i = 0;
    while (i < PLACES && used[i].addr != addr)
        i++;
    assert_true(addr && i < PLACES);
    return &used[i];
}

/* From `at` on; where the guard ends when there is none. */
static uint64_t next_touched(uint64_t at, uint64_t size, bool all)
{
    uint64_t page = (at + PAGE - 1) / PAGE * PAGE;
    if (!all || at >= size)
        return size + GUARD;
    return page < size ? page : size - 1;
}

static void check_fresh(const unsigned char *bytes, uint64_t size)
{
    bool all = expected_touch == TP_TOUCH_ALL, word = size >= 8 && expected_touch;
    uint64_t addr = (uintptr_t)bytes, length = size == 8 && all ? 7 : 8;
    if (word)
        assert_memory_equal(bytes, &addr, length);
    else
        assert_int_equal(bytes[0], expected_touch != TP_TOUCH_NONE);
    for (uint64_t at = word ? length : 1, next; at < size + GUARD; at = next + 1) {
        next = next_touched(at, size, all);
        assert_memory_equal(bytes + at, zeros, next - at);
        if (next < size)
            assert_int_equal(bytes[next], 1);
    }
}

/* Resized or copied, whatever was in it. */
static void check_pages(const unsigned char *bytes, uint64_t size, bool grown)
{
    bool all = expected_touch == TP_TOUCH_ALL;
    for (uint64_t i = PAGE; i < size; i += PAGE)
        assert_true(bytes[i] == all || (i == size - 1 && !grown));
    if (grown && size > 8)
        assert_int_equal(bytes[size - 1], all);
    for (uint64_t i = size; i < size + GUARD; i++)
        assert_int_equal(bytes[i], 0);
}

static int recorder_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    /* references are used up by frees until there are none; this one has none */
    if (addr == last_freed)
        return TP_EINVAL;
    last_freed = addr;
    struct place *p = place_of(addr);
    note_request(st, thr, FREE, rq)->addr = addr;
    if (p->fresh)
        check_fresh((const unsigned char *)(uintptr_t)addr, p->size);
    else
        check_pages((const unsigned char *)(uintptr_t)addr, p->size, p->grown);
    p->addr = 0;
    return TP_OK;
}

static int never_resize(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                        struct tp_block *out)
{
    (void)out;
    note_request(st, thr, RESIZE, rq)->addr = addr;
    copied_from = place_of(addr)->size;
    return TP_EUNSUP;
}

/* Odd sizes in place, the others not. */
static int recorder_resize(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                           struct tp_block *out)
{
    struct place *p = place_of(addr);
    if (rq->size % 2 == 0)
        return never_resize(st, thr, addr, rq, out);
    struct call *c = note_request(st, thr, RESIZE, rq);
    c->addr = addr;
    c->status = status_of(rq->size);
    if (c->status)
        return c->status;
    uint64_t kept = rq->size < p->size ? rq->size : p->size, end = rq->size + p->size - kept;
    memset((void *)(uintptr_t)(addr + kept), 0, end - kept + GUARD);
    *p = (struct place){addr, rq->size, p->device, false, rq->size > p->size};
    *out = (struct tp_block){addr, rq->size};
    return TP_OK;
}

static int recorder_retain(void *st, void *thr, tp_addr addr)
{
    note(st, thr, RETAIN)->addr = addr;
    return TP_OK;
}

static int recorder_release(void *st, void *thr, tp_addr addr)
{
    note(st, thr, RELEASE)->addr = addr;
    return TP_OK;
}

static int recorder_use(void *st, void *thr, tp_addr addr, uint16_t stream)
{
    struct call *c = note(st, thr, USE);
    c->addr = addr;
    c->stream = stream;
    return TP_OK;
}

static int recorder_sync(void *st, void *thr, uint16_t stream)
{
    note(st, thr, SYNC)->stream = stream;
    return TP_OK;
}

static int recorder_reset(void *st)
{
    const struct recorder *r = st;
    note(st, NULL, RESET);
    for (int i = 0; i < PLACES; i++)
        if (used[i].device == r->device)
            used[i].addr = 0;
    return TP_OK;
}

static int recorder_trim(void *st, uint64_t keep)
{
    note(st, NULL, TRIM)->size = keep;
    return TP_OK;
}

#define RECORDER                                                                                   \
    .name = "recorder", .summary = "writes down", .resembles = "nothing", .to_use = "a test",      \
    .group = TP_GROUP_STRATEGY, .state_size = sizeof(struct recorder), .thread_size = STRIDE - 8,  \
    .init = recorder_init, .fini = recorder_fini, .alloc = recorder_alloc, .free = recorder_free,  \
    .thread_init = recorder_thread_init, .thread_fini = recorder_thread_fini

static const struct tp_strategy plain = {RECORDER, .caps = TP_CAP_ALIGN, .resize = never_resize};
static const struct tp_strategy rich = {RECORDER,
                                        .caps = TP_CAP_ALIGN | TP_CAP_RETAINS | TP_CAP_STREAMS,
                                        .resize = recorder_resize,
                                        .retain = recorder_retain,
                                        .release = recorder_release,
                                        .use = recorder_use,
                                        .sync = recorder_sync,
                                        .reset = recorder_reset,
                                        .trim = recorder_trim};

/* ---- programs ---- */

static uint64_t seed;

static uint64_t random_below(uint64_t n)
{
    return tp_random_split(&seed) % n;
}

/* What a program is made of. */
struct shape {
    uint16_t devices, threads;
    bool only_blocks; /* ALLOC and FREE: no other instruction between two of them */
};

struct object {
    uint64_t size;
    uint16_t device;
    uint8_t align_log2;
};

/* Alignments and streams alternate from one instruction to the next, threads and devices too. */
static struct tp_insn some_insn(struct object *objects, uint32_t i, struct shape shape)
{
    static const uint8_t others[] = {TP_SYNC, TP_TRIM, TP_THREAD_END, TP_NOTE, TP_IDLE, TP_RESET};
    static const uint8_t on_object[] = {TP_FREE, TP_REALLOC, TP_RETAIN, TP_USE};
    static const uint16_t streams[] = {0, 1, 256}; /* differ in either byte */
    static const uint64_t sizes[] = {1, 7, 8, 9, 4095, 4096, 4097, 8192, 8193, 12000};
    uint32_t slot = i < SLOTS ? i : (uint32_t)random_below(SLOTS);
    struct object *o = &objects[slot];
    struct tp_insn in = {.op = TP_ALLOC,
                         .slot = slot,
                         .thread = (uint16_t)random_below(shape.threads),
                         .device = (uint16_t)random_below(shape.devices),
                         .stream = streams[random_below(3)],
                         .align_log2 = (uint8_t)(random_below(3) * 6),
                         .gap_ns = (uint32_t)random_below(1000),
                         .size = random_below(6) ? 1 + random_below(100) : sizes[random_below(10)]};
    if (i >= SLOTS && !shape.only_blocks && random_below(30) == 0) {
        in.op = others[random_below(sizeof others)];
        in.slot = 0;
        bool all = shape.devices > 1 && random_below(2);
        if (all && in.op == TP_SYNC)
            in.stream = TP_ALL_STREAMS;
        if (all && tp_insn_may_be_of_all(&in))
            in.device = TP_ALL_DEVICES;
        for (uint32_t k = 0; in.op == TP_RESET && k < SLOTS; k++)
            if (objects[k].device == in.device || in.device == TP_ALL_DEVICES)
                objects[k].size = 0;
        if (in.op == TP_NOTE)
            in.align_log2 = TP_NOTE_SEGMENT_ALLOC;
        return in;
    }
    if (!o->size) {
        *o = (struct object){in.size, in.device, in.align_log2};
        return in;
    }
    in.op = shape.only_blocks ? TP_FREE : on_object[random_below(sizeof on_object)];
    in.device = o->device;
    if (in.op == TP_REALLOC)
        *o = (struct object){in.size, in.device, in.align_log2};
    in.size = o->size;
    in.align_log2 = o->align_log2;
    o->size = in.op == TP_FREE ? 0 : o->size;
    return in;
}

static struct tp_insn insns[2 * LONG];
static uint32_t insn_count;
static uint64_t total_gap;

/* Instructions of `count`, a few more where a reference has to be dropped. */
static struct tp_program *some_program(uint32_t count, struct shape shape)
{
    struct object objects[SLOTS] = {{0}};
    seed = count + shape.devices + 10u * shape.threads + shape.only_blocks;
    insn_count = 0;
    total_gap = 0;
    while (insn_count < count) {
        struct tp_insn in = some_insn(objects, insn_count, shape);
        insns[insn_count++] = in;
        total_gap += in.gap_ns;
        if (in.op != TP_RETAIN)
            continue;
        in.op = TP_RELEASE; /* at once: a copy of a shared block would not be shared */
        insns[insn_count++] = in;
        total_gap += in.gap_ns;
    }
    return test_program(insns, insn_count, true);
}

/* ---- what must have been called ---- */

struct expected {
    const struct tp_strategy *s;
    const struct shape *shape;
    size_t at; /* in calls */
    struct {
        tp_addr addr; /* 0: not there */
        struct object object;
    } slots[SLOTS];
    uint64_t failed, skipped, skipped_trims;
    bool counts; /* the last instruction did */
};

static const struct call *expect(struct expected *x, enum call_kind kind, const struct tp_insn *in)
{
    assert_true(x->at < call_count);
    const struct call *c = &calls[x->at++];
    assert_fields(*c, kind, kind, device, in->device);
    if (kind != RESET && kind != TRIM)
        assert_int_equal(c->thread, in->thread);
    return c;
}

static const struct call *expect_request(struct expected *x, enum call_kind kind,
                                         const struct tp_insn *in, uint64_t size, unsigned log2)
{
    const struct call *c = expect(x, kind, in);
    assert_fields(*c, size, size, align, UINT64_C(1) << log2, stream, in->stream);
    return c;
}

static void expect_free(struct expected *x, const struct tp_insn *in, uint32_t slot)
{
    const struct object *o = &x->slots[slot].object;
    const struct call *c = expect_request(x, FREE, in, o->size, o->align_log2);
    assert_int_equal(c->addr, x->slots[slot].addr);
}

static void expect_alloc(struct expected *x, const struct tp_insn *in)
{
    const struct call *c = expect_request(x, ALLOC, in, in->size, in->align_log2);
    x->failed += c->status != TP_OK;
    x->counts = c->status == TP_OK;
    x->slots[in->slot].addr = c->addr;
    x->slots[in->slot].object = (struct object){in->size, in->device, in->align_log2};
}

static void expect_realloc(struct expected *x, const struct tp_insn *in)
{
    const struct call *c = expect_request(x, RESIZE, in, in->size, in->align_log2);
    tp_addr addr = c->addr;
    int status = c->status;
    assert_int_equal(addr, x->slots[in->slot].addr);
    if (in->size % 2 == 0 || x->s == &plain) {
        c = expect_request(x, ALLOC, in, in->size, in->align_log2);
        status = c->status;
        addr = c->addr;
        if (!status)
            expect_free(x, in, in->slot);
    }
    x->failed += status != TP_OK;
    x->counts = status == TP_OK;
    if (status)
        return; /* the old block stays, with the alignment that it had */
    x->slots[in->slot].addr = addr;
    x->slots[in->slot].object = (struct object){in->size, in->device, in->align_log2};
}

static void expect_reset(struct expected *x, const struct tp_insn *in)
{
    struct tp_insn on = *in;
    for (uint32_t d = tp_insn_first_device(in);
         x->s->reset && d < tp_insn_end_device(in, x->shape->devices); d++) {
        on.device = (uint16_t)d;
        expect(x, RESET, &on);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        on.device = x->slots[i].object.device;
        if (!x->slots[i].addr || (on.device != in->device && in->device != TP_ALL_DEVICES))
            continue;
        if (!x->s->reset)
            expect_free(x, &on, i);
        x->slots[i].addr = 0;
    }
}

static void expect_on_object(struct expected *x, const struct tp_insn *in)
{
    static const enum call_kind asked[] = {
        [TP_RETAIN] = RETAIN, [TP_RELEASE] = RELEASE, [TP_USE] = USE};
    tp_addr addr = x->slots[in->slot].addr;
    x->counts = addr != 0;
    x->skipped += !addr;
    if (!addr)
        return;
    if (in->op == TP_FREE)
        expect_free(x, in, in->slot);
    else if (in->op == TP_REALLOC)
        expect_realloc(x, in);
    else if (x->s == &rich)
        assert_int_equal(expect(x, asked[in->op], in)->addr, addr);
    if (in->op == TP_USE && x->s == &rich)
        assert_int_equal(calls[x->at - 1].stream, in->stream);
    if (in->op == TP_FREE)
        x->slots[in->slot].addr = 0;
}

static void expect_other(struct expected *x, const struct tp_insn *in)
{
    struct tp_insn on = *in;
    x->counts = tp_op_is_operation(in->op);
    if (in->op == TP_RESET)
        expect_reset(x, in);
    for (uint32_t d = tp_insn_first_device(in); d < tp_insn_end_device(in, x->shape->devices);
         d++) {
        on.device = (uint16_t)d;
        if (in->op == TP_SYNC && x->s->sync)
            assert_int_equal(expect(x, SYNC, &on)->stream, in->stream);
        if (in->op == TP_TRIM && x->s->trim)
            assert_int_equal(expect(x, TRIM, &on)->size, in->size);
    }
    if (in->op == TP_TRIM && !x->s->trim)
        x->counts = false, x->skipped_trims++;
    for (on.device = 0; in->op == TP_THREAD_END && on.device < x->shape->devices; on.device++)
        expect(x, FINI, &on);
}

static void expect_insn(struct expected *x, const struct tp_insn *in)
{
    if (in->op == TP_ALLOC)
        expect_alloc(x, in);
    else if (in->op == TP_FREE || in->op == TP_REALLOC || in->op == TP_USE || in->op == TP_RETAIN ||
             in->op == TP_RELEASE)
        expect_on_object(x, in);
    else
        expect_other(x, in);
}

/* What is live at the end is freed by the first thread on stream 0, each with its own request. */
static void expect_drain(struct expected *x)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        const struct tp_insn in = {.device = x->slots[i].object.device};
        if (x->slots[i].addr)
            expect_free(x, &in, i);
    }
    assert_int_equal(x->at, call_count);
}

/* ---- replaying ---- */

static void nothing_before(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    (void)p, (void)w, (void)index;
}

static void nothing_of_block(struct tp_replayer *p, const struct tp_insn *in,
                             const struct tp_block *block, bool both)
{
    (void)p, (void)in, (void)block, (void)both;
}

static void nothing_leaving(struct tp_replayer *p, uint32_t slot)
{
    (void)p, (void)slot;
}

static void nothing_gone(struct tp_replayer *p, uint32_t slot, const struct tp_insn *in)
{
    (void)p, (void)slot, (void)in;
}

static void nothing_failed(struct tp_replayer *p, const struct tp_insn *in)
{
    (void)p, (void)in;
}

static const struct tp_observer onlooker = {nothing_before, nothing_of_block, nothing_leaving,
                                            nothing_gone,   nothing_failed,   nothing_before};

static struct tp_err err;
static uint32_t ticks[TP_WINDOW_MAX];
static bool counted[2 * LONG]; /* by instruction: a reading that is a latency */

static void keep_counted(void *ctx, struct tp_replayer *p, const struct tp_window *w)
{
    (void)ctx;
    for (uint32_t i = 0; i < w->count; i++)
        counted[w->first_insn + i] = p->ticks[i] != TP_TICK_SKIP;
}

struct variant {
    const struct tp_strategy *s;
    const struct tp_source_ops *source;
    tp_replay_fn *replay;
    enum tp_touch touch;
    uint32_t nth;
    bool stop;
};

static void open_replayer(struct tp_replayer *p, struct tp_replay_cfg *cfg,
                          struct tp_program *program, const struct variant *v)
{
    static uint64_t options[16];
    assert_true(v->source->opts_size <= sizeof options);
    assert_int_equal(tp_opts_defaults(v->source->options, options, NULL), TP_OK);
    *cfg = (struct tp_replay_cfg){.program = program,
                                  .strategy = v->s,
                                  .layers = {{v->source, options}},
                                  .layer_count = 1,
                                  .touch = v->touch,
                                  .stop_on_oom = v->stop,
                                  .nth = v->nth};
    call_count = 0;
    devices_open = 0;
    copied_from = 0;
    memset(used, 0, sizeof used);
    expected_touch = v->source == &tp_source_host ? v->touch : TP_TOUCH_NONE;
    assert_int_equal(tp_replayer_open(p, cfg, v->s, &err), TP_OK);
    p->observer = v->replay == tp_replay_observed ? &onlooker : NULL;
    p->ticks = ticks;
}

static void check_replay(struct tp_program *program, struct shape shape, struct variant v)
{
    struct tp_replayer p;
    struct tp_replay_cfg cfg;
    struct expected x = {.s = v.s, .shape = &shape};
    bool timed = v.replay == tp_replay_latency;
    uint64_t ticks_sum;
    open_replayer(&p, &cfg, program, &v);
    for (int replay = 0; replay < 2; replay++) { /* the second time on the same instance */
        x.at = x.failed = x.skipped = x.skipped_trims = 0;
        memset(x.slots, 0, sizeof x.slots);
        call_count = 0;
        uint64_t started = p.now_ns;
        assert_int_equal(
            tp_replay_once(&p, v.replay, timed ? keep_counted : NULL, NULL, &ticks_sum, &err),
            TP_OK);
        uint32_t replayed = 0;
        for (bool stopped = false; replayed < insn_count && !stopped; replayed++) {
            expect_insn(&x, &insns[replayed]);
            stopped = v.stop && x.failed;
            if (timed && tp_op_is_operation(insns[replayed].op))
                assert_int_equal(counted[replayed], x.counts);
            if (timed && !tp_op_is_operation(insns[replayed].op))
                assert_false(counted[replayed]);
        }
        for (uint32_t i = replayed; timed && i < insn_count && i < TP_WINDOW_MAX; i++)
            assert_false(counted[i]);
        expect_drain(&x);
        assert_fields(p, failed, x.failed, skipped, x.skipped, skipped_trims, x.skipped_trims, stop,
                      v.stop && x.failed);
        if (p.stop)
            assert_int_equal(p.stopped, replayed - 1);
        if (p.clocked && !p.stop)
            assert_int_equal(p.now_ns - started, total_gap);
    }
    assert_int_equal(tp_replayer_close(&p, &err), TP_OK);
}

static int allocate_calls(void **state)
{
    (void)state;
    calls = calloc(CALLS_MAX, sizeof *calls);
    return calls ? 0 : -1;
}

static int free_calls(void **state)
{
    (void)state;
    free(calls);
    return 0;
}

static const struct shape shapes[] = {{1, 1, false}, {1, 5, false}, {3, 1, false}, {3, 5, false},
                                      {1, 1, true},  {1, 5, true},  {3, 5, true}};
static tp_replay_fn *const replays[] = {tp_replay_untimed, tp_replay_latency, tp_replay_observed};
static const struct tp_source_ops *const sources[] = {&tp_source_host, &tp_source_virtual};
static const struct tp_strategy *const strategies[] = {&plain, &rich};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void every_variant(uint32_t instructions, uint32_t copies, bool stop, size_t step)
{
    for (size_t i = 0; i < COUNT(shapes); i += step) {
        struct tp_program *program = some_program(instructions, shapes[i]);
        for (size_t n = 0; n < COUNT(replays) * COUNT(sources) * COUNT(strategies) * 3; n++) {
            struct variant v = {.replay = replays[n % 3],
                                .touch = (enum tp_touch)(n / 3 % 3),
                                .source = sources[n / 9 % 2],
                                .s = strategies[n / 18],
                                .stop = stop};
            for (v.nth = 0; v.nth < (v.replay == tp_replay_untimed ? copies : 1); v.nth++)
                check_replay(program, shapes[i], v);
        }
        tp_program_release(program);
    }
}

TEST(each_call_is_what_the_program_says)
{
    every_variant(SHORT, 13, false, 1);
}

TEST(the_next_window_goes_on_where_the_last_one_ended)
{
    every_variant(LONG, 1, false, COUNT(shapes) / 2);
}

TEST(a_stop_ends_every_variant_at_the_failure)
{
    every_variant(SHORT, 13, true, 1);
}

GROUP(allocate_calls, free_calls)
