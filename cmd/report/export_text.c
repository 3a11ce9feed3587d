/* See export_text.h. */
#include "cmd/report/export_text.h"

#include "cmd/measure/warnings.h"
#include "cmd/ui/escape.h"

void tp_export_tool(FILE *out)
{
    fprintf(out, "tapool %s (%s)", TAPOOL_VERSION, TAPOOL_BUILD);
}

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
    if (r->spec->strategy->caps & TP_CAP_FOREIGN)
        fputs(tp_result_source(r), out);
    for (uint32_t i = 0; !(r->spec->strategy->caps & TP_CAP_FOREIGN) && i < r->source->count; i++) {
        const struct tp_source_layer *l = &r->source->layers[i];
        fputs(i ? "+" : "", out);
        write_set(l->ops->name, l->ops->options, l->opts, out);
    }
}

int tp_export_warnings(const struct tp_result *r, FILE *out)
{
    int count = 0;
    for (size_t i = 0; tp_warnings[i]; i++) {
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
