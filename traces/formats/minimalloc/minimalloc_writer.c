/* Writes a program as buffers with lifetimes (minimalloc CSV) for offline planners: a row is
 * written when an object is freed.
 *
 *     event   1 alloc A   2 alloc B   3 free A   4 realloc B    (4 events)
 *     rows                            A: 1-3     B: 2-4         B': 4-5
 *
 * `lower` is the number of the event that allocated a buffer, or 0 if it was live before the first
 * event. `upper` is the number of the event that freed it, or one more than the last event if it is
 * live at the end. A realloc ends one buffer and begins another. Known weakness: the format has no
 * references, streams and uses; a buffer ends when its last reference is freed. */
#include "alloc/base/str.h"
#include "alloc/program/lives.h"
#include "traces/trace_writer.h"

#include <errno.h>
#include <inttypes.h>

#define LISTED 6 /* devices that a message names */

struct writer {
    const struct tp_writing *cfg;
    FILE *out;
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

/* ---- rows ---- */

enum { CHECK_EVERY = 65536 }; /* rows: an error of the file ends the walk soon */

static int check(const struct writer *w, struct tp_err *err)
{
    return ferror(w->out) ? tp_fail_write(err, w->cfg->path) : TP_OK;
}

static int write_life(void *ctx, const struct tp_life *life, struct tp_err *err)
{
    struct writer *w = ctx;
    fprintf(w->out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", w->rows++,
            life->begin_event, life->end_event, life->size);
    return w->rows % CHECK_EVERY ? TP_OK : check(w, err);
}

static int write_trace(const struct tp_writing *cfg, FILE *out, struct tp_err *err)
{
    struct writer w = {.cfg = cfg, .out = out};
    uint16_t device = 0;
    int rc = choose_device(cfg->program, cfg, &device, err);
    if (rc != TP_OK)
        return rc;
    errno = 0;
    fputs("id,lower,upper,size\n", out);
    rc = tp_program_lives(cfg->program, device, write_life, &w, err);
    return rc == TP_OK ? check(&w, err) : tp_prefix(err, rc, "%s", cfg->path);
}

const struct tp_trace_writer tp_writer_minimalloc = {
    .name = "minimalloc",
    .suffix = ".csv",
    .summary = "minimalloc CSV for offline packing: sizes and lifetimes only",
    .one_device = true,
    .write = write_trace,
};
