/* The stitched blocks of `stitch`.
 *
 *     find   the addresses of one that is not live serve again, if all its memory is free
 *     join   the largest free blocks are mapped side by side, the last one only as far as needed
 *     leave  its memory goes back to the primitive blocks, its addresses are kept
 *     drop   the least recently freed ones lose their addresses
 */
#include "alloc/strategies/stitch/stitch_core.h"

/* Streams and sizes ascend; the one freed last is the first of its size. */
static bool kept_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct stitch_joined *x =
        (const void *)TP_TREE_ITEM(const struct stitch_block, by_size, a);
    const struct stitch_joined *y =
        (const void *)TP_TREE_ITEM(const struct stitch_block, by_size, b);
    if (x->b.stream != y->b.stream)
        return x->b.stream < y->b.stream;
    return x->b.size != y->b.size ? x->b.size < y->b.size : x->freed > y->freed;
}

/* ---- finding one ---- */

static bool is_free(const struct stitch *st, const struct stitch_piece *p, uint64_t size)
{
    uint64_t needed = size - p->offset < p->size ? size - p->offset : p->size;
    return tp_stitch_free_at(st, p->stretch, p->addr, needed);
}

/* Are the first `size` bytes free? *looks: pieces that may be looked at in vain, of which one that
 * was not free the last time is looked at first. */
static bool can_serve(const struct stitch *st, struct stitch_joined *j, uint64_t size,
                      uint32_t *looks)
{
    const struct stitch_piece *last = &j->pieces[j->busy];
    uint32_t seen = 1;
    bool free = last->offset >= size || is_free(st, last, size);
    for (uint32_t i = 0; free && i < j->count && j->pieces[i].offset < size; i++, seen++) {
        TP_STEP();
        j->busy = i;
        free = is_free(st, &j->pieces[i], size);
    }
    if (!free)
        *looks -= seen < *looks ? seen : *looks;
    return free;
}

struct stitch_joined *tp_stitch_find(struct stitch *st, uint16_t stream, uint64_t least,
                                     uint64_t most)
{
    struct stitch_block *from = NULL;
    uint32_t looks = STITCH_LOOKS;
    for (struct tp_tree_node *n = st->kept; n;) {
        struct stitch_block *b = stitch_by_size(n);
        bool large = b->stream == stream ? b->size >= least : b->stream > stream;
        TP_STEP();
        from = large ? b : from;
        n = large ? n->low : n->high;
    }
    for (; from && from->stream == stream && from->size <= most && looks;
         from = stitch_by_size(tp_tree_next(&from->by_size))) {
        TP_STEP();
        if (can_serve(st, stitch_joined_of(from), least, &looks))
            return stitch_joined_of(from);
    }
    return NULL;
}

/* ---- using one ---- */

static void sew(struct stitch_joined *j, struct stitch_primitive *p)
{
    p->b.state = STITCH_SEWN;
    p->user = j;
}

/* It is idle so far. */
static void begin_use(struct stitch *st, struct stitch_joined *j, uint64_t size)
{
    j->used = size;
    tp_link_out(&j->in_list);
    tp_link_insert(&st->busy, &j->in_list);
}

/* Keeps the addresses of one that nobody uses. */
static void keep(struct stitch *st, struct stitch_joined *j)
{
    j->freed = ++st->freed;
    if (st->fenced)
        tp_src_record(st->env->source, j->b.stream, &j->fence);
    tp_link_out(&j->in_list);
    tp_link_insert(&st->idle, &j->in_list);
    tp_tree_insert(&st->kept, &j->b.by_size, kept_less, NULL);
}

int tp_stitch_use(struct stitch *st, struct stitch_joined *j, uint64_t size)
{
    uint32_t count = 0;
    while (count < j->count && j->pieces[count].offset < size)
        count++;
    if (tp_stitch_reserve(&st->primitives, 2 * count))
        return TP_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct stitch_piece *p = &j->pieces[i];
        uint64_t needed = size - p->offset < p->size ? size - p->offset : p->size;
        TP_STEP();
        sew(j,
            tp_stitch_cut(st, tp_stitch_free_at(st, p->stretch, p->addr, needed), p->addr, needed));
    }
    tp_tree_remove(&st->kept, &j->b.by_size, NULL);
    begin_use(st, j, size);
    return TP_OK;
}

void tp_stitch_leave(struct stitch *st, struct stitch_joined *j)
{
    for (uint32_t i = 0; i < j->count && j->pieces[i].offset < j->used; i++) {
        const struct stitch_piece *p = &j->pieces[i];
        TP_STEP();
        struct stitch_primitive *of = tp_stitch_begins_at(st, p->stretch, p->addr);
        assert(of && of->user == j);
        tp_stitch_give(st, of);
    }
    j->used = 0;
    j->b.state = STITCH_FREE;
    keep(st, j);
}

/* ---- making one ---- */

/* Picks the largest free blocks that have `size` bytes together. Returns their number; 0: they have
 * not, or are too many. */
static uint32_t pick(struct stitch *st, uint16_t stream, uint64_t size)
{
    const struct stitch_queue *queue = meta_map_at(&st->queue_of, stream + UINT64_C(1));
    uint32_t count = 0;
    uint64_t bytes = 0;
    if (queue->free_bytes < size)
        return 0;
    for (struct stitch_primitive *p = tp_stitch_largest(st, stream);
         bytes < size && count < STITCH_PIECES; p = tp_stitch_smaller(p)) {
        TP_STEP();
        st->picked[count++] = p;
        bytes += p->b.size;
    }
    return bytes >= size ? count : 0;
}

/* Maps what was picked, side by side, until the source refuses. */
static int map_pieces(struct stitch *st, struct stitch_joined *j)
{
    int rc = TP_OK;
    for (uint32_t i = 0; i < j->room && !rc; i++) {
        const struct stitch_primitive *p = st->picked[i];
        uint64_t left = j->reserved - j->b.size, size = p->b.size < left ? p->b.size : left;
        rc = tp_src_alias(st->env->source, j->b.addr, j->b.size, size, p->b.addr);
        if (rc)
            break;
        struct stitch_piece *piece = &j->pieces[j->count++];
        *piece = (struct stitch_piece){.joined = j,
                                       .stretch = p->stretch,
                                       .addr = p->b.addr,
                                       .size = size,
                                       .offset = j->b.size};
        tp_link_insert(&p->stretch->pieces, &piece->in_stretch);
        j->b.size += size;
    }
    return rc;
}

/* Makes a stitched block of what was picked, which nobody uses yet. */
static int make(struct stitch *st, uint16_t stream, uint64_t size, uint32_t count,
                struct stitch_joined **out)
{
    tp_addr addr = 0;
    struct stitch_joined *j = slab_take(&st->joined_records);
    struct stitch_piece *pieces = j ? tp_meta_get(st->env, count * sizeof *pieces) : NULL;
    int rc = pieces ? tp_src_space_get(st->env->source, size, st->unit, &addr) : (int)TP_ENOMEM;
    if (rc) {
        tp_meta_put(st->env, pieces, count * sizeof *pieces);
        if (j)
            slab_give(&st->joined_records, j);
        return rc;
    }
    *j = (struct stitch_joined){
        .b = {.addr = addr, .stream = stream, .stitched = true, .state = STITCH_FREE},
        .reserved = size,
        .room = count,
        .pieces = pieces};
    st->joined_bytes += size;
    tp_link_insert(&st->idle, &j->in_list);
    rc = map_pieces(st, j);
    if (rc && tp_stitch_undo(st, j))
        keep(st, j); /* what the source does not take back is a smaller block */
    *out = j;
    return rc;
}

int tp_stitch_join(struct stitch *st, uint16_t stream, uint64_t size, struct stitch_joined **out)
{
    struct stitch_joined *j = NULL;
    uint32_t count = pick(st, stream, size);
    if (!count)
        return TP_EOOM;
    int rc = slab_reserve_two(&st->primitives);
    if (!rc)
        rc = make(st, stream, size, count, &j);
    if (rc == TP_EOOM && st->idle.behind != &st->idle) { /* the addresses may suffice then */
        tp_stitch_drop(st, 0);
        rc = make(st, stream, size, count, &j);
    }
    if (rc)
        return rc;
    for (uint32_t i = 0; i < count; i++)
        sew(j, tp_stitch_cut(st, st->picked[i], j->pieces[i].addr, j->pieces[i].size));
    begin_use(st, j, size);
    *out = j;
    return TP_OK;
}

/* ---- dropping ---- */

/* Takes the pieces from one on out. */
static void unlink_pieces(struct stitch_joined *j, uint32_t from)
{
    for (uint32_t i = from; i < j->count; i++)
        tp_link_out(&j->pieces[i].in_stretch);
    if (from < j->count)
        j->b.size = j->pieces[from].offset;
    j->count = from;
    j->busy = 0;
}

int tp_stitch_undo(struct stitch *st, struct stitch_joined *j)
{
    struct tp_source *source = st->env->source;
    int rc = j->b.size ? tp_src_unalias(source, j->b.addr, 0, j->b.size) : TP_OK;
    if (rc)
        return rc;
    tp_src_space_put(source, j->b.addr, j->reserved);
    st->joined_bytes -= j->reserved;
    tp_link_out(&j->in_list);
    unlink_pieces(j, 0);
    tp_meta_put(st->env, j->pieces, j->room * sizeof *j->pieces);
    slab_give(&st->joined_records, j);
    return TP_OK;
}

/* Of one that is not live. */
static int drop(struct stitch *st, struct stitch_joined *j)
{
    int rc = st->fenced ? tp_src_wait(st->env->source, &j->fence) : TP_OK;
    if (rc)
        return rc;
    tp_tree_remove(&st->kept, &j->b.by_size, NULL);
    rc = tp_stitch_undo(st, j);
    if (rc)
        tp_tree_insert(&st->kept, &j->b.by_size, kept_less, NULL);
    return rc;
}

int tp_stitch_drop(struct stitch *st, uint64_t most)
{
    int rc = TP_OK;
    while (!rc && st->joined_bytes > most && st->idle.behind != &st->idle)
        rc = drop(st, stitch_in_list(st->idle.behind));
    return rc == TP_EIO ? TP_OK : rc; /* what the source refuses stays */
}

/* Cuts the unused end of a live one off. */
static int trim(struct stitch *st, struct stitch_joined *j, uint32_t from)
{
    uint64_t offset = j->pieces[from].offset;
    int rc = tp_src_unalias(st->env->source, j->b.addr, offset, j->b.size - offset);
    if (!rc)
        unlink_pieces(j, from);
    return rc;
}

int tp_stitch_unsew(struct stitch *st, struct stitch_stretch *s)
{
    int rc = TP_OK;
    while (!rc && s->pieces.behind != &s->pieces) {
        struct stitch_piece *p = TP_LINKED(struct stitch_piece, in_stretch, s->pieces.behind);
        TP_STEP();
        rc = p->joined->b.state == STITCH_FREE
                 ? drop(st, p->joined)
                 : trim(st, p->joined, (uint32_t)(p - p->joined->pieces));
    }
    return rc;
}
