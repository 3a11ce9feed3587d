/* What two stored results have in common; see stored.h. */
#include "cmd/gate/stored.h"

#include "cmd/gate/command_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double tp_stored_value(const struct tp_stored_run *r, const struct tp_metric *m, uint16_t device)
{
    size_t d = m->per_device ? device : 0;
    return d < r->devices ? r->values[d * tp_metric_count + (size_t)(m - tp_metrics)] : NAN;
}

/* sum(share * weight) / sum(weight): a device of which nothing is to be shared has no say. */
static double total_share(const struct tp_stored_run *r, const struct tp_metric *m)
{
    double parts = 0, whole = 0;
    for (uint16_t d = 0; d < r->devices; d++) {
        size_t at = d * tp_metric_count + (size_t)(m - tp_metrics);
        double weight = r->weights ? r->weights[at] : NAN;
        if (weight == 0)
            continue;
        parts += r->values[at] * weight;
        whole += weight;
    }
    return parts / whole;
}

double tp_stored_total(const struct tp_stored_run *r, const struct tp_metric *m)
{
    double sum = tp_stored_value(r, m, 0);
    if (m->per_device && m->share_of && r->devices > 1)
        return total_share(r, m);
    for (uint16_t d = 1; m->per_device && d < r->devices; d++)
        sum += tp_stored_value(r, m, d);
    return sum;
}

/* Who is meant: the file, and of which of its runs. */
struct who {
    char text[160];
};

static struct who name_run(const struct tp_stored *s, const struct tp_stored_run *r)
{
    struct who w;
    snprintf(w.text, sizeof w.text, "%.60s (%.40s, %.40s)", s->path, r->trace_name, r->label);
    return w;
}

static int fail_differs(const struct who *a, const struct who *b, const char *what, const char *x,
                        const char *y, struct tp_err *err)
{
    return tp_fail(err, TP_EINPUT, "%s and %s cannot be compared: %s '%s' and '%s'", a->text,
                   b->text, what, x, y);
}

int tp_stored_comparable(const struct tp_stored *a, const struct tp_stored_run *x,
                         const struct tp_stored *b, const struct tp_stored_run *y,
                         struct tp_err *err)
{
    const struct who one = name_run(a, x), other = name_run(b, y);
    const struct {
        const char *what, *x, *y;
    } same[] = {{"the kind of trace is", x->kind, y->kind},
                {"blocks were touched", x->touch, y->touch}};
    char read[160];
    tp_stored_settings_differ(x, y, true, read, sizeof read);
    if (strcmp(x->hash, y->hash))
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT,
                               "%s and %s played different programs: %.12s with %llu events and "
                               "%.12s with %llu",
                               one.text, other.text, x->hash, (unsigned long long)x->events,
                               y->hash, (unsigned long long)y->events),
                       *read
                           ? "they were read with %s"
                           : "the trace was changed, or read with other options, between the two%s",
                       read);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(same[i].x, same[i].y))
            return fail_differs(&one, &other, same[i].what, same[i].x, same[i].y, err);
    if (x->devices != y->devices)
        return tp_fail(err, TP_EINPUT, "%s and %s cannot be compared: %u devices and %u", one.text,
                       other.text, x->devices, y->devices);
    if (strcmp(x->scope, y->scope))
        return tp_hint(err, fail_differs(&one, &other, "their times hold", x->scope, y->scope, err),
                       "on a virtual source only the policy's own time is in a call: replay both "
                       "on the same --source");
    return TP_OK;
}

void tp_stored_settings_differ(const struct tp_stored_run *x, const struct tp_stored_run *y,
                               bool reads, char *text, size_t size)
{
    *text = '\0';
    for (size_t i = 0; i < TP_SETTINGS; i++) {
        const char *a = x->settings[i], *b = y->settings[i];
        if (a && b && strcmp(a, b) && (!reads || tp_settings[i].reads))
            tp_append(text, size, "%s--%s %.60s and %.60s", *text ? ", " : "",
                      tp_settings[i].option, *a ? a : "not given", *b ? b : "not given");
    }
}

void tp_stored_lacks(const struct tp_stored *s, bool settings, char *text, size_t size)
{
    enum { NAMED = 3 }; /* so many stand in one line */
    size_t lacks = 0;
    *text = '\0';
    for (size_t i = 0; i < tp_metric_count; i++)
        if (s->lacks_metric[i] && ++lacks <= NAMED)
            tp_append(text, size, "%s%s", *text ? ", " : "", tp_metrics[i].name);
    for (size_t i = 0; settings && i < TP_SETTINGS; i++)
        if (s->lacks_setting[i] && ++lacks <= NAMED)
            tp_append(text, size, "%s--%s", *text ? ", " : "", tp_settings[i].option);
    if (lacks > NAMED)
        tp_append(text, size, ", %zu more", lacks - NAMED);
}

void tp_stored_differences(const struct tp_stored *a, const struct tp_stored *b, bool times,
                           char *text, size_t size)
{
    char steps[2][32];
    /* as coarse as it is read: the clock is calibrated anew each time */
    snprintf(steps[0], sizeof steps[0], "%.2g", a->step_ns);
    snprintf(steps[1], sizeof steps[1], "%.2g", b->step_ns);
    const struct {
        const char *before, *a, *b, *after;
        bool times; /* says nothing about memory and counts */
    } facts[] = {{"tapool ", a->version, b->version, "", false},
                 {"", a->compiler, b->compiler, "", true},
                 {"builds ", a->build, b->build, "", true},
                 {"", a->arch, b->arch, "", false},
                 {"", a->cpu, b->cpu, "", true},
                 {"", a->libc, b->libc, "", true},
                 {"clock steps of ", steps[0], steps[1], " ns", true}};
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < sizeof facts / sizeof *facts && used < size; i++) {
        const char *x = *facts[i].a ? facts[i].a : "unknown",
                   *y = *facts[i].b ? facts[i].b : "unknown";
        if (!strcmp(facts[i].a, facts[i].b) || (facts[i].times && !times))
            continue;
        int wrote = snprintf(text + used, size - used, "%s%s%.80s and %.80s%s", used ? ", " : "",
                             facts[i].before, x, y, facts[i].after);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}
