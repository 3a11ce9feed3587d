/* See pytorch_events.h. */
#include "traces/formats/pytorch/pytorch_events.h"

#include <assert.h>
#include <stdlib.h>

#define BATCH 1024

int tp_pytorch_cursor_open(struct tp_pytorch_cursor *c, const struct tp_spill *list, uint64_t first,
                           uint64_t count, struct tp_err *err)
{
    assert(list->item == sizeof *c->batch);
    *c = (struct tp_pytorch_cursor){.list = list, .next = first, .end = first + count};
    c->batch = malloc(BATCH * sizeof *c->batch);
    return c->batch ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory for the events of a snapshot");
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
        int rc = tp_spill_read(c->list, c->next, count, c->batch, err);
        if (rc != TP_OK)
            return rc;
        c->next += count;
        c->at = 0;
        c->there = count;
    }
    *out = &c->batch[c->at++];
    return TP_OK;
}
