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

uint64_t tp_gen_below(struct gen *g, uint64_t limit);

void tp_gen_start(struct gen *g, uint64_t seed, uint32_t slots);

/* What the step does to the program's objects. False: nothing, a step that could be left out. */
bool tp_gen_effect(uint32_t *refs, const struct tp_insn *in, uint32_t slots);

struct tp_insn tp_gen_next(struct gen *g);

#endif
