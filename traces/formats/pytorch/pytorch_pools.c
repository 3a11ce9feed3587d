/* See pytorch_heap.h. An address may have belonged to another segment before, of another pool: a
 * graph is captured after empty_cache(), so that its pool takes what had gone back. */
#include "traces/formats/pytorch/pytorch_heap.h"

/* Those of the host lie before those of the devices, or behind them. */
static uint32_t list_of(const struct tp_pytorch_block *span, bool host_first)
{
    return span->device != TP_PYTORCH_HOST || !host_first ? span->device + 1 : 0;
}

/* The segment at the end that holds an address; NULL: none. They are in the order of their
 * addresses in files of PyTorch; where they are not, some are not found. */
static struct tp_pytorch_block *segment_at_end(const struct tp_pytorch *s, uint32_t device,
                                               uint64_t address)
{
    const struct tp_pytorch_block probe = {.address = address, .device = device};
    struct tp_pytorch_block *all = s->spans.items;
    size_t low = 0, high = s->spans.count;
    bool host_first = high && all[0].device == TP_PYTORCH_HOST;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct tp_pytorch_block *at = &all[middle];
        bool before = at->device == device ? at->address <= address
                                           : list_of(at, host_first) < list_of(&probe, host_first);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low && tp_pytorch_is_in(&probe, &all[low - 1]) ? &all[low - 1] : NULL;
}

static int date_device(struct tp_pytorch *s, uint32_t device, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &s->devices[device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = d->first, .end = d->first + d->count};
    int rc = TP_OK;
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err))) {
        bool taken = ev->action == TP_PYTORCH_SEGMENT_ALLOC;
        struct tp_pytorch_block *at = taken ? segment_at_end(s, device, ev->address) : NULL;
        if (at)
            at->since = ev->offset;
    }
    return rc;
}

int tp_pytorch_date_segments(struct tp_pytorch *s, struct tp_err *err)
{
    int rc = TP_OK;
    for (uint32_t i = 0; s->private_spans && rc == TP_OK && i < TP_PYTORCH_DEVICES; i++)
        rc = date_device(s, i, err);
    return rc;
}

uint64_t tp_pytorch_pool_of(const struct tp_pytorch *s, uint32_t device,
                            const struct tp_pytorch_event *ev)
{
    if (ev->has_pool || !s->private_spans)
        return ev->pool;
    const struct tp_pytorch_block *at = segment_at_end(s, device, ev->address);
    return at && at->since <= ev->offset ? at->pool : 0;
}
