/* See plan.h. */
#include "cmd/plan/plan.h"

#include "alloc/strategies/planned/planned_plan.h"
#include "cmd/ui/stop.h"

#include <inttypes.h>
#include <stdlib.h>

static uint64_t rounded(uint64_t n, uint64_t power)
{
    return (n + power - 1) & ~(power - 1);
}

/* The requests, of those of a step, that are made until an object ends. A realloc ends one when it
 * begins another, which is there first. */
static uint32_t until_of(const struct tp_life *requests, size_t count, uint64_t end)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (requests[middle].begin <= end)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* Where it ends: in the step, or in the next one before the same request comes again. False: later,
 * or it is not known. */
static bool find_until(const struct tp_step_plan *plan, size_t i, uint32_t *until)
{
    const struct tp_life *r = &plan->requests[i];
    const struct tp_step *next = plan->next;
    bool within = r->end <= plan->step->end, ends = within;
    if (within)
        *until = until_of(plan->requests, plan->count, r->end);
    else if (next && r->end <= next->end) {
        *until = until_of(plan->requests + plan->count, next->behind - next->first, r->end);
        ends = *until <= i;
    }
    return ends;
}

static void take_request(struct tp_step_plan *plan, size_t i)
{
    const struct tp_life *r = &plan->requests[i];
    struct tp_offline_object *o = &plan->objects[i];
    if (r->size > TP_PLAN_POOL || !find_until(plan, i, &plan->until[i])) {
        plan->kept++;
        plan->kept_bytes += r->size;
        return;
    }
    o->size = rounded(r->size, TP_PLAN_GRAIN);
    o->align = UINT64_C(1) << r->align_log2;
    if (o->align < TP_PLAN_GRAIN)
        o->align = TP_PLAN_GRAIN;
}

/* Requests from this one on that a block lives. */
static size_t life_of(const struct tp_step_plan *plan, size_t i)
{
    return plan->until[i] > i ? plan->until[i] - i : plan->until[i] + plan->count - i;
}

/* The request before which the fewest planned bytes are live. */
static int find_turn(const struct tp_step_plan *plan, size_t *turn, struct tp_err *err)
{
    const size_t n = plan->count;
    int64_t *change = calloc(n + 1, sizeof *change), live = 0, fewest = INT64_MAX;
    if (!change)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const struct tp_offline_object *o = &plan->objects[i];
        bool crosses = o->size && plan->until[i] <= i;
        live += crosses ? (int64_t)o->size : 0;
        change[i + 1] += (int64_t)o->size;
        change[plan->until[i]] -= (int64_t)o->size;
    }
    for (size_t i = 0; i < n; i++) {
        live += change[i];
        if (live >= fewest)
            continue;
        fewest = live;
        *turn = i;
    }
    free(change);
    return TP_OK;
}

/* Packing knows no next step, so time is turned: it begins where little is live. What is live there
 * has its place for the whole step. */
static void turn_lives(struct tp_step_plan *plan, size_t turn)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct tp_offline_object *o = &plan->objects[i];
        o->begin = (i + plan->count - turn) % plan->count;
        o->end = o->begin + life_of(plan, i);
        if (o->end <= plan->count)
            continue;
        o->begin = 0;
        o->end = plan->count;
    }
}

static int add_stream(struct tp_step_plan *plan, uint16_t stream, struct tp_err *err)
{
    for (size_t i = 0; i < plan->part_count; i++)
        if (plan->parts[i].stream == stream)
            return TP_OK;
    if (plan->part_count == TP_PLAN_STREAMS)
        return tp_fail(err, TP_EINPUT, "the step has requests on more than %d streams",
                       TP_PLAN_STREAMS);
    plan->parts[plan->part_count++] = (struct tp_plan_part){stream, 0};
    return TP_OK;
}

/* Packs the objects of a stream, which are put side by side for it. */
static int pack_part(struct tp_step_plan *plan, struct tp_plan_part *part,
                     struct tp_offline_object *spare, struct tp_offline_budget *budget,
                     struct tp_err *err)
{
    struct tp_offline found;
    uint64_t align = TP_PLAN_GRAIN;
    size_t n = 0;
    for (size_t i = 0; i < plan->count; i++) {
        align = plan->objects[i].align > align ? plan->objects[i].align : align;
        if (plan->objects[i].size && plan->requests[i].stream == part->stream)
            spare[n++] = plan->objects[i];
    }
    int rc = tp_offline_pack(spare, n, budget, &found, err);
    if (rc)
        return rc;
    for (size_t i = 0, at = 0; i < plan->count; i++)
        if (plan->objects[i].size && plan->requests[i].stream == part->stream)
            plan->objects[i].offset = spare[at++].offset;
    part->bytes = rounded(found.best, align);
    plan->pool += part->bytes;
    plan->least += found.least;
    return TP_OK;
}

static int pack(struct tp_step_plan *plan, uint64_t work, struct tp_err *err)
{
    struct tp_offline_object *spare = malloc(plan->count * sizeof *spare);
    uint64_t left = work;
    int rc = spare ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; !rc && i < plan->part_count; i++) {
        uint64_t share = left / (plan->part_count - i);
        struct tp_offline_budget budget = {.steps = share, .interrupted = tp_stop_flag()};
        rc = pack_part(plan, &plan->parts[i], spare, &budget, err);
        left -= share - budget.steps;
    }
    free(spare);
    return rc;
}

int tp_step_plan(const struct tp_program_steps *s, const struct tp_step *step, uint64_t work,
                 struct tp_step_plan *out, struct tp_err *err)
{
    *out = (struct tp_step_plan){.step = step,
                                 .mark = s->mark,
                                 .next = tp_step_behind(s, step),
                                 .requests = &s->requests[step->first],
                                 .count = step->behind - step->first};
    if (!out->count || out->count > TP_PLAN_REQUESTS)
        return tp_fail(err, TP_EINPUT, "the step has %zu requests, a plan has 1 to %" PRIu32,
                       out->count, TP_PLAN_REQUESTS);
    out->objects = calloc(out->count, sizeof *out->objects);
    out->until = calloc(out->count, sizeof *out->until);
    out->parts = calloc(TP_PLAN_STREAMS, sizeof *out->parts);
    int rc =
        out->objects && out->until && out->parts ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; !rc && i < out->count; i++) {
        take_request(out, i);
        if (out->objects[i].size)
            rc = add_stream(out, out->requests[i].stream, err);
    }
    size_t turn = 0;
    if (!rc)
        rc = find_turn(out, &turn, err);
    if (!rc) {
        turn_lives(out, turn);
        rc = pack(out, work, err);
    }
    if (!rc && out->pool > TP_PLAN_POOL)
        rc = tp_fail(err, TP_EINPUT, "the step needs more than 1 PiB");
    return rc;
}

void tp_step_plan_release(struct tp_step_plan *plan)
{
    free(plan->objects);
    free(plan->until);
    free(plan->parts);
    *plan = (struct tp_step_plan){.count = 0};
}

static void write_row(const struct tp_step_plan *plan, size_t i, FILE *out)
{
    const struct tp_life *r = &plan->requests[i];
    fprintf(out, "%u %" PRIu64 " %" PRIu64, r->stream, r->size, UINT64_C(1) << r->align_log2);
    if (plan->objects[i].size)
        fprintf(out, " %" PRIu32 " %" PRIu64 "\n", plan->until[i] + 1, plan->objects[i].offset);
    else
        fputs(" - -\n", out);
}

void tp_step_plan_write(const struct tp_step_plan *plan, const char *from, FILE *out)
{
    fprintf(out, "%s\n# %s\n", TP_PLAN_FIRST, from);
    if (plan->mark)
        fprintf(out, "mark %s\n", plan->mark);
    for (size_t i = 0; i < plan->part_count; i++)
        fprintf(out, "stream %u %" PRIu64 "\n", plan->parts[i].stream, plan->parts[i].bytes);
    fprintf(out, "requests %zu\n# stream size align until offset\n", plan->count);
    for (size_t i = 0; i < plan->count; i++)
        write_row(plan, i, out);
}
