/* What a call of the command says of itself; see sweep_call.h. */
#include "cmd/sweep/sweep_run.h"

#include "cmd/sweep/sweep_call.h"
#include "cmd/ui/text.h"

#include <math.h>
#include <string.h>

enum { FAILURES_SHOWN = 10 };

static struct tp_page page_of(const struct tp_sweep_state *c, FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, c->o->exports.color);
    return page;
}

static void print_head(struct tp_page *page)
{
    tp_page_styled(page, 0, TP_RED, "Failed");
    tp_page_line(page);
}

/* A kind of failure with one of its cells. A trace that cannot be opened has no setting. */
static void print_failure(sqlite3_stmt *row, struct tp_page *page)
{
    uint64_t count = (uint64_t)sqlite3_column_int64(row, 1);
    const char *setting = tp_sql_text(row, 3);
    tp_page_put(page, 2, "%s", tp_sql_text(row, 0));
    tp_page_at(page, 4, "%s", tp_sql_text(row, 2));
    if (*setting)
        tp_page_more(page, 4, ", %s", setting);
    if (count > 1)
        tp_page_more(page, 4, " and %s",
                     tp_plural(count - 1, *setting ? "other cell" : "other trace").s);
    tp_page_line(page);
}

/* The failures of the store, those with one error together. What was solved is no failure. */
static void print_failures(const struct tp_sweep_state *c, struct tp_page *page)
{
    sqlite3_stmt *rows = NULL;
    struct tp_err ignored;
    bool row = true;
    int shown = 0;
    const struct tp_sql *sql = tp_store_sql(c->store);
    int status = tp_sql_prepare(sql,
                                "SELECT error, count(*), min(path), min(setting) FROM failures"
                                " GROUP BY error, setting = '' ORDER BY count(*) DESC, error",
                                &rows, &ignored);
    while (!status && row && shown < FAILURES_SHOWN) {
        status = tp_sql_step(sql, rows, &row, &ignored);
        if (status || !row)
            break;
        if (!shown++)
            print_head(page);
        print_failure(rows, page);
    }
    if (shown)
        tp_page_put(page, 2, "All are in the table 'failures' of the store.");
    sqlite3_finalize(rows);
}

void tp_sweep_print_done(const struct tp_sweep_state *c, FILE *out)
{
    const struct tp_sweep_done *d = &c->done;
    struct tp_page page = page_of(c, out);
    tp_page_at(&page, 0, "%s: %s computed in %s, %s already stored, %s failed",
               tp_plural(d->cells, "cell").s, tp_count(d->computed).s, tp_duration(d->ns).s,
               tp_count(d->stored).s, tp_count(d->failed).s);
    tp_page_more(&page, 2, " (%s x %s)", tp_plural(c->plan.trace_count, "trace").s,
                 tp_plural(c->plan.settings.count, "setting").s);
    tp_page_line(&page);
    if (d->failed)
        print_failures(c, &page);
    tp_page_command(&page, c->shards ? "Store:" : "Next: tapool sweep --report", c->path);
}

void tp_sweep_print_estimate(const struct tp_sweep_state *c, const struct tp_sweep_estimate *e,
                             FILE *out)
{
    struct tp_page page = page_of(c, out);
    tp_page_put(&page, 0, "%s: %s x %s", tp_plural(c->done.cells, "cell").s,
                tp_plural(c->plan.trace_count, "trace").s,
                tp_plural(c->plan.settings.count, "setting").s);
    for (size_t g = 0; g < c->plan.group_count; g++)
        tp_page_row(&page, 2, g ? "" : "passes", 14, "%s%s", c->plan.groups[g].name,
                    c->plan.groups[g].timed ? " (one replay at a time)" : "");
    tp_page_row(&page, 2, "stored", 14, "%s", tp_plural(e->stored, "cell").s);
    tp_page_row(&page, 2, "to compute", 14, "%s", tp_plural(e->left, "cell").s);
    if (isnan(e->seconds))
        tp_page_row(&page, 2, "time", 14, "not known: no cell was done in %s",
                    tp_duration(c->done.ns).s);
    else
        tp_page_row(&page, 2, "time", 14, "about %s, by %s in %s",
                    tp_duration((uint64_t)(e->seconds * 1e9)).s,
                    tp_plural(c->done.computed, "cell").s, tp_duration(c->done.ns).s);
    if (!isnan(e->bytes))
        tp_page_row(&page, 2, "disk", 14, "about %s in %s", tp_bytes((uint64_t)e->bytes, false).s,
                    c->path);
    if (c->done.failed_traces)
        tp_page_put(&page, 2, "%s cannot be read.", tp_plural(c->done.failed_traces, "trace").s);
}

void tp_sweep_print_merged(const struct tp_sweep_state *c, FILE *out)
{
    struct tp_page page = page_of(c, out);
    struct tp_err ignored;
    int64_t cells = 0;
    tp_sql_number(tp_store_sql(c->store), "SELECT count(*) FROM cells", &cells, &ignored);
    tp_page_put(&page, 0, "%s joined: %s", tp_plural(c->joined, "store").s,
                tp_plural((uint64_t)cells, "cell").s);
    tp_page_command(&page, "Next: tapool sweep --report", c->path);
}

/* ---- citing ---- */

struct citation {
    char version[64], tool[160], machine[512], seed[32], environment[1024];
    int64_t cells, traces, settings;
};

static int read_citation(const struct tp_store *store, struct citation *c, struct tp_err *err)
{
    const struct tp_sql *sql = tp_store_sql(store);
    int status = tp_store_read_note(store, "version", c->version, sizeof c->version, err);
    if (!status)
        status = tp_store_read_note(store, "tool", c->tool, sizeof c->tool, err);
    if (!status)
        status = tp_store_read_note(store, "machine", c->machine, sizeof c->machine, err);
    if (!status)
        status = tp_store_read_note(store, "seed", c->seed, sizeof c->seed, err);
    if (!status)
        status =
            tp_store_read_note(store, "environment", c->environment, sizeof c->environment, err);
    if (!status)
        status = tp_sql_number(sql, "SELECT count(*) FROM cells", &c->cells, err);
    if (!status)
        status = tp_sql_number(sql, "SELECT count(DISTINCT trace) FROM cells", &c->traces, err);
    return status
               ? status
               : tp_sql_number(sql, "SELECT count(DISTINCT setting) FROM cells", &c->settings, err);
}

int tp_sweep_print_cite(const struct tp_store *store, FILE *out, struct tp_err *err)
{
    struct citation c;
    int status = read_citation(store, &c, err);
    if (status)
        return status;
    fprintf(out,
            "@software{tapool,\n"
            "  title   = {tapool: replay allocation traces through memory allocators},\n"
            "  author  = {{the tapool authors}},\n"
            "  version = {%s},\n"
            "  note    = {commit %s}\n"
            "}\n\n"
            "%s of %s and %s, computed with tapool %s (%s) on %s; seed %s%s%s.\n",
            c.version, c.tool, tp_plural((uint64_t)c.cells, "cell").s,
            tp_plural((uint64_t)c.traces, "trace").s, tp_plural((uint64_t)c.settings, "setting").s,
            c.version, c.tool, c.machine, c.seed, *c.environment ? "; " : "", c.environment);
    return TP_OK;
}
