/* See svg_parts.h. */
#include "cmd/charts/svg_parts.h"

#include "cmd/ui/escape.h"

#include <string.h>

struct tp_text tp_svg_px(uint32_t tenths)
{
    return tenths % 10 ? tp_text_of("%u.%u", tenths / 10, tenths % 10)
                       : tp_text_of("%u", tenths / 10);
}

void tp_svg_short(FILE *out, const char *text, int most)
{
    bool fits = tp_text_width(text) <= most;
    tp_escape_part(out, TP_TO_XML, text, fits ? strlen(text) : tp_text_bytes(text, most - 1));
    fputs(fits ? "" : "\xe2\x80\xa6", out);
}

void tp_svg_text(FILE *out, const char *classes, uint32_t x, uint32_t y, const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%s\" y=\"%s\">", classes, tp_svg_px(x).s, tp_svg_px(y).s);
    tp_svg_short(out, text, TP_SVG_TEXT);
    fputs("</text>\n", out);
}
