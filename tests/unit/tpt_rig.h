/* What the tests of .tpt share: random programs with everything in them, files in memory, programs
 * compared instruction by instruction, and blocks with checksums put right. */
#ifndef TP_TEST_TPT_RIG_H
#define TP_TEST_TPT_RIG_H

#include "alloc/base/random.h"
#include "tests/unit/test.h"
#include "traces/format.h"
#include "traces/formats/tpt/tpt_block.h"
#include "traces/formats/tpt/tpt_writer.h"
#include "traces/lower/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- random programs ---- */

struct tpt_mix {
    uint64_t seed;
    uint32_t count; /* instructions */
    uint16_t threads, streams, devices;
    uint32_t live;         /* objects, about */
    uint32_t initial_heap; /* instructions */
    uint32_t marks;        /* distinct names */
    uint32_t sizes;        /* distinct ones; 0: any up to 2^48 */
    bool resets, odd, jumps, long_gaps, any_slot, notes;
};

static inline uint64_t tpt_random(uint64_t *state)
{
    return tp_random_split(state);
}

struct tpt_object {
    uint64_t size;
    uint32_t extra;
    uint16_t device, stream;
    uint8_t align_log2;
    bool live;
};

struct tpt_gen {
    const struct tpt_mix *mix;
    uint64_t state, event;
    struct tpt_object *objects;
    uint32_t used, room;
    uint32_t *free_slots; /* a stack */
    uint32_t free_count;
    struct tp_builder *builder;
    bool initial_heap;
};

static inline uint64_t tpt_below(struct tpt_gen *g, uint64_t n)
{
    return tpt_random(&g->state) % n;
}

static inline void tpt_emit(struct tpt_gen *g, struct tp_insn in)
{
    struct tp_err err = {0};
    if (g->initial_heap) {
        in.thread = 0;
        if (tp_builder_initial_heap(g->builder, &in, &err))
            fail_msg("%s", err.text);
        return;
    }
    uint64_t kind = tpt_below(g, 16);
    if (kind < 10)
        in.gap_ns = (uint32_t)tpt_below(g, 300) * (g->mix->seed % 3 == 0 ? 1000 : 1);
    else if (kind == 10 && g->mix->long_gaps)
        in.gap_ns = (uint32_t)tpt_below(g, UINT64_C(1) << 32);
    else if (kind == 11 && g->mix->long_gaps)
        in.gap_ns = UINT32_MAX;
    g->event++;
    if (g->mix->jumps && g->event > 1 && tpt_below(g, 8) == 0)
        g->event += tpt_below(g, 4) == 0 ? tpt_below(g, UINT64_C(1) << 40) : UINT64_MAX;
    if (tp_builder_add(g->builder, &in, g->event, &err))
        fail_msg("seed %" PRIu64 ": %s", g->mix->seed, err.text);
}

static inline uint64_t tpt_size(struct tpt_gen *g)
{
    if (g->mix->sizes)
        return 24 + 40 * tpt_below(g, g->mix->sizes);
    return 1 + (tpt_random(&g->state) & ((UINT64_C(1) << tpt_below(g, 49)) - 1));
}

static inline void tpt_new(struct tpt_gen *g, uint8_t op)
{
    uint32_t slot = g->used;
    if (g->free_count > 0 && !(g->mix->any_slot && g->used < g->room && tpt_below(g, 3) == 0)) {
        uint32_t at = g->mix->any_slot ? (uint32_t)tpt_below(g, g->free_count) : g->free_count - 1;
        slot = g->free_slots[at];
        g->free_slots[at] = g->free_slots[--g->free_count];
    } else if (g->used == g->room) {
        return;
    } else {
        g->used++;
    }
    struct tpt_object *o = &g->objects[slot];
    *o = (struct tpt_object){.size = tpt_size(g),
                             .device = (uint16_t)tpt_below(g, g->mix->devices),
                             .stream = (uint16_t)tpt_below(g, g->mix->streams),
                             .align_log2 = (uint8_t)(tpt_below(g, 5) ? 4 : tpt_below(g, 31)),
                             .live = true};
    tpt_emit(g, (struct tp_insn){.op = op,
                                 .align_log2 = o->align_log2,
                                 .thread = (uint16_t)tpt_below(g, g->mix->threads),
                                 .stream = o->stream,
                                 .device = o->device,
                                 .slot = slot,
                                 .size = o->size});
}

/* A live object, or UINT32_MAX where a few tries found none. */
static inline uint32_t tpt_live(struct tpt_gen *g)
{
    for (int i = 0; i < 8 && g->used; i++) {
        uint32_t slot = (uint32_t)tpt_below(g, g->used);
        if (g->objects[slot].live)
            return slot;
    }
    return UINT32_MAX;
}

static inline void tpt_touch(struct tpt_gen *g, uint8_t op)
{
    uint32_t slot = tpt_live(g);
    if (slot == UINT32_MAX)
        return;
    struct tpt_object *o = &g->objects[slot];
    if (op == TP_FREE && o->extra)
        op = TP_RELEASE;
    else if (op == TP_RELEASE && !o->extra)
        op = TP_RETAIN;
    struct tp_insn in = {.op = op,
                         .thread = (uint16_t)tpt_below(g, g->mix->threads),
                         .stream =
                             tpt_below(g, 4) ? o->stream : (uint16_t)tpt_below(g, g->mix->streams),
                         .device = o->device,
                         .slot = slot};
    if (op == TP_REALLOC) {
        o->size = tpt_size(g);
        o->align_log2 = tpt_below(g, 4) ? o->align_log2 : (uint8_t)tpt_below(g, 31);
    }
    if (op == TP_REALLOC || op == TP_FREE) {
        in.size = o->size;
        in.align_log2 = o->align_log2;
    } else if (g->mix->odd && tpt_below(g, 3) == 0) {
        in.size = tpt_random(&g->state);
        in.align_log2 = (uint8_t)tpt_below(g, 31);
    }
    o->extra += op == TP_RETAIN;
    o->extra -= op == TP_RELEASE;
    if (op == TP_FREE) {
        o->live = false;
        g->free_slots[g->free_count++] = slot;
    }
    tpt_emit(g, in);
}

static inline void tpt_reset(struct tpt_gen *g, uint16_t device)
{
    for (uint32_t i = 0; i < g->used; i++) {
        if (g->objects[i].live && g->objects[i].device == device) {
            g->objects[i].live = false;
            g->free_slots[g->free_count++] = i;
        }
    }
    tpt_emit(g, (struct tp_insn){.op = TP_RESET, .device = device});
}

static inline void tpt_mark(struct tpt_gen *g)
{
    char name[64];
    uint32_t index = 0;
    snprintf(name, sizeof name, "phase %u \xc3\xa9", (unsigned)tpt_below(g, g->mix->marks));
    assert_int_equal(tp_builder_mark(g->builder, name, &index, NULL), TP_OK);
    tpt_emit(g, (struct tp_insn){.op = TP_MARK, .slot = index});
}

static inline void tpt_note(struct tpt_gen *g)
{
    uint32_t slot = tpt_live(g);
    struct tp_insn in = {.op = TP_NOTE,
                         .align_log2 = (uint8_t)tpt_below(g, TP_NOTE_COUNT),
                         .thread = (uint16_t)tpt_below(g, g->mix->threads),
                         .stream = (uint16_t)tpt_below(g, g->mix->streams),
                         .device = (uint16_t)tpt_below(g, g->mix->devices)};
    if (slot != UINT32_MAX && tpt_below(g, 2)) {
        in.align_log2 = TP_NOTE_FREE_REQUESTED;
        in.slot = slot;
        in.size = tpt_below(g, 3) ? g->objects[slot].size : tpt_size(g);
    } else if (tpt_below(g, 2)) {
        in.size = tpt_size(g);
    }
    tpt_emit(g, in);
}

static inline void tpt_other(struct tpt_gen *g)
{
    struct tp_insn in = {.thread = (uint16_t)tpt_below(g, g->mix->threads)};
    static const uint8_t ops[] = {TP_SYNC, TP_TRIM, TP_THREAD_END, TP_IDLE, TP_SYNC};
    in.op = ops[tpt_below(g, sizeof ops)];
    if (in.op == TP_IDLE)
        in.thread = 0;
    if (in.op == TP_SYNC) {
        in.stream = tpt_below(g, 2) ? TP_ALL_STREAMS : (uint16_t)tpt_below(g, g->mix->streams);
        in.device = (uint16_t)tpt_below(g, g->mix->devices);
    }
    if (in.op == TP_TRIM)
        in.size = tpt_below(g, 2) ? 0 : tpt_random(&g->state);
    if (g->mix->odd && tpt_below(g, 3) == 0) {
        in.slot = (uint32_t)tpt_random(&g->state);
        in.size = tpt_random(&g->state);
        in.align_log2 = (uint8_t)tpt_below(g, 31);
        in.device = (uint16_t)tpt_below(g, g->mix->devices);
    }
    tpt_emit(g, in);
}

static inline void tpt_step(struct tpt_gen *g)
{
    uint64_t kind = tpt_below(g, 100);
    uint32_t live = g->used - g->free_count;
    if (kind < 80 && live * 2 < tpt_below(g, 2 * (uint64_t)g->mix->live) + g->mix->live / 2)
        tpt_new(g, kind == 0 ? TP_ADOPT : TP_ALLOC);
    else if (kind < 80)
        tpt_touch(g, TP_FREE);
    else if (kind < 84)
        tpt_touch(g, TP_REALLOC);
    else if (kind < 86)
        tpt_touch(g, TP_RETAIN);
    else if (kind < 88)
        tpt_touch(g, TP_RELEASE);
    else if (kind < 91)
        tpt_touch(g, TP_USE);
    else if (kind < 93 && g->mix->marks)
        tpt_mark(g);
    else if (kind < 96 && g->mix->notes)
        tpt_note(g);
    else if (kind < 99)
        tpt_other(g);
    else if (g->mix->resets && tpt_below(g, 10) == 0)
        tpt_reset(g, (uint16_t)tpt_below(g, g->mix->devices));
}

static inline struct tp_program *tpt_program(const struct tpt_mix *mix)
{
    struct tp_err err = {0};
    struct tp_hash *hash = NULL;
    struct tp_program *p = NULL;
    uint8_t digest[TP_HASH_SIZE];
    struct tpt_gen g = {
        .mix = mix, .state = mix->seed, .room = 2 * mix->live + mix->initial_heap + 2};
    g.objects = calloc(g.room, sizeof *g.objects);
    g.free_slots = calloc(g.room, sizeof *g.free_slots);
    assert_true(g.objects && g.free_slots);
    assert_int_equal(tp_hash_new(&hash, &err), TP_OK);
    const struct tp_builder_cfg cfg = {.kind = mix->devices > 1 ? TP_KIND_DEVICE : TP_KIND_HOST,
                                       .hash = tp_hash_add,
                                       .hash_ctx = hash};
    assert_int_equal(tp_builder_new(&cfg, &g.builder, &err), TP_OK);
    g.initial_heap = true;
    for (uint32_t i = 0; i < mix->initial_heap; i++)
        tpt_new(&g, TP_ALLOC);
    g.initial_heap = false;
    for (uint32_t i = 0; i < mix->count; i++)
        tpt_step(&g);
    tp_builder_flush(g.builder);
    tp_hash_finish(hash, digest);
    const struct tp_builder_end end = {.events = g.event + 3,
                                       .time_known = mix->seed % 2,
                                       .recorded_threads = mix->threads + 5u,
                                       .hash = digest};
    if (tp_builder_finish(g.builder, &end, &p, &err))
        fail_msg("%s", err.text);
    tp_hash_free(hash);
    free(g.objects);
    free(g.free_slots);
    return p;
}

/* ---- files in memory ---- */

struct tpt_bytes {
    uint8_t *data;
    size_t size;
};

extern const struct tp_trace_writer tp_writer_tpt;
extern const struct tp_format tp_format_tpt;

static inline struct tpt_bytes tpt_write(struct tp_program *p, const struct tp_writing *also,
                                         bool compress)
{
    struct tpt_bytes b = {0};
    struct tp_err err = {0};
    FILE *out = open_memstream((char **)&b.data, &b.size);
    assert_non_null(out);
    struct tp_writing w = also ? *also : (struct tp_writing){0};
    w.program = p;
    w.path = "x.tpt";
    w.compress = compress;
    if (tp_writer_tpt.write(&w, out, &err))
        fail_msg("%s", err.text);
    assert_int_equal(fclose(out), 0);
    return b;
}

static inline int tpt_file(const void *data, size_t size)
{
    int fd = memfd_create("tpt", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    return fd;
}

/* What a test asks and wants to know. */
struct tpt_asked {
    bool strict;
    uint64_t max_memory;
    struct tp_meta *meta;
    struct tp_recorded *recorded;
    uint64_t *repairs;
    struct tp_places *places;
};

static inline int tpt_open(const void *data, size_t size, const struct tpt_asked *also,
                           struct tp_program **p, struct tp_err *err)
{
    const struct tpt_asked asked = also ? *also : (struct tpt_asked){0};
    const struct tp_read_opts opts = {.strict = asked.strict, .max_memory = asked.max_memory};
    uint64_t repairs[TP_REPAIR_COUNT];
    struct tp_meta meta = {0};
    struct tp_recorded recorded = {0};
    struct tp_places places = {0};
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_memory("x.tpt", data, size, 0, &in, err), TP_OK);
    const struct tp_reading r = {.in = in,
                                 .meta = asked.meta ? asked.meta : &meta,
                                 .recorded = asked.recorded ? asked.recorded : &recorded,
                                 .places = asked.places ? asked.places : &places,
                                 .opts = &opts};
    int rc = tp_format_tpt.open(&r, p, asked.repairs ? asked.repairs : repairs, err);
    tp_input_close(in);
    tp_meta_release(&meta);
    tp_recorded_release(&recorded);
    if (places.release)
        places.release(places.ctx);
    return rc;
}

/* One pass: TP_OK or the status that ended it. */
static inline int tpt_pass(struct tp_program *p, struct tp_err *err)
{
    struct tp_cursor *c = NULL;
    struct tp_window w;
    int rc = tp_cursor_open(p, &c, err), got = 0;
    while (!rc && (got = tp_cursor_next(c, &w, err)) == 1)
        ;
    tp_cursor_close(c);
    return rc ? rc : -got;
}

static inline int tpt_open_and_pass(const void *data, size_t size, struct tp_err *err)
{
    struct tp_program *p = NULL;
    int rc = tpt_open(data, size, NULL, &p, err);
    if (!rc)
        rc = tpt_pass(p, err);
    tp_program_release(p);
    return rc;
}

/* ---- comparing ---- */

/* Reads two programs side by side whose windows may be cut differently. */
struct tpt_side {
    struct tp_cursor *cursor;
    struct tp_window w;
    uint32_t at;
    uint64_t time;
    bool over;
};

static inline void tpt_advance(struct tpt_side *s)
{
    while (!s->over && s->at == s->w.count) {
        struct tp_err err = {0};
        int got = tp_cursor_next(s->cursor, &s->w, &err);
        if (got < 0)
            fail_msg("%s", err.text);
        s->over = got == 0;
        s->at = 0;
        if (!s->over)
            assert_int_equal(s->w.first_time, s->time);
    }
}

/* Up to `limit` instructions, the initial heap counted; 0 = all, and both must end together. */
static inline uint64_t tpt_same_insns(struct tp_program *a, struct tp_program *b, uint64_t limit)
{
    struct tpt_side x = {0}, y = {0};
    uint64_t n = 0;
    assert_int_equal(tp_cursor_open(a, &x.cursor, NULL), TP_OK);
    assert_int_equal(tp_cursor_open(b, &y.cursor, NULL), TP_OK);
    for (;; n++) {
        tpt_advance(&x);
        tpt_advance(&y);
        if (x.over || y.over || (limit && n == limit))
            break;
        const struct tp_insn *i = &x.w.insns[x.at], *j = &y.w.insns[y.at];
        if (memcmp(i, j, sizeof *i) != 0)
            fail_msg("instruction %" PRIu64 ": op %u slot %u size %" PRIu64
                     " gap %u stream %u against op %u slot %u size %" PRIu64 " gap %u stream %u",
                     n, i->op, i->slot, i->size, i->gap_ns, i->stream, j->op, j->slot, j->size,
                     j->gap_ns, j->stream);
        assert_int_equal(tp_window_event(&x.w, x.at), tp_window_event(&y.w, y.at));
        assert_int_equal(x.w.first_insn + x.at, y.w.first_insn + y.at);
        assert_int_equal(x.w.initial_heap, y.w.initial_heap);
        x.time += i->gap_ns;
        y.time += j->gap_ns;
        x.at++;
        y.at++;
    }
    if (!limit)
        assert_true(x.over && y.over);
    tp_cursor_close(x.cursor);
    tp_cursor_close(y.cursor);
    return n;
}

static inline void tpt_same(struct tp_program *a, struct tp_program *b)
{
    struct tp_program_facts f = *tp_program_facts(a), g = *tp_program_facts(b);
    f.windows = g.windows = f.spooled_bytes = g.spooled_bytes = 0;
    assert_memory_equal(&f, &g, sizeof f);
    for (uint16_t i = 0; i < f.devices; i++)
        assert_memory_equal(tp_program_demand(a, i), tp_program_demand(b, i),
                            sizeof(struct tp_demand));
    for (uint32_t i = 0; i < f.marks; i++)
        assert_string_equal(tp_program_mark(a, i), tp_program_mark(b, i));
    tpt_same_insns(a, b, 0);
}

/* ---- blocks ---- */

/* Calls `each` for every block header found by walking lengths; stops where they make no sense. */
static inline size_t tpt_blocks(const uint8_t *data, size_t size, size_t *offsets, size_t room)
{
    size_t at = TP_TPT_HEADER_SIZE, count = 0;
    while (at + TP_TPT_BLOCK_SIZE <= size) {
        struct tp_tpt_block b;
        tp_tpt_block_get(data + at, &b);
        if (b.stored > size - at - TP_TPT_BLOCK_SIZE)
            break;
        if (count < room)
            offsets[count] = at;
        count++;
        at += TP_TPT_BLOCK_SIZE + b.stored;
    }
    return count < room ? count : room;
}

/* Puts the checksums of header and blocks right, so that a lie gets past them. */
static inline void tpt_reseal(uint8_t *data, size_t size)
{
    enum { BLOCKS = 4096 };
    static size_t offsets[BLOCKS];
    if (size >= TP_TPT_HEADER_SIZE) {
        struct tp_tpt_header h = {.version = tp_load16(data + 8),
                                  .flags = tp_load16(data + 10),
                                  .kind = data[12],
                                  .events = tp_load64(data + 16)};
        uint8_t bytes[TP_TPT_HEADER_SIZE];
        tp_tpt_header_put(&h, bytes);
        memcpy(data + 28, bytes + 28, 4);
    }
    size_t count = tpt_blocks(data, size, offsets, BLOCKS);
    for (size_t i = 0; i < count; i++) {
        struct tp_tpt_block b;
        tp_tpt_block_get(data + offsets[i], &b);
        tp_tpt_block_put(&b, data + offsets[i] + TP_TPT_BLOCK_SIZE, data + offsets[i]);
    }
}

/* ---- a program and its file, released behind the test ---- */

struct tpt_stored {
    struct tp_program *p, *q; /* q: what is read of it */
    struct tpt_bytes b;
    struct tp_err err;
    size_t offsets[64], count; /* of blocks */
};

/* Takes the program and the file. */
static inline struct tpt_stored *tpt_store(void **state, struct tp_program *p, struct tpt_bytes b)
{
    struct tpt_stored *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->p = p;
    s->b = b;
    s->count = tpt_blocks(b.data, b.size, s->offsets, sizeof s->offsets / sizeof *s->offsets);
    *state = s;
    return s;
}

static inline int tpt_unstore(void **state)
{
    struct tpt_stored *s = *state;
    tp_program_release(s->p);
    tp_program_release(s->q);
    free(s->b.data);
    free(s);
    return 0;
}

#endif
