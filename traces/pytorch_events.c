/* See pytorch_events.h. */
#include "traces/pytorch_events.h"

#include "alloc/spool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ROOM 1024
#define BATCH      1024

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the events of a snapshot");
}

/* ---- lists ---- */

void tp_pytorch_list_init(struct tp_pytorch_list *l, size_t item, size_t limit)
{
    *l = (struct tp_pytorch_list){.item = item, .limit = limit, .fd = -1};
}

void tp_pytorch_list_release(struct tp_pytorch_list *l)
{
    free(l->items);
    if (l->item && l->fd >= 0)
        close(l->fd);
    *l = (struct tp_pytorch_list){.fd = -1};
}

static int make_room(struct tp_pytorch_list *l, struct tp_err *err)
{
    int rc = TP_OK;
    if (l->room * l->item >= l->limit && l->room > 0) {
        if (l->fd < 0)
            rc = tp_spool_open(&l->fd, err);
        if (rc == TP_OK)
            rc = tp_spool_write(l->fd, l->items, l->count * l->item, l->written * l->item, err);
        if (rc != TP_OK)
            return rc;
        l->written += l->count;
        l->count = 0;
        return TP_OK;
    }
    size_t room = l->room ? 2 * l->room : FIRST_ROOM;
    unsigned char *items = realloc(l->items, room * l->item);
    if (!items)
        return no_memory(err);
    l->items = items;
    l->room = room;
    return TP_OK;
}

int tp_pytorch_list_add(struct tp_pytorch_list *l, const void *item, struct tp_err *err)
{
    if (l->count == l->room) {
        int rc = make_room(l, err);
        if (rc != TP_OK)
            return rc;
    }
    memcpy(l->items + l->count++ * l->item, item, l->item);
    return TP_OK;
}

uint64_t tp_pytorch_list_count(const struct tp_pytorch_list *l)
{
    return l->written + l->count;
}

int tp_pytorch_list_read(const struct tp_pytorch_list *l, uint64_t first, size_t count, void *out,
                         struct tp_err *err)
{
    unsigned char *to = out;
    assert(first + count <= tp_pytorch_list_count(l));
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

/* ---- cursors ---- */

int tp_pytorch_cursor_open(struct tp_pytorch_cursor *c, const struct tp_pytorch_list *list,
                           uint64_t first, uint64_t count, struct tp_err *err)
{
    assert(list->item == sizeof *c->batch);
    *c = (struct tp_pytorch_cursor){.list = list, .next = first, .end = first + count};
    c->batch = malloc(BATCH * sizeof *c->batch);
    return c->batch ? TP_OK : no_memory(err);
}

void tp_pytorch_cursor_close(struct tp_pytorch_cursor *c)
{
    free(c->batch);
    *c = (struct tp_pytorch_cursor){0};
}

int tp_pytorch_cursor_next(struct tp_pytorch_cursor *c, const struct tp_pytorch_event **out,
                           struct tp_err *err)
{
    *out = NULL;
    if (c->at == c->there) {
        size_t count = c->end - c->next < BATCH ? (size_t)(c->end - c->next) : BATCH;
        if (count == 0)
            return TP_OK;
        int rc = tp_pytorch_list_read(c->list, c->next, count, c->batch, err);
        if (rc != TP_OK)
            return rc;
        c->next += count;
        c->at = 0;
        c->there = count;
    }
    *out = &c->batch[c->at++];
    return TP_OK;
}
