/* What a process answers in memory that it shares with its parent. The process runs code that may
 * write anywhere: a malloc library, a plug-in. So the answer comes with a checksum, and the parent
 * looks at a copy of its own only. */
#ifndef TP_ANSWER_H
#define TP_ANSWER_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_answer {
    uint32_t sum;   /* of the other members, and of what belongs to the answer */
    uint32_t given; /* 0: the process has not come to its end */
    int status;
    struct tp_err err; /* valid where `status` is not TP_OK */
};

/* A checksum of bytes. */
uint32_t tp_answer_sum(const void *bytes, size_t size);

/* Writes the answer to zeroed memory. `more` are bytes that belong to it, as they stand in the
 * shared memory. Where something else was written in its place already, it is left so for the
 * parent to find. */
void tp_answer_give(struct tp_answer *shared, int status, const struct tp_err *err,
                    const void *more, size_t size);

/* Copies the answer; `more` is the parent's copy of what belongs to it. false: somebody else has
 * written there, and nothing of both is to be believed. An answer that was not given is none, and
 * true. */
bool tp_answer_take(const struct tp_answer *shared, const void *more, size_t size,
                    struct tp_answer *out);

#endif
