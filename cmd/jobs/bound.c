/* See bound.h. */
#include "cmd/jobs/bound.h"

#include "alloc/base/grow.h"
#include "alloc/program/lives.h"
#include "cmd/ui/stop.h"

#include <stdlib.h>

struct bound_objects {
    struct tp_offline_object *items;
    size_t count, room;
};

static int add_life(void *ctx, const struct tp_life *life, struct tp_err *err)
{
    struct bound_objects *o = ctx;
    int rc = TP_GROW(&o->items, &o->room, o->count + 1, err, .what = "objects",
                     TP_MOST(TP_OFFLINE_OBJECTS));
    if (rc != TP_OK)
        return rc;
    o->items[o->count++] = (struct tp_offline_object){.begin = life->begin,
                                                      .end = life->end,
                                                      .size = life->size,
                                                      .align = UINT64_C(1) << life->align_log2};
    return TP_OK;
}

static uint64_t steps_of(uint64_t ns)
{
    enum { NS_PER_MS = 1000000, MS_PER_S = 1000 };
    return ns / NS_PER_MS * (TP_OFFLINE_STEPS_PER_SECOND / MS_PER_S);
}

/* Packs the objects of a device within a share of the steps that are left. */
static int pack_device(struct tp_program *p, uint16_t device, uint64_t steps, uint64_t *left,
                       struct tp_offline *out, struct tp_err *err)
{
    struct bound_objects objects = {.count = 0};
    struct tp_offline_budget budget = {.steps = steps, .interrupted = tp_stop_flag()};
    int rc = tp_program_lives(p, device, add_life, &objects, err);
    if (rc == TP_OK)
        rc = tp_offline_pack(objects.items, objects.count, &budget, out, err);
    *left -= steps - budget.steps;
    TP_GROW_END(&objects.items, &objects.room, .what = "objects");
    return rc;
}

/* What a device leaves of its share is for those behind it. */
int tp_bound(struct tp_program *p, uint64_t ns, struct tp_offline **out, struct tp_err *err)
{
    uint16_t devices = tp_program_facts(p)->devices;
    uint64_t left = steps_of(ns);
    int rc = TP_OK;
    *out = calloc(devices, sizeof **out);
    if (!*out)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (uint16_t d = 0; rc == TP_OK && d < devices; d++)
        rc = pack_device(p, d, left / (devices - d), &left, &(*out)[d], err);
    return rc;
}
