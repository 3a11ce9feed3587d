/* Writes a program as buffers with lifetimes (minimalloc CSV) for offline planners. Live objects
 * are kept by slot, and a row is written when an object is freed.
 *
 *     event   1 alloc A   2 alloc B   3 free A   4 realloc B    (4 events)
 *     rows                            A: 1-3     B: 2-4         B': 4-5
 *
 * `lower` is the number of the event that allocated a buffer, or 0 if it was live before the first
 * event. `upper` is the number of the event that freed it, or one more than the last event if it is
 * live at the end. A realloc ends one buffer and begins another.
 *
 * Live objects form a list through their slots, so the cost of a reset depends only on what it
 * frees. Known weakness: the format has no references, streams and uses; a buffer ends when its
 * last reference is freed. */
#include "alloc/base/str.h"
#include "traces/trace_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE     UINT32_MAX
#define NOT_LIVE UINT64_MAX
#define LISTED   6 /* devices that a message names */

struct life {
    uint64_t lower;      /* NOT_LIVE: the slot is empty */
    uint64_t size;       /* bytes */
    uint32_t next, prev; /* neighbours in the list of live slots */
};
static_assert(sizeof(struct life) == 24, "what a slot takes");

struct writer {
    const struct tp_writing *cfg;
    FILE *out;
    uint16_t device;
    struct life *lives;
    uint32_t slots, first; /* `first`: head of the list of live slots */
    uint64_t rows;
};

/* ---- which device ---- */

static int name_devices(const struct tp_program *p, const char *path, struct tp_err *err)
{
    char array[128];
    struct tp_str text = TP_STR_IN(array);
    unsigned named = 0;
    uint16_t devices = tp_program_facts(p)->devices;
    for (uint16_t d = 0; d < devices; d++) {
        if (tp_program_demand(p, d)->bytes == 0)
            continue;
        if (named++ < LISTED)
            tp_str_item(&text, ", ", "%u", (unsigned)d);
    }
    if (named > LISTED)
        tp_str_add(&text, " and %u more", named - LISTED);
    int rc =
        tp_fail(err, TP_EUSAGE, "%s: a plan of buffers is for one device, and %u of them allocate",
                path, named);
    return tp_hint(err, rc, "choose one: %s", array);
}

static int choose_device(const struct tp_program *p, const struct tp_writing *cfg, uint16_t *device,
                         struct tp_err *err)
{
    uint16_t devices = tp_program_facts(p)->devices, allocating = 0;
    *device = 0;
    if (cfg->device >= devices)
        return tp_hint(
            err, tp_fail(err, TP_EUSAGE, "%s: there is no device %" PRId64, cfg->path, cfg->device),
            "the last one is %u", devices - 1u);
    if (cfg->device >= 0) {
        *device = (uint16_t)cfg->device;
        return TP_OK;
    }
    for (uint16_t d = devices; d-- > 0;) {
        if (tp_program_demand(p, d)->bytes == 0)
            continue;
        allocating++;
        *device = d;
    }
    return allocating > 1 ? name_devices(p, cfg->path, err) : TP_OK;
}

/* ---- lives ---- */

static int check(const struct writer *w, struct tp_err *err)
{
    return ferror(w->out) ? tp_fail_write(err, w->cfg->path) : TP_OK;
}

static void begin(struct writer *w, const struct tp_insn *in, uint64_t event)
{
    struct life *life = &w->lives[in->slot];
    *life = (struct life){.lower = event, .size = in->size, .next = w->first, .prev = NONE};
    if (w->first != NONE)
        w->lives[w->first].prev = in->slot;
    w->first = in->slot;
}

static void end(struct writer *w, uint32_t slot, uint64_t event)
{
    struct life *life = &w->lives[slot];
    fprintf(w->out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", w->rows++, life->lower,
            event, life->size);
    if (life->next != NONE)
        w->lives[life->next].prev = life->prev;
    if (life->prev != NONE)
        w->lives[life->prev].next = life->next;
    else
        w->first = life->next;
    life->lower = NOT_LIVE;
}

static void end_all(struct writer *w, uint64_t event)
{
    while (w->first != NONE)
        end(w, w->first, event);
}

/* ---- instructions ---- */

static int broken(const struct writer *w, uint64_t event, struct tp_err *err)
{
    return tp_fail(err, TP_EBROKEN, "%s: event %" PRIu64 " is about an object that is not there",
                   w->cfg->path, event);
}

static int write_insn(struct writer *w, const struct tp_insn *in, uint64_t event,
                      struct tp_err *err)
{
    bool begins = tp_op_is(in->op, TP_ASKS);
    bool ends = in->op == TP_FREE || (begins && tp_op_is(in->op, TP_IS_LIVE));
    if (in->device != w->device && in->device != TP_ALL_DEVICES)
        return TP_OK;
    if (in->op == TP_RESET)
        end_all(w, event);
    if (!begins && !ends)
        return TP_OK;
    if (in->slot >= w->slots || (w->lives[in->slot].lower != NOT_LIVE) != ends)
        return broken(w, event, err);
    if (ends)
        end(w, in->slot, event);
    if (begins)
        begin(w, in, event);
    return TP_OK;
}

static int write_window(void *ctx, const struct tp_window *window, struct tp_err *err)
{
    struct writer *w = ctx;
    for (uint32_t i = 0; i < window->count; i++) {
        int rc = write_insn(w, &window->insns[i], tp_window_event(window, i), err);
        if (rc != TP_OK)
            return rc;
    }
    return check(w, err);
}

static int write_trace(const struct tp_writing *cfg, FILE *out, struct tp_err *err)
{
    struct tp_program *p = cfg->program;
    struct writer w = {.cfg = cfg, .out = out, .slots = tp_program_facts(p)->slots, .first = NONE};
    int rc = choose_device(p, cfg, &w.device, err);
    if (rc != TP_OK)
        return rc;
    w.lives = malloc(w.slots ? w.slots * sizeof *w.lives : 1);
    if (!w.lives)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing %s", cfg->path);
    for (uint32_t i = 0; i < w.slots; i++)
        w.lives[i].lower = NOT_LIVE;
    errno = 0;
    fputs("id,lower,upper,size\n", out);
    rc = tp_program_walk(p, write_window, &w, err);
    if (rc == TP_OK) {
        end_all(&w, tp_program_facts(p)->events + 1);
        rc = check(&w, err);
    }
    free(w.lives);
    return rc;
}

const struct tp_trace_writer tp_writer_minimalloc = {
    .name = "minimalloc",
    .suffix = ".csv",
    .summary = "a list of lifetimes (minimalloc CSV) for offline packing: sizes and order, no more",
    .one_device = true,
    .write = write_trace,
};
