/* Numbers as text; see text.h. */
#include "cmd/ui/text.h"
#include "alloc/base/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tp_text tp_percent(double share)
{
    if (isnan(share))
        return tp_text_of("-");
    if (share < 1 && share >= 0.9995) /* not shown as 100%, because it is less */
        return tp_text_of(">99.9%%");
    if (share > 0 && share < 0.0005)
        return tp_text_of("<0.1%%");
    return tp_text_of("%.1f%%", 100 * share);
}

struct tp_text tp_times(double ratio)
{
    if (isnan(ratio))
        return tp_text_of("-");
    if (ratio < 999.95)
        return tp_text_of("%.*fx", ratio < 10 ? 2 : 1, ratio);
    return tp_text_of("%sx", tp_digits(ratio).s);
}

struct tp_text tp_signed(double value, const char *unit)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%+.1f", value);
    for (int decimals = 2; !strpbrk(digits, "123456789") && decimals <= 9; decimals++)
        snprintf(digits, sizeof digits, "%+.*f", decimals, value);
    if (!strpbrk(digits, "123456789"))
        snprintf(digits, sizeof digits, "%+.1g", value);
    return tp_text_of("%s%s", digits, unit);
}

struct tp_text tp_signed_percent(double share)
{
    double percent = 100 * share;
    if (fabs(percent) < 999.95)
        return tp_text_of("%+.1f", percent);
    return tp_text_of("%s%s", percent > 0 ? "+" : "", tp_digits(percent).s);
}

struct tp_text tp_signed_interval(double low, double high)
{
    return tp_text_of("[%s, %s]", tp_signed_percent(low).s, tp_signed_percent(high).s);
}

struct tp_text tp_change(double change)
{
    if (isnan(change))
        return tp_text_of("-");
    if (change >= 9.995)
        return tp_times(1 + change);
    return change == 0 ? tp_text_of("0%%") : tp_signed(100 * change, "%");
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
    return tp_text_of("%s %s", tp_digits((double)ns / units[i].ns).s, units[i].unit);
}

bool tp_latency_is_coarse(uint64_t ns, double step_ns)
{
    return step_ns >= 1 && (double)ns < 10 * step_ns - step_ns / 2;
}

struct tp_text tp_latency_text(uint64_t ns, double step_ns)
{
    double steps = step_ns > 0 ? floor((double)ns / step_ns + 0.5) : 0;
    if (!tp_latency_is_coarse(ns, step_ns))
        return tp_count(ns);
    return steps <= 1 ? tp_text_of("<=%.0f", step_ns) : tp_text_of("~%.0f", steps * step_ns);
}

const char *tp_commit = "";

void tp_put_tool(FILE *out)
{
    fprintf(out, "tapool %s (%s%s%s)", TAPOOL_VERSION, TAPOOL_BUILD, *tp_commit ? ", " : "",
            tp_commit);
}

void tp_unknown_name(struct tp_err *err, const char *what, const char *name,
                     const char *const *names, const char *lister)
{
    const char *near = tp_nearest(name, names);
    int status = tp_fail(err, TP_EUSAGE, "unknown %s '%s'", what, name);
    if (near)
        tp_hint(err, status, "did you mean '%s'? '%s' lists all", near, lister);
    else
        tp_hint(err, status, "'%s' lists all", lister);
}
