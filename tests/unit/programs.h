/* Small programs for tests, built with the public builder. */
#ifndef TP_TEST_PROGRAMS_H
#define TP_TEST_PROGRAMS_H

#include "alloc/program/program.h"

#include <stdio.h>
#include <stdlib.h>

/* What a program is made of: instructions that stand for events 1, 2, ... or for each nth of them.
 * Slots, threads and devices are as given. */
struct program_parts {
    enum tp_kind kind;
    const struct tp_insn *before; /* the initial heap */
    size_t before_count;
    const struct tp_insn *insns;
    size_t count;
    uint32_t marks;           /* distinct names */
    uint64_t events_per_insn; /* 0: 1 */
    bool timed;
};

static inline int add_parts(struct tp_builder *b, const struct program_parts *parts,
                            struct tp_err *err)
{
    int status = TP_OK;
    for (uint32_t i = 0, index; !status && i < parts->marks; i++) {
        char name[24];
        snprintf(name, sizeof name, "phase %u", i);
        status = tp_builder_mark(b, name, &index, err);
    }
    for (size_t i = 0; !status && i < parts->before_count; i++)
        status = tp_builder_initial_heap(b, &parts->before[i], err);
    for (size_t i = 0; !status && i < parts->count; i++)
        status =
            tp_builder_add(b, &parts->insns[i],
                           (i + 1) * (parts->events_per_insn ? parts->events_per_insn : 1), err);
    return status;
}

/* Aborts the test program when the builder refuses. */
static inline struct tp_program *program_of_parts(struct program_parts parts)
{
    struct tp_err err = {0};
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    const struct tp_builder_end end = {.events = parts.events_per_insn ? 0 : parts.count,
                                       .time_known = parts.timed,
                                       .recorded_threads = 1};
    int status = tp_builder_new(&(struct tp_builder_cfg){.kind = parts.kind}, &b, &err);
    if (!status)
        status = add_parts(b, &parts, &err);
    if (!status)
        status = tp_builder_finish(b, &end, &p, &err);
    if (status) {
        fprintf(stderr, "test program: %s\n", err.text);
        abort();
    }
    return p;
}

static inline struct tp_program *test_program(const struct tp_insn *insns, size_t count, bool timed)
{
    return program_of_parts((struct program_parts){.insns = insns, .count = count, .timed = timed});
}

#define ALLOC_INSN(s, bytes, gap)                                                                  \
    {                                                                                              \
        .op = TP_ALLOC, .align_log2 = 4, .slot = (s), .size = (bytes), .gap_ns = (gap)             \
    }
#define FREE_INSN(s, bytes, gap)                                                                   \
    {                                                                                              \
        .op = TP_FREE, .align_log2 = 4, .slot = (s), .size = (bytes), .gap_ns = (gap)              \
    }

#endif
