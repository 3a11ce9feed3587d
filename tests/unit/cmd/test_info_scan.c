/* What `tapool info` counts: against a slow count of random programs, and at its edges: a
 * initial_heap, recycled threads, resets, more sizes than are told apart, sums beyond 64 bits. */
#include "alloc/base/random.h"
#include "cmd/info/info.h"

#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

/* A program, and how its instructions were given. */
struct made {
    struct tp_insn *insns;
    size_t count, capacity, initial_heap;
    bool time_known;
    enum tp_kind kind;
    uint16_t devices;
    const char *marks[4];
};

static void add(struct made *m, struct tp_insn insn)
{
    if (m->count == m->capacity) {
        m->capacity = m->capacity ? 2 * m->capacity : 64;
        m->insns = realloc(m->insns, m->capacity * sizeof *m->insns);
        assert_non_null(m->insns);
    }
    m->insns[m->count++] = insn;
}

static struct tp_program *build(const struct made *m)
{
    struct tp_err err = {0};
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    uint32_t index;
    int rc = tp_builder_new(&(struct tp_builder_cfg){.kind = m->kind}, &b, &err);
    for (int i = 0; !rc && i < 4 && m->marks[i]; i++)
        rc = tp_builder_mark(b, m->marks[i], &index, &err);
    for (size_t i = 0; !rc && i < m->count; i++)
        rc = i < m->initial_heap ? tp_builder_initial_heap(b, &m->insns[i], &err)
                                 : tp_builder_add(b, &m->insns[i], i - m->initial_heap + 1, &err);
    if (!rc)
        rc = tp_builder_finish(b,
                               &(struct tp_builder_end){.time_known = m->time_known,
                                                        .recorded_threads = 1,
                                                        .devices = m->devices},
                               &p, &err);
    if (rc)
        print_message("%s\n", err.text);
    assert_int_equal(rc, TP_OK);
    return p;
}

static struct tp_info *scan(struct tp_program *p)
{
    struct tp_info *info = NULL;
    assert_int_equal(tp_info_scan(p, &info, NULL), TP_OK);
    return info;
}

/* ---- random programs ---- */

enum { SLOTS = 300, THREADS = 5, DEVICES = 3, STEPS = 6000 };

struct random {
    uint64_t state;
};

static uint64_t draw(struct random *r, uint64_t below)
{
    return tp_random_split(&r->state) % below;
}

static uint64_t draw_size(struct random *r)
{
    return 1 + draw(r, UINT64_C(1) << draw(r, 22));
}

/* One instruction on a slot, which is live or not. New slots come in order: they are dense. */
static void step(struct made *m, struct random *r, struct tp_insn *live, uint32_t *slots)
{
    uint32_t slot = (uint32_t)draw(r, *slots + (*slots < SLOTS));
    struct tp_insn *s = &live[slot];
    uint64_t roll = draw(r, 100);
    struct tp_insn in = {
        .slot = slot, .thread = (uint16_t)draw(r, THREADS), .gap_ns = (uint32_t)draw(r, 1000)};
    if (roll == 0) {
        in = (struct tp_insn){.op = TP_RESET, .device = (uint16_t)draw(r, DEVICES)};
        for (uint32_t i = 0; i < SLOTS; i++)
            if (live[i].device == in.device)
                live[i].size = 0;
    } else if (roll == 1) {
        in.op = TP_THREAD_END;
        in.slot = 0;
    } else if (!s->size) {
        in.op = roll % 2 ? TP_ALLOC : TP_ADOPT;
        in.size = draw_size(r);
        in.device = (uint16_t)draw(r, DEVICES);
        in.align_log2 = (uint8_t)(4 + (roll == 2));
        *s = in;
        *slots += slot == *slots;
    } else if (roll < 20) {
        in.op = TP_REALLOC;
        in.device = s->device;
        in.size = s->size = draw_size(r);
        in.align_log2 = s->align_log2;
    } else {
        in.op = TP_FREE;
        in.device = s->device;
        in.size = s->size;
        in.align_log2 = s->align_log2;
        s->size = 0;
    }
    add(m, in);
}

static struct made random_program(uint64_t seed, bool time_known)
{
    static struct tp_insn live[SLOTS + 1];
    struct random r = {seed};
    struct made m = {.time_known = time_known, .devices = DEVICES};
    uint32_t slots = 0;
    memset(live, 0, sizeof live);
    for (; m.initial_heap < seed % 7; m.initial_heap++) {
        struct tp_insn in = {.op = TP_ALLOC,
                             .slot = slots,
                             .size = draw_size(&r),
                             .align_log2 = 4,
                             .device = (uint16_t)draw(&r, DEVICES)};
        live[slots++] = in;
        add(&m, in);
    }
    for (int i = 0; i < STEPS; i++)
        step(&m, &r, live, &slots);
    return m;
}

static uint64_t time_of(const struct made *m, size_t i)
{
    uint64_t time = 0;
    for (size_t k = 0; k <= i; k++)
        time += m->insns[k].gap_ns;
    return time;
}

/* Where the life of the object that instruction `i` makes ends; m->count: it does not. */
static size_t end_of(const struct made *m, size_t i)
{
    const struct tp_insn *a = &m->insns[i];
    for (size_t k = i + 1; k < m->count; k++) {
        const struct tp_insn *in = &m->insns[k];
        if ((in->op == TP_FREE && in->slot == a->slot) ||
            (in->op == TP_RESET && in->device == a->device))
            return k;
    }
    return m->count;
}

static bool thread_ended(const struct made *m, size_t from, size_t to, uint16_t thread)
{
    for (size_t k = from; k < to; k++)
        if (m->insns[k].op == TP_THREAD_END && m->insns[k].thread == thread)
            return true;
    return false;
}

/* The parts of tp_info that are counted per object. */
struct slow {
    struct tp_info_count allocated, temporary, outlive, before;
    uint64_t before_freed, freed, remote, event_sum, time_sum, event_max;
};

static void count_slowly(const struct made *m, struct slow *s)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct tp_insn *in = &m->insns[i];
        if (in->op != TP_ALLOC && in->op != TP_ADOPT)
            continue;
        size_t end = end_of(m, i);
        struct tp_info_count *c = i < m->initial_heap ? &s->before : &s->allocated;
        c->objects++;
        c->bytes += in->size;
        if (i < m->initial_heap) {
            s->before_freed += end < m->count;
            continue;
        }
        c = end == m->count ? &s->outlive : &s->temporary;
        if (end == m->count || end - i <= 64) {
            c->objects++;
            c->bytes += in->size;
        }
        if (end == m->count)
            continue;
        s->freed++;
        s->event_sum += end - i;
        s->event_max = end - i > s->event_max ? end - i : s->event_max;
        s->time_sum += time_of(m, end) - time_of(m, i);
        s->remote += m->insns[end].op == TP_FREE &&
                     (m->insns[end].thread != in->thread || thread_ended(m, i, end, in->thread));
    }
}

static void same_count(struct tp_info_count a, struct tp_info_count b)
{
    assert_fields(a, objects, b.objects, bytes, b.bytes);
}

/* Lowest and highest requested bytes of a device in each column, by going through the whole
 * program. */
static void check_columns(const struct made *m, const struct tp_info *info, uint16_t device)
{
    uint64_t live[SLOTS] = {0}, requested = 0, total = time_of(m, m->count - 1);
    struct tp_stretch slow[TP_INFO_COLUMNS];
    uint64_t time = 0;
    size_t column = 0, events = m->count - m->initial_heap;
    slow[0] = (struct tp_stretch){0, 0, 0};
    for (size_t i = 0; i < m->count; i++) {
        const struct tp_insn *in = &m->insns[i];
        time += in->gap_ns;
        double at = i < m->initial_heap ? 0 : (double)(i - m->initial_heap) / (double)events;
        at = m->time_known ? (double)time / (double)total : at;
        size_t to = (size_t)(at * TP_INFO_COLUMNS);
        to = to < TP_INFO_COLUMNS ? to : TP_INFO_COLUMNS - 1;
        for (; column < to; slow[++column] = (struct tp_stretch){requested, requested, requested}) {
        }
        for (uint32_t s = 0; in->op == TP_RESET && in->device == device && s < SLOTS; s++)
            live[s] = 0;
        if (in->device == device && in->op <= TP_ADOPT && in->op != TP_RETAIN &&
            in->op != TP_RELEASE)
            live[in->slot] = in->op == TP_FREE ? 0 : in->size;
        requested = 0;
        for (uint32_t s = 0; s < SLOTS; s++)
            requested += live[s];
        tp_stretch_add(&slow[column], requested);
        if (i < m->initial_heap)
            slow[0] = (struct tp_stretch){requested, requested, requested};
    }
    for (; column < TP_INFO_COLUMNS - 1;
         slow[++column] = (struct tp_stretch){requested, requested, requested}) {
    }
    assert_memory_equal(info->devices[device].columns, slow, sizeof slow);
}

/* ---- threads, streams, devices, powers of two ---- */

enum { THREADS_MOST = 4096 };

/* The threads of a program in the order in which they first allocate or free. */
struct named {
    uint64_t owner[THREADS_MOST]; /* index of the thread, and how often that one had ended */
    size_t count;
};

static size_t named(struct named *n, uint64_t owner)
{
    size_t i = 0;
    while (i < n->count && n->owner[i] != owner)
        i++;
    assert_true(i < THREADS_MOST);
    n->owner[i] = owner;
    n->count += i == n->count;
    return i;
}

/* The thread that made the object of instruction `i`, as count_slowly tells threads apart. */
static bool freed_by_another(const struct made *m, size_t i)
{
    for (size_t k = i; k-- > m->initial_heap;) {
        const struct tp_insn *in = &m->insns[k];
        if ((in->op == TP_ALLOC || in->op == TP_ADOPT) && in->slot == m->insns[i].slot)
            return in->thread != m->insns[i].thread || thread_ended(m, k, i, in->thread);
    }
    return false;
}

static void tally(struct tp_info_share *to, const struct tp_insn *in, bool remote)
{
    if (in->op == TP_FREE) {
        to->frees++;
        to->remote += remote;
        return;
    }
    to->allocated.objects++;
    to->allocated.bytes += in->size;
}

static void check_shares(const struct made *m, const struct tp_info *info)
{
    static struct tp_info_share threads[THREADS_MOST], devices[DEVICES];
    struct tp_info_count powers[TP_INFO_POWERS] = {{0, 0}};
    struct named all = {.count = 0};
    uint64_t ended[THREADS] = {0};
    memset(threads, 0, sizeof threads);
    memset(devices, 0, sizeof devices);
    for (size_t i = m->initial_heap; i < m->count; i++) {
        const struct tp_insn *in = &m->insns[i];
        ended[in->thread] += in->op == TP_THREAD_END;
        if (in->op != TP_ALLOC && in->op != TP_ADOPT && in->op != TP_FREE)
            continue;
        bool remote = in->op == TP_FREE && freed_by_another(m, i);
        tally(&threads[named(&all, in->thread * UINT64_C(100000) + ended[in->thread])], in, remote);
        tally(&devices[in->device], in, remote);
        int power = 0;
        while ((UINT64_C(1) << power) < in->size)
            power++;
        powers[power].objects += in->op != TP_FREE;
        powers[power].bytes += in->op != TP_FREE ? in->size : 0;
    }
    assert_true(all.count > THREADS && all.count <= TP_INFO_THREADS);
    assert_int_equal(info->thread_count, all.count);
    assert_memory_equal(info->threads, threads, all.count * sizeof *threads);
    assert_memory_equal(info->powers, powers, sizeof powers);
    for (int d = 0; d < DEVICES; d++)
        assert_memory_equal(&info->devices[d].share, &devices[d], sizeof *devices);
}

static void check_random(uint64_t seed, bool time_known)
{
    struct made m = random_program(seed, time_known);
    struct tp_program *p = build(&m);
    struct tp_info *info = scan(p);
    struct slow s = {.freed = 0};
    count_slowly(&m, &s);
    same_count(info->allocated, s.allocated);
    same_count(info->temporary, s.temporary);
    same_count(info->outlive, s.outlive);
    same_count(info->before, s.before);
    assert_fields(*info, before_freed, s.before_freed, freed, s.freed, remote_frees, s.remote,
                  events.count, s.freed, events.sum, s.event_sum, events.max, s.event_max,
                  times.sum, s.time_sum, by_time, time_known);
    for (uint16_t d = 0; d < DEVICES; d++)
        check_columns(&m, info, d);
    check_shares(&m, info);
    tp_info_free(info);
    tp_program_release(p);
    free(m.insns);
}

TEST(random_programs_agree_with_a_slow_count)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        check_random(seed, seed % 3 != 0);
    }
}

/* ---- edges ---- */

TEST(a_size_belongs_to_the_first_row_that_holds_it)
{
    static const uint64_t host[] = {64, 512, 4096, 65536, 1 << 20};
    struct made m = {.time_known = false};
    for (uint32_t i = 0; i < 5; i++) {
        add(&m, (struct tp_insn)ALLOC_INSN(2 * i, host[i], 0));
        add(&m, (struct tp_insn)ALLOC_INSN(2 * i + 1, host[i] + 1, 0));
    }
    struct tp_program *p = build(&m);
    struct tp_info *info = scan(p);
    for (int i = 0; i < TP_INFO_SIZES; i++) {
        assert_int_equal(info->sizes[i].up_to, i < 5 ? host[i] : UINT64_MAX);
        assert_int_equal(info->sizes[i].count.objects, i == 0 || i == 5 ? 1 : 2);
    }
    assert_int_equal(info->sizes[1].count.bytes, 65 + 512);
    tp_info_free(info);
    tp_program_release(p);
    free(m.insns);
}

TEST(the_commonest_sizes_come_first_the_smaller_before_the_larger)
{
    static const uint64_t sizes[] = {50, 7,    9,   9,   50,  50,  7,  1000,
                                     9,  1000, 800, 801, 800, 801, 99, 99};
    struct made m = {.time_known = false};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add(&m, (struct tp_insn)ALLOC_INSN(i, sizes[i], 0));
    add(&m, (struct tp_insn){.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 9});
    struct tp_program *p = build(&m);
    struct tp_info *info = scan(p);
    assert_fields(*info, requests, 17, distinct, 7);
    static const struct tp_info_common expected[] = {{9, 4}, {50, 3}, {7, 2}};
    assert_memory_equal(info->common, expected, sizeof expected);
    tp_info_free(info);
    tp_program_release(p);
    free(m.insns);
}

/* Exactly as many sizes as are told apart, and one more. */
TEST(distinct_sizes_are_counted_up_to_a_bound)
{
    for (uint64_t count = TP_INFO_DISTINCT_MAX; count <= TP_INFO_DISTINCT_MAX + 1; count++) {
        struct made m = {.time_known = false};
        for (uint64_t i = 1; i <= count; i++) {
            add(&m, (struct tp_insn)ALLOC_INSN(0, i * 4096, 0));
            add(&m, (struct tp_insn)FREE_INSN(0, i * 4096, 0));
        }
        struct tp_program *p = build(&m);
        struct tp_info *info = scan(p);
        assert_fields(*info, distinct, TP_INFO_DISTINCT_MAX, distinct_capped,
                      count > TP_INFO_DISTINCT_MAX, common[0].requests,
                      count == TP_INFO_DISTINCT_MAX);
        tp_info_free(info);
        tp_program_release(p);
        free(m.insns);
    }
}

TEST(sums_of_bytes_stop_before_they_wrap)
{
    struct made m = {.time_known = false};
    for (int i = 0; i < (1 << 16) + 5; i++) {
        add(&m, (struct tp_insn)ALLOC_INSN(0, TP_MAX_SIZE, 0));
        add(&m, (struct tp_insn)FREE_INSN(0, TP_MAX_SIZE, 0));
    }
    struct tp_program *p = build(&m);
    struct tp_info *info = scan(p);
    assert_fields(*info, allocated.bytes, UINT64_MAX - 1, temporary.bytes, UINT64_MAX - 1,
                  sizes[TP_INFO_SIZES - 1].count.bytes, UINT64_MAX - 1, devices[0].columns[0].high,
                  TP_MAX_SIZE);
    tp_info_free(info);
    tp_program_release(p);
    free(m.insns);
}

TEST(the_phase_of_the_peak_is_the_one_in_which_it_is_first)
{
    struct made m = {.marks = {"a", "b", "c"}};
    add(&m, (struct tp_insn)ALLOC_INSN(0, 10, 0));
    add(&m, (struct tp_insn){.op = TP_MARK, .slot = 1});
    add(&m, (struct tp_insn)ALLOC_INSN(1, 10, 0));
    add(&m, (struct tp_insn)FREE_INSN(1, 10, 0));
    add(&m, (struct tp_insn){.op = TP_MARK, .slot = 2});
    add(&m, (struct tp_insn)ALLOC_INSN(1, 10, 0)); /* as high, but later */
    struct tp_program *p = build(&m);
    struct tp_info *info = scan(p);
    assert_int_equal(info->devices[0].peak_mark, 1);
    assert_int_equal(info->devices[0].columns[TP_INFO_COLUMNS - 1].last,
                     20); /* nothing changes there */
    tp_info_free(info);
    tp_program_release(p);
    free(m.insns);
}

TEST(a_phase_has_the_events_and_the_peak_between_its_marks_and_the_next_ones)
{
    struct made m = {.time_known = true, .devices = 2, .marks = {"a", "(none)", "b"}};
    add(&m, (struct tp_insn)ALLOC_INSN(0, 100, 0));
    add(&m, (struct tp_insn){.op = TP_MARK, .slot = 0, .gap_ns = 5});
    add(&m, (struct tp_insn)ALLOC_INSN(1, 10, 7));
    m.insns[2].device = 1;
    add(&m, (struct tp_insn)FREE_INSN(0, 100, 7));
    add(&m, (struct tp_insn){.op = TP_MARK, .slot = 2, .gap_ns = 1}); /* lower than in a */
    add(&m, (struct tp_insn){.op = TP_MARK, .slot = 1, .gap_ns = 2});
    add(&m, (struct tp_insn)ALLOC_INSN(0, 1000, 50)); /* in no phase */
    add(&m, (struct tp_insn){.op = TP_MARK, .slot = 0, .gap_ns = 3});
    add(&m, (struct tp_insn)ALLOC_INSN(2, 1, 4));
    struct tp_program *p = build(&m);
    struct tp_info *info = scan(p);
    static const struct tp_info_phase a = {2, 2, 3, 7 + 7 + 1 + 4, 1011, 9},
                                      b = {1, 5, 0, 2, 10, 5};
    assert_memory_equal(&info->phase_rows[0], &a, sizeof a);
    assert_int_equal(info->phase_rows[1].begun, 0);
    assert_memory_equal(&info->phase_rows[2], &b, sizeof b);
    assert_fields(*info, phases_begun, 3, devices[0].left, 1001, devices[1].left, 10);
    tp_info_free(info);
    tp_program_release(p);
    free(m.insns);
}

/* What was live before has no thread that allocated it; those beyond the bound are together. */
TEST(many_threads_share_a_row_beyond_a_bound)
{
    struct made m = {.time_known = false};
    for (uint32_t i = 0; i < TP_INFO_THREADS + 10; i++) {
        add(&m, (struct tp_insn)ALLOC_INSN(0, 8, 0));
        add(&m, (struct tp_insn)FREE_INSN(0, 8, 0));
        add(&m, (struct tp_insn){.op = TP_THREAD_END});
    }
    struct tp_program *p = build(&m);
    struct tp_info *info = scan(p);
    assert_fields(*info, thread_count, TP_INFO_THREADS + 10, threads[TP_INFO_THREADS - 1].frees, 1,
                  threads[TP_INFO_THREADS].frees, 10, threads[TP_INFO_THREADS].allocated.bytes, 80,
                  streams[0].allocated.objects, TP_INFO_THREADS + 10);
    tp_info_free(info);
    tp_program_release(p);
    free(m.insns);
}

/* Windows, and a program that lies in a file. */
TEST(long_programs_are_read_to_the_end)
{
    struct tp_err err = {0};
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    const uint64_t pairs = 3 * TP_WINDOW_MAX;
    assert_int_equal(tp_builder_new(&(struct tp_builder_cfg){.memory_limit = 1 << 20}, &b, &err),
                     TP_OK);
    for (uint64_t i = 0; i < pairs; i++) {
        struct tp_insn in = ALLOC_INSN((uint32_t)(i & 1), 100 + (i & 1), 5);
        struct tp_insn out = FREE_INSN((uint32_t)(~i & 1), 100 + (~i & 1), 5);
        assert_int_equal(tp_builder_add(b, &in, 10 * i + 1, &err), TP_OK);
        if (i)
            assert_int_equal(tp_builder_add(b, &out, 10 * i + 2, &err), TP_OK);
    }
    assert_int_equal(
        tp_builder_finish(b, &(struct tp_builder_end){.time_known = true, .recorded_threads = 1},
                          &p, &err),
        TP_OK);
    assert_true(tp_program_facts(p)->spooled_bytes > 0);
    struct tp_info *info = scan(p);
    assert_int_equal(info->freed, pairs - 1);
    assert_int_equal(info->events.min, 11); /* events are numbered with gaps */
    assert_fields(*info, events.max, 11, times.min, 10);
    assert_int_equal(info->times.max, 15); /* the first has no free before it */
    assert_int_equal(info->devices[0].columns[TP_INFO_COLUMNS - 1].high, 201);
    tp_info_free(info);
    tp_program_release(p);
}

/* ---- the screen, where no trace of tapool's own has what it shows ---- */

TEST(a_recording_that_began_mid_run_says_so)
{
    struct made m = {.initial_heap = 2, .kind = TP_KIND_DEVICE};
    add(&m, (struct tp_insn){.op = TP_ALLOC, .slot = 0, .size = 3072, .align_log2 = 8});
    add(&m, (struct tp_insn){.op = TP_ALLOC, .slot = 1, .size = 1024, .align_log2 = 8});
    add(&m, (struct tp_insn){.op = TP_FREE, .slot = 0, .size = 3072, .align_log2 = 8});
    struct tp_program *p = build(&m);
    struct tp_info *info = scan(p);
    struct tp_trace trace = {.program = p, .path = "a.bin", .file = "a.bin", .format = "other"};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    struct tp_page page = {.out = out, .width = 100};
    tp_info_text(&(struct tp_info_report){.trace = &trace,
                                          .info = info,
                                          .captured = &(struct tp_captured){0}},
                 &page);
    fclose(out);
    assert_non_null(strstr(text, "\nInitial heap\n"));
    assert_non_null(strstr(text, "2 blocks, 4 KiB, were live before event 1: 1 freed during the"));
    assert_non_null(strstr(text, "requested; peak 4 KiB before event 1\n"));
    assert_non_null(strstr(text, "format other, trace hash 000000000000\n"));
    assert_null(strstr(text, "Sizes")); /* nothing was allocated during the recording */
    free(text);
    tp_info_free(info);
    tp_program_release(p);
    free(m.insns);
}
