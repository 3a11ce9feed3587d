/* See ranks.h: the files. */
#include "cmd/why/ranks.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "cmd/results/result.h"
#include "cmd/why/explainer.h"
#include "cmd/why/why_held.h"
#include "cmd/why/why_moment.h"
#include "traces/trace.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 4096 }; /* bytes of a path */

/* What is used to read one device. */
struct rank_reading {
    const struct tp_ranks_cfg *cfg;
    struct tp_explained from;
    struct tp_why_places places;
    struct tp_why_moment moment;
    struct tp_why_layout layout;
    struct tp_why_held held;
    struct tp_verified verified;
};

static int add_rank(struct tp_ranks *r, const char *path, struct tp_rank **out, struct tp_err *err)
{
    int rc = TP_GROW(&r->list, &r->room, r->count + 1, err, .what = "ranks");
    if (rc != TP_OK)
        return rc;
    *out = &r->list[r->count++];
    **out = (struct tp_rank){.file = r->files[r->file_count - 1], .path = path};
    return TP_OK;
}

/* ---- one device ---- */

static uint64_t largest_free(const struct tp_why_layout *l)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < l->count; i++)
        if (!l->blocks[i].requested && l->blocks[i].size > largest)
            largest = l->blocks[i].size;
    return largest;
}

static void fill_rank(const struct rank_reading *k, uint32_t device, struct tp_rank *out)
{
    out->device = device;
    out->events = k->moment.events;
    out->peak = k->moment.event;
    out->sum = tp_why_sum(&k->layout);
    out->largest = largest_free(&k->layout);
    out->addresses = k->verified.addresses;
    out->judged = (double)out->addresses.good >= TP_FAITHFUL * (double)out->addresses.all &&
                  k->verified.first.kind != TP_START_UNPLACED;
    out->differs_at = tp_agrees(&k->verified) ? TP_NONE : k->verified.first.event;
}

static int read_device(struct rank_reading *k, uint32_t device, struct tp_rank *out,
                       struct tp_err *err)
{
    const struct tp_named_sites_cfg sites = {
        .by = TP_BY_PLACE, .most = TP_RANK_SITES, .stop = k->cfg->stop};
    const struct tp_explainer *by = k->from.by;
    const struct tp_reading *reading = &k->from.file.reading;
    void *state = k->from.file.state;
    k->layout = (struct tp_why_layout){.reading = reading};
    k->held = (struct tp_why_held){.event = 0};
    int rc = tp_why_moment(&k->from, device, TP_WHY_PEAK, 0, &k->moment, err);
    if (rc == TP_OK)
        rc = by->heap(state, device, &k->moment, &k->verified, &k->layout, err);
    if (rc == TP_OK)
        rc = by->held(state, device, &k->moment, &k->layout, &k->places, &k->held, err);
    if (rc == TP_OK)
        rc = tp_named_sites_of(&k->held.list, &sites, &out->sites, err);
    fill_rank(k, device, out);
    tp_why_held_release(reading, &k->held);
    tp_why_layout_release(&k->layout);
    return rc;
}

/* ---- one file ---- */

static int read_devices(struct rank_reading *k, const char *path, struct tp_ranks *out,
                        struct tp_err *err)
{
    const struct tp_ranks_cfg *cfg = k->cfg;
    uint32_t read = 0, count = k->from.file.by->count(k->from.file.state);
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < count; i++) {
        struct tp_rank *rank = NULL;
        if (!tp_explained_has(&k->from, i, cfg->all_devices, cfg->device))
            continue;
        rc = add_rank(out, path, &rank, err);
        if (rc == TP_OK)
            rc = read_device(k, i, rank, err);
        out->several_devices |= read++ > 0;
    }
    if (rc != TP_OK || read)
        return rc;
    return tp_explained_fail(&k->from, cfg->all_devices, cfg->device,
                             out->files[out->file_count - 1], err);
}

static int read_file(const struct tp_ranks_cfg *cfg, const char *path, struct tp_ranks *out,
                     struct tp_err *err)
{
    struct rank_reading k = {.cfg = cfg};
    struct tp_recorded_file *f = &k.from.file;
    int rc = tp_explained_open(&k.from, path, cfg->max_memory, err);
    if (rc == TP_OK)
        rc = f->by->set_rules(f->state, &(struct tp_rules_ask){.conf = cfg->conf}, err);
    if (rc == TP_OK)
        rc = k.from.by->open_places(f->state, &k.places, err);
    if (rc == TP_OK)
        rc = read_devices(&k, path, out, err);
    tp_why_places_close(&k.places);
    tp_explained_close(&k.from);
    return rc;
}

/* ---- all files ---- */

/* What was read of a file that then could not be used is dropped: half of it misleads. */
static int add_bad(struct tp_ranks *r, size_t before, const char *path, const struct tp_err *why,
                   struct tp_err *err)
{
    struct tp_rank *rank = NULL;
    while (r->count > before)
        tp_sites_release(&r->list[--r->count].sites);
    int rc = add_rank(r, path, &rank, err);
    if (rc != TP_OK)
        return rc;
    rank->status = (int)why->status;
    memcpy(rank->why, why->text, sizeof rank->why);
    return TP_OK;
}

static int read_one(const struct tp_ranks_cfg *cfg, size_t i, struct tp_ranks *out,
                    struct tp_err *first, struct tp_err *err)
{
    size_t before = out->count;
    struct tp_err own = {0};
    out->files[i] = tp_clean_copy(cfg->paths[i], SHOWN_MAX);
    if (!out->files[i])
        return tp_fail(err, TP_ENOMEM, "out of memory");
    out->file_count = i + 1;
    int rc = read_file(cfg, cfg->paths[i], out, &own);
    for (size_t k = before; rc == TP_OK && k < out->count; k++)
        out->good += out->list[k].judged;
    if (rc == TP_OK)
        return TP_OK;
    if (rc != TP_EINPUT && rc != TP_EIO) {
        *err = own;
        return rc;
    }
    if (first->status == TP_OK)
        *first = own;
    return add_bad(out, before, cfg->paths[i], &own, err);
}

int tp_ranks_read(const struct tp_ranks_cfg *cfg, struct tp_ranks *out, struct tp_err *err)
{
    struct tp_err first = {0};
    if (cfg->count > TP_RANKS_MAX)
        return tp_fail(err, TP_EUSAGE, "%s: at most %s snapshots are compared",
                       tp_count(cfg->count).s, tp_count(TP_RANKS_MAX).s);
    for (size_t i = 0; i < cfg->count; i++)
        if (!strcmp(cfg->paths[i], "-") || tp_trace_is_sample(cfg->paths[i]))
            return tp_fail(err, TP_EUSAGE, "'%s': snapshots of ranks are files of PyTorch",
                           cfg->paths[i]);
    *out = (struct tp_ranks){.files = calloc(cfg->count, sizeof *out->files)};
    int rc = out->files ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; rc == TP_OK && i < cfg->count; i++)
        rc = read_one(cfg, i, out, &first, err);
    bool readable = false;
    for (size_t i = 0; i < out->count; i++)
        readable |= out->list[i].status == TP_OK;
    if (rc == TP_OK && !readable) {
        *err = first;
        return (int)first.status;
    }
    return rc == TP_OK ? tp_ranks_judge(out, err) : rc;
}

void tp_ranks_release(struct tp_ranks *r)
{
    tp_site_rows_release(&r->sites);
    for (size_t i = 0; i < r->count; i++)
        tp_sites_release(&r->list[i].sites);
    for (size_t i = 0; i < r->file_count; i++)
        free(r->files[i]);
    free(r->files);
    TP_GROW_END(&r->list, &r->room, .what = NULL);
}
