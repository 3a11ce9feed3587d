/* A program that asks for blocks of any size and frees them again, in any order. */
#ifndef TP_TEST_SOME_PROGRAM_H
#define TP_TEST_SOME_PROGRAM_H

#include "alloc/base/random.h"
#include "tests/unit/programs.h"

enum { INSNS = 4000, SLOTS = 200 };

static uint64_t seed = 1;

static inline uint64_t random_below(uint64_t n)
{
    return tp_random_split(&seed) % n;
}

static inline struct tp_program *some_program(void)
{
    static struct tp_insn insns[INSNS];
    uint64_t sizes[SLOTS] = {0};
    for (uint32_t i = 0; i < INSNS; i++) {
        uint32_t slot = i < SLOTS ? i : (uint32_t)random_below(SLOTS);
        bool asks = !sizes[slot];
        sizes[slot] = asks ? 1 + random_below(3 << 20) : sizes[slot];
        insns[i] = (struct tp_insn){
            .op = asks ? TP_ALLOC : TP_FREE, .align_log2 = 4, .slot = slot, .size = sizes[slot]};
        sizes[slot] = asks ? sizes[slot] : 0;
    }
    return test_program(insns, INSNS, false);
}

#endif
