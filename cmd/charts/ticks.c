/* See ticks.h. A step is the first of a list of round ones of which few enough fit the axis. */
#include "cmd/charts/ticks.h"

enum { STEPS_MAX = 8 };

/* A step that grows through round values: 1, 2, 5, 10, 20, ... times a unit. */
static uint64_t decimal_step(uint64_t top, uint64_t unit)
{
    static const unsigned grow[] = {1, 2, 5};
    uint64_t power = unit;
    for (unsigned i = 0;; i++) {
        uint64_t step = power * grow[i % 3];
        if (top / step <= STEPS_MAX)
            return step;
        power *= i % 3 == 2 ? 10 : 1;
    }
}

static void put(uint64_t top, uint64_t step, struct tp_ticks *out)
{
    out->count = (uint32_t)(top / step) + 1;
    for (uint32_t i = 0; i < out->count; i++)
        out->at[i] = i * step;
}

static void name(struct tp_ticks *t, uint64_t unit, const char *unit_name)
{
    t->text[0] = tp_text_of("0");
    for (uint32_t i = 1; i < t->count; i++)
        t->text[i] = tp_text_of("%s %s", tp_digits((double)t->at[i] / (double)unit).s, unit_name);
}

void tp_ticks_bytes(uint64_t top, struct tp_ticks *out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t step = 1;
    unsigned unit = 0;
    while (top / step > STEPS_MAX)
        step *= 2;
    put(top, step, out);
    while (unit < 6 && out->at[out->count - 1] >> (10 * (unit + 1)))
        unit++;
    name(out, UINT64_C(1) << (10 * unit), units[unit]);
}

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

/* Round parts of a second and tens of them, then of an hour. */
static uint64_t time_step(uint64_t top)
{
    static const unsigned minutes[] = {1, 2, 5, 10, 15, 30};
    uint64_t step = decimal_step(top, 1);
    if (step < MINUTE)
        return step;
    for (unsigned i = 0; i < sizeof minutes / sizeof *minutes; i++)
        if (top / (minutes[i] * MINUTE) <= STEPS_MAX)
            return minutes[i] * MINUTE;
    return decimal_step(top, HOUR);
}

void tp_ticks_time(uint64_t top, struct tp_ticks *out)
{
    static const struct {
        const char *name;
        uint64_t ns;
        bool whole; /* not for a step that is a part of it: 90 s, not 1.5 min */
    } units[] = {{"h", HOUR, true},      {"min", MINUTE, true}, {"s", SECOND, false},
                 {"ms", 1000000, false}, {"us", 1000, false},   {"ns", 1, false}};
    uint64_t step = time_step(top);
    unsigned u = 0;
    put(top, step, out);
    while (units[u].ns > 1 && (units[u].whole ? step : out->at[out->count - 1]) < units[u].ns)
        u++;
    name(out, units[u].ns, units[u].name);
}

void tp_ticks_count(uint64_t top, struct tp_ticks *out)
{
    put(top, decimal_step(top, 1), out);
    for (uint32_t i = 0; i < out->count; i++)
        out->text[i] = tp_count(out->at[i]);
}
