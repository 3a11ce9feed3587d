/* Live blocks by address; see shadow.h. */
#include "alloc/engine/shadow.h"

#include "alloc/base/own.h"

int tp_shadow_open(struct tp_shadow *s, uint32_t slots, uint32_t devices, struct tp_err *err)
{
    *s = (struct tp_shadow){.slots = slots, .devices = devices};
    s->blocks = tp_own_zeroed(slots ? slots : 1, sizeof *s->blocks);
    s->roots = tp_own_zeroed(devices, sizeof *s->roots);
    if (!s->blocks || !s->roots) {
        tp_shadow_close(s);
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    }
    return TP_OK;
}

void tp_shadow_close(struct tp_shadow *s)
{
    tp_own_free(s->blocks);
    tp_own_free(s->roots);
    *s = (struct tp_shadow){0};
}

static struct tp_shadow_block *block_of(const struct tp_tree_node *n)
{
    return TP_TREE_ITEM(struct tp_shadow_block, node, n);
}

static bool is_lower(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return block_of(a)->addr < block_of(b)->addr;
}

/* Live blocks are disjoint, so only the last one that begins before addr + size can overlap. */
uint32_t tp_shadow_overlap(const struct tp_shadow *s, uint32_t device, tp_addr addr, uint64_t size)
{
    const struct tp_shadow_block *found = NULL;
    tp_addr last = addr + size - 1;
    for (const struct tp_tree_node *at = s->roots[device]; at;) {
        TP_STEP();
        if (block_of(at)->addr <= last) {
            found = block_of(at);
            at = at->high;
        } else {
            at = at->low;
        }
    }
    if (!found || found->addr + (found->size - 1) < addr)
        return TP_SHADOW_NONE;
    return (uint32_t)(found - s->blocks);
}

void tp_shadow_insert(struct tp_shadow *s, uint32_t device, uint32_t slot, tp_addr addr,
                      uint64_t size)
{
    struct tp_shadow_block *b = &s->blocks[slot];
    assert(size && !b->size && slot < s->slots);
    *b = (struct tp_shadow_block){.addr = addr, .size = size};
    tp_tree_insert(&s->roots[device], &b->node, is_lower, NULL);
}

void tp_shadow_remove(struct tp_shadow *s, uint32_t device, uint32_t slot)
{
    struct tp_shadow_block *gone = &s->blocks[slot];
    assert(gone->size);
    tp_tree_remove(&s->roots[device], &gone->node, NULL);
    gone->size = 0;
}
