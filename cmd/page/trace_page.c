/* See trace_page.h. A table is a row of `tables`. */
#include "cmd/page/trace_page.h"

#include "alloc/base/ascending.h"
#include "alloc/base/units.h"
#include "cmd/page/html_page.h"
#include "cmd/results/figures.h"
#include "cmd/ui/table.h"

#include <stdlib.h>

enum { ROWS_MAX = 64, PHASES_MAX = 200, COLUMNS_MAX = 7, PHASE_NAME = 100 };

/* ---- what a table is filled with ---- */

struct filling {
    const struct tp_info_report *r;
    const struct tp_program_facts *facts;
    struct tp_table table;
    struct tp_err *err;
};

static void add_share_of(struct tp_table *t, uint64_t part, uint64_t whole)
{
    tp_table_add(t, "%s", tp_percent(whole ? (double)part / (double)whole : 0).s);
}

/* One event can be several operations: shares are those of all operations. */
static int fill_operations(struct filling *f)
{
    uint64_t counts[TP_OP_COUNT], all = 0;
    enum tp_op op;
    for (unsigned rank = 1; (op = tp_op_ranked(rank)) < TP_OP_COUNT; rank++)
        all += counts[op] = tp_captured_ops(f->r->captured, f->facts, op);
    for (unsigned rank = 1; (op = tp_op_ranked(rank)) < TP_OP_COUNT; rank++) {
        if (!counts[op])
            continue;
        tp_table_add(&f->table, "%s", tp_op_rows[op].name);
        tp_table_count(&f->table, counts[op]);
        add_share_of(&f->table, counts[op], all);
    }
    return TP_OK;
}

static int fill_sizes(struct filling *f)
{
    const struct tp_info *info = f->r->info;
    const struct tp_info_rows rows = tp_info_powers(info);
    for (unsigned k = rows.first; k < rows.end; k++) {
        const struct tp_info_count *c = &info->powers[k];
        tp_table_add(&f->table, "<= %s", tp_bytes(UINT64_C(1) << k, false).s);
        tp_table_count(&f->table, c->objects);
        add_share_of(&f->table, c->objects, info->allocated.objects);
        tp_table_bytes(&f->table, c->bytes, false);
        add_share_of(&f->table, c->bytes, info->allocated.bytes);
    }
    return TP_OK;
}

/* `duration`: lifetimes are ns, not events. */
static void fill_lifetimes(struct filling *f, const struct tp_histogram *h, bool duration)
{
    uint64_t counts[TP_HIST_DOUBLINGS];
    const struct tp_info_rows rows = tp_info_doublings(h, counts);
    for (unsigned k = rows.first; k < rows.end; k++) {
        uint64_t below = tp_info_below(k), end = below == TP_NONE ? UINT64_C(1) << k : below;
        tp_table_add(&f->table, "%s %s", below == TP_NONE ? ">=" : "<",
                     duration ? tp_duration(end).s : tp_count(end).s);
        tp_table_count(&f->table, counts[k]);
        add_share_of(&f->table, counts[k], h->count);
    }
}

static int fill_events(struct filling *f)
{
    fill_lifetimes(f, &f->r->info->events, false);
    return TP_OK;
}

static int fill_times(struct filling *f)
{
    if (f->facts->time_known)
        fill_lifetimes(f, &f->r->info->times, true);
    return TP_OK;
}

/* ---- threads, streams, devices ---- */

static void add_share(struct filling *f, const struct tp_info_share *s)
{
    tp_table_count(&f->table, s->allocated.objects);
    tp_table_bytes(&f->table, s->allocated.bytes, false);
    tp_table_count(&f->table, s->frees);
}

static int by_allocations(const void *one, const void *other)
{
    const struct tp_info_share *const *a = one, *const *b = other;
    uint64_t x = (*a)->allocated.objects, y = (*b)->allocated.objects;
    return x != y ? tp_order(y, x) : tp_order((uintptr_t)*a, (uintptr_t)*b);
}

/* Adds `count` rows; where there are more than ROWS_MAX, those with most allocations, and the
 * others as one. The row `others` is several already (TP_NONE: none is). */
static int add_shares(struct filling *f, const char *name, const struct tp_info_share *rows,
                      uint64_t count, bool remote)
{
    const struct tp_info_share **order = calloc(count + 1, sizeof *order);
    struct tp_info_share rest = {.frees = 0};
    uint64_t shown = count < ROWS_MAX ? count : ROWS_MAX;
    if (!order)
        return tp_html_no_memory(f->err);
    for (uint64_t i = 0; i < count; i++)
        order[i] = &rows[i];
    if (count > ROWS_MAX)
        qsort(order, count, sizeof *order, by_allocations);
    for (uint64_t i = 0; i <= shown && (i < shown || count > shown); i++) {
        for (uint64_t k = shown; i == shown && k < count; k++)
            rest = tp_info_sum((const struct tp_info_share[]){rest, *order[k]}, 0, 2);
        const struct tp_info_share *row = i < shown ? order[i] : &rest;
        if (row == &rest || (remote && row == &rows[TP_INFO_THREADS]))
            tp_table_add(&f->table, row == &rest ? "others" : "later ones");
        else
            tp_table_add(&f->table, "%s %llu", name, (unsigned long long)(row - rows));
        add_share(f, row);
        if (remote)
            tp_table_count(&f->table, row->remote);
    }
    free(order);
    return TP_OK;
}

static int fill_threads(struct filling *f)
{
    uint64_t count = tp_info_thread_rows(f->r);
    return count > 1 ? add_shares(f, "thread", f->r->info->threads, count, true) : TP_OK;
}

static int fill_streams(struct filling *f)
{
    uint64_t count = tp_info_stream_rows(f->r);
    return count > 1 ? add_shares(f, "stream", f->r->info->streams, count, false) : TP_OK;
}

static int fill_devices(struct filling *f)
{
    const struct tp_info *info = f->r->info;
    const char *name = tp_part_name(f->r->trace, "device", "memory space");
    for (uint16_t d = 0; info->device_count > 1 && d < info->device_count; d++) {
        tp_table_add(&f->table, "%s %u", name, (unsigned)d);
        add_share(f, &info->devices[d].share);
        tp_table_bytes(&f->table, tp_program_demand(f->r->trace->program, d)->bytes, false);
        tp_table_bytes(&f->table, info->devices[d].left, false);
    }
    return TP_OK;
}

/* ---- phases ---- */

static void add_phase(struct filling *f, const char *name, const struct tp_info_phase *p)
{
    tp_table_add(&f->table, "%.*s", (int)tp_text_bytes(name, PHASE_NAME), name);
    tp_table_count(&f->table, p->begun);
    tp_table_count(&f->table, p->first_event);
    tp_table_count(&f->table, p->events);
    tp_table_add(&f->table, "%s", f->facts->time_known ? tp_duration(p->ns).s : "-");
    tp_table_bytes(&f->table, p->peak, false);
    tp_table_count(&f->table, p->peak_event);
}

static int fill_phases(struct filling *f)
{
    for (uint32_t i = 0, count = 0; i < f->facts->marks && count < PHASES_MAX; i++) {
        const struct tp_info_phase *p = &f->r->info->phase_rows[i];
        if (p->begun)
            add_phase(f, tp_mark_phase(f->r->trace->program, i), p);
        count += p->begun != 0;
    }
    return TP_OK;
}

/* ---- the section ---- */

#define HEAD(text)                                                                                 \
    {                                                                                              \
        .head = { "", text }                                                                       \
    }

/* A table without rows is left out. */
static const struct trace_table {
    const char *title;
    struct tp_column columns[COLUMNS_MAX]; /* ended by one without a head */
    int (*fill)(struct filling *f);
    const char *note; /* below it; NULL: none */
} tables[] = {
    {"Operations", {HEAD("kind"), HEAD("events"), HEAD("share")}, fill_operations, NULL},
    {"Sizes",
     {HEAD("bytes"), HEAD("blocks"), HEAD("share"), HEAD("in all"), HEAD("share of it")},
     fill_sizes,
     "Each row holds what is above half of it."},
    {"Lifetimes in events",
     {HEAD("freed within"), HEAD("blocks"), HEAD("share")},
     fill_events,
     "Each row holds what is not below half of it."},
    {"Lifetimes in time", {HEAD("freed within"), HEAD("blocks"), HEAD("share")}, fill_times, NULL},
    {"Threads",
     {HEAD("thread"), HEAD("allocations"), HEAD("bytes"), HEAD("frees"), HEAD("of another's")},
     fill_threads,
     "Of another's: frees of blocks that another thread allocated."},
    {"Streams",
     {HEAD("stream"), HEAD("allocations"), HEAD("bytes"), HEAD("frees")},
     fill_streams,
     NULL},
    {"Devices",
     {HEAD("device"), HEAD("allocations"), HEAD("bytes"), HEAD("frees"), HEAD("peak"),
      HEAD("at the end")},
     fill_devices,
     NULL},
    {"Phases",
     {HEAD("phase"), HEAD("times"), HEAD("first event"), HEAD("events"), HEAD("time"), HEAD("peak"),
      HEAD("at event")},
     fill_phases,
     "Peak: the most that is requested at once in the phase, on all devices together."},
};
enum { TABLES = sizeof tables / sizeof *tables };

static int write_table(const struct trace_table *of, const struct tp_info_report *r, FILE *out,
                       struct tp_err *err)
{
    struct filling f = {.r = r, .facts = tp_program_facts(r->trace->program), .err = err};
    struct tp_column columns[COLUMNS_MAX];
    int count = 0;
    for (; count < COLUMNS_MAX && *of->columns[count].head[1]; count++) {
        columns[count] = of->columns[count];
        columns[count].left = !count;
    }
    tp_table_columns(&f.table, columns, count);
    int rc = of->fill(&f);
    if (rc == TP_OK && tp_table_rows(&f.table)) {
        fprintf(out, "<div><h3>%s</h3>\n<p>", of->title);
        rc = tp_table_html(&f.table, out, err);
        fprintf(out, "%s</p></div>\n", of->note ? of->note : "");
    }
    tp_table_drop(&f.table);
    return rc;
}

int tp_trace_section(const struct tp_info_report *r, FILE *out, struct tp_err *err)
{
    struct tp_page page = tp_html_flow(out);
    int rc = TP_OK;
    fputs("<p>", out);
    if (r->info->allocated.objects)
        tp_info_sentences(r, &page);
    else
        tp_page_put(&page, 0, "Nothing is allocated.");
    fputs("</p>\n<div class=\"tables\">\n", out);
    for (int i = 0; rc == TP_OK && i < TABLES; i++)
        rc = write_table(&tables[i], r, out, err);
    fputs("</div>\n", out);
    return rc;
}
