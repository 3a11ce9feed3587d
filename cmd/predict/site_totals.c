/* See site_totals.h. */
#include "cmd/predict/site_totals.h"

#include "cmd/predict/site_ledger.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the totals of allocation sites");
}

/* ---- how a site grows ---- */

/* a + k x, with the sum of the squares of what it misses; or a table. */
struct fit {
    double a, k, missed;
    unsigned power;
    bool table;
    double beside;      /* of a table: bytes beside it, which do not grow */
    double least, most; /* of a table: bytes that an n takes, up to which it doubles */
};

/* The points of a site, by recording, without those of the one that is to be predicted. */
struct site_points {
    const struct tp_site_ledger *of;
    const double *bytes, *blocks;
    size_t without; /* `recorded` of the ledger: none is left out */
};

static struct site_points points_of(const struct tp_site_ledger *l,
                                    const struct tp_site_holdings *h, size_t site, size_t without)
{
    return (struct site_points){l, h->bytes + site * l->recorded, h->blocks + site * l->recorded,
                                without};
}

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

/* Whether a square explains all recordings within a hundredth, and a line twenty times worse: of a
 * matrix of rows. */
static bool is_square(const struct fit *square, const struct fit *straight,
                      const struct site_points *all)
{
    const double first = x_of(all, 0, 1), last = x_of(all, all->of->recorded - 1, 1);
    return square->power == 2 && last >= 4 * first && sqrt(square->missed) < 0.01 * all->bytes[0] &&
           square->missed * 400 < straight->missed;
}

/* ---- tables ---- */

/* Whether they are a power of 2 apart, to a hundredth. */
static bool doubles(double first, double other)
{
    double power = first > 0 && other > 0 ? log2(other / first) : 0.5;
    return fabs(power - round(power)) < 0.01;
}

/* Whether the values are so near each other that a table need not have grown between them. */
static bool is_narrow(const struct tp_site_ledger *l)
{
    return l->recordings[l->recorded - 1]->n < 2 * l->recordings[0]->n;
}

/* A table that doubles when it is full: as many blocks in all recordings, of sizes that are powers
 * of 2 apart. An n takes so many bytes of it that each recording fits, and not into half of it. */
static bool is_table_beside(const struct site_points *p, double beside, struct fit *out)
{
    bool may = p->bytes[0] > beside, grows = is_narrow(p->of);
    *out = (struct fit){
        .a = p->bytes[0] - beside, .power = 1, .table = true, .beside = beside, .most = INFINITY};
    for (size_t i = 0; i < p->of->recorded; i++) {
        double held = p->bytes[i] - beside, each = held / x_of(p, i, 1);
        may &= doubles(out->a, held) && p->blocks[i] == p->blocks[0];
        grows |= held > 1.5 * out->a;
        out->least = i == p->without ? out->least : fmax(out->least, each / 2);
        out->most = i == p->without ? out->most : fmin(out->most, each);
    }
    return may && grows && out->least < out->most;
}

/* Beside a table the site may have what does not grow: where all lie on a line, what that begins
 * with. */
static bool is_table(const struct site_points *p, struct fit *out)
{
    if (is_table_beside(p, 0, out))
        return true;
    const struct fit f = line(p, 1, false);
    return f.a > 0 && is_exact(&f, p) && is_table_beside(p, f.a, out);
}

/* Where the values are powers of 2 apart, too, a table lies on a line. */
static bool shows_tables(const struct tp_site_ledger *l)
{
    bool shows = false;
    for (size_t i = 0; i < l->recorded; i++)
        shows |= !doubles((double)l->recordings[0]->n, (double)l->recordings[i]->n);
    return shows;
}

/* What a table has where an n takes so many bytes. */
static double doubled(const struct fit *table, double each, uint64_t n)
{
    return table->beside + table->a * exp2(ceil(log2(each * (double)n / table->a) - 1e-9));
}

/* ---- the law of a site ---- */

/* Tables that double as they grow look like a square over a short way, or like a line that begins
 * below 0: either must be exact. Any two points lie on both, so all of them tell what it is, also
 * where one of them is to be predicted. */
static struct fit best(const struct tp_site_ledger *l, const struct tp_site_holdings *h,
                       size_t site, size_t without)
{
    const struct site_points all = points_of(l, h, site, l->recorded),
                             some = points_of(l, h, site, without);
    struct fit table;
    if (shows_tables(l) && is_table(&all, &table) && is_table(&some, &table))
        return table;
    struct fit one = line(&all, 1, true), two = line(&all, 2, false);
    bool below = is_exact(&one, &all);
    bool square = is_exact(&two, &all) || is_square(&two, &one, &all);
    return line(&some, !below && square ? 2 : 1, below);
}

/* Of a table it is the most. */
static double at_value(const struct fit *f, uint64_t n)
{
    return f->table ? doubled(f, f->most, n) : fmax(0, f->a + f->k * pow((double)n, f->power));
}

/* ---- growth that is none of these ---- */

/* Growth from a recording on, where its slope changes as a power of n: the one that it had between
 * the first recordings and the last. That it had none before tells of none: then n^2. */
static double bent_growth(double from, double to, double before, double after, double apart,
                          double slope)
{
    double bend = before > 0 ? -1 : 1;
    if (before > 0 && after > 0)
        bend = fmin(fmax(log(after / before) / log(apart), -1), 1);
    if (bend <= -1)
        return slope * from * log(to / from);
    return slope * from / (bend + 1) * (pow(to / from, bend + 1) - 1);
}

/* The first recording, the one in the middle and the last, with the slopes between them. */
struct bend {
    double x[3], y[3], before, after;
};

static struct bend bend_of(const struct tp_site_ledger *l, const double *y)
{
    const size_t at[] = {0, l->recorded / 2, l->recorded - 1};
    struct bend b;
    for (size_t i = 0; i < 3; i++) {
        b.x[i] = (double)l->recordings[at[i]]->n;
        b.y[i] = y[at[i]];
    }
    b.before = (b.y[1] - b.y[0]) / (b.x[1] - b.x[0]);
    b.after = (b.y[2] - b.y[1]) / (b.x[2] - b.x[1]);
    return b;
}

/* Whether a recording of the site is far from what the others predict: no law is known of it. */
static bool is_lawless(const struct tp_site_ledger *l, const struct tp_site_holdings *h,
                       size_t site)
{
    const double *y = h->bytes + site * l->recorded;
    bool far = false;
    for (size_t i = 0; i < l->recorded; i++) {
        const struct fit f = best(l, h, site, i);
        far |= fabs(at_value(&f, l->recordings[i]->n) - y[i]) > TP_TOTALS_DOUBT * y[i];
    }
    return far;
}

/* The power with which a site without a law grew between the recordings, and half a one more; up to
 * 2. Sizes at random do not grow. */
static double power_seen(const struct bend *b)
{
    double grown = b->y[0] > 0 && b->y[2] > b->y[0] ? log(b->y[2] / b->y[0]) : 0;
    double power = b->y[0] > 0 ? grown / log(b->x[2] / b->x[0]) : 2;
    return fmin(power + 0.5, 2);
}

/* A site at a value, if it goes on to bend as it does, or grows as it did where no law is known;
 * `straight` where it does not bend, or lies between the recordings. */
static double bent(const struct tp_site_ledger *l, const struct tp_site_holdings *h, size_t site,
                   uint64_t n, double straight)
{
    const struct bend b = bend_of(l, h->bytes + site * l->recorded);
    const double to = (double)n, apart = (b.x[1] + b.x[2]) / (b.x[0] + b.x[1]);
    const bool below = to < b.x[0];
    if ((!below && to <= b.x[2]) || fabs(b.after - b.before) <= 1e-6 * fabs(b.after))
        return straight;
    if (is_lawless(l, h, site))
        return below ? b.y[0] * pow(to / b.x[0], power_seen(&b))
                     : b.y[2] * pow(to / b.x[2], power_seen(&b));
    if (below)
        return b.before <= 0
                   ? b.y[0]
                   : fmax(0, b.y[0] + bent_growth(b.x[0], to, b.before, b.after, apart, b.before));
    return b.after <= 0 ? b.y[2]
                        : b.y[2] + bent_growth(b.x[2], to, b.before, b.after, apart, b.after);
}

/* a + b x with the least squares of the differences. */
struct straight {
    double a, b;
};

static struct straight line_through(const double *x, const double *y, size_t count)
{
    double x_sum = 0, y_sum = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        x_sum += x[i];
        y_sum += y[i];
    }
    const double x_mean = x_sum / (double)count, y_mean = y_sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - x_mean) * (x[i] - x_mean);
        xy += (x[i] - x_mean) * (y[i] - y_mean);
    }
    return (struct straight){y_mean - xy / xx * x_mean, xy / xx};
}

/* The parabola with the least squares: of growth that has a part of n and one of n^2. What x^2 has
 * beyond a line is told apart from what the line explains. */
static double parabola(const struct tp_site_ledger *l, const double *y, uint64_t n)
{
    double x[TP_LAW_POINTS], square[TP_LAW_POINTS], at = (double)n, qq = 0, qy = 0;
    const size_t count = l->recorded < TP_LAW_POINTS ? l->recorded : TP_LAW_POINTS;
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)l->recordings[i]->n;
        square[i] = x[i] * x[i];
    }
    const struct straight of = line_through(x, y, count), curved = line_through(x, square, count);
    for (size_t i = 0; i < count; i++) {
        double q = square[i] - curved.a - curved.b * x[i];
        qq += q * q;
        qy += q * (y[i] - of.a - of.b * x[i]);
    }
    return of.a + of.b * at + qy / qq * (at * at - curved.a - curved.b * at);
}

/* ---- one moment at a value ---- */

enum { MOMENTS = 16 }; /* sites whose largest moments are looked at */
#define CURVED 0.01    /* what the others differ by, below which growth is taken to be straight */

struct moments {
    const struct tp_site_ledger *of;
    double *totals;          /* by moment, then by recording */
    double *others;          /* the same, as the other recordings predict it */
    double off[MOMENTS + 1]; /* the largest difference between the two, as a share */
    bool counts[MOMENTS + 1];
};

struct moment {
    double bytes, bent;     /* of all sites */
    double smaller, larger; /* what it is with tables, and with what may be one */
};

static void add_site(const struct tp_site_ledger *l, const struct tp_site_holdings *h, size_t site,
                     const struct fit *f, uint64_t n, struct moment *to)
{
    const struct site_points all = points_of(l, h, site, l->recorded);
    const double at = at_value(f, n);
    struct fit table;
    bool may = is_table(&all, &table);
    to->bytes += at;
    to->bent += f->table ? at : bent(l, h, site, n, at);
    to->smaller += may ? doubled(&table, (1 + 1e-6) * table.least, n) : at;
    to->larger += may ? doubled(&table, table.most, n) : at;
}

/* Tables go by steps, which say nothing of how the rest bends. Where the recordings predict one
 * another well, there is nothing that a parabola would tell from noise. */
static struct moment moment_at(const struct moments *of, size_t moment, uint64_t n)
{
    const struct tp_site_ledger *l = of->of;
    const struct tp_site_holdings *h = &l->moments[moment];
    struct moment m = {0};
    double rest[TP_LAW_POINTS] = {0}, tables = 0;
    for (size_t site = 0; site < l->sites; site++) {
        const struct fit f = best(l, h, site, l->recorded);
        add_site(l, h, site, &f, n, &m);
        tables += f.table ? at_value(&f, n) : 0;
        for (size_t i = 0; !f.table && i < l->recorded; i++)
            rest[i] += h->bytes[site * l->recorded + i];
    }
    if (n > l->recordings[l->recorded - 1]->n)
        m.bent = fmax(m.bent, of->off[moment] > CURVED ? tables + parabola(l, rest, n) : m.bytes);
    return m;
}

/* A moment of a recording, as the others predict it. */
static double from_others(const struct tp_site_ledger *l, const struct tp_site_holdings *h,
                          size_t recording)
{
    double sum = 0;
    for (size_t site = 0; site < l->sites; site++) {
        const struct fit f = best(l, h, site, recording);
        sum += at_value(&f, l->recordings[recording]->n);
    }
    return sum;
}

/* ---- moments that count ---- */

static void tell(struct moments *m, size_t moment)
{
    const struct tp_site_ledger *l = m->of;
    const double *held = l->moments[moment].bytes;
    m->counts[moment] = true;
    for (size_t i = 0; i < l->recorded; i++) {
        double other = from_others(l, &l->moments[moment], i), was = 0;
        for (size_t site = 0; site < l->sites; site++)
            was += held[site * l->recorded + i];
        m->totals[moment * l->recorded + i] = was;
        m->others[moment * l->recorded + i] = other;
        m->off[moment] = fmax(m->off[moment], was > 0 ? fabs(other / was - 1) : 0);
        m->counts[moment] &= fabs(other - was) <= TP_TOTALS_DOUBT * was;
    }
}

static double most_of(const struct moments *m, const double *by, size_t recording)
{
    double most = 0;
    for (size_t k = 0; k < m->of->moment_count; k++)
        if (m->counts[k])
            most = fmax(most, by[k * m->of->recorded + recording]);
    return most;
}

/* The peaks of the recordings may be of different phases, which makes no sum of one moment. They
 * count where the moments of single sites are not as large. */
static void tell_all(struct moments *m)
{
    const struct tp_site_ledger *l = m->of;
    bool covered = true;
    for (size_t k = 0; k < l->moment_count; k++)
        tell(m, k);
    m->counts[0] = false;
    for (size_t i = 0; i < l->recorded; i++)
        covered &= most_of(m, m->totals, i) >= 0.99 * m->totals[i];
    m->counts[0] = !covered;
}

/* ---- the whole ---- */

struct site_at {
    double bytes;
    size_t site;
};

static int by_size(const void *a, const void *b)
{
    const struct site_at *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* What a site will hold, or with `growth` what of it comes on the way. */
static double weight_of(const struct tp_site_ledger *l, size_t site, uint64_t n, bool growth)
{
    const struct fit f = best(l, &l->most, site, l->recorded);
    const double last = l->most.bytes[site * l->recorded + l->recorded - 1];
    return at_value(&f, n) - (growth ? last : 0);
}

/* Adds the first of the sorted list that were not chosen yet. */
static size_t choose(const struct site_at *list, size_t count, size_t *chosen, size_t from,
                     size_t most)
{
    for (size_t i = 0; i < count && from < most; i++) {
        bool is_new = true;
        for (size_t k = 0; k < from; k++)
            is_new &= chosen[k] != list[i].site;
        chosen[from] = list[i].site;
        from += is_new;
    }
    return from;
}

/* Looks at the moments of the sites that will hold most, and of those that will grow most: many
 * small ones may be a phase of its own. */
static int find_moments(struct tp_site_ledger *l, uint64_t n, struct tp_err *err)
{
    struct site_at *list = calloc(l->sites, sizeof *list);
    size_t count = 0, chosen[MOMENTS];
    if (!list)
        return no_memory(err);
    for (int growth = 0; growth <= 1; growth++) {
        for (size_t site = 0; site < l->sites; site++)
            list[site] = (struct site_at){weight_of(l, site, n, growth), site};
        qsort(list, l->sites, sizeof *list, by_size);
        count = choose(list, l->sites, chosen, count, growth ? MOMENTS : MOMENTS / 2);
    }
    free(list);
    return tp_site_ledger_look(l, chosen, count, err);
}

/* What a moment that the others do not predict may come to: above the recordings the last growth
 * goes on as n^2, elsewhere it is at most what the next larger one had. */
static double unpredicted(const struct moments *m, size_t moment, uint64_t n)
{
    const struct tp_site_ledger *l = m->of;
    const double *y = m->totals + moment * l->recorded;
    const size_t last = l->recorded - 1;
    size_t next = 0;
    while (next < last && l->recordings[next]->n < n)
        next++;
    const double from = pow((double)l->recordings[last - 1]->n, 2),
                 to = pow((double)l->recordings[last]->n, 2), at = (double)n * (double)n;
    return at > to && y[last] > y[last - 1]
               ? y[last] + (y[last] - y[last - 1]) / (to - from) * (at - to)
               : y[next];
}

static int check(const struct moments *m, struct tp_site_totals *out, struct tp_err *err)
{
    const struct tp_site_ledger *l = m->of;
    out->others = calloc(l->recorded, sizeof *out->others);
    if (!out->others)
        return no_memory(err);
    for (size_t i = 0; i < l->recorded; i++) {
        double was = m->totals[i];
        double other = fmin(most_of(m, m->others, i), (double)TP_MAX_SIZE);
        double by = was > 0 ? fabs(other / was - 1) : 0;
        out->others[i] = (uint64_t)other;
        out->difference = by > out->difference ? by : out->difference;
    }
    return TP_OK;
}

static int by_bytes(const void *a, const void *b)
{
    const struct tp_site_total *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static int list_sites(const struct tp_site_ledger *l, const struct tp_site_holdings *h, uint64_t n,
                      struct tp_site_totals *out, struct tp_err *err)
{
    out->sites = calloc(l->sites, sizeof *out->sites);
    if (!out->sites)
        return no_memory(err);
    for (size_t i = 0; i < l->sites; i++) {
        const double *y = h->bytes + i * l->recorded;
        const struct fit f = best(l, h, i, l->recorded);
        const struct tp_site_total site = {l->places[i], (uint64_t)at_value(&f, n),
                                           (uint64_t)y[l->recorded - 1], f.power, f.table};
        if (site.bytes || site.was)
            out->sites[out->count++] = site;
    }
    qsort(out->sites, out->count, sizeof *out->sites, by_bytes);
    return TP_OK;
}

/* The largest moment; what another one may come to, where growth goes on to bend, counts too. */
static int extrapolate(const struct moments *m, uint64_t n, struct tp_site_totals *out,
                       struct tp_err *err)
{
    const struct tp_site_ledger *l = m->of;
    struct moment all = {0};
    size_t largest = 0;
    double bent = 0, other = 0;
    for (size_t k = 0; k < l->moment_count; k++) {
        if (!m->counts[k] && k)
            other = fmax(other, unpredicted(m, k, n));
        if (!m->counts[k])
            continue;
        const struct moment one = moment_at(m, k, n);
        largest = one.bytes > all.bytes ? k : largest;
        all = one.bytes > all.bytes ? one : all;
        bent = fmax(bent, one.bent);
    }
    if (all.bytes > (double)TP_MAX_SIZE)
        return tp_fail(err, TP_EINPUT, "more than 2^48 bytes would be live");
    out->bytes = (uint64_t)all.bytes;
    out->bent = (uint64_t)fmin(bent, (double)TP_MAX_SIZE);
    out->other_phase = (uint64_t)fmin(other, (double)TP_MAX_SIZE);
    out->smaller = (uint64_t)all.smaller;
    out->larger = (uint64_t)fmin(all.larger, (double)TP_MAX_SIZE);
    out->sound = out->difference <= TP_TOTALS_DOUBT && tp_totals_near(out, out->bent) &&
                 tp_totals_near(out, out->smaller) && tp_totals_near(out, out->larger);
    return list_sites(l, &l->moments[largest], n, out, err);
}

int tp_site_totals_find(const struct tp_sample_run *const *recordings, size_t count, uint64_t n,
                        struct tp_site_totals *out, struct tp_err *err)
{
    struct tp_site_ledger l;
    struct moments m = {.of = &l};
    *out = (struct tp_site_totals){.bytes = 0};
    int rc = tp_site_ledger_open(recordings, count, &l, err);
    if (rc == TP_OK)
        rc = find_moments(&l, n, err);
    if (rc == TP_OK) {
        m.totals = calloc(l.moment_count * count, sizeof *m.totals);
        m.others = calloc(l.moment_count * count, sizeof *m.others);
        rc = m.totals && m.others ? TP_OK : no_memory(err);
    }
    if (rc == TP_OK) {
        tell_all(&m);
        rc = check(&m, out, err);
    }
    if (rc == TP_OK)
        rc = extrapolate(&m, n, out, err);
    free(m.totals);
    free(m.others);
    tp_site_ledger_release(&l);
    return rc;
}

void tp_site_totals_release(struct tp_site_totals *t)
{
    free(t->sites);
    free(t->others);
    *t = (struct tp_site_totals){.bytes = 0};
}
