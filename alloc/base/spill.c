/* See spill.h. */
#include "alloc/base/spill.h"

#include "alloc/base/spool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ROOM 64

void tp_spill_init(struct tp_spill *l, size_t item, size_t limit)
{
    *l = (struct tp_spill){.item = item, .limit = limit, .fd = -1};
}

void tp_spill_release(struct tp_spill *l)
{
    free(l->items);
    tp_budget_change(l->budget, l->room * l->item, 0);
    if (l->item && l->fd >= 0)
        close(l->fd);
    *l = (struct tp_spill){.fd = -1};
}

/* What is in memory goes to the file. */
static int spill(struct tp_spill *l, struct tp_err *err)
{
    int rc = l->fd < 0 ? tp_spool_open(&l->fd, err) : TP_OK;
    if (rc == TP_OK)
        rc = tp_spool_write(l->fd, l->items, l->count * l->item, l->written * l->item, err);
    if (rc != TP_OK)
        return rc;
    l->written += l->count;
    l->count = 0;
    return TP_OK;
}

static int make_room(struct tp_spill *l, struct tp_err *err)
{
    size_t room = l->room ? 2 * l->room : FIRST_ROOM;
    bool may_grow = l->room == 0 || l->room * l->item < l->limit;
    if (!may_grow || !tp_budget_change(l->budget, l->room * l->item, room * l->item)) {
        if (l->room)
            return spill(l, err);
        return tp_hint(
            err,
            tp_fail(err, TP_EINPUT, "the events do not fit into the memory that reading may take"),
            "--max-memory=SIZE allows more");
    }
    unsigned char *items = realloc(l->items, room * l->item);
    if (!items)
        return tp_fail(err, TP_ENOMEM, "out of memory for a list of events");
    l->items = items;
    l->room = room;
    return TP_OK;
}

int tp_spill_add(struct tp_spill *l, const void *item, struct tp_err *err)
{
    if (l->count == l->room) {
        int rc = make_room(l, err);
        if (rc != TP_OK)
            return rc;
    }
    memcpy(l->items + l->count++ * l->item, item, l->item);
    return TP_OK;
}

uint64_t tp_spill_count(const struct tp_spill *l)
{
    return l->written + l->count;
}

int tp_spill_read(const struct tp_spill *l, uint64_t first, size_t count, void *out,
                  struct tp_err *err)
{
    unsigned char *to = out;
    assert(first + count <= tp_spill_count(l));
    if (first < l->written) {
        size_t filed = l->written - first < count ? (size_t)(l->written - first) : count;
        int rc = tp_spool_read(l->fd, to, filed * l->item, first * l->item, err);
        if (rc != TP_OK)
            return rc;
        to += filed * l->item;
        first += filed;
        count -= filed;
    }
    if (count > 0)
        memcpy(to, l->items + (size_t)(first - l->written) * l->item, count * l->item);
    return TP_OK;
}
