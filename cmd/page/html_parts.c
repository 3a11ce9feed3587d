/* See html_parts.h. */
#include "cmd/page/html_parts.h"
#include "cmd/charts/chart.h"

#include "cmd/jobs/machine.h"
#include "cmd/results/result.h"
#include "cmd/ui/escape.h"

int tp_html_table(struct tp_table *t, FILE *out, struct tp_err *err)
{
    fputs("<p>", out);
    int rc = tp_table_html(t, out, err);
    fputs("</p>\n", out);
    tp_table_drop(t);
    return rc;
}

struct tp_text tp_html_device(const struct tp_result *r, uint32_t device)
{
    return r->run->device_count > 1 ? tp_text_of(", device %u", (unsigned)device)
                                    : (struct tp_text){""};
}

void tp_html_piece(const char *css_class, uint64_t part, uint64_t whole, FILE *out)
{
    if (part && whole)
        fprintf(out, "<i class=\"%s\" style=\"width:%.3f%%\"></i>", css_class,
                100 * (double)part / (double)whole);
}

void tp_html_key(const char *css_class, const char *name, FILE *out)
{
    tp_put(out, TP_TO_XML, "<li><i class=\"key %s\"></i> %s</li>\n", css_class, name);
}

void tp_html_sum(const struct tp_sum_part *parts, int count, uint64_t whole, bool exact, FILE *out)
{
    tp_put(out, TP_TO_XML,
           "<ul class=\"bars\" aria-hidden=\"true\"><li><span>%s</span> <span class=\"bar\">",
           tp_bytes(whole, exact).s);
    for (int i = 0; i < count; i++)
        tp_html_piece(parts[i].look, parts[i].bytes, whole, out);
    fputs("</span></li></ul>\n<ul class=\"keys\">", out);
    for (int i = 0; i < count; i++)
        if (parts[i].bytes)
            tp_html_key(parts[i].look, parts[i].label.s, out);
    fputs("</ul>\n", out);
}

void tp_html_machine(struct tp_page *page)
{
    struct tp_machine m;
    tp_machine_read(&m);
    const struct tp_text cores = tp_count(m.cores), memory = tp_bytes(m.memory_bytes, false);
    const char *const facts[][2] = {{"system", m.os},
                                    {"machine", m.arch},
                                    {"CPU", m.cpu},
                                    {"cores", m.cores ? cores.s : ""},
                                    {"memory", m.memory_bytes ? memory.s : ""},
                                    {"C library", m.libc}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        tp_page_row(page, 0, facts[i][0], 16, "%s", *facts[i][1] ? facts[i][1] : "not known");
}

enum { STILL_COLUMNS = 280, STILL_DEVICES = 4 };

void tp_still_html(const struct tp_chart *chart, FILE *out)
{
    fprintf(out, "<svg class=\"tp-chart\" viewBox=\"0 0 %u %u\">", TP_CHART_WIDTH,
            tp_chart_height(chart));
    tp_chart_write(chart, out);
    fputs("</svg>\n", out);
}

int tp_stills_html(tp_write_still *write, const void *of, uint32_t devices, FILE *out,
                   struct tp_err *err)
{
    int rc = TP_OK;
    fputs("<noscript><style>\n", out);
    tp_chart_style(TP_CHART_AUTO, out);
    fputs("</style>\n", out);
    for (uint16_t d = 0; rc == TP_OK && d < devices && d < STILL_DEVICES; d++)
        rc = write(of, d, STILL_COLUMNS, out, err);
    fputs("</noscript>\n", out);
    return rc;
}
