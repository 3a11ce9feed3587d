/* See export_text.h. */
#include "cmd/exports/export_text.h"

#include "cmd/results/warnings.h"
#include "cmd/ui/escape.h"

#include <string.h>
#include <strings.h>

enum { NAME_SIZE = 96 };

static void write_set(const char *name, const struct tp_opt *rows, const void *opts, FILE *out)
{
    char options[TP_SPEC_TEXT];
    tp_opts_text(rows, opts, options, sizeof options);
    fputs(name, out);
    if (*options)
        fputc(':', out);
    tp_escape(out, TP_TO_LINE, options);
}

void tp_export_strategy(const struct tp_result *r, FILE *out)
{
    write_set(r->spec->strategy->name, r->spec->strategy->options, r->spec->opts, out);
}

void tp_export_source(const struct tp_result *r, FILE *out)
{
    if (tp_result_is_foreign(r))
        fputs(r->source->name, out);
    for (uint32_t i = 0; i < r->source->count; i++) {
        const struct tp_source_layer *l = &r->source->layers[i];
        fputs(i ? "+" : "", out);
        write_set(l->ops->name, l->ops->options, l->opts, out);
    }
}

int tp_export_warnings(const struct tp_result *r, FILE *out)
{
    int count = 0;
    bool known = r->run->passes & TP_PASS_USAGE; /* most warnings need the memory figures */
    for (size_t i = 0; known && tp_warnings[i]; i++) {
        char text[TP_WARNING_TEXT];
        if (!tp_warnings[i]->applies(r, text, sizeof text))
            continue;
        fprintf(out, " %s", tp_warnings[i]->id);
        count++;
    }
    return count;
}

const char *tp_export_partial(const struct tp_report *r, char *text, size_t size)
{
    snprintf(text, size, "partial: %zu of %zu replays are done", r->count, r->planned);
    return r->partial ? text : NULL;
}

static void name_result(const struct tp_report *r, size_t index, char out[NAME_SIZE])
{
    struct tp_str s = tp_str_in(out, NAME_SIZE);
    char trace[NAME_SIZE / 3 + 1];
    if (r->results[0].trace != r->results[r->planned - 1].trace) {
        snprintf(trace, sizeof trace, "%s", r->results[index].trace->meta.name);
        tp_str_escape(&s, TP_TO_FILE, trace);
        tp_str_add(&s, "-");
    }
    tp_str_escape(&s, TP_TO_FILE, r->results[index].spec->label);
}

static bool is_unique(const struct tp_report *r, size_t index, const char *name)
{
    char other[NAME_SIZE];
    for (size_t i = 0; i < r->planned; i++) {
        name_result(r, i, other);
        if (i != index && !strcasecmp(name, other))
            return false;
    }
    return true;
}

void tp_export_part(const struct tp_report *r, size_t index, char out[TP_EXPORT_PART])
{
    char name[NAME_SIZE] = "";
    if (r->planned > 1)
        name_result(r, index, name);
    if (r->planned == 1 || is_unique(r, index, name))
        snprintf(out, TP_EXPORT_PART, "%s", name);
    else
        snprintf(out, TP_EXPORT_PART, "%zu-%s", index + 1, name);
}
