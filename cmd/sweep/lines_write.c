/* Writes lines; see store_lines.h. */
#include "cmd/sweep/store_lines.h"

#include "alloc/base/str.h"
#include "cmd/results/record.h"
#include "cmd/ui/json_out.h"

#include <math.h>

/* Prints a tree into the line and deletes it. There is room for the end of the line. */
static int print_line(struct tp_json *j, cJSON *root, char *line, size_t size, struct tp_err *err)
{
    bool fits = !j->failed && cJSON_PrintPreallocated(root, line, (int)size - 1, false);
    cJSON_Delete(root);
    if (j->failed)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    if (!fits)
        return tp_fail(err, TP_EINPUT, "a row of the store is longer than %zu bytes", size);
    tp_append(line, size, "\n");
    return TP_OK;
}

int tp_line_trace(const struct tp_line_trace *t, char *line, size_t size, struct tp_err *err)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL), *in = tp_json_object(&j, root, "trace");
    tp_json_text(&j, in, "identity", t->identity);
    tp_json_text(&j, in, "path", t->file.path);
    tp_json_text(&j, in, "reading", t->file.reading);
    tp_json_uint(&j, in, "bytes", t->file.bytes);
    tp_json_uint(&j, in, "modified_ns", t->file.modified_ns);
    tp_json_text(&j, in, "kind", t->kind);
    tp_json_uint(&j, in, "events", t->events);
    tp_json_uint(&j, in, "operations", t->operations);
    tp_json_uint(&j, in, "devices", t->devices);
    tp_json_uint(&j, in, "threads", t->threads);
    tp_json_uint(&j, in, "trace_peak", t->trace_peak);
    tp_json_uint(&j, in, "lower_bound", t->lower_bound);
    tp_json_uint(&j, in, "best_packing", t->best_packing);
    return print_line(&j, root, line, size, err);
}

int tp_line_cell(const struct tp_line_cell *c, char *line, size_t size, struct tp_err *err)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL), *in = tp_json_object(&j, root, "cell");
    tp_json_text(&j, in, "name", c->name);
    tp_json_text(&j, in, "identity", c->identity);
    tp_json_text(&j, in, "setting", c->setting);
    tp_json_text(&j, in, "passes", c->passes);
    tp_json_text(&j, in, "tool", c->tool);
    tp_json_text(&j, in, "machine", c->machine);
    tp_json_real(&j, in, "seconds", c->seconds);
    cJSON *values = tp_json_object(&j, in, "values");
    for (size_t i = 0; i < tp_metric_count; i++) {
        double value = tp_record_total(c->record, &tp_metrics[i]);
        if (!isnan(value))
            tp_json_real(&j, values, tp_metrics[i].name, value);
    }
    return print_line(&j, root, line, size, err);
}

int tp_line_failure(const struct tp_line_failure *f, char *line, size_t size, struct tp_err *err)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL), *in = tp_json_object(&j, root, "failure");
    tp_json_text(&j, in, "path", f->path);
    tp_json_text(&j, in, "setting", f->setting);
    tp_json_text(&j, in, "passes", f->passes);
    tp_json_uint(&j, in, "status", (uint64_t)f->status);
    tp_json_text(&j, in, "error", f->error);
    return print_line(&j, root, line, size, err);
}
