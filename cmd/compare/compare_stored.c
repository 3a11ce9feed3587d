/* Compares stored results. The strategies of one file are compared with each other. With several
 * files each strategy of the base file is compared with the same strategy in the other files,
 * matched by the name of the trace, the label and the source. A note names each run without a
 * partner, so that none is dropped silently. */
#include "cmd/compare/compare.h"

#include "cmd/compare/compare_opts.h"
#include "cmd/results/metric_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CELLS_MAX = 4096 };

struct match {
    struct tp_compare *c;
    const struct tp_stored *files;
    size_t count, base;
    bool **used;                        /* [file][run]: the run has become a partner */
    const struct tp_record ***partners; /* [file][run of the base file]; NULL: no partner */
};

static int add_row(struct tp_compare_table *t, const struct tp_stored *from,
                   const struct tp_record *run, const char *label, struct tp_err *err)
{
    struct tp_compare_row *row = tp_compare_add_row(t, label);
    if (!row)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    row->from = from;
    row->run = run;
    row->cold = run->replayed_once;
    return TP_OK;
}

static struct tp_compare_table *find_table(struct tp_compare *c, const struct tp_record *run)
{
    for (size_t t = 0; t < c->count; t++)
        if (!strcmp(c->tables[t].hash, run->hash) && !strcmp(c->tables[t].name, run->trace_name))
            return &c->tables[t];
    struct tp_compare_table *t = tp_compare_add_table(c);
    if (!t)
        return NULL;
    t->name = run->trace_name;
    t->hash = run->hash;
    t->run = run;
    return t;
}

/* ---- one file ---- */

/* Adds a row. If its label is in the table already, the two runs used different sources, so the
 * source is added to the label. */
static int add_twin(struct tp_compare_table *t, const struct tp_stored *from,
                    const struct tp_record *run, struct tp_err *err)
{
    bool twin = false;
    char *label = NULL;
    for (size_t r = 0; r < t->count; r++)
        twin |= !strcmp(t->rows[r].label, run->label);
    if (!twin)
        return add_row(t, from, run, run->label, err);
    if (asprintf(&label, "%s on %s", run->label, run->source) < 0)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = add_row(t, from, run, label, err);
    free(label);
    return status;
}

static int choose_base(struct tp_compare_table *t, const char *name, struct tp_err *err)
{
    size_t base = 0;
    while (name && base < t->count && strcasecmp(t->rows[base].label, name) != 0)
        base++;
    if (base == t->count)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "--base '%s' is not a strategy that %s was replayed by", name,
                               t->name),
                       "the first of those that are is '%.100s'", t->rows[0].label);
    int status = TP_OK;
    for (size_t r = 0; r < t->count; r++) {
        t->rows[r].base = base;
        if (!status)
            status = tp_stored_comparable(t->rows[base].from, t->rows[base].run, t->rows[r].from,
                                          t->rows[r].run, err);
    }
    return status;
}

/* Removes tables with a single row, which has nothing to be compared with. */
static void drop_lonely(struct tp_compare *c)
{
    size_t kept = 0;
    for (size_t t = 0; t < c->count; t++) {
        if (c->tables[t].count > 1) {
            c->tables[kept++] = c->tables[t];
            continue;
        }
        tp_compare_note(c, "%s was replayed by %s only: nothing to compare it with",
                        c->tables[t].name, c->tables[t].rows[0].label);
        free(c->tables[t].rows[0].label);
        free(c->tables[t].rows);
    }
    c->count = kept;
}

static int match_inside(const struct tp_stored *file, const char *base, struct tp_compare *c,
                        struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < file->count; i++) {
        struct tp_compare_table *t = find_table(c, &file->runs[i]);
        if (!t)
            return tp_fail(err, TP_ENOMEM, "out of memory");
        status = add_twin(t, file, &file->runs[i], err);
    }
    if (!status)
        drop_lonely(c);
    if (!status && !c->count)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s has one strategy per trace: nothing to compare",
                               file->path),
                       "name a second result, or replay with several -s");
    for (size_t t = 0; !status && t < c->count; t++)
        status = choose_base(&c->tables[t], base, err);
    return status;
}

/* ---- several files ---- */

/* How well two runs match. 0: they are different cells. 1: the sources differ in a capacity limit,
 * which counts as a setting. 2: the sources are the same. */
static int nearness(const struct tp_record *a, const struct tp_record *b)
{
    if (strcmp(a->trace_name, b->trace_name) || strcmp(a->label, b->label) ||
        !tp_stored_same_source(a, b))
        return 0;
    return 1 + !strcmp(a->source, b->source);
}

/* Finds the partner of a run in another file, with a match of at least `near`. A run of the same
 * program is preferred. Otherwise a run with the same names is returned, and tp_stored_comparable
 * reports the different program. */
static const struct tp_record *find_partner(const struct match *m, size_t file,
                                            const struct tp_record *run, int near)
{
    const struct tp_stored *f = &m->files[file];
    size_t found = f->count;
    for (size_t i = 0; i < f->count; i++) {
        if (m->used[file][i] || nearness(&f->runs[i], run) < near)
            continue;
        if (found == f->count || !strcmp(f->runs[i].hash, run->hash))
            found = i;
        if (!strcmp(f->runs[found].hash, run->hash))
            break;
    }
    if (found == f->count)
        return NULL;
    m->used[file][found] = true;
    return &f->runs[found];
}

/* Assigns the best matches first, so that no run takes the partner of one that matches better. */
static void find_partners(const struct match *m)
{
    const struct tp_stored *base = &m->files[m->base];
    for (int near = 2; near; near--)
        for (size_t i = 0; i < base->count; i++)
            for (size_t f = 0; f < m->count; f++)
                if (f != m->base && !m->partners[f][i])
                    m->partners[f][i] = find_partner(m, f, &base->runs[i], near);
}

static void note_options(struct tp_compare *c, const char *label, const struct tp_record_options *a,
                         const struct tp_record_options *b)
{
    if (a->partial || b->partial)
        return;
    for (size_t i = 0; i < a->count; i++) {
        const struct tp_record_option *one = &a->items[i];
        const char *other = tp_record_option(b, one->name);
        if (!strcmp(one->name, TP_STORED_CAPACITY))
            continue; /* compared as a setting */
        if (!other || strcmp(other, one->value))
            tp_compare_note(c, "%.60s: option %.60s is %.60s and %.60s", label, one->name,
                            one->value, other ? other : "not there");
    }
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->items[i].name, TP_STORED_CAPACITY) && !tp_record_option(a, b->items[i].name))
            tp_compare_note(c, "%.60s: option %.60s is not there and %.60s", label,
                            b->items[i].name, b->items[i].value);
}

/* Adds notes on how two rows differ that may still be compared. */
static void note_differences(struct tp_compare *c, const struct tp_compare_row *a,
                             const struct tp_compare_row *b)
{
    char text[TP_COMPARE_NOTE - 100];
    tp_stored_differences(a->from, b->from, true, text, sizeof text);
    if (*text)
        tp_compare_note(c, "%.40s and %.40s: %s", a->from->path + c->common,
                        b->from->path + c->common, text);
    tp_stored_settings_differ(a->run, b->run, false, text, sizeof text);
    if (*text)
        tp_compare_note(c, "%.40s and %.40s were not replayed alike: %s", a->from->path + c->common,
                        b->from->path + c->common, text);
    note_options(c, a->label, &a->run->options, &b->run->options);
    note_options(c, a->label, &a->run->source_options, &b->run->source_options);
}

/* Adds a note on the parts of resident memory at a moment that make two rows differ. */
static void note_parts(struct tp_compare *c, const struct tp_compare_row *a,
                       const struct tp_compare_row *b, const struct tp_metric *whole)
{
    char text[TP_COMPARE_NOTE - 180] = "";
    struct tp_str s = TP_STR_IN(text);
    double base = tp_record_total(a->run, whole), by = tp_record_total(b->run, whole) - base;
    if (!(fabs(by) > fmax(whole->least, whole->allowed * base)))
        return;
    for (const struct tp_metric *m = tp_metrics; m < tp_metrics + tp_metric_count; m++) {
        double part = tp_record_total(b->run, m) - tp_record_total(a->run, m);
        if (tp_metric_is_part_of(m, whole) && fabs(part) > m->least)
            tp_str_item(&s, ", ", "%s %s%s", m->part, part < 0 ? "-" : "+",
                        tp_metric_text(m, fabs(part), false).s);
    }
    if (*text)
        tp_compare_note(c, "%.60s, %.40s: %s %s%s in %.40s: %s", a->run->trace_name, a->label,
                        whole->name, by < 0 ? "-" : "+", tp_metric_text(whole, fabs(by), false).s,
                        b->from->path + c->common, text);
}

static void note_only_here(const struct match *m, size_t file, const struct tp_record *run)
{
    tp_compare_note(m->c, "%.60s by %.60s on %.40s is in %.60s only", run->trace_name, run->label,
                    run->source, m->files[file].path + m->c->common);
}

static void note_pair(struct tp_compare *c, const struct tp_compare_row *a,
                      const struct tp_compare_row *b)
{
    note_differences(c, a, b);
    note_parts(c, a, b, tp_metric_find("resident_at_peak", NULL));
    note_parts(c, a, b, tp_metric_find("end_resident", NULL));
}

/* Adds rows for a run of the base file and for its partners. */
static int match_cell(struct match *m, size_t cell, struct tp_err *err)
{
    const struct tp_record *run = &m->files[m->base].runs[cell];
    struct tp_compare_table *t = NULL;
    size_t base = 0;
    int status = TP_OK;
    for (size_t f = 0; !status && f < m->count; f++) {
        const struct tp_record *other = m->partners[f][cell];
        if (!other)
            continue;
        status = tp_stored_comparable(&m->files[m->base], run, &m->files[f], other, err);
        if (!status && !t) {
            t = find_table(m->c, run);
            base = t ? t->count : 0;
            status = t ? add_row(t, &m->files[m->base], run, run->label, err)
                       : tp_fail(err, TP_ENOMEM, "out of memory");
        }
        if (!status)
            status = add_row(t, &m->files[f], other, run->label, err);
        if (!status)
            note_pair(m->c, &t->rows[base], &t->rows[t->count - 1]);
    }
    for (size_t r = base; t && r < t->count; r++) {
        t->rows[r].base = base;
        t->rows[r].file = t->rows[r].from->path;
        t->rows[r].short_file = t->rows[r].file + m->c->common;
    }
    if (!status && !t)
        note_only_here(m, m->base, run);
    return status;
}

/* Finds the two runs that match best: the same trace and label, or else the same trace, or else the
 * first run of each file. */
static void find_nearest(const struct tp_stored *a, const struct tp_stored *b,
                         const struct tp_record **x, const struct tp_record **y)
{
    int best = -1;
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            bool trace = !strcmp(a->runs[i].trace_name, b->runs[j].trace_name);
            int near = trace + (trace && !strcmp(a->runs[i].label, b->runs[j].label));
            if (near <= best)
                continue;
            best = near;
            *x = &a->runs[i];
            *y = &b->runs[j];
        }
}

static int fail_nothing(const struct match *m, struct tp_err *err)
{
    const struct tp_stored *a = &m->files[m->base], *b = &m->files[m->base ? 0 : 1];
    const struct tp_record *x = NULL, *y = NULL;
    if (!a->count || !b->count)
        return tp_fail(err, TP_EINPUT, "%s has no result", a->count ? b->path : a->path);
    find_nearest(a, b, &x, &y);
    int status = tp_fail(
        err, TP_EINPUT,
        "nothing is in both: %s has %.60s by %.60s on %s, %s has %.60s by %.60s on "
        "%s",
        a->path, x->trace_name, x->label, x->source, b->path, y->trace_name, y->label, y->source);
    if (strcmp(x->trace_name, y->trace_name))
        return tp_hint(err, status, "results are matched by trace, label and source");
    if (strcmp(x->label, y->label))
        return tp_hint(err, status,
                       "results are matched by trace, label and source: -s LABEL=NAME gives a "
                       "label");
    return tp_hint(err, status,
                   "results are matched by trace, label and source: replay both on the same "
                   "--source");
}

static int match_all(struct match *m, struct tp_err *err)
{
    const struct tp_stored *base = &m->files[m->base];
    int status = TP_OK;
    find_partners(m);
    for (size_t i = 0; !status && i < base->count; i++)
        status = match_cell(m, i, err);
    if (status)
        return status;
    if (!m->c->count)
        return fail_nothing(m, err);
    for (size_t f = 0; f < m->count; f++)
        for (size_t i = 0; f != m->base && i < m->files[f].count; i++)
            if (!m->used[f][i])
                note_only_here(m, f, &m->files[f].runs[i]);
    return TP_OK;
}

static int match_files(struct match *m, const char *base, struct tp_err *err)
{
    while (base && m->base < m->count && strcmp(m->files[m->base].path, base) != 0)
        m->base++;
    if (m->base == m->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--base '%s' is not one of the files", base),
                       "of several results it is one of the files: --base %.200s",
                       m->files[0].path);
    m->used = calloc(m->count, sizeof *m->used);
    m->partners = calloc(m->count, sizeof *m->partners);
    bool good = m->used && m->partners;
    for (size_t f = 0; good && f < m->count; f++) {
        m->used[f] = calloc(m->files[f].count + 1, sizeof **m->used);
        m->partners[f] = calloc(m->files[m->base].count + 1, sizeof **m->partners);
        good = m->used[f] && m->partners[f];
    }
    int status = good ? match_all(m, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t f = 0; f < m->count; f++) {
        free(m->used ? m->used[f] : NULL);
        free(m->partners ? m->partners[f] : NULL);
    }
    free(m->used);
    free(m->partners);
    return status;
}

/* ---- one or several files ---- */

/* Adds notes on what results of an older tapool lack, one for all files that lack the same. Lacking
 * settings do not matter in a single file, because all its runs had the same. */
static void note_lacks(struct tp_compare *c)
{
    for (size_t i = 0; i < c->file_count; i++) {
        char lacks[160], other[160], names[120] = "";
        bool said = false;
        size_t more = 0;
        tp_stored_lacks(&c->files[i], c->file_count > 1, lacks, sizeof lacks);
        for (size_t k = 0; *lacks && k < c->file_count; k++) {
            tp_stored_lacks(&c->files[k], c->file_count > 1, other, sizeof other);
            if (strcmp(lacks, other))
                continue;
            said |= k < i;
            if (more++ < 2)
                tp_append(names, sizeof names, "%s%.40s", *names ? ", " : "",
                          c->files[k].path + c->common);
        }
        if (*lacks && !said)
            tp_compare_note(c, "%s%s: by an older tapool, which did not write %s", names,
                            more > 2 ? ", ..." : "", lacks);
    }
}

void tp_compare_files_release(struct tp_stored *files, size_t count)
{
    for (size_t i = 0; files && i < count; i++)
        tp_stored_release(&files[i]);
    free(files);
}

/* The length of the folders that all paths share: "out/" for "out/base/a.json" and
 * "out/new/a.json". */
static size_t common_folders(const struct tp_stored *files, size_t count)
{
    const char *first = files[0].path, *slash = strrchr(first, '/');
    size_t common = slash ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < count; i++) {
        size_t same = 0;
        while (same < common && files[i].path[same] == first[same])
            same++;
        while (same && first[same - 1] != '/')
            same--;
        common = same;
    }
    return count > 1 ? common : 0;
}

int tp_compare_read(const struct tp_compare_opts *o, char *const *words, size_t count,
                    struct tp_compare *c, struct tp_stored **out, struct tp_err *err)
{
    struct tp_stored *files = *out = calloc(count, sizeof *files);
    size_t cells = 0;
    int status = files ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    c->seed = o->seed;
    c->goal = o->goal;
    c->files = files;
    c->file_count = count;
    for (size_t i = 0; !status && i < count; i++) {
        status = tp_stored_read(words[i], &files[i], err);
        cells += files[i].count;
        if (!status && files[i].partial)
            tp_compare_note(c, "%.80s is partial: its replay was interrupted", files[i].path);
    }
    if (!status && cells > CELLS_MAX)
        return tp_fail(err, TP_EINPUT, "over %d results: too many for one comparison", CELLS_MAX);
    if (status)
        return status;
    c->common = common_folders(files, count);
    note_lacks(c);
    if (count == 1)
        return match_inside(&files[0], o->base, c, err);
    return match_files(&(struct match){.c = c, .files = files, .count = count}, o->base, err);
}
