/* See svg_file.h. */
#include "cmd/charts/svg_file.h"

#include "cmd/charts/chart.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/text.h"

enum { FOOT = 26, ABOVE_END = 18 };

void tp_svg_begin(uint32_t theme, const char *title, uint32_t height, FILE *out)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "class=\"tp-chart\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n",
            TP_CHART_WIDTH, height, TP_CHART_WIDTH, height);
    if (title)
        tp_put(out, TP_TO_XML, "<title>%s</title>\n", title);
    fputs("<style>\n", out);
    tp_chart_style((enum tp_chart_theme)theme, out);
}

void tp_svg_paper(uint32_t height, FILE *out)
{
    fprintf(out, "</style>\n<rect class=\"paper\" width=\"%u\" height=\"%u\"/>\n", TP_CHART_WIDTH,
            height);
}

uint32_t tp_svg_foot(const char *remark)
{
    return remark ? FOOT : 0;
}

void tp_svg_end(const char *remark, uint32_t height, FILE *out)
{
    if (remark)
        tp_put(out, TP_TO_XML, "<text class=\"muted\" x=\"14\" y=\"%s\">%s</text>\n",
               tp_text_of("%u", height - ABOVE_END).s, remark);
    fputs("</svg>\n", out);
}

const char *tp_svg_remark(const char *partial, uint64_t left_out, const char *what, char *text,
                          size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    if (left_out)
        tp_str_item(&s, "; ", "%s not drawn", tp_plural(left_out, what).s);
    if (partial)
        tp_str_item(&s, "; ", "%s", partial);
    return s.length ? text : NULL;
}
