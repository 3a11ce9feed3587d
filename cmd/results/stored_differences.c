/* How two stored results differ, and whether they may be compared; see stored.h. */
#include "cmd/results/record.h"
#include "cmd/results/stored.h"
#include "cmd/ui/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A run, named for messages: its file, trace and label. */
struct who {
    char text[160];
};

static struct who name_run(const struct tp_stored *s, const struct tp_record *r)
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

int tp_stored_comparable(const struct tp_stored *a, const struct tp_record *x,
                         const struct tp_stored *b, const struct tp_record *y, struct tp_err *err)
{
    const struct who one = name_run(a, x), other = name_run(b, y);
    const struct {
        const char *what, *x, *y;
    } same[] = {{"the kind of trace is", x->kind, y->kind},
                {"blocks were touched", x->touch, y->touch}};
    char read[160];
    tp_stored_settings_differ(x, y, true, read, sizeof read);
    if (strcmp(x->hash, y->hash))
        return tp_hint(
            err,
            tp_fail(err, TP_EINPUT,
                    "%s and %s replayed different programs: %.12s with %s and %.12s with "
                    "%s",
                    one.text, other.text, x->hash, tp_stored_events(x).s, y->hash,
                    tp_stored_events(y).s),
            *read ? "they were read with %s"
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
                       "on a virtual source only the strategy's own time is in a call: replay both "
                       "on the same --source");
    return TP_OK;
}

/* The first layer of "virtual+shuffle+limit" that is not a limit; "" if there is none. */
static const char *next_layer(const char *source, size_t *length)
{
    for (;;) {
        *length = strcspn(source, "+");
        if (*length != 5 || strncmp(source, "limit", 5) != 0)
            return source;
        source += *length + (source[*length] == '+');
    }
}

bool tp_stored_same_source(const struct tp_record *x, const struct tp_record *y)
{
    size_t length, other;
    const char *a = next_layer(x->source, &length), *b = next_layer(y->source, &other);
    while (length && length == other && !strncmp(a, b, length)) {
        a = next_layer(a + length + (a[length] == '+'), &length);
        b = next_layer(b + other + (b[other] == '+'), &other);
    }
    return !length && !other;
}

static void add_setting(struct tp_str *s, const char *option, const char *a, const char *b)
{
    if (a && b && strcmp(a, b))
        tp_str_item(s, ", ", "--%s %.60s and %.60s", option, *a ? a : "not given",
                    *b ? b : "not given");
}

/* The capacity in the form of a stored setting; NULL: the file does not say. */
static const char *capacity_of(const struct tp_record *r)
{
    const char *capacity = tp_record_option(&r->source_options, TP_STORED_CAPACITY);
    if (capacity)
        return capacity;
    return r->source_options.partial ? NULL : "";
}

void tp_stored_settings_differ(const struct tp_record *x, const struct tp_record *y, bool reads,
                               char *text, size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    if (!reads)
        add_setting(&s, "capacity", capacity_of(x), capacity_of(y));
    for (size_t i = 0; i < TP_SETTINGS; i++)
        if (!reads || tp_settings[i].reads)
            add_setting(&s, tp_settings[i].option, x->settings[i], y->settings[i]);
}

void tp_stored_lacks(const struct tp_stored *s, bool settings, char *text, size_t size)
{
    enum { NAMED = 3 }; /* names in the text; the others are counted */
    size_t lacks = 0;
    struct tp_str list = tp_str_in(text, size);
    for (int kind = 0; kind < TP_LACK_KINDS; kind++)
        for (size_t i = 0; (settings || kind != TP_LACKS_SETTING) && i < s->lack_count; i++)
            if ((int)s->lacks[i].kind == kind && ++lacks <= NAMED)
                tp_str_item(&list, ", ", "%s", s->lacks[i].name);
    if (lacks > NAMED)
        tp_str_item(&list, ", ", "%zu more", lacks - NAMED);
}

struct tp_text tp_stored_events(const struct tp_record *run)
{
    return run->events == TP_NONE ? tp_text_of("an unknown number of events")
                                  : tp_text_of("%s events", tp_count(run->events).s);
}

const char *tp_stored_known(const char *text)
{
    return *text ? text : "unknown";
}

void tp_stored_differences(const struct tp_stored *a, const struct tp_stored *b, bool times,
                           char *text, size_t size)
{
    char steps[2][32] = {"", ""};
    /* Two digits only, because the clock is calibrated in every run and the result varies. */
    for (int i = 0; i < 2; i++)
        if (!isnan((i ? b : a)->step_ns))
            snprintf(steps[i], sizeof steps[i], "%.2g", (i ? b : a)->step_ns);
    bool known = a->commit && b->commit && !strcmp(a->version, b->version);
    const struct {
        const char *before, *a, *b, *after;
        bool times; /* only matters for times, not for memory and counts */
    } facts[] = {{"tapool ", a->version, b->version, "", false},
                 {"tapool built from ", known ? a->commit : "", known ? b->commit : "", "", false},
                 {"", a->compiler, b->compiler, "", true},
                 {"builds ", a->build, b->build, "", true},
                 {"", a->arch, b->arch, "", false},
                 {"", a->cpu, b->cpu, "", true},
                 {"", a->libc, b->libc, "", true},
                 {"clock steps of ", steps[0], steps[1], " ns", true}};
    struct tp_str s = tp_str_in(text, size);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *x = tp_stored_known(facts[i].a), *y = tp_stored_known(facts[i].b);
        if (strcmp(facts[i].a, facts[i].b) && (times || !facts[i].times))
            tp_str_item(&s, ", ", "%s%.80s and %.80s%s", facts[i].before, x, y, facts[i].after);
    }
}
