/* Where in the segments that grow a request finds room: which of the unmapped blocks is the first
 * from which on enough is open, that is free or unmapped.
 *
 *     | live | free | unmapped | free | unmapped | live |      the first unmapped block offers all
 *            |---------------- offer -----------|             of it, the second what begins at the
 *                              |---- offer -----|             free block in front of it
 *
 * The tree of unmapped blocks, which are in the order of their choice, keeps for each subtree the
 * largest offer, and what of it goes on beyond its two ends. So the first block that offers enough
 * is found on one way down. Whoever changes a free block beside an unmapped one renews that one.
 *
 *     subtree   | unmapped free unmapped | live | unmapped | live | free unmapped |
 *               |-------- head ----------|                        |---- tail -----|
 */
#include "alloc/strategies/torch/torch_core.h"

/* ---- one block ---- */

static uint64_t free_bytes(const struct torch_block *b)
{
    return b && b->state == TORCH_FREE ? b->size : 0;
}

static bool is_unmapped(const struct torch_block *b)
{
    return b && b->state == TORCH_UNMAPPED;
}

/* Is only a free block between this one and the unmapped block before it? */
static bool is_joined(const struct torch_block *b)
{
    return free_bytes(b->before) && is_unmapped(b->before->before);
}

/* ---- a subtree ---- */

static struct torch_block *block_of(struct tp_tree_node *n)
{
    return TP_TREE_ITEM(struct torch_block, by_size, n);
}

static struct torch_room room_of(struct tp_tree_node *n)
{
    return n ? block_of(n)->room : (struct torch_room){.whole = true};
}

/* What is open from a block on, without what is in front of it, where `behind` goes on behind the
 * free block that follows it. */
static uint64_t open_from(const struct torch_block *b, uint64_t behind)
{
    return b->size + free_bytes(b->behind) + behind;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void tp_torch_room_pull(struct tp_tree_node *n)
{
    struct torch_block *b = block_of(n);
    struct torch_room low = room_of(n->low), high = room_of(n->high);
    bool joined = is_joined(b);
    uint64_t open = open_from(b, high.head), offer = free_bytes(b->before) + open;
    uint64_t through = joined ? open : 0;
    if (joined && n->low)
        offer = low.tail + open; /* that of the block where it begins */
    b->room = (struct torch_room){
        .head = low.head + (low.whole ? through : 0),
        .tail = n->high && !high.whole ? high.tail : offer,
        .most = larger(larger(low.most, high.most), offer),
        .whole = low.whole && joined && high.whole,
    };
}

/* The first block from a stream on that offers `size` bytes; `behind`: what goes on behind the last
 * block of this subtree. */
static struct torch_block *first_with(struct tp_tree_node *n, uint16_t stream, uint64_t size,
                                      uint64_t behind)
{
    if (!n || larger(room_of(n).most, room_of(n).tail + behind) < size)
        return NULL;
    TP_STEP();
    struct torch_block *b = block_of(n), *found = NULL;
    struct torch_room high = room_of(n->high);
    uint64_t open = open_from(b, high.head + (high.whole ? behind : 0));
    bool from = b->segment->stream >= stream;
    if (from)
        found = first_with(n->low, stream, size, is_joined(b) ? open : 0);
    if (!found && from && free_bytes(b->before) + open >= size)
        found = b;
    return found ? found : first_with(n->high, stream, size, behind);
}

struct torch_block *tp_torch_room_find(const struct torch_pool *pool, uint16_t stream,
                                       uint64_t size)
{
    struct torch_block *b = first_with(pool->unmapped, stream, size, 0);
    if (!b || b->segment->stream != stream)
        return NULL;
    return free_bytes(b->before) ? b->before : b;
}

void tp_torch_room_renew(struct torch_block *b)
{
    if (is_unmapped(b))
        tp_tree_mend(&b->segment->pool->unmapped, &b->by_size, tp_torch_room_pull);
}
