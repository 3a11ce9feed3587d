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

/* The line with the least squares; through 0 where it would begin below and `below` is not set,
 * level where it would fall. */
static struct fit line(const struct site_points *p, unsigned power, bool below)
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
    if (f.a < 0 && !below)
        f = (struct fit){.k = xy / xx, .power = power};
    if (f.k <= 0)
        f = (struct fit){.a = y / count, .power = 0};
    f.missed = missed_by(p, &f);
    return f;
}

/* Whether all recordings of a site lie on it, to a millionth. */
static bool is_exact(const struct fit *f, const struct site_points *all)
{
    double least = 1e-6 * f->k * x_of(all, 0, f->power);
    return f->power && f->missed < least * least;
}

/* Tables that double as they grow look like a square over a short way, or like a line that begins
 * below 0: either must be exact. Any two points lie on both, so all of them tell what it is, also
 * where one of them is to be predicted. */
static struct fit best(const struct ledger *l, size_t site, size_t without)
{
    const double *bytes = l->bytes + site * l->recorded;
    const struct site_points all = {l, bytes, l->recorded}, some = {l, bytes, without};
    struct fit one = line(&all, 1, true), two = line(&all, 2, false);
    bool below = is_exact(&one, &all);
    return line(&some, !below && is_exact(&two, &all) ? 2 : 1, below);
}

static double at_value(const struct fit *f, uint64_t n)
{
    return fmax(0, f->a + f->k * pow((double)n, f->power));
}

/* ---- the whole ---- */

static uint64_t predict_one(const struct ledger *l, size_t without)
{
    double sum = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct fit f = best(l, i, without);
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
    return TP_OK;
}

/* Growth from the last recording on, where its slope changes as a power of n: the one that it had
 * between the first recordings and the last. That it had none before tells of none: then n^2. */
static double bent_growth(double from, double to, double before, double after, double apart)
{
    double bend = before > 0 ? log(after / before) / log(apart) : 1;
    bend = fmin(fmax(bend, -1), 1);
    if (bend <= -1)
        return after * from * log(to / from);
    return after * from / (bend + 1) * (pow(to / from, bend + 1) - 1);
}

/* Whether a recording of the site is far from what the others predict: no law is known of it. */
static bool is_lawless(const struct ledger *l, size_t site)
{
    const double *y = l->bytes + site * l->recorded;
    bool far = false;
    for (size_t i = 0; i < l->recorded; i++) {
        const struct fit f = best(l, site, i);
        far |= fabs(at_value(&f, l->recordings[i]->n) - y[i]) > TP_TOTALS_DOUBT * y[i];
    }
    return far;
}

/* A site at a value, if it goes on to bend as it does, or grows with n^2 where no law is known;
 * `straight` where it does not bend, or lies between the recordings. */
static double bent(const struct ledger *l, size_t site, uint64_t n, double straight)
{
    const double *y = l->bytes + site * l->recorded;
    const size_t last = l->recorded - 1, middle = l->recorded / 2;
    double x[] = {(double)l->recordings[0]->n, (double)l->recordings[middle]->n,
                  (double)l->recordings[last]->n};
    double before = (y[middle] - y[0]) / (x[1] - x[0]);
    double after = (y[last] - y[middle]) / (x[2] - x[1]);
    if (n <= l->recordings[last]->n || fabs(after - before) <= 1e-6 * fabs(after))
        return straight;
    if (is_lawless(l, site))
        return y[last] * pow((double)n / x[2], 2);
    if (after <= 0)
        return y[last];
    return y[last] + bent_growth(x[2], (double)n, before, after, (x[1] + x[2]) / (x[0] + x[1]));
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
    double all_bent = 0;
    if (!out->sites)
        return no_memory(err);
    for (size_t i = 0; i < l->count; i++) {
        const double *bytes = l->bytes + i * l->recorded;
        const struct fit f = best(l, i, l->recorded);
        double at = at_value(&f, n);
        if (at + (double)out->bytes > (double)TP_MAX_SIZE)
            return tp_fail(err, TP_EINPUT, "more than 2^48 bytes would be live");
        out->sites[out->count++] = (struct tp_site_total){
            l->places[i], (uint64_t)at, (uint64_t)bytes[l->recorded - 1], f.power};
        out->bytes += (uint64_t)at;
        all_bent += bent(l, i, n, at);
    }
    out->bent = (uint64_t)fmin(all_bent, (double)TP_MAX_SIZE);
    double apart = out->bytes ? fabs((double)out->bent / (double)out->bytes - 1) : 0;
    out->sound = out->difference <= TP_TOTALS_DOUBT && apart <= TP_TOTALS_DOUBT;
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
