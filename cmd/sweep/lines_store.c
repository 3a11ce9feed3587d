/* Stores lines; see store_lines.h. A line may come from a file of somebody else: nothing of it is
 * believed before it was looked at. */
#include "cmd/sweep/store_lines.h"

#include "alloc/base/str.h"
#include "alloc/base/units.h"
#include "cmd/results/json_member.h"
#include "cmd/results/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_SQL                                                                                  \
    "INSERT INTO traces (" TP_TRACE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "                \
    "?)" TP_TRACE_KNOWN
#define FILE_SQL                                                                                   \
    "INSERT OR REPLACE INTO files (path, reading, bytes, modified_ns, trace)"                      \
    " VALUES (?, ?, ?, ?, (SELECT id FROM traces WHERE identity = ?))"
#define FAILURE_SQL                                                                                \
    "INSERT OR REPLACE INTO failures (path, setting, passes, status, error) VALUES (?, ?, ?, ?, "  \
    "?)"
/* A cell that could not be computed at first, and now was. */
#define SOLVED_SQL                                                                                 \
    "DELETE FROM failures WHERE setting = ? AND passes = ? AND path IN (SELECT f.path FROM files"  \
    " f JOIN traces t ON t.id = f.trace WHERE t.identity = ?)"

enum { CELL_COLUMNS = 7 }; /* before those of metrics */

static int prepare_cell(struct tp_line_store *l, struct tp_err *err)
{
    struct tp_str sql = {0};
    char column[TP_STORE_COLUMN];
    tp_str_add(&sql, "INSERT INTO cells (name, trace, setting, passes, tool, machine, seconds");
    for (size_t i = 0; i < tp_metric_count; i++)
        tp_str_add(&sql, ", %s", tp_store_column(&tp_metrics[i], column));
    tp_str_add(&sql, ") VALUES (?, (SELECT id FROM traces WHERE identity = ?),"
                     " (SELECT id FROM settings WHERE setting = ?), ?, ?, ?, ?");
    for (size_t i = 0; i < tp_metric_count; i++)
        tp_str_add(&sql, ", ?");
    tp_str_add(&sql, ") ON CONFLICT (name) DO NOTHING");
    int status = tp_str_status(&sql, err);
    if (!status)
        status = tp_sql_prepare(l->sql, tp_str_text(&sql), &l->cell, err);
    tp_str_drop(&sql);
    return status;
}

int tp_line_store_open(struct tp_line_store *l, const struct tp_sql *sql, struct tp_err *err)
{
    *l = (struct tp_line_store){.sql = sql};
    int status = tp_sql_prepare(sql, TRACE_SQL, &l->trace, err);
    if (!status)
        status = tp_sql_prepare(sql, FILE_SQL, &l->file, err);
    if (!status)
        status = tp_sql_prepare(sql, FAILURE_SQL, &l->failure, err);
    if (!status)
        status = tp_sql_prepare(sql, SOLVED_SQL, &l->solved, err);
    return status ? status : prepare_cell(l, err);
}

void tp_line_store_close(struct tp_line_store *l)
{
    sqlite3_stmt *const all[] = {l->trace, l->file, l->cell, l->failure, l->solved};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sqlite3_finalize(all[i]);
    *l = (struct tp_line_store){0};
}

/* ---- members ---- */

/* The text of a member; NULL, with the document's status, where it is none. */
static const char *text_of(const struct tp_member *in, const char *name)
{
    struct tp_member m = tp_member_get(in, name, true);
    if (m.item && !cJSON_IsString(m.item))
        tp_member_fail(&m, "is not a text");
    return m.item && cJSON_IsString(m.item) ? m.item->valuestring : NULL;
}

static const char *name_of(const struct tp_member *in, const char *name)
{
    struct tp_member m = tp_member_get(in, name, true);
    const char *text = text_of(in, name);
    size_t digits = 0;
    while (text && digits < TP_STORE_NAME && isxdigit((unsigned char)text[digits]))
        digits++;
    if (text && (digits < TP_STORE_NAME || text[digits]))
        tp_member_fail(&m, "is not of 32 hexadecimal digits");
    return text;
}

static uint64_t count_of(const struct tp_member *in, const char *name, bool required)
{
    struct tp_member m = required ? tp_member_get(in, name, true) : tp_member_find(in, name);
    return m.item ? tp_member_count(&m) : TP_NONE;
}

/* ---- rows ---- */

static int store_trace(struct tp_line_store *l, const struct tp_member *in, struct tp_err *err)
{
    const char *identity = name_of(in, "identity"), *path = text_of(in, "path");
    const char *reading = text_of(in, "reading"), *kind = text_of(in, "kind");
    uint64_t bytes = count_of(in, "bytes", true), modified = count_of(in, "modified_ns", true);
    tp_sql_bind(l->trace, "tttuuuuuuu", identity, path, kind, count_of(in, "events", true),
                count_of(in, "operations", true), count_of(in, "devices", true),
                count_of(in, "threads", true), count_of(in, "trace_peak", true),
                count_of(in, "lower_bound", false), count_of(in, "best_packing", false));
    int status = in->document->status;
    if (!status)
        status = tp_sql_finish(l->sql, l->trace, err);
    if (status)
        return status;
    tp_sql_bind(l->file, "ttuut", path, reading, bytes, modified, identity);
    return tp_sql_finish(l->sql, l->file, err);
}

static size_t metric_named(const char *name)
{
    size_t i = 0;
    while (i < tp_metric_count && strcmp(tp_metrics[i].name, name) != 0)
        i++;
    return i;
}

/* Whole numbers are stored as such, so that no export shows a fraction. */
static void bind_value(sqlite3_stmt *statement, size_t metric, double value)
{
    int at = CELL_COLUMNS + 1 + (int)metric;
    if (fabs(value) < 9e15 && value == floor(value))
        sqlite3_bind_int64(statement, at, (sqlite3_int64)value);
    else
        sqlite3_bind_double(statement, at, value);
}

static void bind_values(struct tp_line_store *l, const struct tp_member *in)
{
    struct tp_member values = tp_member_get(in, "values", true), one = {0};
    tp_member_object(&values, TP_METRIC_MAX, "has too many members");
    while (values.item && tp_member_next(&values, &one)) {
        size_t metric = metric_named(one.item->string);
        if (metric == tp_metric_count || !cJSON_IsNumber(one.item))
            tp_member_fail(&one, "is not the number of a metric");
        else
            bind_value(l->cell, metric, one.item->valuedouble);
    }
}

static int store_cell(struct tp_line_store *l, const struct tp_member *in, struct tp_err *err)
{
    const char *name = name_of(in, "name"), *identity = name_of(in, "identity");
    const char *setting = text_of(in, "setting"), *passes = text_of(in, "passes");
    const char *tool = text_of(in, "tool"), *machine = text_of(in, "machine");
    struct tp_member seconds = tp_member_get(in, "seconds", true);
    double took = tp_member_number(&seconds, &tp_member_real);
    if (in->document->status)
        return in->document->status;
    sqlite3_clear_bindings(l->cell);
    tp_sql_bind(l->cell, "bttttt", name, identity, setting, passes, tool, machine);
    sqlite3_bind_double(l->cell, CELL_COLUMNS, took);
    bind_values(l, in);
    int status = in->document->status;
    if (!status)
        status = tp_sql_finish(l->sql, l->cell, err);
    if (status)
        return status;
    tp_sql_bind(l->solved, "ttt", setting, passes, identity);
    return tp_sql_finish(l->sql, l->solved, err);
}

static int store_failure(struct tp_line_store *l, const struct tp_member *in, struct tp_err *err)
{
    tp_sql_bind(l->failure, "tttut", text_of(in, "path"), text_of(in, "setting"),
                text_of(in, "passes"), count_of(in, "status", true), text_of(in, "error"));
    return in->document->status ? in->document->status : tp_sql_finish(l->sql, l->failure, err);
}

int tp_line_store(struct tp_line_store *l, const char *line, size_t length, const char *place,
                  struct tp_err *err)
{
    static const struct {
        const char *kind;
        int (*store)(struct tp_line_store *l, const struct tp_member *in, struct tp_err *err);
    } kinds[TP_LINE_KINDS] = {
        {"trace", store_trace}, {"cell", store_cell}, {"failure", store_failure}};
    struct tp_document document = {.file = place, .err = err};
    cJSON *tree = NULL;
    int status = tp_member_parse(line, length, place, &tree, err);
    if (status)
        return status;
    struct tp_member root = {.document = &document, .item = tree};
    status = tp_fail(err, TP_EINPUT, "%s: neither a trace, a cell nor a failure", place);
    for (size_t i = 0; i < TP_LINE_KINDS; i++) {
        struct tp_member in = tp_member_find(&root, kinds[i].kind);
        if (!in.item)
            continue;
        status = kinds[i].store(l, &in, err);
        break;
    }
    if (document.status)
        status = document.status;
    cJSON_Delete(tree);
    return status;
}
