/* Small programs for tests, built with the public builder. */
#ifndef TP_TEST_PROGRAMS_H
#define TP_TEST_PROGRAMS_H

#include "alloc/program/program.h"

#include <stdlib.h>

/* Builds a program of `count` instructions that stand for events 1..count; aborts the test program
 * when the builder refuses. Slots, threads and devices are as given. */
static inline struct tp_program *test_program(const struct tp_insn *insns, size_t count,
                                              bool time_known)
{
    struct tp_err err = {0};
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    int status = tp_builder_new(&(struct tp_builder_cfg){.kind = TP_KIND_HOST}, &b, &err);
    for (size_t i = 0; !status && i < count; i++)
        status = tp_builder_add(b, &insns[i], i + 1, &err);
    if (!status)
        status =
            tp_builder_finish(b,
                              &(struct tp_builder_end){
                                  .events = count, .time_known = time_known, .recorded_threads = 1},
                              &p, &err);
    if (status) {
        fprintf(stderr, "test program: %s\n", err.text);
        abort();
    }
    return p;
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
