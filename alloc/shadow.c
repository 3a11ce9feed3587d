/* The shadow of what is live; see shadow.h. */
#include "alloc/shadow.h"

#include <stdlib.h>

int tp_shadow_open(struct tp_shadow *s, uint32_t slots, uint32_t devices, struct tp_err *err)
{
    *s = (struct tp_shadow){.slots = slots, .devices = devices};
    s->blocks = calloc(slots ? slots : 1, sizeof *s->blocks);
    s->roots = calloc(devices, sizeof *s->roots);
    if (!s->blocks || !s->roots) {
        tp_shadow_close(s);
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    }
    for (uint32_t d = 0; d < devices; d++)
        s->roots[d] = TP_SHADOW_NONE;
    return TP_OK;
}

void tp_shadow_close(struct tp_shadow *s)
{
    free(s->blocks);
    free(s->roots);
    *s = (struct tp_shadow){0};
}

/* Live blocks are disjoint: only the last one that begins before the end can reach in. */
uint32_t tp_shadow_overlap(const struct tp_shadow *s, uint32_t device, tp_addr addr, uint64_t size)
{
    uint32_t found = TP_SHADOW_NONE;
    tp_addr last = addr + size - 1;
    for (uint32_t at = s->roots[device]; at != TP_SHADOW_NONE;) {
        const struct tp_shadow_block *b = &s->blocks[at];
        if (b->addr <= last) {
            found = at;
            at = b->higher;
        } else {
            at = b->lower;
        }
    }
    if (found == TP_SHADOW_NONE)
        return TP_SHADOW_NONE;
    const struct tp_shadow_block *b = &s->blocks[found];
    return b->addr + (b->size - 1) >= addr ? found : TP_SHADOW_NONE;
}

static uint32_t next_priority(struct tp_shadow *s)
{
    uint64_t z = ++s->serial * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (uint32_t)(z >> 32);
}

void tp_shadow_insert(struct tp_shadow *s, uint32_t device, uint32_t slot, tp_addr addr,
                      uint64_t size)
{
    struct tp_shadow_block *b = &s->blocks[slot];
    assert(size && !b->size && slot < s->slots);
    *b = (struct tp_shadow_block){.addr = addr, .size = size, .priority = next_priority(s)};
    uint32_t *at = &s->roots[device];
    while (*at != TP_SHADOW_NONE && s->blocks[*at].priority >= b->priority)
        at = addr < s->blocks[*at].addr ? &s->blocks[*at].lower : &s->blocks[*at].higher;
    /* what was there is divided into what lies below and what lies above */
    uint32_t rest = *at, *below = &b->lower, *above = &b->higher;
    *at = slot;
    while (rest != TP_SHADOW_NONE) {
        uint32_t **side = s->blocks[rest].addr < addr ? &below : &above;
        bool lower = side == &below;
        **side = rest;
        *side = lower ? &s->blocks[rest].higher : &s->blocks[rest].lower;
        rest = **side;
    }
    *below = *above = TP_SHADOW_NONE;
}

void tp_shadow_remove(struct tp_shadow *s, uint32_t device, uint32_t slot)
{
    struct tp_shadow_block *gone = &s->blocks[slot];
    uint32_t *at = &s->roots[device];
    assert(gone->size);
    while (*at != slot) {
        assert(*at != TP_SHADOW_NONE);
        at = gone->addr < s->blocks[*at].addr ? &s->blocks[*at].lower : &s->blocks[*at].higher;
    }
    uint32_t a = gone->lower, b = gone->higher;
    while (a != TP_SHADOW_NONE && b != TP_SHADOW_NONE) {
        bool left = s->blocks[a].priority >= s->blocks[b].priority;
        *at = left ? a : b;
        at = left ? &s->blocks[a].higher : &s->blocks[b].lower;
        *(left ? &a : &b) = *at;
    }
    *at = a != TP_SHADOW_NONE ? a : b;
    gone->size = 0;
}
