/* See conformance_gen.h. */
#include "alloc/conformance/conformance_gen.h"

static uint64_t gen_random(struct gen *g)
{
    uint64_t value = tp_model_mix(g->random);
    g->random += UINT64_C(0x9E3779B97F4A7C15);
    return value;
}

uint64_t tp_gen_below(struct gen *g, uint64_t limit)
{
    return gen_random(g) % limit;
}

/* Small ones mostly, a few above a megabyte. */
static uint64_t gen_any_size(struct gen *g)
{
    uint64_t x = gen_random(g);
    unsigned log2 = x % 100 < 85 ? (unsigned)(x >> 8) % 13 : 12 + (unsigned)(x >> 8) % 9;
    return 1 + ((UINT64_C(1) << log2) + tp_gen_below(g, UINT64_C(1) << log2)) % 1500000;
}

void tp_gen_start(struct gen *g, uint64_t seed, uint32_t slots)
{
    static const struct {
        enum tp_op op;
        uint32_t weight, chance; /* of 8: how often a mix has it */
    } usual[] = {{TP_REALLOC, 120, 6}, {TP_RETAIN, 60, 3}, {TP_RELEASE, 60, 8},
                 {TP_ADOPT, 40, 3},    {TP_USE, 80, 4},    {TP_SYNC, 30, 4},
                 {TP_RESET, 3, 3},     {TP_TRIM, 12, 4},   {TP_THREAD_END, 8, 4}};
    *g = (struct gen){.random = seed, .slots = slots < GEN_SLOTS ? slots : GEN_SLOTS};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (tp_gen_below(g, 8) < usual[i].chance)
            g->weights[usual[i].op] = 1 + (uint32_t)tp_gen_below(g, 2 * usual[i].weight);
    if (tp_model_mix(~seed) % 4 == 0)
        g->weights[TP_POOL] = 100;
    g->size_count = 1 + (uint32_t)tp_gen_below(g, GEN_SIZES);
    for (uint32_t i = 0; i < g->size_count; i++)
        g->sizes[i] = gen_any_size(g);
    g->threads = 1 + (uint32_t)tp_gen_below(g, GEN_THREADS);
    g->streams = 1 + (uint32_t)tp_gen_below(g, GEN_STREAMS);
    g->gap_log2 = (uint32_t)tp_gen_below(g, 16);
    g->most_live = 4 + (uint32_t)tp_gen_below(g, g->slots > 4 ? g->slots - 3 : 1);
}

static uint64_t gen_size(struct gen *g)
{
    return tp_gen_below(g, 8) ? g->sizes[tp_gen_below(g, g->size_count)] : gen_any_size(g);
}

static uint8_t gen_align(struct gen *g)
{
    uint64_t x = gen_random(g);
    if (x % 100 == 1)
        return (uint8_t)((x >> 8) % 19);
    return x % 8 ? 0 : (uint8_t)((x >> 8) % 13);
}

/* A slot with at least `refs` references, from a random one on; GEN_SLOTS: there is none. */
static uint32_t gen_live_slot(struct gen *g, uint32_t refs, bool exactly)
{
    uint32_t at = (uint32_t)tp_gen_below(g, g->slots);
    for (uint32_t i = 0; i < g->slots; i++, at = at + 1 < g->slots ? at + 1 : 0)
        if (g->refs[at] >= refs && (!exactly || g->refs[at] == refs))
            return at;
    return GEN_SLOTS;
}

static uint32_t gen_free_slot(struct gen *g)
{
    if (g->fresh_slots)
        return g->next_slot < g->slots ? g->next_slot++ : GEN_SLOTS;
    uint32_t at = (uint32_t)tp_gen_below(g, g->slots);
    for (uint32_t i = 0; i < g->slots; i++, at = at + 1 < g->slots ? at + 1 : 0)
        if (!g->refs[at])
            return at;
    return GEN_SLOTS;
}

static enum tp_op gen_op(struct gen *g)
{
    uint64_t choice = tp_gen_below(g, 1000);
    for (int op = 0; op < TP_OP_COUNT; op++) {
        if (choice < g->weights[op])
            return (enum tp_op)op;
        choice -= g->weights[op];
    }
    if (g->live == 0 || g->live >= g->most_live || tp_gen_below(g, 60) == 0)
        g->ebb = g->live >= g->most_live || (g->live && !g->ebb);
    bool against = tp_gen_below(g, 4) == 0; /* one in four is not what the tide asks for */
    return g->ebb != against ? TP_FREE : TP_ALLOC;
}

/* Finds the op an object; false where there is none for it. */
static bool gen_object(struct gen *g, struct tp_insn *in)
{
    if (tp_op_is(in->op, TP_IS_NEW))
        in->slot = gen_free_slot(g);
    if (tp_op_is(in->op, TP_IS_LIVE))
        in->slot = gen_live_slot(g, in->op == TP_RELEASE ? 2 : 1, tp_op_is(in->op, TP_HAS_SIZE));
    if (tp_op_is(in->op, TP_ASKS))
        in->size = gen_size(g);
    if (tp_op_is(in->op, TP_IS_NEW))
        in->align_log2 = gen_align(g);
    if (in->op == TP_SYNC && tp_gen_below(g, 3) == 0)
        in->stream = TP_ALL_STREAMS;
    if (in->op == TP_TRIM)
        in->size = tp_gen_below(g, 2) ? 0 : tp_gen_below(g, 500000);
    if (in->op == TP_POOL)
        in->size = 1 + tp_gen_below(g, 3);
    return in->slot < GEN_SLOTS;
}

bool tp_gen_effect(uint32_t *refs, const struct tp_insn *in, uint32_t slots)
{
    uint32_t *r = &refs[in->slot];
    bool fits = true;
    if (tp_op_is(in->op, TP_IS_NEW))
        fits = *r == 0;
    else if (tp_op_is(in->op, TP_IS_LIVE))
        fits = tp_op_is(in->op, TP_HAS_SIZE) ? *r == 1 : *r > (in->op == TP_RELEASE);
    if (in->op == TP_RESET)
        memset(refs, 0, slots * sizeof *refs);
    else if (fits && (tp_op_is(in->op, TP_IS_NEW) || in->op == TP_RETAIN))
        ++*r;
    else if (fits && (in->op == TP_FREE || in->op == TP_RELEASE))
        --*r;
    return fits;
}

struct tp_insn tp_gen_next(struct gen *g)
{
    for (;;) {
        struct tp_insn in = {.op = (uint8_t)gen_op(g)};
        in.thread = (uint16_t)tp_gen_below(g, g->threads);
        in.stream = (uint16_t)tp_gen_below(g, g->streams);
        if (!gen_object(g, &in)) {
            if (in.op == TP_ALLOC)
                g->ebb = true;
            if (g->fresh_slots && g->next_slot >= g->slots)
                in = (struct tp_insn){.op = TP_SYNC, .stream = TP_ALL_STREAMS};
            else
                continue;
        }
        if (tp_gen_below(g, 4) == 0)
            in.gap_ns = (uint32_t)tp_gen_below(g, UINT64_C(2) << g->gap_log2);
        tp_gen_effect(g->refs, &in, g->slots);
        if (tp_op_is(in.op, TP_IS_NEW))
            g->live++;
        else if (in.op == TP_FREE)
            g->live--;
        else if (in.op == TP_RESET)
            g->live = 0;
        return in;
    }
}
