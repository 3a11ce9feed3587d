/* See spill.h. */
#include "alloc/base/spill.h"

#include "alloc/base/spool.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

void tp_spill_init(struct tp_spill *l, size_t item, size_t limit)
{
    *l = (struct tp_spill){.item = item, .limit = limit, .fd = -1};
}

void tp_spill_release(struct tp_spill *l)
{
    tp_grow_end(&l->items, &l->room, l->item, &(struct tp_growth){.budget = l->budget});
    if (l->item && l->fd >= 0)
        close(l->fd);
    *l = (struct tp_spill){.fd = -1};
}

/* Writes all items in memory to the file. */
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
    size_t most = l->limit / l->item;
    const struct tp_growth how = {.what = "events", TP_MOST(most ? most : 1), .budget = l->budget};
    bool may_grow = l->room == 0 || l->room < how.most;
    int rc = may_grow ? tp_grow(&l->items, &l->room, l->room + 1, l->item, &how, err) : TP_EINPUT;
    return rc == TP_EINPUT && l->room ? spill(l, err) : rc;
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

const void *tp_spill_next(struct tp_spill_cursor *c, int *rc, struct tp_err *err)
{
    const struct tp_spill *l = c->list;
    if (c->at == c->there && c->next < c->end && c->next < l->written) {
        uint64_t filed = (c->end < l->written ? c->end : l->written) - c->next;
        size_t fit = sizeof c->batch / l->item;
        c->there = filed < fit ? (size_t)filed : fit;
        c->at = 0;
        *rc = tp_spill_read(l, c->next, c->there, c->batch, err);
        c->next += c->there;
        if (*rc != TP_OK)
            return NULL;
    }
    if (c->at < c->there)
        return c->batch + c->at++ * l->item;
    return c->next < c->end ? l->items + (size_t)(c->next++ - l->written) * l->item : NULL;
}
