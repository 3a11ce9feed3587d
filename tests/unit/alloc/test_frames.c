/* Frames of the heap: what is written of a heap that is known, what a replay takes, and that both
 * stay in their bounds whatever the program and the strategy do. */
#include "tests/unit/random_program.h"

#include "alloc/heapmap/frames.h"

extern const struct tp_source_ops tp_source_host, tp_source_shuffle;
extern const struct tp_strategy tp_strategy_arena, tp_strategy_bfc, tp_strategy_bump,
    tp_strategy_direct, tp_strategy_lru, tp_strategy_rmm_arena, tp_strategy_rmm_pool,
    tp_strategy_stitch, tp_strategy_stream_pool, tp_strategy_torch;

static const struct tp_strategy *const strategies[] = {
    &tp_strategy_arena,       &tp_strategy_bfc,       &tp_strategy_bump,     &tp_strategy_direct,
    &tp_strategy_lru,         &tp_strategy_rmm_arena, &tp_strategy_rmm_pool, &tp_strategy_stitch,
    &tp_strategy_stream_pool, &tp_strategy_torch};

static int setup(void **state)
{
    (void)state;
    return new_run();
}

static struct tp_frames *new_frames(uint32_t devices, uint32_t most)
{
    struct tp_frames *f = calloc(1, tp_frames_size(devices, most));
    assert_non_null(f);
    tp_frames_open(f, devices, most);
    assert_int_equal(f->bytes, tp_frames_size(devices, most));
    return f;
}

/* ---- what is written of a heap ---- */

enum { PIECES = 200000 };

static struct heap {
    struct tp_heap_piece pieces[PIECES];
    struct tp_heap_range ranges[PIECES];
    struct tp_heap_layout layout;
    struct tp_frame frame;
} heap;

static void begin_heap(void)
{
    memset(&heap.layout, 0, sizeof heap.layout);
    heap.layout.pieces = heap.pieces;
    heap.layout.ranges = heap.ranges;
    heap.frame = (struct tp_frame){.reasons = TP_FRAME_CHANGE, .mark = UINT32_MAX};
}

/* A number of 0: in the range before; behind a gap. */
static void add_piece(uint64_t number, uint64_t gap, uint64_t size, enum tp_walk_kind kind,
                      uint64_t event)
{
    struct tp_heap_layout *l = &heap.layout;
    if (number)
        heap.ranges[l->range_count++] =
            (struct tp_heap_range){.number = number, .first = l->piece_count};
    struct tp_heap_range *r = &heap.ranges[l->range_count - 1];
    heap.pieces[l->piece_count++] = (struct tp_heap_piece){
        .number = r->number, .offset = r->size + gap, .size = size, .event = event, .kind = kind};
    r->size += gap + size;
    r->bytes += size;
    r->count++;
    heap.frame.kinds[kind] += size;
    heap.frame.reserved += size;
}

static struct tp_frame_reader put_heap(struct tp_frames *f, uint64_t event)
{
    unsigned coarseness = 0;
    heap.frame.event = event;
    tp_frames_add(f, 0, &heap.frame, &heap.layout, &coarseness);
    return tp_frame_read(f, 0, tp_frames_last(f, 0));
}

static void assert_piece(struct tp_frame_reader *r, const struct tp_frame_piece *wanted)
{
    struct tp_frame_piece got;
    assert_true(tp_frame_piece(r, &got));
    assert_fields(got, offset, wanted->offset, size, wanted->size, kind, wanted->kind, event,
                  wanted->event, pieces, wanted->pieces);
    for (int k = 0; k < TP_WALK_COUNT; k++)
        assert_int_equal(got.bytes[k], wanted->bytes[k]);
}

static void assert_row(struct tp_frame_reader *r, uint64_t number, uint64_t ranges, uint64_t size)
{
    struct tp_frame_row got;
    struct tp_frame_piece none;
    assert_false(tp_frame_piece(r, &none));
    assert_true(tp_frame_row(r, &got));
    assert_fields(got, number, number, ranges, ranges, size, size);
}

static void assert_no_row(struct tp_frame_reader *r)
{
    struct tp_frame_row row;
    assert_false(tp_frame_row(r, &row));
    assert_false(r->broken);
}

TEST_WITH(a_small_heap_is_kept_exactly, setup, teardown)
{
    struct tp_frames *f = new_frames(1, 8);
    begin_heap();
    add_piece(1, 0, 4096, TP_WALK_LIVE, 70);
    add_piece(0, 0, 512, TP_WALK_INTERNAL, 0);
    add_piece(0, 0, 8192, TP_WALK_LIVE, 3);
    add_piece(9, 1024, 2048, TP_WALK_SPAN, 0);
    add_piece(0, 1 << 20, 1536, TP_WALK_CACHED, 0);
    add_piece(0, 0, 512, TP_WALK_DEAD, 0);
    struct tp_frame_reader r = put_heap(f, 80);
    assert_int_equal(tp_frames_last(f, 0)->unit_log2, 9);
    assert_int_equal(tp_frames_last(f, 0)->ranges, 2);
    assert_row(&r, 1, 1, 12800);
    assert_piece(&r, &(struct tp_frame_piece){0, 4096, TP_WALK_LIVE, 70, 1, {4096}});
    assert_piece(&r,
                 &(struct tp_frame_piece){4096, 512, TP_WALK_INTERNAL, 0, 1, {0, 0, 0, 0, 512}});
    assert_piece(&r, &(struct tp_frame_piece){4608, 8192, TP_WALK_LIVE, 3, 1, {8192}});
    assert_row(&r, 9, 1, 5120 + (1 << 20));
    /* below a 512th of the row: one piece, but not across a gap that is none */
    assert_piece(&r, &(struct tp_frame_piece){1024, 2048, TP_WALK_SPAN, 0, 1, {0, 0, 2048}});
    assert_piece(&r, &(struct tp_frame_piece){
                         3072 + (1 << 20), 2048, TP_FRAME_MIXED, 0, 2, {0, 1536, 0, 512}});
    assert_no_row(&r);
    free(f);
}

/* Numbers of 64 bits, and a unit of a byte. */
TEST_WITH(the_largest_numbers_are_written, setup, teardown)
{
    struct tp_frames *f = new_frames(1, 8);
    const uint64_t event = (UINT64_C(1) << 62) + 1, size = (UINT64_C(1) << 61) + 1;
    begin_heap();
    add_piece(UINT64_C(1) << 40, 0, size, TP_WALK_LIVE, event);
    add_piece(0, 0, size, TP_WALK_LIVE, 0);
    add_piece(0, 0, size, TP_WALK_LIVE, event);
    struct tp_frame_reader r = put_heap(f, event);
    assert_row(&r, UINT64_C(1) << 40, 1, 3 * size);
    assert_piece(&r, &(struct tp_frame_piece){0, size, TP_WALK_LIVE, event, 1, {size}});
    assert_piece(&r, &(struct tp_frame_piece){size, size, TP_WALK_LIVE, 0, 1, {size}});
    assert_piece(&r, &(struct tp_frame_piece){2 * size, size, TP_WALK_LIVE, event, 1, {size}});
    assert_no_row(&r);
    free(f);
}

/* Neighbours that nobody could see are one piece, which has the event of its largest live block. */
TEST_WITH(what_is_too_small_is_merged, setup, teardown)
{
    struct tp_frames *f = new_frames(1, 8);
    begin_heap();
    add_piece(5, 0, 64 << 10, TP_WALK_SPAN, 0);
    for (uint64_t i = 0; i < 20; i++)
        add_piece(0, 0, 16 * (1 + i % 5), i % 2 ? TP_WALK_LIVE : TP_WALK_DEAD, 1000 + i);
    add_piece(0, 0, 64 << 10, TP_WALK_CACHED, 0);
    add_piece(0, 0, 16, TP_WALK_INTERNAL, 0);
    struct tp_frame_reader r = put_heap(f, 2000);
    assert_row(&r, 5, 1, (128 << 10) + 60 * 16 + 16);
    assert_piece(&r, &(struct tp_frame_piece){0, 64 << 10, TP_WALK_SPAN, 0, 1, {0, 0, 64 << 10}});
    assert_piece(&r, &(struct tp_frame_piece){
                         64 << 10, 60 * 16, TP_FRAME_MIXED, 1009, 20, {30 * 16, 0, 0, 30 * 16}});
    assert_piece(&r, &(struct tp_frame_piece){
                         (64 << 10) + 60 * 16, 64 << 10, TP_WALK_CACHED, 0, 1, {0, 64 << 10}});
    assert_piece(&r, &(struct tp_frame_piece){
                         (128 << 10) + 60 * 16, 16, TP_WALK_INTERNAL, 0, 1, {0, 0, 0, 0, 16}});
    assert_no_row(&r);
    free(f);
}

/* Reads a frame to its end: rows, and sums that must be those of the frame. */
static size_t count_rows(const struct tp_frames *f, uint32_t device, const struct tp_frame *frame)
{
    struct tp_frame_reader r = tp_frame_read(f, device, frame);
    struct tp_frame_row row;
    struct tp_frame_piece p;
    uint64_t sums[TP_WALK_COUNT] = {0}, all = frame->page_rest, ranges = 0, number = 0;
    size_t rows = 0;
    for (; tp_frame_row(&r, &row); rows++) {
        uint64_t end = 0;
        assert_true(row.number > number);
        number = row.number;
        ranges += row.ranges;
        while (tp_frame_piece(&r, &p)) {
            uint64_t inside = 0;
            assert_true(p.size && p.offset >= end);
            end = p.offset + p.size;
            for (int k = 0; k < TP_WALK_COUNT; k++) {
                inside += p.bytes[k];
                sums[k] += p.bytes[k];
            }
            assert_true(inside && inside <= p.size);
            assert_true(p.kind == TP_FRAME_MIXED || (inside == p.size && p.pieces == 1));
            assert_true(p.kind != TP_FRAME_MIXED || p.pieces > 1);
            assert_true(p.event <= frame->event);
            all += inside;
        }
        assert_int_equal(end, row.size);
    }
    assert_false(r.broken);
    assert_int_equal(ranges, frame->ranges);
    assert_int_equal(all, frame->reserved);
    assert_memory_equal(sums, frame->kinds, sizeof sums);
    return rows;
}

TEST_WITH(many_ranges_share_rows, setup, teardown)
{
    struct tp_frames *f = new_frames(1, TP_FRAMES_MOST);
    unsigned coarseness = 0;
    for (uint64_t count = 1; count <= PIECES; count *= 5) {
        begin_heap();
        for (uint64_t i = 0; i < count; i++)
            add_piece(1 + 3 * i, i % 7 * 16, i % 1000 ? 512 + i % 3 * 16 : 64 << 20,
                      i % 4 ? TP_WALK_LIVE : TP_WALK_CACHED, i);
        heap.frame.event = count;
        tp_frames_add(f, 0, &heap.frame, &heap.layout, &coarseness);
        size_t rows = count_rows(f, 0, tp_frames_last(f, 0));
        assert_true(rows && rows <= 2 * TP_FRAME_RESOLUTION + 1);
        assert_true(count > 100 || rows == count);
    }
    free(f);
}

/* Heaps that fit into no row: the worst that a walk can name. */
TEST_WITH(the_coarsest_rows_fit, setup, teardown)
{
    struct tp_frames *f = new_frames(TP_MAX_DEVICES, TP_FRAMES_MOST);
    for (unsigned worst = 0; worst < 3; worst++) {
        unsigned coarseness = 0;
        begin_heap();
        for (uint64_t i = 0; i < PIECES; i++)
            add_piece(worst < 2 || i == 0 ? 1 + i * (UINT64_C(1) << (worst * 20)) : 0,
                      (UINT64_C(1) << (worst == 1 ? 42 : 10)) + i % 2, 1 + i % (worst ? 5 : 100000),
                      (enum tp_walk_kind)(i % TP_WALK_COUNT), i * (UINT64_C(1) << 40));
        heap.frame.event = UINT64_MAX / 2;
        tp_frames_add(f, 0, &heap.frame, &heap.layout, &coarseness);
        assert_true(count_rows(f, 0, tp_frames_last(f, 0)) > 0);
    }
    free(f);
}

/* ---- which frames stay ---- */

static void add_empty(struct tp_frames *f, uint64_t event, uint64_t bytes, uint32_t reasons)
{
    unsigned coarseness = 0;
    begin_heap();
    add_piece(1, 0, bytes, TP_WALK_SPAN, 0);
    heap.frame.allocated = bytes;
    heap.frame.event = event;
    heap.frame.reasons = reasons;
    tp_frames_add(f, 0, &heap.frame, &heap.layout, &coarseness);
}

static bool is_kept(const struct tp_frames *f, uint64_t event)
{
    for (uint32_t i = 0; i < tp_frames_count(f, 0); i++)
        if (tp_frames_at(f, 0, i)->event == event)
            return true;
    return false;
}

TEST_WITH(the_tips_stay, setup, teardown)
{
    struct tp_frames *f = new_frames(1, 9);
    add_empty(f, 0, 10, TP_FRAME_BEGIN);
    for (uint64_t i = 1; i <= 800; i++) {
        uint64_t at = i % 200;
        add_empty(f, i, 10 + 10 * (at < 100 ? at : 200 - at), TP_FRAME_CHANGE);
    }
    add_empty(f, 801, 10, TP_FRAME_END);
    assert_int_equal(tp_frames_count(f, 0), 9);
    assert_int_equal(tp_frames_left_out(f, 0), 802 - 9);
    for (uint64_t i = 100; i <= 700; i += 100)
        assert_true(is_kept(f, i));
    free(f);
}

TEST_WITH(what_is_always_kept_stays, setup, teardown)
{
    static const uint8_t always[] = {TP_FRAME_DEMAND, TP_FRAME_FAILED, TP_FRAME_RESERVED};
    for (uint32_t most = 1; most <= 8; most++) {
        struct tp_frames *f = new_frames(1, most);
        add_empty(f, 0, 500, TP_FRAME_BEGIN);
        for (uint64_t i = 1; i < 1000; i++)
            add_empty(f, i, 500 + i * 7919 % 1000,
                      i < 300 || i > 302 ? TP_FRAME_MARK : always[i - 300]);
        add_empty(f, 1000, 500, TP_FRAME_END);
        static const uint64_t kept[] = {0, 300, 301, 302, 1000};
        for (size_t i = 0; i < COUNT(kept); i++)
            assert_true(is_kept(f, kept[i]));
        assert_int_equal(tp_frames_count(f, 0), most < TP_FRAMES_LEAST ? TP_FRAMES_LEAST : most);
        free(f);
    }
}

TEST_WITH(a_withdrawn_reason_is_not_kept_for, setup, teardown)
{
    struct tp_frames *f = new_frames(1, 5);
    add_empty(f, 0, 10, TP_FRAME_BEGIN | TP_FRAME_RESERVED);
    add_empty(f, 1, 20, TP_FRAME_RESERVED);
    tp_frames_withdraw(f, 0, TP_FRAME_RESERVED);
    assert_int_equal(tp_frames_at(f, 0, 0)->reasons, TP_FRAME_BEGIN);
    assert_int_equal(tp_frames_at(f, 0, 1)->reasons, TP_FRAME_CHANGE);
    free(f);
}

/* One that is added late is put where its event is. */
TEST_WITH(frames_are_in_the_order_of_events, setup, teardown)
{
    struct tp_frames *f = new_frames(1, 8);
    for (uint64_t i = 0; i < 5; i++)
        add_empty(f, i * 10, 10 + i, TP_FRAME_CHANGE);
    add_empty(f, 25, 7, TP_FRAME_RESERVED);
    for (uint32_t i = 1; i < tp_frames_count(f, 0); i++)
        assert_true(tp_frames_at(f, 0, i)->event > tp_frames_at(f, 0, i - 1)->event);
    assert_int_equal(tp_frames_at(f, 0, 3)->reserved, 7);
    free(f);
}

TEST_WITH(the_memory_is_bounded, setup, teardown)
{
    for (uint32_t devices = 1; devices <= TP_MAX_DEVICES; devices++)
        for (uint32_t most = 0; most <= TP_FRAMES_MOST + 1; most += 27)
            assert_true(tp_frames_size(devices, most) <= 10 << 20);
    assert_true(tp_frames_size(1, 64) <= 2200 << 10);
}

/* ---- what a replay takes ---- */

static struct tp_frames *frames_of(struct tp_replay_cfg *cfg, uint32_t most)
{
    struct tp_frames *f = new_frames(tp_program_facts(cfg->program)->devices, most);
    cfg->frames = f;
    replay(cfg);
    assert_true(tp_frames_hold(f, most, tp_program_facts(cfg->program)));
    return f;
}

static const struct tp_frame *with_reason(const struct tp_frames *f, uint32_t device,
                                          uint32_t reason)
{
    const struct tp_frame *found = NULL;
    for (uint32_t i = 0; i < tp_frames_count(f, device); i++) {
        const struct tp_frame *frame = tp_frames_at(f, device, i);
        assert_true(!found || !(frame->reasons & reason));
        found = frame->reasons & reason ? frame : found;
    }
    return found;
}

/* The frames agree with the other figures of the same pass. */
static void assert_frames(const struct tp_replay_cfg *cfg, const struct tp_frames *f,
                          uint32_t device)
{
    const struct tp_device_run *d = &run->devices[device];
    const struct tp_frame *begin = with_reason(f, device, TP_FRAME_BEGIN);
    const struct tp_frame *demand = with_reason(f, device, TP_FRAME_DEMAND);
    const struct tp_frame *most = with_reason(f, device, TP_FRAME_RESERVED);
    const struct tp_frame *failed = with_reason(f, device, TP_FRAME_FAILED);
    const struct tp_frame *end = with_reason(f, device, TP_FRAME_END);
    assert_true(begin && demand && most && end);
    assert_int_equal(begin->event, 0);
    assert_fields(*demand, event, d->at_peak.event, requested, d->at_peak.requested,
                  kinds[TP_WALK_SPAN], d->at_peak.span, page_rest, d->at_peak.page_rest, time_ns,
                  tp_program_facts(cfg->program)->time_known ? d->at_peak.time_ns : TP_NONE);
    assert_int_equal(end->reserved, d->end_reserved);
    assert_true((failed != NULL) == (d->failed_allocations > 0));
    assert_true(!failed || failed->event == d->first_failed_event || !failed->event);
    for (uint32_t i = 0; i < tp_frames_count(f, device); i++) {
        const struct tp_frame *frame = tp_frames_at(f, device, i);
        assert_true(frame->reserved <= most->reserved);
        assert_int_equal(frame->allocated, frame->kinds[TP_WALK_LIVE]);
        count_rows(f, device, frame);
    }
}

static uint64_t highest_of_curve(const struct tp_device_run *d)
{
    uint64_t high = 0;
    for (uint32_t i = 0; i < d->curve.count; i++)
        if (d->curve.points[i].bytes[TP_CURVE_RESERVED] > high)
            high = d->curve.points[i].bytes[TP_CURVE_RESERVED];
    return high;
}

TEST_WITH(frames_agree_with_the_figures, setup, teardown)
{
    for (uint64_t number = 1; number <= 4; number++) {
        struct tp_program *p = random_program(number);
        for (size_t i = 0; i < COUNT(strategies); i++) {
            struct tp_replay_cfg cfg = run_on(&tp_source_virtual, strategies[i], p, TP_PASS_USAGE);
            struct tp_frames *f = frames_of(&cfg, 8 * (uint32_t)number);
            for (uint32_t d = 0; d < run->device_count; d++)
                assert_frames(&cfg, f, d);
            free(f);
        }
        tp_program_release(p);
    }
}

TEST_WITH(a_full_device_has_the_failure, setup, teardown)
{
    struct limit_options limit;
    struct tp_program *p = random_program(2);
    uint64_t failures = 0;
    for (size_t i = 0; i < COUNT(strategies); i++)
        for (limit.capacity = 2 << 20; limit.capacity < 20 << 20; limit.capacity *= 2) {
            struct tp_replay_cfg cfg = run_on(&tp_source_virtual, strategies[i], p, TP_PASS_USAGE);
            cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
            struct tp_frames *f = frames_of(&cfg, 16);
            for (uint32_t d = 0; d < run->device_count; d++) {
                assert_frames(&cfg, f, d);
                failures += run->devices[d].failed_allocations > 0;
            }
            free(f);
        }
    assert_true(failures > 0);
    tp_program_release(p);
}

/* The figures of the pass are the same with frames and without. */
TEST_WITH(frames_change_no_figure, setup, teardown)
{
    struct tp_program *p = random_program(3);
    for (size_t i = 0; i < COUNT(strategies); i++) {
        struct tp_replay_cfg cfg = run_on(&tp_source_virtual, strategies[i], p, TP_PASS_USAGE);
        struct tp_run *with = calloc(1, tp_run_size(RUN_DEVICES));
        struct tp_frames *f = frames_of(&cfg, 64);
        memcpy(with, run, tp_run_size(RUN_DEVICES));
        cfg.frames = NULL;
        replay(&cfg);
        assert_memory_equal(with, run, tp_run_size(run->device_count));
        free(with);
        free(f);
    }
    tp_program_release(p);
}

/* Blocks of many sizes, none with a large alignment: how far into a range such a block lies depends
 * on the address of the range. */
static struct tp_program *plain_program(void)
{
    static struct tp_insn insns[RANDOM_INSNS];
    uint64_t sizes[RANDOM_SLOTS] = {0};
    seed = 3;
    for (uint32_t i = 0; i < RANDOM_INSNS; i++) {
        uint32_t slot = i < RANDOM_SLOTS ? i : (uint32_t)random_below(RANDOM_SLOTS);
        bool asks = !sizes[slot];
        sizes[slot] = asks ? random_size() << random_below(10) : sizes[slot];
        insns[i] = (struct tp_insn){
            .op = asks ? TP_ALLOC : TP_FREE, .align_log2 = 4, .slot = slot, .size = sizes[slot]};
        sizes[slot] = asks ? sizes[slot] : 0;
    }
    return program_of(NULL, 0, insns, RANDOM_INSNS);
}

/* No decision follows an address, no frame has one: the bytes are the same wherever ranges lie. */
TEST_WITH(the_same_is_taken_anywhere, setup, teardown)
{
    struct tp_program *p = plain_program();
    for (size_t i = 0; i < COUNT(strategies); i++) {
        if (strategies[i]->caps & TP_CAP_STREAMS)
            continue;
        struct tp_replay_cfg cfg = run_on(&tp_source_host, strategies[i], p, TP_PASS_USAGE);
        struct tp_frames *a = frames_of(&cfg, 32), *b = frames_of(&cfg, 32);
        uint64_t room[OPTION_WORDS];
        cfg.layers[cfg.layer_count++] = (struct tp_source_layer){
            &tp_source_shuffle,
            default_options(tp_source_shuffle.options, tp_source_shuffle.opts_size, room)};
        struct tp_frames *c = frames_of(&cfg, 32);
        assert_memory_equal(a, b, a->bytes);
        assert_memory_equal(a, c, a->bytes);
        free(a);
        free(b);
        free(c);
    }
    tp_program_release(p);
}

/* The last live pieces of a small heap have the events of their blocks. */
TEST_WITH(pieces_have_their_events, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 3 << 20, 0),
                                    ALLOC_INSN(1, 5 << 20, 0),
                                    FREE_INSN(0, 3 << 20, 0),
                                    {.op = TP_REALLOC, .align_log2 = 4, .slot = 1, .size = 9 << 20},
                                    ALLOC_INSN(0, 1 << 20, 0)};
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &tp_strategy_direct, p, TP_PASS_USAGE);
    struct tp_frames *f = frames_of(&cfg, 8);
    const struct tp_frame *end = with_reason(f, 0, TP_FRAME_END);
    struct tp_frame_reader r = tp_frame_read(f, 0, end);
    assert_fields(*end, event, 50, requested, 10 << 20);
    assert_row(&r, 3, 1, 9 << 20);
    assert_piece(&r, &(struct tp_frame_piece){0, 9 << 20, TP_WALK_LIVE, 40, 1, {9 << 20}});
    assert_row(&r, 4, 1, 1 << 20);
    assert_piece(&r, &(struct tp_frame_piece){0, 1 << 20, TP_WALK_LIVE, 50, 1, {1 << 20}});
    assert_no_row(&r);
    free(f);
    tp_program_release(p);
}

/* ---- a large program ---- */

enum { LARGE_INSNS = 1000000, LARGE_LIVE = 100000 };

/* Grows to LARGE_LIVE blocks, then frees and asks at random; the peak lies in the middle. */
static struct tp_program *large_program(void)
{
    struct tp_insn *insns = calloc(LARGE_INSNS, sizeof *insns);
    uint64_t *sizes = calloc(LARGE_LIVE, sizeof *sizes);
    assert_true(insns && sizes);
    seed = 5;
    for (uint32_t i = 0; i < LARGE_INSNS; i++) {
        uint32_t slot = i < LARGE_LIVE ? i : (uint32_t)random_below(LARGE_LIVE);
        bool asks = !sizes[slot];
        uint64_t most = i > LARGE_INSNS / 2 && i < LARGE_INSNS / 2 + 50000 ? 200000 : 10000;
        sizes[slot] = asks ? 1 + random_below(most) : sizes[slot];
        insns[i] = (struct tp_insn){
            .op = asks ? TP_ALLOC : TP_FREE, .align_log2 = 4, .slot = slot, .size = sizes[slot]};
        sizes[slot] = asks ? sizes[slot] : 0;
    }
    struct tp_program *p = program_of(NULL, 0, insns, LARGE_INSNS);
    free(insns);
    free(sizes);
    return p;
}

static uint64_t walks, opened;
static const struct tp_strategy *walked;

static int counted_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *error)
{
    opened++;
    return walked->init(st, env, opts, error);
}

static int counted_walk(void *st, tp_walk_fn *fn, void *ctx)
{
    walks++;
    return walked->walk(st, fn, ctx);
}

/* Few walks, of a heap with so many blocks, and still what is always kept; direct gives memory back
 * with each free, so that its highest moment is gone with the next. */
TEST_WITH(a_large_heap_has_few_frames, setup, teardown)
{
    struct tp_program *p = large_program();
    const struct tp_strategy *const some[] = {&tp_strategy_arena, &tp_strategy_direct};
    for (size_t i = 0; i < COUNT(some); i++) {
        struct tp_strategy counted = *some[i];
        walked = some[i];
        walks = 0;
        counted.walk = counted_walk;
        struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &counted, p, TP_PASS_USAGE);
        struct tp_frames *f = frames_of(&cfg, TP_FRAMES_MOST);
        assert_frames(&cfg, f, 0);
        assert_true(walks < 2000 && tp_frames_count(f, 0) >= 3);
        if (some[i] == &tp_strategy_direct) /* no call takes more than it keeps */
            assert_int_equal(with_reason(f, 0, TP_FRAME_RESERVED)->reserved,
                             highest_of_curve(&run->devices[0]));
        free(f);
    }
    tp_program_release(p);
}

static struct tp_insn insn_of(bool frees, uint32_t slot, uint64_t size)
{
    return (struct tp_insn){
        .op = frees ? TP_FREE : TP_ALLOC, .align_log2 = 4, .slot = slot, .size = size};
}

/* The trace wants most at its begin, but bytes that take a page each take more later on, and each
 * time more than ever, until the next free: no credit lasts for that, and the last one is taken in
 * a second replay. */
TEST_WITH(the_highest_peak_is_never_lost, setup, teardown)
{
    enum { KEPT = 2000, TIPS = 3000, HELD = 4096 };
    static struct tp_insn insns[2 + KEPT + 3 * TIPS];
    struct tp_strategy counted = tp_strategy_direct;
    struct tp_insn *to = insns;
    *to++ = insn_of(false, 0, KEPT * HELD);
    *to++ = insn_of(true, 0, KEPT * HELD);
    for (uint32_t i = 0; i < KEPT; i++)
        *to++ = insn_of(false, i, 1);
    for (uint32_t i = 0; i < TIPS; i++) {
        *to++ = insn_of(false, KEPT, 1);
        *to++ = insn_of(false, KEPT + 1 + i, 1);
        *to++ = insn_of(true, KEPT, 1);
    }
    struct tp_program *p = program_of(NULL, 0, insns, COUNT(insns));
    walked = &tp_strategy_direct;
    opened = 0;
    counted.init = counted_init;
    struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &counted, p, TP_PASS_USAGE);
    struct tp_frames *f = frames_of(&cfg, 8);
    const struct tp_frame *most = with_reason(f, 0, TP_FRAME_RESERVED);
    assert_int_equal(most->reserved, highest_of_curve(&run->devices[0]));
    assert_int_equal(most->event, run->devices[0].peak_reserved_event);
    assert_int_equal(opened, 2);
    assert_frames(&cfg, f, 0);
    free(f);
    tp_program_release(p);
}

/* ---- strategies and processes that do wrong ---- */

static uint64_t moved_by;

struct passing {
    tp_walk_fn *fn;
    void *ctx;
    tp_addr first;
};

static void moved_piece(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    const struct passing *to = ctx;
    to->fn(to->ctx, kind, addr + moved_by, size);
}

static int moved_walk(void *st, tp_walk_fn *fn, void *ctx)
{
    struct passing to = {.fn = fn, .ctx = ctx};
    return walked->walk(st, moved_piece, &to);
}

/* Every piece lies where the first one is. */
static void same_piece(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct passing *to = ctx;
    to->first = to->first ? to->first : addr;
    to->fn(to->ctx, kind, to->first, size);
}

static int same_walk(void *st, tp_walk_fn *fn, void *ctx)
{
    struct passing to = {.fn = fn, .ctx = ctx};
    return walked->walk(st, same_piece, &to);
}

TEST_WITH(a_walk_that_is_wrong_is_an_error, setup, teardown)
{
    struct tp_program *p = random_program(2);
    struct tp_strategy wrong = tp_strategy_torch;
    walked = &tp_strategy_torch;
    for (int i = 0; i < 2; i++) {
        wrong.walk = i ? same_walk : moved_walk;
        moved_by = UINT64_C(1) << 46;
        struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &wrong, p, TP_PASS_USAGE);
        replay(&cfg); /* it is only noticed in frames */
        cfg.frames = new_frames(tp_program_facts(p)->devices, 8);
        memset(run, 0, tp_run_size(RUN_DEVICES));
        assert_int_equal(tp_replay(&cfg, run, &err), TP_EBROKEN);
        assert_non_null(strstr(err.text, "in none of its ranges, or twice"));
        free(cfg.frames);
    }
    tp_program_release(p);
}

TEST_WITH(what_has_no_ranges_has_no_frames, setup, teardown)
{
    struct tp_program *p = random_program(2);
    struct tp_strategy silent = tp_strategy_torch;
    silent.walk = NULL;
    silent.check = NULL;
    struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &silent, p, TP_PASS_USAGE);
    struct tp_frames *f = frames_of(&cfg, 8);
    for (uint32_t d = 0; d < run->device_count; d++)
        assert_int_equal(tp_frames_count(f, d), 0);
    free(f);
    tp_program_release(p);
}

/* Whatever a process left there, it is refused or can be read. */
TEST_WITH(damaged_frames_are_refused_or_read, setup, teardown)
{
    struct tp_program *p = random_program(2);
    struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &tp_strategy_torch, p, TP_PASS_USAGE);
    struct tp_frames *whole = frames_of(&cfg, 8), *f = malloc(whole->bytes);
    const struct tp_program_facts *facts = tp_program_facts(p);
    uint64_t refused = 0;
    assert_non_null(f);
    assert_false(tp_frames_hold(whole, 9, facts));
    seed = 11;
    for (int i = 0; i < 400; i++) {
        memcpy(f, whole, whole->bytes);
        for (uint64_t k = 0, count = 1 + random_below(20); k < count; k++)
            ((uint8_t *)f)[random_below(i % 2 ? 16384 : whole->bytes)] = (uint8_t)random_below(256);
        refused += !tp_frames_hold(f, 8, facts);
    }
    assert_true(refused > 100);
    for (uint32_t at = 0; at < sizeof *f; at++) {
        memcpy(f, whole, whole->bytes);
        ((uint8_t *)f)[at] ^= 1;
        assert_false(tp_frames_hold(f, 8, facts));
    }
    free(f);
    free(whole);
    tp_program_release(p);
}
