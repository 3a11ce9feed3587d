/* See site_totals.h. */
#include "cmd/predict/site_totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the totals of allocation sites");
}

/* ---- what was live at the peaks ---- */

/* All sites of all recordings, each with its bytes by recording. */
struct ledger {
    const struct tp_sample_run *const *recordings;
    size_t recorded; /* recordings */
    const char **places;
    double *bytes; /* by site, then by recording */
    size_t count;
};

static int by_place(const void *a, const void *b)
{
    const struct tp_predict_site *x = a, *y = b;
    if (!x->place || !y->place)
        return !y->place - !x->place;
    return strcmp(x->place, y->place);
}

/* What a recording holds at its own peak: a prediction of it in which nothing changes. */
static int find_peak(const struct tp_sample_run *r, struct tp_predict_peak *out, struct tp_err *err)
{
    struct tp_prediction same = {.recordings = &r, .count = 1, .target = r->at};
    uint64_t *sizes = calloc(r->count + 1, sizeof *sizes);
    same.requests = calloc(r->count + 1, sizeof *same.requests);
    *out = (struct tp_predict_peak){.bytes = 0};
    for (size_t i = 0; sizes && i < r->count; i++)
        sizes[i] = r->requests[i].size;
    int rc = sizes && same.requests ? tp_predict_peak(&same, sizes, out, err) : no_memory(err);
    free(same.requests);
    free(sizes);
    return rc;
}

/* Joins the sites of a recording, which are in the order of their places, to those known. */
static int join(struct ledger *to, size_t recording, const struct tp_predict_peak *peak,
                struct tp_err *err)
{
    size_t most = to->count + peak->count, count = 0, i = 0, k = 0, width = to->recorded;
    const char **places = calloc(most + 1, sizeof *places);
    double *bytes = calloc((most + 1) * width, sizeof *bytes);
    for (; places && bytes && (i < to->count || k < peak->count); count++) {
        struct tp_predict_site old = {.place = i < to->count ? to->places[i] : NULL};
        int order = i == to->count ? 1 : k == peak->count ? -1 : by_place(&old, &peak->sites[k]);
        places[count] = order <= 0 ? old.place : peak->sites[k].place;
        if (order <= 0)
            memcpy(bytes + count * width, to->bytes + i++ * width, width * sizeof *bytes);
        if (order >= 0)
            bytes[count * width + recording] += (double)peak->sites[k++].is;
    }
    bool done = places && bytes;
    free(to->places);
    free(to->bytes);
    to->places = places;
    to->bytes = bytes;
    to->count = done ? count : 0;
    return done ? TP_OK : no_memory(err);
}

static int fill(struct ledger *l, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < l->recorded; i++) {
        struct tp_predict_peak peak;
        rc = find_peak(l->recordings[i], &peak, err);
        if (rc == TP_OK) {
            qsort(peak.sites, peak.count, sizeof *peak.sites, by_place);
            rc = join(l, i, &peak, err);
        }
        tp_predict_peak_release(&peak);
    }
    return rc;
}

/* ---- how a site grows ---- */

/* a + k x, with the sum of the squares of what it misses. */
struct fit {
    double a, k, missed;
    unsigned power;
};

/* The points of a site without those of one recording, which is to be predicted. */
struct site_points {
    const struct ledger *of;
    const double *bytes;
    size_t without; /* recording; `recorded` of the ledger: none is left out */
};

static double x_of(const struct site_points *p, size_t i, unsigned power)
{
    return pow((double)p->of->recordings[i]->n, power);
}

static double missed_by(const struct site_points *p, const struct fit *f)
{
    double sum = 0;
    for (size_t i = 0; i < p->of->recorded; i++) {
        double by = f->a + f->k * x_of(p, i, f->power) - p->bytes[i];
        sum += i == p->without ? 0 : by * by;
    }
    return sum;
}

/* The line with the least squares; through 0 where it would begin below, level where it would
 * fall. */
static struct fit line(const struct site_points *p, unsigned power)
{
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < p->of->recorded; i++) {
        double weight = i != p->without, at = x_of(p, i, power);
        count += weight;
        x += weight * at;
        y += weight * p->bytes[i];
        xx += weight * at * at;
        xy += weight * at * p->bytes[i];
    }
    double spread = count * xx - x * x;
    struct fit f = {.k = spread > 0 ? (count * xy - x * y) / spread : 0, .power = power};
    f.a = (y - f.k * x) / count;
    if (f.a < 0)
        f = (struct fit){.k = xy / xx, .power = power};
    if (f.k <= 0)
        f = (struct fit){.a = y / count, .power = 0};
    f.missed = missed_by(p, &f);
    return f;
}

/* Tables that double as they grow look like a square over a short way: it must hold to a
 * millionth, and lie nearer than the line. */
static struct fit best(const struct site_points *p)
{
    struct fit one = line(p, 1), two = line(p, 2);
    double least = 1e-6 * two.k * x_of(p, p->without ? 0 : 1, 2);
    return two.power == 2 && two.missed < one.missed && two.missed < least * least ? two : one;
}

static double at_value(const struct fit *f, uint64_t n)
{
    return f->a + f->k * pow((double)n, f->power);
}

/* ---- the whole ---- */

static uint64_t predict_one(const struct ledger *l, size_t without)
{
    double sum = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct fit f = best(&(struct site_points){l, l->bytes + i * l->recorded, without});
        sum += at_value(&f, l->recordings[without]->n);
    }
    return (uint64_t)fmin(sum, (double)TP_MAX_SIZE);
}

static int check(const struct ledger *l, struct tp_site_totals *out, struct tp_err *err)
{
    out->others = calloc(l->recorded, sizeof *out->others);
    if (!out->others)
        return no_memory(err);
    for (size_t i = 0; i < l->recorded; i++) {
        double was = (double)tp_program_demand(l->recordings[i]->trace.program, 0)->bytes;
        out->others[i] = predict_one(l, i);
        double by = was > 0 ? fabs((double)out->others[i] / was - 1) : 0;
        out->difference = by > out->difference ? by : out->difference;
    }
    out->sound = out->difference <= TP_TOTALS_DOUBT;
    return TP_OK;
}

static int by_bytes(const void *a, const void *b)
{
    const struct tp_site_total *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static int extrapolate(const struct ledger *l, uint64_t n, struct tp_site_totals *out,
                       struct tp_err *err)
{
    out->sites = calloc(l->count + 1, sizeof *out->sites);
    if (!out->sites)
        return no_memory(err);
    for (size_t i = 0; i < l->count; i++) {
        const double *bytes = l->bytes + i * l->recorded;
        const struct fit f = best(&(struct site_points){l, bytes, l->recorded});
        double at = at_value(&f, n);
        if (at + (double)out->bytes > (double)TP_MAX_SIZE)
            return tp_fail(err, TP_EINPUT, "more than 2^48 bytes would be live");
        out->sites[out->count++] = (struct tp_site_total){
            l->places[i], (uint64_t)at, (uint64_t)bytes[l->recorded - 1], f.power};
        out->bytes += (uint64_t)at;
    }
    qsort(out->sites, out->count, sizeof *out->sites, by_bytes);
    return TP_OK;
}

int tp_site_totals_find(const struct tp_sample_run *const *recordings, size_t count, uint64_t n,
                        struct tp_site_totals *out, struct tp_err *err)
{
    struct ledger l = {.recordings = recordings, .recorded = count};
    *out = (struct tp_site_totals){.bytes = 0};
    int rc = fill(&l, err);
    if (rc == TP_OK)
        rc = check(&l, out, err);
    if (rc == TP_OK)
        rc = extrapolate(&l, n, out, err);
    free(l.places);
    free(l.bytes);
    return rc;
}

void tp_site_totals_release(struct tp_site_totals *t)
{
    free(t->sites);
    free(t->others);
    *t = (struct tp_site_totals){.bytes = 0};
}
