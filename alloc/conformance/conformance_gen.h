/* Random programs from a seed: a pure function of it, the same on every machine.
 *
 * Each program draws its own mix: which ops occur at all and how often, a few sizes that come again
 * and again (so that caches hit) among others that do not, how fast the clock runs, how many
 * threads and streams there are. Programs of one mix would all look alike; what a mix leaves out
 * lets the rest happen in longer runs. Allocation and freeing come in tides, so that there are
 * peaks and everything is freed now and then. */
#ifndef TP_CONFORMANCE_GEN_H
#define TP_CONFORMANCE_GEN_H

#include "alloc/conformance/conformance_model.h"

#define GEN_SLOTS   (MODEL_SLOTS - 1)
#define GEN_THREADS RIG_THREADS
#define GEN_STREAMS 4
#define GEN_SIZES   6

struct gen {
    uint64_t random;
    uint32_t weights[TP_OP_COUNT];
    uint64_t sizes[GEN_SIZES]; /* the ones that come again */
    uint32_t size_count, slots, live, most_live;
    uint32_t threads, streams;
    uint32_t gap_log2; /* of the clock's usual step, ns */
    bool ebb;
    bool fresh_slots;         /* every object has a slot of its own: for shrinking */
    uint32_t refs[GEN_SLOTS]; /* of the program's objects, whatever a strategy fails */
    uint32_t next_slot;
};

static inline uint64_t gen_random(struct gen *g)
{
    uint64_t value = model_mix(g->random);
    g->random += UINT64_C(0x9E3779B97F4A7C15);
    return value;
}

static inline uint64_t gen_below(struct gen *g, uint64_t limit)
{
    return gen_random(g) % limit;
}

/* Small ones mostly, a few above a megabyte. */
static inline uint64_t gen_any_size(struct gen *g)
{
    uint64_t x = gen_random(g);
    unsigned log2 = x % 100 < 85 ? (unsigned)(x >> 8) % 13 : 12 + (unsigned)(x >> 8) % 9;
    return 1 + ((UINT64_C(1) << log2) + gen_below(g, UINT64_C(1) << log2)) % 1500000;
}

static inline void gen_start(struct gen *g, uint64_t seed, uint32_t slots)
{
    static const struct {
        enum tp_op op;
        uint32_t weight, chance; /* of 8: how often a mix has it */
    } usual[] = {{TP_REALLOC, 120, 6}, {TP_RETAIN, 60, 3}, {TP_RELEASE, 60, 8},
                 {TP_ADOPT, 40, 3},    {TP_USE, 80, 4},    {TP_SYNC, 30, 4},
                 {TP_RESET, 3, 3},     {TP_TRIM, 12, 4},   {TP_THREAD_END, 8, 4}};
    *g = (struct gen){.random = seed, .slots = slots < GEN_SLOTS ? slots : GEN_SLOTS};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (gen_below(g, 8) < usual[i].chance)
            g->weights[usual[i].op] = 1 + (uint32_t)gen_below(g, 2 * usual[i].weight);
    if (model_mix(~seed) % 4 == 0)
        g->weights[TP_POOL] = 100;
    g->size_count = 1 + (uint32_t)gen_below(g, GEN_SIZES);
    for (uint32_t i = 0; i < g->size_count; i++)
        g->sizes[i] = gen_any_size(g);
    g->threads = 1 + (uint32_t)gen_below(g, GEN_THREADS);
    g->streams = 1 + (uint32_t)gen_below(g, GEN_STREAMS);
    g->gap_log2 = (uint32_t)gen_below(g, 16);
    g->most_live = 4 + (uint32_t)gen_below(g, g->slots > 4 ? g->slots - 3 : 1);
}

static inline uint64_t gen_size(struct gen *g)
{
    return gen_below(g, 8) ? g->sizes[gen_below(g, g->size_count)] : gen_any_size(g);
}

static inline uint8_t gen_align(struct gen *g)
{
    uint64_t x = gen_random(g);
    if (x % 100 == 1)
        return (uint8_t)((x >> 8) % 19);
    return x % 8 ? 0 : (uint8_t)((x >> 8) % 13);
}

/* A slot with at least `refs` references, from a random one on; GEN_SLOTS: there is none. */
static inline uint32_t gen_live_slot(struct gen *g, uint32_t refs, bool exactly)
{
    uint32_t at = (uint32_t)gen_below(g, g->slots);
    for (uint32_t i = 0; i < g->slots; i++, at = at + 1 < g->slots ? at + 1 : 0)
        if (g->refs[at] >= refs && (!exactly || g->refs[at] == refs))
            return at;
    return GEN_SLOTS;
}

static inline uint32_t gen_free_slot(struct gen *g)
{
    if (g->fresh_slots)
        return g->next_slot < g->slots ? g->next_slot++ : GEN_SLOTS;
    uint32_t at = (uint32_t)gen_below(g, g->slots);
    for (uint32_t i = 0; i < g->slots; i++, at = at + 1 < g->slots ? at + 1 : 0)
        if (!g->refs[at])
            return at;
    return GEN_SLOTS;
}

static inline enum tp_op gen_op(struct gen *g)
{
    uint64_t choice = gen_below(g, 1000);
    for (int op = 0; op < TP_OP_COUNT; op++) {
        if (choice < g->weights[op])
            return (enum tp_op)op;
        choice -= g->weights[op];
    }
    if (g->live == 0 || g->live >= g->most_live || gen_below(g, 60) == 0)
        g->ebb = g->live >= g->most_live || (g->live && !g->ebb);
    return gen_below(g, 4) ? (g->ebb ? TP_FREE : TP_ALLOC) : (g->ebb ? TP_ALLOC : TP_FREE);
}

/* Finds the op an object; false where there is none for it. */
static inline bool gen_object(struct gen *g, struct tp_insn *in)
{
    switch (in->op) {
    case TP_ALLOC:
    case TP_ADOPT:
        in->slot = gen_free_slot(g);
        in->size = gen_size(g);
        in->align_log2 = gen_align(g);
        break;
    case TP_FREE:
        in->slot = gen_live_slot(g, 1, true);
        break;
    case TP_REALLOC:
        in->slot = gen_live_slot(g, 1, true);
        in->size = gen_size(g);
        break;
    case TP_RETAIN:
    case TP_USE:
        in->slot = gen_live_slot(g, 1, false);
        break;
    case TP_RELEASE:
        in->slot = gen_live_slot(g, 2, false);
        break;
    case TP_SYNC:
        if (gen_below(g, 3) == 0)
            in->stream = TP_ALL_STREAMS;
        break;
    case TP_TRIM:
        in->size = gen_below(g, 2) ? 0 : gen_below(g, 500000);
        break;
    case TP_POOL:
        in->size = 1 + gen_below(g, 3);
        break;
    default:
        break;
    }
    return in->slot < GEN_SLOTS;
}

/* What the step does to the program's objects. False: nothing, a step that could be left out. */
static inline bool gen_effect(uint32_t *refs, const struct tp_insn *in, uint32_t slots)
{
    uint32_t *r = &refs[in->slot];
    switch (in->op) {
    case TP_ALLOC:
    case TP_ADOPT:
        return *r ? false : (*r = 1);
    case TP_FREE:
        return *r == 1 ? (*r = 0, true) : false;
    case TP_REALLOC:
        return *r == 1;
    case TP_USE:
        return *r != 0;
    case TP_RETAIN:
        return *r ? (++*r, true) : false;
    case TP_RELEASE:
        return *r > 1 ? (--*r, true) : false;
    case TP_RESET:
        memset(refs, 0, slots * sizeof *refs);
        return true;
    default:
        return true;
    }
}

static inline struct tp_insn gen_next(struct gen *g)
{
    for (;;) {
        struct tp_insn in = {.op = (uint8_t)gen_op(g)};
        in.thread = (uint16_t)gen_below(g, g->threads);
        in.stream = (uint16_t)gen_below(g, g->streams);
        if (!gen_object(g, &in)) {
            if (in.op == TP_ALLOC)
                g->ebb = true;
            if (g->fresh_slots && g->next_slot >= g->slots)
                in = (struct tp_insn){.op = TP_SYNC, .stream = TP_ALL_STREAMS};
            else
                continue;
        }
        if (gen_below(g, 4) == 0)
            in.gap_ns = (uint32_t)gen_below(g, UINT64_C(2) << g->gap_log2);
        gen_effect(g->refs, &in, g->slots);
        if (in.op == TP_ALLOC || in.op == TP_ADOPT)
            g->live++;
        else if (in.op == TP_FREE)
            g->live--;
        else if (in.op == TP_RESET)
            g->live = 0;
        return in;
    }
}

#endif
