/* The sizes of requests at a value: by their laws, and where a law is not known what they may be.
 * See predict.h. */
#include "cmd/predict/predict.h"

#include "cmd/ui/text.h"

#include <math.h>
#include <stdlib.h>

static int too_large(const struct tp_prediction *p, const struct tp_request *q, uint64_t n,
                     struct tp_err *err)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    const char *place = tp_request_place(base, q);
    return tp_fail(err, TP_EINPUT, "at %s the request of event %s of %s%s%s is above 2^48 bytes",
                   tp_count(n).s, tp_count(q->event).s, base->trace.file, place ? ", " : "",
                   place ? place : "");
}

/* What a request is taken to be. */
enum taken_as {
    AS_FOUND, /* by its law; a doubtful one without a law grows with n, and does not shrink */
    AT_LIMIT, /* a doubtful one as far from that as it may be */
    AS_PADDED /* with the largest multiple that explains what was recorded */
};

/* The largest value below that of the base at which something was recorded; 0: there is none. */
static uint64_t recorded_below(const struct tp_prediction *p)
{
    const uint64_t n = p->recordings[p->base]->n;
    uint64_t below = 0;
    for (size_t i = 0; p->target.count == 1 && i < p->count; i++)
        if (p->recordings[i]->n < n && p->recordings[i]->n > below)
            below = p->recordings[i]->n;
    return below;
}

static struct tp_law constant_of(uint64_t size)
{
    return (struct tp_law){.kind = TP_LAW_CONSTANT, .size = {size, size, size}};
}

/* The power of n by which the first recorded size of a request is another one; 0: not known. */
static double power_between(const struct tp_law *law, size_t i)
{
    if (!law->size[i] || !law->n[i] || law->n[i] == law->n[0])
        return 0;
    return log((double)law->size[0] / (double)law->size[i]) /
           log((double)law->n[0] / (double)law->n[i]);
}

enum { POWER_MOST = 4 }; /* attention over the pixels of an image: their number squared */

/* At most 2, unless the recorded sizes show a higher power: two that differ by a whole one, or
 * three that agree. Kernels that take a larger workspace from some value on do not. */
static double power_at_most(const struct tp_law *law)
{
    const double first = power_between(law, 1), other = power_between(law, 2);
    bool known = law->kind == TP_LAW_NONE && first > 2 && first <= POWER_MOST + 0.25;
    bool agrees =
        law->n[2] == law->n[1] ? fabs(first - round(first)) < 0.02 : fabs(first - other) < 0.25;
    return known && agrees ? fmax(2, fmax(first, other)) : 2;
}

/* Whether three recorded sizes without a law are within a hundredth of a line: rounded somewhere on
 * the way, as the loads of experts are. */
static bool is_nearly_linear(const struct tp_law *law)
{
    const uint64_t *n = law->n, *size = law->size;
    if (law->kind != TP_LAW_NONE || !size[2] || n[0] == n[1] || n[0] == n[2] || n[1] == n[2])
        return false;
    double slope = ((double)size[2] - (double)size[0]) / ((double)n[2] - (double)n[0]);
    double between = (double)size[0] + slope * ((double)n[1] - (double)n[0]);
    return slope > 0 && fabs(between - (double)size[1]) <= TP_PREDICT_DOUBT * (double)size[1];
}

static struct tp_law line_of(const struct tp_law *law)
{
    struct tp_law line = *law;
    line.kind = TP_LAW_SHIFTED;
    line.power = 1;
    line.n[1] = law->n[2];
    line.size[1] = law->size[2];
    return line;
}

/* Whether three recorded sizes fall as 1 / n: those of micro-batches of a fixed whole. Of two, one
 * of twice the value may be of a type of half the width. */
static bool falls(const struct tp_law *law)
{
    const double first = power_between(law, 1), other = power_between(law, 2);
    return law->kind == TP_LAW_NONE && law->n[2] != law->n[1] && fabs(first + 1) < 0.3 &&
           fabs(other + 1) < 0.3;
}

/* The power with which a request without a law is taken to change on the way to a value, and the
 * other end of what it may be. A workspace grows with n above the base, at most with n^2 or what
 * the recordings show; below it does not shrink, and at most shrinks with n^2. */
static double power_of_lawless(const struct tp_law *law, bool above, bool limit)
{
    if (falls(law) && above)
        return limit ? -1 : 0;
    if (falls(law))
        return limit ? fmin(-2, power_between(law, 1) - 1) : -1;
    if (above)
        return limit ? power_at_most(law) : 1;
    return limit ? 2 : 0;
}

static struct tp_law lawless(const struct tp_prediction *p, size_t i,
                             const struct tp_axis_values *at, bool limit)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    double size = (double)base->requests[i].size;
    for (size_t axis = 0; axis < at->count; axis++) {
        double ratio = (double)at->values[axis] / (double)base->at.values[axis];
        size *= pow(ratio, power_of_lawless(&p->requests[i].law, ratio > 1, limit));
    }
    return constant_of((uint64_t)fmin(ceil(size), (double)TP_MAX_SIZE + 1));
}

/* A guessed law may be n^2 above the base, and below it may not shrink. What only the base has may
 * have come between the recording below and it, and as many more may come on the way. */
static struct tp_law law_at_limit(const struct tp_prediction *p, size_t i,
                                  const struct tp_axis_values *at)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    const uint64_t size = base->requests[i].size, below = recorded_below(p);
    uint8_t powers[TP_AXES] = {0};
    struct tp_law limit = lawless(p, i, at, true);
    for (size_t axis = 0; axis < at->count; axis++)
        powers[axis] = at->values[axis] > base->at.values[axis] ? 2 : 0;
    if (p->requests[i].law.kind != TP_LAW_NONE)
        limit = tp_law_grown(&base->at, size, powers);
    if (!below || p->requests[i].points > 1 || at->values[0] <= base->n)
        return limit;
    double came = (double)size * (double)(at->values[0] - below) / (double)(base->n - below);
    const struct tp_law many = constant_of((uint64_t)fmin(came, (double)TP_MAX_SIZE));
    uint64_t most = 0;
    return tp_law_at_setting(&limit, at, &most) && most < many.size[0] ? many : limit;
}

/* Of two laws that may hold, the one that is less there, or where the most is asked the other. */
static struct tp_law one_of_two(const struct tp_law *law, const struct tp_axis_values *at,
                                enum taken_as as)
{
    const struct tp_law other = tp_law_shifted(law);
    uint64_t first = 0, second = 0;
    bool known = tp_law_at_setting(law, at, &first) && tp_law_at_setting(&other, at, &second);
    return known && (first > second) != (as == AT_LIMIT) ? other : *law;
}

static struct tp_law law_of(const struct tp_prediction *p, size_t i,
                            const struct tp_axis_values *at, enum taken_as as)
{
    const struct tp_predicted *of = &p->requests[i];
    if (of->doubtful && at->count == 1 && is_nearly_linear(&of->law))
        return line_of(&of->law);
    if (of->doubtful && as == AT_LIMIT)
        return law_at_limit(p, i, at);
    if (of->doubtful && of->law.kind == TP_LAW_NONE)
        return lawless(p, i, at, false);
    struct tp_law law = of->law;
    law.multiple = as == AS_PADDED ? law.multiple_most : law.multiple;
    return law.or_shifted ? one_of_two(&law, at, as) : law;
}

static int list_sizes(const struct tp_prediction *p, const struct tp_axis_values *at,
                      enum taken_as as, uint64_t **out, struct tp_err *err)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    uint64_t *sizes = *out = calloc(base->count + 1, sizeof *sizes);
    int rc = sizes ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory for the prediction");
    for (size_t i = 0; rc == TP_OK && i < base->count; i++) {
        const struct tp_law law = law_of(p, i, at, as);
        if (!tp_law_at_setting(&law, at, &sizes[i]))
            rc = too_large(p, &base->requests[i], at->values[p->axis], err);
    }
    return rc;
}

static struct tp_axis_values target_with(const struct tp_prediction *p, uint64_t n)
{
    struct tp_axis_values at = p->target;
    at.values[p->axis] = n;
    return at;
}

int tp_predict_sizes(const struct tp_prediction *p, uint64_t n, uint64_t **out, struct tp_err *err)
{
    const struct tp_axis_values at = target_with(p, n);
    return list_sizes(p, &at, AS_FOUND, out, err);
}

int tp_predict_sizes_most(const struct tp_prediction *p, uint64_t n, uint64_t **out,
                          struct tp_err *err)
{
    const struct tp_axis_values at = target_with(p, n);
    return list_sizes(p, &at, AT_LIMIT, out, err);
}

int tp_predict_sizes_padded(const struct tp_prediction *p, const struct tp_axis_values *at,
                            uint64_t **out, struct tp_err *err)
{
    return list_sizes(p, at, AS_PADDED, out, err);
}
