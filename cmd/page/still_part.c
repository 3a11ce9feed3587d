/* See still_part.h. */
#include "cmd/page/still_part.h"

#include "cmd/charts/chart.h"

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
