/* The superblocks of `rmm-arena`, and the blocks in them: first fit by address in both. */
#include "alloc/strategies/rmm_arena/rmm_arena_core.h"

/* ---- trees by address ---- */

static bool is_lower(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct rmm_arena_spot, node, a)->addr <
           TP_TREE_ITEM(const struct rmm_arena_spot, node, b)->addr;
}

static uint64_t most_of(struct tp_tree_node *n)
{
    return n ? rmm_arena_spot(n)->most : 0;
}

static void note_most(struct tp_tree_node *n)
{
    struct rmm_arena_spot *s = rmm_arena_spot(n);
    uint64_t low = most_of(n->low), high = most_of(n->high);
    s->most = low > high ? low : high;
    if (s->free > s->most)
        s->most = s->free;
}

static void enter(struct tp_tree_node **root, struct rmm_arena_spot *s)
{
    tp_tree_insert(root, &s->node, is_lower, note_most);
}

static void leave(struct tp_tree_node **root, struct rmm_arena_spot *s)
{
    tp_tree_remove(root, &s->node, note_most);
}

/* The lowest node with a free block of `size` bytes; NULL: none. */
static struct tp_tree_node *first_fit(struct tp_tree_node *n, uint64_t size)
{
    while (n && most_of(n) >= size) {
        TP_STEP();
        if (most_of(n->low) >= size)
            n = n->low;
        else if (rmm_arena_spot(n)->free >= size)
            return n;
        else
            n = n->high;
    }
    return NULL;
}

/* ---- blocks ---- */

static void add_free(struct rmm_arena_super *s, struct rmm_arena_block *b)
{
    b->super = s;
    b->requested = b->align = 0;
    b->spot.free = b->size;
    enter(&s->blocks, &b->spot);
}

static void join(struct rmm_arena *st, struct rmm_arena_block *low, struct rmm_arena_block *high)
{
    low->size += high->size;
    low->behind = high->behind;
    if (high->behind)
        high->behind->before = low;
    slab_give(&st->blocks, high);
}

/* Cuts a block that is in no tree: it keeps `size` bytes, `rest` gets what is behind them. */
static void cut(struct rmm_arena_block *b, uint64_t size, struct rmm_arena_block *rest)
{
    rest->spot.addr = b->spot.addr + size;
    rest->size = b->size - size;
    rest->before = b;
    rest->behind = b->behind;
    if (b->behind)
        b->behind->before = rest;
    b->behind = rest;
    b->size = size;
}

/* The free blocks of a superblock have changed. */
static void refile(struct rmm_arena_super *s)
{
    uint64_t most = most_of(s->blocks);
    if (most == s->spot.free)
        return;
    leave(&s->owner->supers, &s->spot);
    s->spot.free = most;
    enter(&s->owner->supers, &s->spot);
}

static struct rmm_arena_block *take_from(struct rmm_arena *st, struct rmm_arena_super *s,
                                         uint64_t size)
{
    struct rmm_arena_block *b = rmm_arena_block_at(first_fit(s->blocks, size));
    leave(&s->blocks, &b->spot);
    if (b->size > size) {
        struct rmm_arena_block *rest = slab_take(&st->blocks);
        assert(rest);
        cut(b, size, rest);
        add_free(s, rest);
    }
    refile(s);
    return b;
}

/* ---- the global arena ---- */

/* Cuts an empty superblock of the global arena in two. */
static void cut_super(struct rmm_arena *st, struct rmm_arena_super *s, uint64_t size)
{
    struct rmm_arena_super *tail = slab_take(&st->supers);
    struct rmm_arena_block *rest = slab_take(&st->blocks);
    struct rmm_arena_block *b = rmm_arena_block_at(s->blocks);
    assert(tail && rest);
    leave(&s->owner->supers, &s->spot);
    leave(&s->blocks, &b->spot);
    cut(b, size, rest);
    tail->owner = s->owner;
    tail->size = tail->spot.free = s->size - size;
    tail->spot.addr = rest->spot.addr;
    s->size = s->spot.free = size;
    add_free(s, b);
    add_free(tail, rest);
    enter(&s->owner->supers, &s->spot);
    enter(&s->owner->supers, &tail->spot);
}

/* The first superblock of the global arena with a free block of `size` bytes, cut to the smallest
 * size that it may have where it is empty; NULL: none. */
static struct rmm_arena_super *acquire(struct rmm_arena *st, uint64_t size)
{
    struct rmm_arena_super *s = rmm_arena_super_at(first_fit(st->global.supers, size));
    uint64_t least = size > RMM_ARENA_SUPER ? size : RMM_ARENA_SUPER;
    if (s && rmm_arena_is_empty(s) && s->size >= least + RMM_ARENA_SUPER)
        cut_super(st, s, least);
    return s;
}

/* Makes one of two empty superblocks of the global arena that lie side by side. */
static void absorb(struct rmm_arena *st, struct rmm_arena_super *low, struct rmm_arena_super *high)
{
    struct rmm_arena_block *a = rmm_arena_block_at(low->blocks);
    struct rmm_arena_block *b = rmm_arena_block_at(high->blocks);
    leave(&st->global.supers, &low->spot);
    leave(&st->global.supers, &high->spot);
    leave(&low->blocks, &a->spot);
    join(st, a, b);
    add_free(low, a);
    low->size = low->spot.free = a->size;
    slab_give(&st->supers, high);
    enter(&st->global.supers, &low->spot);
}

static bool can_merge(const struct rmm_arena *st, const struct rmm_arena_block *b)
{
    return b && b->super->owner == &st->global && rmm_arena_is_empty(b->super);
}

static void coalesce(struct rmm_arena *st, struct rmm_arena_super *s)
{
    if (!rmm_arena_is_empty(s))
        return;
    struct rmm_arena_block *b = rmm_arena_block_at(s->blocks);
    if (can_merge(st, b->behind))
        absorb(st, s, b->behind->super);
    if (can_merge(st, b->before))
        absorb(st, b->before->super, s);
}

static void move_to(struct rmm_arena_owner *owner, struct rmm_arena_super *s)
{
    leave(&s->owner->supers, &s->spot);
    s->owner = owner;
    enter(&owner->supers, &s->spot);
}

/* ---- requests ---- */

void tp_rmm_arena_begin(struct rmm_arena *st)
{
    struct rmm_arena_super *s = slab_take(&st->supers);
    struct rmm_arena_block *b = slab_take(&st->blocks);
    assert(s && b);
    s->owner = &st->global;
    s->spot.addr = b->spot.addr = st->base;
    s->size = s->spot.free = b->size = st->size;
    st->first = b;
    add_free(s, b);
    enter(&st->global.supers, &s->spot);
}

struct rmm_arena_block *tp_rmm_arena_take(struct rmm_arena *st, struct rmm_arena_owner *owner,
                                          uint64_t size)
{
    bool large = size > RMM_ARENA_SUPER;
    struct rmm_arena_super *s = NULL;
    if (!large)
        s = rmm_arena_super_at(first_fit(owner->supers, size));
    if (s)
        return take_from(st, s, size);
    s = acquire(st, size);
    if (!s)
        return NULL;
    if (!large) {
        move_to(owner, s);
        if (!owner->holding) {
            owner->next_holding = st->holding;
            st->holding = owner;
            owner->holding = true;
        }
    }
    return take_from(st, s, size);
}

void tp_rmm_arena_give(struct rmm_arena *st, struct rmm_arena_block *b)
{
    struct rmm_arena_super *s = b->super;
    struct rmm_arena_block *low = b->before, *high = b->behind;
    if (low && low->super == s && !low->requested) {
        leave(&s->blocks, &low->spot);
        join(st, low, b);
        b = low;
    }
    if (high && high->super == s && !high->requested) {
        leave(&s->blocks, &high->spot);
        join(st, b, high);
    }
    add_free(s, b);
    refile(s);
    if (s->owner == &st->global)
        coalesce(st, s);
}

void tp_rmm_arena_collect(struct rmm_arena *st)
{
    for (struct rmm_arena_owner *o; (o = st->holding);) {
        st->holding = o->next_holding;
        o->holding = false;
        for (struct rmm_arena_super *s; (s = rmm_arena_super_at(o->supers));) {
            TP_STEP();
            move_to(&st->global, s);
            coalesce(st, s);
        }
    }
}
