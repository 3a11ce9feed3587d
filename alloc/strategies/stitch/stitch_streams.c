/* Blocks of `stitch` that several streams use: each waits, once freed, for a fence on every stream
 * beside its own. PyTorch learns of them from record_stream alone; here a block that another stream
 * frees counts as used by it. */
#include "alloc/strategies/stitch/stitch_core.h"

int tp_stitch_note(struct stitch *st, struct stitch_block *b, uint16_t stream)
{
    if (!st->fenced || stream == b->stream || uses_have(b->uses, stream))
        return TP_OK;
    struct stitch_queue *queue = tp_stitch_queue(st, stream);
    return queue && uses_note(&st->uses, &b->uses, b, stream, &queue->of.fences) ? TP_OK
                                                                                 : TP_ENOMEM;
}

void tp_stitch_release(struct stitch *st, struct stitch_block *b)
{
    b->requested = 0;
    if (b->stitched)
        tp_stitch_leave(st, stitch_joined_of(b));
    else
        tp_stitch_give(st, stitch_primitive_of(b));
}

void tp_stitch_fence(struct stitch *st, struct stitch_block *b)
{
    for (struct stream_use *u = b->uses; u; u = u->next) {
        uses_queue(st->env->source, u);
        b->pending++;
    }
    b->uses = NULL;
    b->state = STITCH_PENDING;
    st->waiting++;
}

/* A use has left its queue. */
static void pass(void *ctx, struct stream_use *u)
{
    struct stitch *st = ctx;
    struct stitch_block *b = u->block;
    slab_give(&st->uses, u);
    if (--b->pending)
        return;
    st->waiting--;
    tp_stitch_release(st, b);
}

void tp_stitch_poll(struct stitch *st)
{
    uses_poll(st->env->source, st->waiting ? st->queues : NULL, pass, st);
}

int tp_stitch_wait(struct stitch *st)
{
    return uses_wait(st->env->source, st->waiting ? st->queues : NULL, pass, st);
}

int tp_stitch_settle(struct stitch *st, uint16_t stream)
{
    struct stitch_queue *queue = meta_map_at(&st->queue_of, stream + UINT64_C(1));
    struct tp_fence fence;
    if (!st->fenced || queue->settled == st->releases)
        return TP_OK;
    tp_src_record(st->env->source, stream, &fence);
    int rc = tp_src_wait(st->env->source, &fence);
    if (!rc)
        queue->settled = st->releases;
    return rc;
}
