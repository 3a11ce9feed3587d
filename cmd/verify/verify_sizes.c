/* See verify_sizes.h. */
#include "cmd/verify/verify_sizes.h"

#include <stdlib.h>

/* A block of the large pool with free bytes behind it, up to `end`. */
struct loose_end {
    struct tp_pytorch_block *block;
    uint64_t end;
    bool known;
};

struct sizing {
    const struct tp_torch_rules *rules;
    struct tp_verified *out;
    struct loose_end *loose; /* ascending */
    size_t count;
};

/* The size of a block with room up to the next block or the segment's end. */
static void size_block(struct sizing *z, struct tp_pytorch_block *b, bool small, uint64_t end)
{
    uint64_t room = end - b->address;
    if (b->bytes)
        return;
    z->out->start_rounded++;
    b->bytes = b->size <= room ? tp_torch_rounded(z->rules, b->size) : b->size;
    if (b->bytes >= room)
        return;
    if (!tp_torch_is_split(z->rules, small, b->bytes, room - b->bytes))
        b->bytes = room;
    else if (!small)
        z->loose[z->count++] = (struct loose_end){b, end, false};
}

static void size_all(struct sizing *z, const struct tp_pytorch_heap *heap)
{
    size_t next = 0;
    for (size_t i = 0; i < heap->segments.count; i++) {
        const struct tp_pytorch_block *s = &heap->segments.items[i];
        for (; next < heap->blocks.count; next++) {
            struct tp_pytorch_block *b = &heap->blocks.items[next];
            bool more = next + 1 < heap->blocks.count && tp_verify_is_in(b + 1, s);
            if (b->address >= s->address && !tp_verify_is_in(b, s))
                break;
            if (b->address >= s->address)
                size_block(z, b, s->small, more ? b[1].address : s->address + s->size);
        }
    }
}

/* The last one whose block begins at `address` or before; NULL: none. */
static struct loose_end *loose_at(const struct sizing *z, uint64_t address)
{
    size_t low = 0, high = z->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (z->loose[middle].block->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &z->loose[low - 1] : NULL;
}

static void look_at(struct sizing *z, const struct tp_pytorch_event *ev,
                    enum tp_pytorch_action freeing)
{
    struct loose_end *l = loose_at(z, ev->address);
    bool alloc = ev->action == TP_PYTORCH_ALLOC;
    if (!l || l->known || (!alloc && ev->action != freeing))
        return;
    struct tp_pytorch_block *b = l->block;
    uint64_t begin = b->address + b->bytes;
    if (!alloc) {
        l->known = b->address == ev->address;
        return;
    }
    if (ev->address < begin || ev->address >= l->end)
        return;
    l->known = true;
    if (ev->address > begin && !tp_torch_is_split(z->rules, false, b->bytes, ev->address - begin)) {
        b->bytes += ev->address - begin;
        z->out->start_shown++;
    }
}

static int look_at_all(struct sizing *z, const struct tp_pytorch *s, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &s->devices[z->out->device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = d->first, .end = d->first + d->count};
    int rc = TP_OK;
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)))
        look_at(z, ev, tp_pytorch_freeing(s));
    return rc;
}

int tp_verify_sizes(const struct tp_pytorch *s, const struct tp_torch_rules *rules,
                    struct tp_pytorch_heap *heap, struct tp_verified *out, struct tp_err *err)
{
    struct sizing z = {.rules = rules, .out = out};
    z.loose = calloc(heap->blocks.count + 1, sizeof *z.loose);
    if (!z.loose)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    size_all(&z, heap);
    int rc = z.count ? look_at_all(&z, s, err) : TP_OK;
    free(z.loose);
    return rc;
}
