/* See answer.h. */
#include "cmd/jobs/answer.h"

#include <string.h>
#include <zlib.h>

static const struct tp_answer none; /* as shared memory is at first */

static uint32_t add_sum(uint32_t sum, const void *bytes, size_t size)
{
    return (uint32_t)crc32_z(sum, bytes, size);
}

uint32_t tp_answer_sum(const void *bytes, size_t size)
{
    return add_sum(0, bytes, size);
}

static uint32_t sum_of(const struct tp_answer *a, const void *more, size_t size)
{
    uint32_t sum = add_sum(0, &a->given, sizeof *a - offsetof(struct tp_answer, given));
    return size ? add_sum(sum, more, size) : sum;
}

void tp_answer_give(struct tp_answer *shared, int status, const struct tp_err *err,
                    const void *more, size_t size)
{
    struct tp_answer a;
    if (memcmp(shared, &none, sizeof none) != 0)
        return;              /* as it is, it is no answer */
    memset(&a, 0, sizeof a); /* also what lies between the members */
    a.given = 1;
    a.status = status;
    if (status)
        memcpy(&a.err, err, sizeof a.err);
    a.sum = sum_of(&a, more, size);
    memcpy(shared, &a, sizeof a);
}

bool tp_answer_take(const struct tp_answer *shared, const void *more, size_t size,
                    struct tp_answer *out)
{
    memcpy(out, shared, sizeof *out);
    if (!memcmp(out, &none, sizeof none))
        return true;
    bool whole = out->given == 1 && out->sum == sum_of(out, more, size) && out->status >= 0 &&
                 out->status < TP_STATUS_COUNT;
    out->err.text[sizeof out->err.text - 1] = out->err.hint[sizeof out->err.hint - 1] = '\0';
    return whole;
}
