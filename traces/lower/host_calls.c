/* See host_calls.h. A block that appears where another one is live ends that one: its free was
 * lost, which is a repair (double_alloc).
 *
 *     malloc = P, malloc = P          lowering frees the first block, because the id is the same
 *     realloc P = Q, Q is live        FREE of Q's block, then REALLOC, both with the same number
 *
 * With late_frees, that free may still come: the next free of the address is taken for it. Known
 * weakness: if it was lost instead, the new block lives until its address is allocated again. */
#include "traces/lower/host_calls.h"

#include "alloc/base/numbers.h"

void tp_host_calls_init(struct tp_host_calls *c, const struct tp_reading *r,
                        struct tp_event_sink sink, struct tp_host_counts *counts)
{
    *c = (struct tp_host_calls){.in = r->in,
                                .sink = sink,
                                .counts = counts,
                                .owed.how = {.what = "addresses", .budget = r->budget}};
    tp_pointers_init(&c->pointers, &counts->objects, r->budget);
}

void tp_host_calls_release(struct tp_host_calls *c)
{
    tp_pointers_release(&c->pointers);
    tp_id_map_release(&c->owed);
}

int tp_host_kind(const struct tp_reading *r, struct tp_err *err)
{
    r->meta->kind = TP_KIND_HOST;
    return tp_lower_kind(r->lower, TP_KIND_HOST, err);
}

static int send(const struct tp_host_calls *c, struct tp_event *ev, enum tp_event_op op,
                struct tp_err *err)
{
    ev->op = op;
    return c->sink.event(c->sink.ctx, ev, err);
}

int tp_host_skip(const struct tp_host_calls *c, struct tp_event *ev, struct tp_err *err)
{
    return send(c, ev, TP_EV_SKIP, err);
}

/* A request that was not served. */
static int refused(struct tp_host_calls *c, struct tp_event *ev, struct tp_err *err)
{
    bool too_large = ev->size > TP_MAX_SIZE;
    c->counts->too_large += too_large;
    if (too_large || ev->size == 0)
        return tp_host_skip(c, ev, err);
    ev->note = TP_NOTE_OOM;
    ev->has_size = true;
    return send(c, ev, TP_EV_NOTE, err);
}

/* The free of what was at `address` has not come yet. */
static int owe(struct tp_host_calls *c, uint64_t address, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    return c->late_frees ? tp_id_map_need(&c->owed, (int64_t)address, 0, &entry, err) : TP_OK;
}

static void take_align(struct tp_host_calls *c, struct tp_event *ev)
{
    uint64_t requested = ev->align;
    ev->has_align = requested != 0;
    if (!requested)
        return;
    ev->align = tp_host_alignment(requested);
    c->counts->too_aligned += requested > UINT64_C(1) << TP_MAX_ALIGN_LOG2;
}

int tp_host_alloc(struct tp_host_calls *c, struct tp_event *ev, uint64_t address,
                  struct tp_err *err)
{
    uint32_t before = c->counts->objects;
    bool empty = c->partial && ev->size == 0;
    if (address == 0 || ev->size > TP_MAX_SIZE)
        return refused(c, ev, err);
    int rc = tp_pointers_add(&c->pointers, address, &ev->id, err);
    if (!rc && c->counts->objects == before)
        rc = owe(c, address, err);
    if (rc)
        return tp_event_placed(ev, c->in, rc, err);
    take_align(c, ev);
    ev->has_size = true;
    ev->size += empty;
    c->counts->empty += empty;
    return send(c, ev, TP_EV_ALLOC, err);
}

/* Whether this is the free that `owe` has waited for. */
static bool is_late(struct tp_host_calls *c, uint64_t address)
{
    struct tp_id_entry *entry = tp_id_map_find(&c->owed, (int64_t)address);
    if (!entry)
        return false;
    tp_id_map_remove(&c->owed, entry);
    c->counts->late++;
    return true;
}

int tp_host_free(struct tp_host_calls *c, struct tp_event *ev, uint64_t address, struct tp_err *err)
{
    if (address == 0 || (c->late_frees && is_late(c, address)))
        return tp_host_skip(c, ev, err);
    ev->id = tp_pointers_remove(&c->pointers, address);
    if (ev->id < 0 && c->partial) {
        c->counts->unseen++;
        return TP_OK;
    }
    return send(c, ev, TP_EV_FREE, err);
}

/* Frees the block at `address`, whose own free the file lacks, if there is one. */
static int free_lost(struct tp_host_calls *c, struct tp_event *ev, uint64_t address,
                     struct tp_err *err)
{
    struct tp_event lost = *ev;
    lost.id = tp_pointers_remove(&c->pointers, address);
    if (lost.id < 0)
        return TP_OK;
    ev->uncounted = true;
    lost.repaired = TP_REPAIR_DOUBLE_ALLOC + 1;
    int rc = tp_event_placed(ev, c->in, owe(c, address, err), err);
    return rc ? rc : send(c, &lost, TP_EV_FREE, err);
}

/* A block is moved or resized; ev->id is what tp_pointers_find said of `from`. */
static int move(struct tp_host_calls *c, struct tp_event *ev, uint64_t from, uint64_t to,
                struct tp_err *err)
{
    bool empty = ev->size == 0;
    int rc = from == to ? TP_OK : free_lost(c, ev, to, err);
    if (!rc)
        rc =
            tp_event_placed(ev, c->in, tp_pointers_move(&c->pointers, from, to, &ev->id, err), err);
    if (rc)
        return rc;
    ev->has_size = true;
    ev->size += empty;
    if (empty && c->partial)
        c->counts->empty++;
    else if (empty)
        ev->repaired = TP_REPAIR_ZERO_SIZE + 1;
    return send(c, ev, TP_EV_REALLOC, err);
}

int tp_host_realloc(struct tp_host_calls *c, struct tp_event *ev, uint64_t from, uint64_t to,
                    struct tp_err *err)
{
    if (from == 0)
        return tp_host_alloc(c, ev, to, err);
    if (ev->size > TP_MAX_SIZE || (to == 0 && ev->size))
        return refused(c, ev, err);
    if (to == 0)
        return tp_host_free(c, ev, from, err);
    ev->id = tp_pointers_find(&c->pointers, from);
    if (c->partial && ev->id < 0) {
        c->counts->first_seen++;
        return tp_host_alloc(c, ev, to, err);
    }
    return move(c, ev, from, to, err);
}

void tp_host_describe(const struct tp_host_counts *counts, struct tp_meta *meta)
{
    const struct {
        uint64_t count;
        const char *what;
    } remarks[] = {
        {counts->unseen,
         counts->paused ? "frees of blocks from before the recording or from a pause are left out"
                        : "frees of blocks that were there before the recording are left out"},
        {counts->first_seen, "blocks that were there before it count from their first realloc on"},
        {counts->empty, "blocks of 0 bytes are kept as 1 byte"},
        {counts->late, "frees were recorded after their addresses were in use again"},
        {counts->too_aligned, "alignments above 2^30 are taken as 2^30"},
    };
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (remarks[i].count)
            tp_meta_remark(meta, "%s: %s", remarks[i].what, tp_count(remarks[i].count).s);
    tp_meta_too_large(meta, counts->too_large);
}
