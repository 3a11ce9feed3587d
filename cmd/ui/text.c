/* Numbers as text; see text.h. */
#include "cmd/ui/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tp_text tp_percent(double share)
{
    struct tp_text t;
    if (isnan(share))
        snprintf(t.s, sizeof t.s, "-");
    else if (share < 1 && share >= 0.9995) /* all but a few is not all */
        snprintf(t.s, sizeof t.s, ">99.9 %%");
    else if (share > 0 && share < 0.0005)
        snprintf(t.s, sizeof t.s, "<0.1 %%");
    else
        snprintf(t.s, sizeof t.s, "%.1f %%", 100 * share);
    return t;
}

struct tp_text tp_times(double ratio)
{
    struct tp_text t;
    if (isnan(ratio))
        snprintf(t.s, sizeof t.s, "-");
    else if (ratio < 10)
        snprintf(t.s, sizeof t.s, "%.2fx", ratio);
    else if (ratio < 999.95)
        snprintf(t.s, sizeof t.s, "%.1fx", ratio);
    else
        snprintf(t.s, sizeof t.s, "%.40sx", tp_digits(ratio).s);
    return t;
}

struct tp_text tp_signed(double value, const char *unit)
{
    char digits[32];
    struct tp_text t;
    snprintf(digits, sizeof digits, "%+.1f", value);
    for (int decimals = 2; !strpbrk(digits, "123456789") && decimals <= 9; decimals++)
        snprintf(digits, sizeof digits, "%+.*f", decimals, value);
    if (!strpbrk(digits, "123456789"))
        snprintf(digits, sizeof digits, "%+.1g", value);
    snprintf(t.s, sizeof t.s, "%.24s%.20s", digits, unit);
    return t;
}

struct tp_text tp_change(double change)
{
    struct tp_text t;
    if (isnan(change))
        snprintf(t.s, sizeof t.s, "-");
    else if (change >= 9.995)
        return tp_times(1 + change);
    else if (change == 0)
        snprintf(t.s, sizeof t.s, "0 %%");
    else
        return tp_signed(100 * change, " %");
    return t;
}

struct tp_text tp_today(void)
{
    struct tp_text t = {"1970-01-01"};
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    time_t now = fixed && *fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm))
        strftime(t.s, sizeof t.s, "%Y-%m-%d", &tm);
    return t;
}

struct tp_text tp_duration(uint64_t ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < 3 && (double)ns < units[i].ns)
        i++;
    struct tp_text t;
    snprintf(t.s, sizeof t.s, "%.36s %s", tp_digits((double)ns / units[i].ns).s, units[i].unit);
    return t;
}

bool tp_latency_is_coarse(uint64_t ns, double step_ns)
{
    return step_ns >= 1 && (double)ns < 10 * step_ns - step_ns / 2;
}

struct tp_text tp_latency_text(uint64_t ns, double step_ns)
{
    struct tp_text t;
    double steps = step_ns > 0 ? floor((double)ns / step_ns + 0.5) : 0;
    if (!tp_latency_is_coarse(ns, step_ns))
        return tp_count(ns);
    if (steps <= 1)
        snprintf(t.s, sizeof t.s, "<=%.0f", step_ns);
    else
        snprintf(t.s, sizeof t.s, "~%.0f", steps * step_ns);
    return t;
}
