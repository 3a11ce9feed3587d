/* The explainer of PyTorch's memory snapshots (cmd/why/explainer.h). */
#include "cmd/pytorch/why/snapshot_explainer.h"

#include "alloc/strategies/torch/torch_place.h"
#include "cmd/pytorch/verify/verify.h"
#include "cmd/pytorch/why/why_room.h"
#include "cmd/why/why_moment.h"

extern const struct tp_certifier tp_certifier_torch;

static const struct tp_torch_file *file_of(const void *state)
{
    return state;
}

static bool is_pressed(const void *state)
{
    return file_of(state)->snapshot.pressed != 0;
}

static const char *silence(const void *state)
{
    return tp_pytorch_silence(&file_of(state)->snapshot).why;
}

/* ---- events ---- */

static uint64_t count_events(const void *state, uint32_t device)
{
    return file_of(state)->snapshot.devices[device].count;
}

static enum tp_why_action action_of(const struct tp_pytorch_event *ev,
                                    enum tp_pytorch_action freeing)
{
    static const enum tp_why_action others[TP_PYTORCH_UNKNOWN + 1] = {
        [TP_PYTORCH_ALLOC] = TP_WHY_ALLOCS,          [TP_PYTORCH_SEGMENT_ALLOC] = TP_WHY_TAKES,
        [TP_PYTORCH_SEGMENT_MAP] = TP_WHY_TAKES,     [TP_PYTORCH_SEGMENT_FREE] = TP_WHY_RETURNS,
        [TP_PYTORCH_SEGMENT_UNMAP] = TP_WHY_RETURNS, [TP_PYTORCH_OOM] = TP_WHY_FAILS};
    if (tp_pytorch_too_large(ev))
        return TP_WHY_OTHER;
    bool frees = others[ev->action] == TP_WHY_OTHER && ev->action == freeing;
    return frees ? TP_WHY_FREES : others[ev->action];
}

static int walk(const void *state, uint32_t device, uint64_t last, tp_why_each_fn *each, void *ctx,
                struct tp_err *err)
{
    const struct tp_pytorch *s = &file_of(state)->snapshot;
    const struct tp_pytorch_device *d = &s->devices[device];
    const enum tp_pytorch_action freeing = tp_pytorch_freeing(s, device);
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = d->first, .end = d->first + last};
    int rc = TP_OK;
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)))
        rc = each(ctx,
                  &(struct tp_why_event){.action = action_of(ev, freeing),
                                         .size = ev->size,
                                         .time = ev->time_us,
                                         .from = ev->frames,
                                         .stream = ev->stream,
                                         .pool = ev->pool,
                                         .device_free = ev->device_free,
                                         .has_time = ev->has_time,
                                         .has_free = ev->has_free},
                  err);
    return rc;
}

static uint64_t ns_between(int64_t from, int64_t to)
{
    return tp_pytorch_ns_between(from, to);
}

/* ---- the heap ---- */

struct collecting {
    struct tp_why_layout *layout;
    struct tp_err *err;
};

static int take_block(void *ctx, const struct tp_torch_segment *at,
                      const struct tp_torch_space *space, const struct tp_torch_at *block)
{
    const struct collecting *c = ctx;
    return tp_why_layout_add(
        c->layout, &(struct tp_why_span){at->base, at->size, at->pool, at->stream, at->small},
        &(struct tp_why_space){space->base, space->unit},
        &(struct tp_why_block){block->addr, block->size, block->requested}, c->err);
}

static int heap_at(void *state, uint32_t device, const struct tp_why_moment *m,
                   struct tp_verified *verified, struct tp_why_layout *out, struct tp_err *err)
{
    const struct tp_torch_file *f = state;
    struct tp_verify_replay *replay = NULL;
    int rc = tp_verify_begin(&f->snapshot, device, &f->rules, verified, &replay, err);
    if (rc == TP_OK)
        rc = tp_verify_until(replay, m->event, err);
    if (rc == TP_OK)
        rc = tp_torch_look(tp_verify_instance(replay), take_block, &(struct collecting){out, err});
    if (rc == TP_OK && m->failed)
        rc = tp_verify_number(replay, m->what.stream, &out->stream, err);
    tp_verify_stop(replay);
    return rc;
}

static int room(const void *state, const struct tp_why_layout *l, const struct tp_why_request *rq,
                struct tp_why_room *out, struct tp_err *err)
{
    return tp_why_room(l, &file_of(state)->rules, rq, out, err);
}

/* ---- words ---- */

static const char *const meanings[TP_WHY_VERDICTS] = {
    [TP_WHY_NO_REQUEST] = "No request failed at this event. Free memory is reserved by PyTorch and "
                          "used by no tensor.",
    [TP_WHY_FRAGMENTED] =
        "Enough memory was free, but no free block was large enough. A tensor needs contiguous "
        "memory, and PyTorch does not move live tensors.",
    [TP_WHY_HAD_ROOM] =
        "By the rules of PyTorch's allocator a free block serves this request: the recording "
        "differs in something that the file does not have."};

static const char terms[] =
    "<b>reserved</b>: memory that PyTorch holds from "
    "the GPU. It allocates <b>segments</b> and splits them into <b>blocks</b>, one for each "
    "tensor.<br>\n<b>live block</b>: a block of a tensor that exists.<br>\n<b>rounding</b>: "
    "bytes of live blocks beyond the requested ones.<br>\n<b>free block</b>: reserved but "
    "not allocated; it serves only requests that are not larger.<br>\n<b>unused segment</b>: "
    "a segment without live blocks. PyTorch keeps it for reuse and returns it before an OOM "
    "and in torch.cuda.empty_cache().";

const struct tp_explainer tp_explainer_torch = {
    .certifier = &tp_certifier_torch,
    .capture = TP_PYTORCH_CAPTURE,
    .release = "empty_cache()",
    .untold = "expandable_segments with max_split_size_mb",
    .switched = "expandable_segments changed while the program ran",
    .had_room = "the recording had other settings (--conf) or another pool",
    .terms = terms,
    .meanings = meanings,
    .is_pressed = is_pressed,
    .silence = silence,
    .events = count_events,
    .walk = walk,
    .ns_between = ns_between,
    .open_places = tp_snapshot_open_places,
    .heap = heap_at,
    .held = tp_snapshot_held,
    .room = room,
    .try_settings = tp_snapshot_try,
    .stand_in = tp_snapshot_made,
};
