/* --format csv: one table of all single values, as RFC 4180 but with lines that end in LF.
 *
 *     trace_name,...,strategy_label,source_name,device,peak_reserved_bytes,...,ns_per_op,...
 *     sqlite,        arena,         host,       0,     1830912,                4.881
 *
 * A row is a result on one device. Its cells are looked up in the JSON result, so that both have
 * the same digits. A column is named after its path there: `memory.peak_reserved_bytes` becomes
 * peak_reserved_bytes. Known weakness: values of the whole run, such as times, are repeated in the
 * row of each device. */
#include "cmd/results/metrics.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/report_json.h"
#include "cmd/ui/table.h"

#include <string.h>

enum { NAME_SIZE = 96 };

/* The part of the JSON result at which a path begins. */
enum { OF_RESULT, OF_RUN, OF_DEVICE, BASES };

struct csv_column {
    int base;
    const char *path;
    const char *name; /* NULL: made from the path */
};

/* The columns before and after those of the figures, which are in the order of their rows
 * (cmd/results/figure_rows.h). */
static const struct csv_column first[] = {
    {OF_RUN, "trace.name", NULL},       {OF_RUN, "trace.path", NULL},
    {OF_RUN, "strategy.label", NULL},   {OF_RUN, "strategy.name", NULL},
    {OF_RUN, "strategy.library", NULL}, {OF_RUN, "source.name", NULL},
    {OF_DEVICE, "index", "device"},
};

static const struct csv_column last[] = {
    {OF_RUN, "latency_scope", NULL},
    {OF_RUN, "touch", NULL},
    {OF_RUN, "occupy", NULL},
    {OF_RUN, "occupy_scale", NULL},
    {OF_RUN, "verified", NULL},
    {OF_RUN, "settings", NULL},
    {OF_RUN, "passes", NULL},
    {OF_RUN, "warnings", NULL},
    {OF_RUN, "strategy.options", NULL},
    {OF_RUN, "source.options", NULL},
    {OF_RUN, "source.wrappers", NULL},
    {OF_RUN, "trace.kind", NULL},
    {OF_RUN, "trace.format", NULL},
    {OF_RUN, "trace.program_hash", NULL},
    {OF_RUN, "trace.events", NULL},
    {OF_RUN, "trace.cut", NULL},
    {OF_RUN, "trace.operations", NULL},
    {OF_RUN, "trace.objects", NULL},
    {OF_RUN, "trace.threads", NULL},
    {OF_RUN, "trace.streams", NULL},
    {OF_RUN, "trace.devices", NULL},
    {OF_RUN, "trace.live_at_end", NULL},
    {OF_RUN, "trace.repairs", NULL},
    {OF_RUN, "trace.unknown", NULL},
    {OF_RESULT, "seed", NULL},
    {OF_RESULT, "partial", NULL},
    {OF_RESULT, "clock.name", NULL},
    {OF_RESULT, "clock.step_ns", NULL},
    {OF_RESULT, "tool.version", "tapool_version"},
    {OF_RESULT, "tool.commit", "tapool_commit"},
    {OF_RESULT, "tool.build", "tapool_build"},
    {OF_RESULT, "tool.compiler", "tapool_compiler"},
    {OF_RESULT, "tool.flags", "tapool_flags"},
    {OF_RESULT, "machine.cpu", NULL},
    {OF_RESULT, "machine.os", NULL},
};
enum { FIRST = sizeof first / sizeof *first, LAST = sizeof last / sizeof *last };

struct columns {
    struct csv_column items[FIRST + TP_FIGURE_MAX + LAST];
    size_t count;
};

static void add_columns(const struct csv_column *list, size_t count, struct columns *out)
{
    memcpy(out->items + out->count, list, count * sizeof *list);
    out->count += count;
}

static void collect_columns(struct columns *out)
{
    out->count = 0;
    add_columns(first, FIRST, out);
    for (size_t i = 0; i < tp_figure_count; i++) {
        const struct tp_metric *f = tp_figures[i];
        const struct csv_column one = {f->per_device ? OF_DEVICE : OF_RUN, f->path, f->column};
        if (f->path && !f->no_column)
            add_columns(&one, 1, out);
    }
    add_columns(last, LAST, out);
}

/* Makes the name of a column from its path: "memory.at_trace_peak.free_bytes" becomes
 * at_trace_peak_free_bytes, because the first word only names a group of the document. */
static void add_name(const struct csv_column *c, struct tp_table *t)
{
    static const char *const silent[] = {"memory.", "throughput.", "latency."};
    struct tp_str name = {0};
    const char *at = c->path;
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (!strncmp(at, silent[i], strlen(silent[i])))
            at += strlen(silent[i]);
    for (at = c->name ? c->name : at; *at; at++)
        tp_str_add(&name, "%c", *at == '.' ? '_' : *at);
    tp_table_add(t, "%s", tp_str_text(&name));
    tp_str_drop(&name);
}

/* Follows a path in the document; NULL: no such member. */
static const cJSON *find(const cJSON *in, const char *path)
{
    char name[NAME_SIZE];
    while (in && *path) {
        size_t length = strcspn(path, ".[");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        in = *path == '[' ? cJSON_GetArrayItem(in, path[1] - '0')
                          : cJSON_GetObjectItemCaseSensitive(in, name);
        path += *path == '[' ? 3 : length; /* an index has one digit */
        path += *path == '.';
    }
    return in;
}

/* Writes an object as "a=1,b=2" and a list as "a;b". An element that is an object is written as its
 * id or name, a name with its options. */
static void add_all(struct tp_str *cell, const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *id = cJSON_GetObjectItemCaseSensitive(item, "id");
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
        const char *value = item->valuestring ? item->valuestring : "";
        if (id)
            value = id->valuestring;
        else if (name)
            value = name->valuestring;
        if (item != list->child)
            tp_str_add(cell, cJSON_IsObject(list) ? "," : ";");
        if (cJSON_IsObject(list))
            tp_str_add(cell, "%s=", item->string);
        tp_str_add(cell, "%s", value);
        if (name) {
            tp_str_add(cell, ":");
            add_all(cell, cJSON_GetObjectItemCaseSensitive(item, "options"));
        }
    }
}

static void add_value(const cJSON *value, struct tp_table *t)
{
    struct tp_str cell = {0};
    if (cJSON_IsString(value)) {
        tp_table_add(t, "%s", value->valuestring);
    } else if (cJSON_IsObject(value) || cJSON_IsArray(value)) {
        add_all(&cell, value);
        tp_table_add(t, "%s", tp_str_text(&cell));
    } else if (!value || cJSON_IsNull(value)) {
        tp_table_add(t, NULL);
    } else {
        char *number = cJSON_PrintUnformatted(value);
        tp_table_add(t, "%s", number ? number : "");
        t->failed |= !number;
        cJSON_free(number);
    }
    t->failed |= cell.cut;
    tp_str_drop(&cell);
}

static void add_row(const struct columns *columns, const cJSON *const bases[BASES],
                    struct tp_table *t)
{
    for (size_t i = 0; i < columns->count; i++)
        add_value(find(bases[columns->items[i].base], columns->items[i].path), t);
}

/* Without the pass usage nothing is known of the devices one by one: the run has one row. */
static void add_rows(const struct columns *columns, const cJSON *head, const cJSON *run,
                     struct tp_table *t)
{
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(run, "devices"), *device;
    if (!devices)
        add_row(columns, (const cJSON *const[BASES]){head, run, NULL}, t);
    cJSON_ArrayForEach(device, devices)
    {
        add_row(columns, (const cJSON *const[BASES]){head, run, device}, t);
    }
}

static int write_csv(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    struct tp_json j = {false};
    cJSON *head = tp_json_head(&j, r);
    struct columns columns;
    struct tp_table t = {0};
    collect_columns(&columns);
    tp_table_columns(&t, NULL, (int)columns.count);
    for (size_t i = 0; i < columns.count; i++)
        add_name(&columns.items[i], &t);
    for (size_t i = 0; !j.failed && i < r->count; i++) {
        cJSON *run = tp_json_run(&j, r, &r->results[i]);
        add_rows(&columns, head, run, &t);
        cJSON_Delete(run);
    }
    cJSON_Delete(head);
    t.failed |= j.failed;
    int status = tp_table_csv(&t, out, err);
    tp_table_drop(&t);
    return status;
}

static const char about[] =
    "RFC 4180 with LF line ends, UTF-8. A row is a result on one device;\n"
    "values of the whole run, such as times, are repeated in the row of\n"
    "each device. Columns are named by their path in the JSON result\n"
    "without memory, throughput and latency: at_trace_peak_free_bytes,\n"
    "ns_per_op, alloc_p99_ns. Empty means unknown, or of a pass that\n"
    "--passes leaves out. ';' separates several values in a cell, ','\n"
    "separates options. Left out: curves, buckets, phases and single\n"
    "repetitions. A name that begins with = + - or @ is\n"
    "only quoted, and a spreadsheet may read it as a formula: import it as\n"
    "text.";

const struct tp_exporter tp_replay_csv = {
    .name = "csv",
    .summary = "one table with a row per trace, strategy and device",
    .about = about,
    .write = write_csv,
};
