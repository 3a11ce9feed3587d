/* Programs that do everything, made from a number. */
#ifndef TP_TEST_RANDOM_PROGRAM_H
#define TP_TEST_RANDOM_PROGRAM_H

#include "alloc/base/random.h"
#include "tests/unit/one_run.h"

enum { EVENTS_PER_INSN = 10 };

/* Events 10, 20, 30, ...: no event number is the index of anything. */
static inline struct tp_program *program_of(const struct tp_insn *before, size_t before_count,
                                            const struct tp_insn *insns, size_t count)
{
    return program_of_parts((struct program_parts){.before = before,
                                                   .before_count = before_count,
                                                   .insns = insns,
                                                   .count = count,
                                                   .marks = 1,
                                                   .events_per_insn = EVENTS_PER_INSN,
                                                   .timed = true});
}

/* ---- programs that do everything ---- */

#ifndef RANDOM_DEVICES
#define RANDOM_DEVICES 3
#endif
enum { RANDOM_INSNS = 3000, RANDOM_SLOTS = 40, RANDOM_THREADS = 4 };

static uint64_t seed;

static inline uint64_t random_below(uint64_t n)
{
    return tp_random_split(&seed) % n;
}

struct object {
    uint64_t size;
    uint32_t extra;
    uint16_t device;
    uint8_t align_log2;
};

static inline uint64_t random_size(void)
{
    static const uint64_t sizes[] = {1, 7, 8, 9, 15, 4088, 4095, 4096, 4097, 8191, 8193, 40000};
    return random_below(3) ? sizes[random_below(COUNT(sizes))] : 1 + random_below(20000);
}

/* Every slot is used once at first, in order, as the builder wants it. */
static inline struct tp_insn random_insn(struct object *objects, uint32_t index)
{
    static const uint8_t on_object[] = {TP_FREE,    TP_FREE,   TP_REALLOC, TP_REALLOC, TP_REALLOC,
                                        TP_RELEASE, TP_RETAIN, TP_USE,     TP_FREE};
    static const uint8_t others[] = {TP_SYNC, TP_TRIM, TP_THREAD_END, TP_MARK,
                                     TP_NOTE, TP_IDLE, TP_RESET};
    uint32_t slot = index < RANDOM_SLOTS ? index : (uint32_t)random_below(RANDOM_SLOTS);
    struct object *o = &objects[slot];
    struct tp_insn in = {.op = TP_ALLOC,
                         .slot = slot,
                         .device = (uint16_t)random_below(RANDOM_DEVICES),
                         .thread = (uint16_t)random_below(RANDOM_THREADS),
                         .stream = (uint16_t)random_below(2),
                         .align_log2 = (uint8_t)random_below(random_below(8) ? 5 : 15),
                         .size = random_size(),
                         .gap_ns = (uint32_t)random_below(100)};
    if (index >= RANDOM_SLOTS && random_below(40) == 0) {
        in.op = others[random_below(COUNT(others))];
        in.slot = 0;
        in.align_log2 = in.op == TP_NOTE ? TP_NOTE_SNAPSHOT : in.align_log2;
        for (int i = 0; in.op == TP_RESET && i < RANDOM_SLOTS; i++)
            objects[i].size = objects[i].device == in.device ? 0 : objects[i].size;
        return in;
    }
    if (!o->size) {
        in.op = random_below(8) ? TP_ALLOC : TP_ADOPT;
        *o = (struct object){in.size, 0, in.device, in.align_log2};
        return in;
    }
    in.op = on_object[random_below(COUNT(on_object))];
    in.device = o->device;
    if (in.op == TP_RELEASE && !o->extra)
        in.op = TP_RETAIN;
    if ((in.op == TP_FREE || in.op == TP_REALLOC) && o->extra)
        in.op = TP_RELEASE; /* who shares a block does not move it */
    o->extra += in.op == TP_RETAIN;
    o->extra -= in.op == TP_RELEASE;
    if (in.op == TP_REALLOC) {
        o->size = in.size;
        o->align_log2 = in.align_log2;
    } else {
        in.size = o->size;
        in.align_log2 = o->align_log2;
    }
    o->size = in.op == TP_FREE ? 0 : o->size;
    return in;
}

static inline struct tp_program *random_program(uint64_t number)
{
    static struct tp_insn insns[RANDOM_INSNS];
    struct object objects[RANDOM_SLOTS] = {{0}};
    uint32_t before = number % 2 ? RANDOM_SLOTS / 2 : 0;
    seed = number;
    for (uint32_t i = 0; i < RANDOM_INSNS; i++) {
        insns[i] = random_insn(objects, i);
        if (i < before) {
            insns[i].op = TP_ALLOC;
            insns[i].gap_ns = 0;
        }
    }
    return program_of(insns, before, insns + before, RANDOM_INSNS - before);
}

#endif
