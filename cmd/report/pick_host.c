/* The Pick on the host: a malloc that is within 5% of the best in memory and in time, or the one
 * that
 * --goal asks for; otherwise the smallest and the fastest, each with what the other one lacks. */
#include "cmd/report/pick_field.h"
#include "cmd/report/validated.h"

#include <math.h>

const char tp_pick_host_rule[] =
    "pick a strategy within 5% of the smallest (total resident; peak reserved if no real allocator "
    "is in the table) that no other is 5% faster than, with 95% CIs that do not overlap (several "
    "threads: wall time). If none is both, name the smallest and the fastest. --goal memory or "
    "--goal time picks for one of the two";

static double ns_of(const struct tp_pick_field *f, size_t i)
{
    return tp_pick_choice(f, i)->ns;
}

/* The one with the least value of those that are in; f->count: none has one. */
static size_t find_least(const struct tp_pick_field *f,
                         double (*figure)(const struct tp_pick_field *f, size_t i))
{
    size_t found = f->count;
    for (size_t i = 0; i < f->count; i++)
        if (f->in[i] && !isnan(figure(f, i)) &&
            (found == f->count || figure(f, i) < figure(f, found)))
            found = i;
    return found;
}

static bool is_small(const struct tp_pick_field *f, size_t i, size_t smallest)
{
    return tp_pick_need(f, i) <= TP_PICK_CLOSE * tp_pick_need(f, smallest);
}

/* Whether nobody that is in is faster. */
static bool is_fast(const struct tp_pick_field *f, size_t i)
{
    double change;
    for (size_t k = 0; k < f->count; k++)
        if (f->in[k] && tp_pick_is_faster(f, k, i, &change))
            return false;
    return true;
}

enum quality { SMALL = 1, FAST = 2 };

static unsigned qualities_of(const struct tp_pick_field *f, size_t i, size_t smallest)
{
    return (is_small(f, i, smallest) ? SMALL : 0) | (is_fast(f, i) ? FAST : 0);
}

/* Leaves those that have all of `wanted`; false, and all as they were: nobody has. */
static bool keep(struct tp_pick_field *f, unsigned wanted)
{
    bool stays[TP_PICK_MAX] = {false}, any = false;
    size_t smallest = find_least(f, tp_pick_need);
    for (size_t i = 0; i < f->count; i++) {
        stays[i] = f->in[i] && (qualities_of(f, i, smallest) & wanted) == wanted;
        any |= stays[i];
    }
    for (size_t i = 0; any && i < f->count; i++)
        f->in[i] = stays[i];
    return any;
}

/* ---- words ---- */

static void say_memory(const struct tp_pick_field *f, size_t i, size_t other, char *text)
{
    double change = tp_pick_need(f, i) / tp_pick_need(f, other) - 1;
    tp_pick_say(text, "%s %s", tp_pick_need_name(f), tp_pick_bytes(f, tp_pick_need(f, i)).s);
    if (fabs(change) > 0)
        tp_pick_say(text, ", %s vs %s", tp_change(change).s, tp_pick_choice(f, other)->label);
}

static void say_time(const struct tp_pick_field *f, size_t i, size_t other, char *text)
{
    double change = ns_of(f, i) / ns_of(f, other) - 1;
    tp_pick_say(text, "%s ns/op%s", tp_digits(ns_of(f, i)).s, f->q->wall ? " of wall time" : "");
    if (fabs(change) > 0)
        tp_pick_say(text, ", %s vs %s", tp_change(change).s, tp_pick_choice(f, other)->label);
}

/* What the fastest is worth to the program, with what scripts/validate.sh found of it: no more than
 * all that malloc took, or than what of that it saves against the malloc that the program had. */
static void say_worth(const struct tp_pick_field *f, size_t fastest, char *text)
{
    size_t had = f->q->had;
    bool known = had < f->count && !isnan(ns_of(f, had));
    if (had == fastest)
        tp_pick_say(text, "; the malloc that was recorded");
    else if (!isnan(f->q->share))
        tp_pick_say(
            text, "; saves up to %s of the program's CPU time, " TP_VALIDATED_SAVED,
            tp_percent(f->q->share * (known ? fmax(0, 1 - ns_of(f, fastest) / ns_of(f, had)) : 1))
                .s);
}

/* ---- answers ---- */

static void answer_both(const struct tp_pick_field *f, size_t smallest, size_t fastest,
                        struct tp_pick *out)
{
    char *first = out->reason, *second = out->other[0];
    tp_pick_say(out->head, "Smallest: %s", tp_pick_choice(f, smallest)->label);
    tp_pick_say(first, " (");
    say_memory(f, smallest, fastest, first);
    tp_pick_say(first, ")");
    tp_pick_say(second, "Fastest: %s (", tp_pick_choice(f, fastest)->label);
    say_time(f, fastest, smallest, second);
    say_worth(f, fastest, second);
    tp_pick_say(second, ")");
    out->pair = true;
    out->chosen[out->count++] = smallest;
    out->chosen[out->count++] = fastest;
}

static void answer_one(const struct tp_pick_field *f, size_t smallest, size_t fastest,
                       struct tp_pick *out)
{
    static const char *const goals[] = {
        [TP_GOAL_MEMORY] = " (--goal memory)", [TP_GOAL_TIME] = " (--goal time)"};
    size_t picked = find_least(f, tp_pick_need);
    tp_pick_fill(f, out);
    if (f->q->goal)
        tp_pick_say(out->head, "%s", goals[f->q->goal]);
    tp_pick_say(out->reason, ": %s", out->count > 1 ? tp_pick_choice(f, picked)->label : "");
    tp_pick_say(out->reason, "%s", out->count > 1 ? " has " : "");
    say_memory(f, picked, smallest, out->reason);
    tp_pick_say(out->reason, ", the smallest");
    if (fastest == f->count)
        return;
    tp_pick_say(out->reason, "; ");
    say_time(f, picked, fastest, out->reason);
    tp_pick_say(out->reason, ", the fastest");
    say_worth(f, picked, out->reason);
}

/* Times of single replays say nothing beside those of many. */
static bool times_compare(const struct tp_pick_field *f)
{
    size_t cold = 0, all = 0;
    for (size_t i = 0; i < f->count; i++) {
        all += f->in[i];
        cold += f->in[i] && tp_pick_choice(f, i)->cold;
    }
    return !cold || cold == all;
}

static void answer_smallest(const struct tp_pick_field *f, size_t smallest, struct tp_pick *out)
{
    tp_pick_say(out->head, "Smallest: %s", tp_pick_choice(f, smallest)->label);
    tp_pick_say(out->reason, " (");
    say_memory(f, smallest, smallest, out->reason);
    tp_pick_say(out->reason, "). Fastest: not known, some times are cold; raise --min-time");
    out->pair = true;
    out->chosen[out->count++] = smallest;
}

void tp_pick_on_host(struct tp_pick_field *f, struct tp_pick *out)
{
    static const unsigned wanted[][2] = {[TP_GOAL_BOTH] = {SMALL | FAST},
                                         [TP_GOAL_MEMORY] = {SMALL, FAST},
                                         [TP_GOAL_TIME] = {FAST, SMALL}};
    size_t all = tp_pick_count_in(f);
    size_t smallest = find_least(f, tp_pick_need), fastest = find_least(f, ns_of);
    if (!times_compare(f)) {
        answer_smallest(f, smallest, out);
        return;
    }
    bool found = keep(f, wanted[f->q->goal][0]);
    if (found && wanted[f->q->goal][1])
        keep(f, wanted[f->q->goal][1]);
    size_t left = tp_pick_count_in(f);
    if (!found)
        answer_both(f, smallest, fastest, out);
    else if (left > TP_PICK_TIED || left == all)
        tp_pick_say(out->head, "Pick: no relevant difference");
    else
        answer_one(f, smallest, fastest, out);
}
