/* See doubts.h. */
#include "cmd/predict/doubts.h"

#include "alloc/base/ascending.h"
#include "alloc/base/numbers.h"
#include "cmd/predict/align.h"

#include <math.h>
#include <stdlib.h>

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the prediction");
}

/* ---- requests of an unknown law ---- */

static bool is_share(uint64_t part, uint64_t of, double share)
{
    return (double)part > share * (double)of;
}

bool tp_predict_is_far(uint64_t figure, uint64_t other)
{
    return is_share(tp_predict_change(figure, other), figure, TP_PREDICT_DOUBT);
}

bool tp_predict_is_of_base(const struct tp_predict_peak *peak)
{
    return is_share(peak->alone, peak->bytes, TP_PREDICT_DOUBT);
}

int tp_predict_find_most(const struct tp_prediction *p, uint64_t n,
                         const struct tp_predict_peak *peak, struct tp_predict_most *out,
                         struct tp_err *err)
{
    uint64_t *sizes = NULL;
    struct tp_predict_peak most = {.bytes = 0};
    *out = (struct tp_predict_most){.peak = peak->bytes};
    out->matters = tp_predict_is_of_base(peak);
    out->narrowed = is_share(peak->narrowed, peak->bytes, TP_PREDICT_DOUBT);
    if (!tp_predict_has_doubts(p))
        return TP_OK;
    int rc = tp_predict_sizes_most(p, n, &sizes, err);
    if (rc == TP_OK)
        rc = tp_predict_peak(p, sizes, &most, err);
    out->peak = rc == TP_EINPUT ? TP_MAX_SIZE : most.bytes;
    out->matters |= rc != TP_OK || is_share(tp_predict_change(peak->bytes, most.bytes), peak->bytes,
                                            TP_PREDICT_RANGE);
    tp_predict_peak_release(&most);
    free(sizes);
    return rc == TP_EINPUT ? TP_OK : rc; /* too large is far, too */
}

int tp_predict_find_requested(const struct tp_prediction *p, uint64_t n,
                              struct tp_predict_peak *peak, struct tp_err *err)
{
    uint64_t *sizes = NULL;
    int rc = tp_predict_sizes(p, n, &sizes, err);
    if (rc == TP_OK)
        rc = tp_predict_peak(p, sizes, peak, err);
    free(sizes);
    return rc;
}

int tp_predict_find_peak(const struct tp_prediction *p, uint64_t n, struct tp_predict_peak *peak,
                         struct tp_predict_most *most, struct tp_err *err)
{
    int rc = tp_predict_find_requested(p, n, peak, err);
    return rc == TP_OK ? tp_predict_find_most(p, n, peak, most, err) : rc;
}

/* ---- call stacks that ask more often at larger values ---- */

/* The call stacks of requests that the recording most like the base has beside those of the base.
 */
static uint64_t *list_growing(const struct tp_prediction *p, size_t *count)
{
    const struct tp_sample_run *r = p->recordings[p->alike];
    uint64_t *keys = calloc(r->count + 1, sizeof *keys);
    *count = 0;
    for (size_t i = 0; keys && i < r->count; i++)
        if (!p->shared[i])
            keys[(*count)++] = r->requests[i].key;
    if (keys)
        qsort(keys, *count, sizeof *keys, tp_by_number);
    return keys;
}

int tp_predict_find_fewest(uint64_t n, uint64_t peak, struct tp_predict_answer *a,
                           struct tp_err *err)
{
    const struct tp_prediction *p = &a->prediction;
    const struct tp_sample_run *base = p->recordings[p->base], *alike = p->recordings[p->alike];
    struct tp_predict_peak fewest = {.bytes = peak};
    uint64_t *sizes = NULL;
    size_t count;
    if (n >= base->n || alike->n <= base->n)
        return TP_OK;
    uint64_t *keys = list_growing(p, &count);
    int rc = keys ? tp_predict_sizes(p, n, &sizes, err) : no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < base->count; i++)
        if (bsearch(&base->requests[i].key, keys, count, sizeof *keys, tp_by_number))
            sizes[i] = 0;
    if (rc == TP_OK && count)
        rc = tp_predict_peak(p, sizes, &fewest, err);
    a->fewest = rc == TP_OK && tp_predict_is_far(peak, fewest.bytes) ? fewest.bytes : 0;
    tp_predict_peak_release(&fewest);
    free(sizes);
    free(keys);
    return rc;
}

/* ---- values that are rounded up ---- */

static uint64_t rounded(uint64_t value, uint64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static uint64_t power_above(uint64_t value)
{
    uint64_t power = 1;
    while (power < value)
        power *= 2;
    return power;
}

/* Multiples of the greatest common divisor are not changed by rounding up to it. A value below it
 * is not looked at: it would be no multiple of anything that was recorded. */
static uint64_t hidden_multiple(const struct tp_prediction *p, size_t axis)
{
    uint64_t common = 0;
    for (size_t i = 0; i < p->count; i++)
        common = tp_common_divisor(common, p->recordings[i]->at.values[axis]);
    return common;
}

/* Of laws with values rounded up, the largest multiple that explains the sizes as well. */
static uint64_t larger_multiple(const struct tp_prediction *p, size_t axis)
{
    unsigned most = 0;
    for (size_t i = 0; i < p->recordings[p->base]->count; i++) {
        const struct tp_law *law = &p->requests[i].law;
        bool pads = law->kind == TP_LAW_PRODUCT ? law->padded >> axis & 1 : axis == 0;
        if (pads && law->multiple_most > law->multiple && law->multiple_most > most)
            most = law->multiple_most;
    }
    return most;
}

/* What a value is rounded up to if it is to a power of 2, times what makes all recorded values
 * such: they are powers of 2 apart. 0: they are not. */
static uint64_t doubled_value(const struct tp_prediction *p, size_t axis, uint64_t value)
{
    const uint64_t first = p->recordings[0]->at.values[axis], odd = first / (first & -first);
    bool apart = true;
    for (size_t i = 0; i < p->count; i++) {
        uint64_t other = p->recordings[i]->at.values[axis];
        apart &= other / (other & -other) == odd;
    }
    const uint64_t above = power_above(odd);
    return apart ? (power_above(value) * odd + above - 1) / above : 0;
}

/* The peak with all values rounded up so; 0: it makes no difference. */
static int find_padded(const struct tp_prediction *p, const struct tp_axis_values *at,
                       uint64_t peak, uint64_t *out, struct tp_err *err)
{
    struct tp_predict_peak padded = {.bytes = 0};
    uint64_t *sizes = NULL;
    int rc = tp_predict_sizes_padded(p, at, &sizes, err);
    if (rc == TP_OK)
        rc = tp_predict_peak(p, sizes, &padded, err);
    *out = rc == TP_OK && tp_predict_is_far(peak, padded.bytes) ? padded.bytes : 0;
    tp_predict_peak_release(&padded);
    free(sizes);
    return rc == TP_EINPUT ? TP_OK : rc; /* larger than any device */
}

/* Sizes that are rounded up look like others where all recorded values are whole multiples. */
int tp_predict_find_padding(uint64_t n, uint64_t peak, struct tp_predict_answer *a,
                            struct tp_err *err)
{
    const struct tp_prediction *p = &a->prediction;
    struct tp_predict_padding *to = &a->padding;
    struct tp_axis_values at = p->target, multiple, doubled;
    at.values[p->axis] = n;
    multiple = doubled = at;
    bool pads = false, doubles = false;
    for (size_t i = 0; i < at.count; i++) {
        const uint64_t common = hidden_multiple(p, i), larger = larger_multiple(p, i);
        const uint64_t most = common > larger ? common : larger, value = at.values[i];
        const uint64_t power = doubled_value(p, i, value);
        to->multiples[i] = most < value && value % most ? most : 0;
        to->doubles[i] = power > value;
        multiple.values[i] = common < value ? rounded(value, common) : value;
        doubled.values[i] = to->doubles[i] ? power : value;
        pads |= to->multiples[i] > 0;
        doubles |= to->doubles[i];
    }
    int rc = pads ? find_padded(p, &multiple, peak, &to->peak, err) : TP_OK;
    return rc == TP_OK && doubles ? find_padded(p, &doubled, peak, &to->doubled, err) : rc;
}

/* ---- what came before the steps ---- */

/* How it grew between two recordings, for each n^2. */
static double rise(const struct tp_sample_run *from, const struct tp_sample_run *to)
{
    return ((double)to->before - (double)from->before) /
           ((double)to->n * (double)to->n - (double)from->n * (double)from->n);
}

/* Below a recording it is what that had, if it does not shrink; above all of them it grows as
 * a + k n^2, or as k n^2 where it came to grow more. */
static double before_at(const struct tp_predict_asking *q, uint64_t n)
{
    const struct tp_sample_run *first = q->recordings[0], *last = q->recordings[q->count - 1];
    const struct tp_sample_run *second = q->recordings[q->count - 2];
    size_t i = 0;
    while (i < q->count && q->recordings[i]->n < n)
        i++;
    if (i < q->count)
        return (double)q->recordings[i]->before;
    double from = (double)last->before, square = (double)last->n * (double)last->n;
    bool grows = last->before > first->before && tp_predict_is_far(last->before, first->before);
    bool more = rise(second, last) > (1 + TP_PREDICT_DOUBT) * rise(first, second);
    double by = 0;
    if (grows)
        by = more && second != first ? from / square : rise(first, last);
    return from + by * ((double)n * (double)n - square);
}

void tp_predict_find_before(const struct tp_predict_asking *q, uint64_t n, uint64_t peak,
                            struct tp_predict_answer *a)
{
    double most = q->steps && q->target.count == 1 ? before_at(q, n) : 0;
    a->before = most > (double)peak ? (uint64_t)fmin(most, (double)TP_MAX_SIZE) : 0;
}

/* ---- recordings, made again ---- */

static int redo_one(const struct tp_predict_answer *a, size_t recording,
                    struct tp_predict_redone *out, struct tp_err *err)
{
    const struct tp_prediction *p = &a->prediction;
    const struct tp_sample_run *base = p->recordings[p->base], *other = p->recordings[recording];
    size_t *pairs = calloc(base->count + 1, sizeof *pairs);
    uint64_t *sizes = calloc(base->count + 1, sizeof *sizes);
    struct tp_predict_peak peak = {.bytes = 0};
    int rc = pairs && sizes ? tp_predict_pairs(base, other, pairs, err) : no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < base->count; i++)
        sizes[i] = pairs[i] == TP_UNPAIRED ? 0 : other->requests[pairs[i]].size;
    if (rc == TP_OK)
        rc = tp_predict_peak(p, sizes, &peak, err);
    *out = (struct tp_predict_redone){recording, peak.bytes,
                                      tp_program_demand(other->trace.program, 0)->bytes, false};
    tp_predict_peak_release(&peak);
    free(pairs);
    free(sizes);
    return rc;
}

/* How many times as far from the base the value is as the other recording. */
static double reach_of(const struct tp_prediction *p, size_t recording, uint64_t n)
{
    const uint64_t base = p->recordings[p->base]->n, other = p->recordings[recording]->n;
    if (p->target.count > 1 || other == base)
        return 1;
    return (double)tp_predict_change(base, n) / (double)tp_predict_change(base, other);
}

/* The nearest recording on the other side of the value; that of the base where there is none. */
static size_t across(const struct tp_prediction *p, uint64_t n)
{
    const bool above = p->recordings[p->base]->n < n;
    size_t at = p->base;
    for (size_t k = 0; p->target.count == 1 && k < p->count; k++) {
        size_t i = above ? p->count - 1 - k : k;
        if (above ? p->recordings[i]->n > n : p->recordings[i]->n < n)
            at = i;
    }
    return at;
}

/* Requests of equal sizes may live longer in one run than in another, and what lives throughout is
 * a small share of a long recording: both show in the peak. A small difference goes on to grow on
 * the way to a value that is far. */
int tp_predict_redo(struct tp_predict_answer *a, uint64_t n, struct tp_err *err)
{
    const struct tp_prediction *p = &a->prediction;
    struct tp_predict_redone other, *of = &a->redone;
    int rc = redo_one(a, p->alike, of, err);
    const uint64_t by = tp_predict_change(of->was, of->redone);
    const double reach = fmax(reach_of(p, p->alike, n), 1);
    of->differs = rc == TP_OK && (is_share(by, of->was, TP_PREDICT_REDONE) ||
                                  is_share(by, of->was, TP_PREDICT_CROSS_DOUBT / reach));
    const size_t next = across(p, n);
    if (rc != TP_OK || of->differs || next == p->base || next == p->alike)
        return rc;
    rc = redo_one(a, next, &other, err);
    other.differs = rc == TP_OK && is_share(tp_predict_change(other.was, other.redone), other.was,
                                            TP_PREDICT_CROSS_DOUBT);
    *of = other.differs ? other : *of;
    return rc;
}
