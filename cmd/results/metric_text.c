/* See metric_text.h. */
#include "cmd/results/metric_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct tp_text nanoseconds(double value)
{
    return tp_text_of("%s ns", tp_digits(value).s);
}

/* Most decimals that are tried to tell two values apart; after that all digits of the double. */
enum { DECIMALS_MAX = 12 };

static uint64_t whole(double value)
{
    if (value < 0)
        return 0;
    return value >= 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)(value + 0.5);
}

struct tp_text tp_metric_text(const struct tp_metric *m, double value, bool exact)
{
    if (!isfinite(value))
        return (struct tp_text){"-"};
    switch (m->unit) {
    case TP_UNIT_BYTES:
        return tp_bytes(whole(value), exact);
    case TP_UNIT_COUNT:
        return tp_count(whole(value));
    case TP_UNIT_SHARE:
        return tp_percent(value);
    case TP_UNIT_RATIO:
        return tp_times(value);
    case TP_UNIT_NS:
        return nanoseconds(value);
    case TP_UNIT_INSTRUCTIONS:
        return tp_digits(value);
    }
    return (struct tp_text){"-"};
}

/* A value with this number of decimals, and with separated thousands as in all texts. */
static struct tp_text in_decimals(const struct tp_metric *m, double value, int decimals)
{
    static const struct {
        double scale;
        const char *unit;
    } forms[] = {[TP_UNIT_SHARE] = {100, "%"},
                 [TP_UNIT_RATIO] = {1, "x"},
                 [TP_UNIT_NS] = {1, " ns"},
                 [TP_UNIT_INSTRUCTIONS] = {1, ""}};
    char digits[48];
    double scaled = value * forms[m->unit].scale;
    if (decimals > DECIMALS_MAX || !(scaled >= 0 && scaled < 1e15))
        return tp_text_of("%.17g%s", scaled, forms[m->unit].unit);
    snprintf(digits, sizeof digits, "%.*f", decimals, scaled);
    return tp_text_of("%s%.16s%s", tp_count(strtoull(digits, NULL, 10)).s,
                      digits + strcspn(digits, "."), forms[m->unit].unit);
}

void tp_metric_texts(const struct tp_metric *m, const double values[2], struct tp_text out[2])
{
    bool whole_numbers = m->unit == TP_UNIT_BYTES || m->unit == TP_UNIT_COUNT;
    bool differ = isfinite(values[0]) && isfinite(values[1]) && values[0] != values[1];
    for (int i = 0; i < 2; i++)
        out[i] = tp_metric_text(m, values[i], false);
    for (int more = 1; differ && !strcmp(out[0].s, out[1].s) && more <= DECIMALS_MAX + 1; more++)
        for (int i = 0; i < 2; i++)
            out[i] = whole_numbers ? tp_metric_text(m, values[i], true)
                                   : in_decimals(m, values[i], more);
}
