/* PyTorch's CUDA memory snapshots: the pickles of torch.cuda.memory._dump_snapshot().
 *
 *     pickle (pickle.h) --> snapshot (pytorch_snapshot.h) --> program (pytorch_lower.h)
 *                                                        \--> places  (pytorch_places.h)
 *
 * Every entry of device_traces is an event, and free_completed frees. Sizes are the requested ones:
 * rounding them up was a rule of PyTorch's allocator. Entries of host_traces are events of a
 * memory space of their own, pinned memory of the host. */
#include "traces/formats/pytorch/pytorch_frame.h"
#include "traces/formats/pytorch/pytorch_heap.h"
#include "traces/formats/pytorch/pytorch_lower.h"

#include <stdlib.h>

#define HEAD_OPCODES "}](c)XKJMGN.\x88\x89\x8a\x8c\x93\x95"

/* Accepts any pickle with a low score, so that one that is no snapshot gets a fitting error. */
static int probe_pytorch(const unsigned char *data, size_t size)
{
    int outermost = tp_pickle_outermost(data, size);
    if (outermost < 0)
        return 0;
    if (outermost == ']')
        return tp_input_shows(data, size, "segment_type") &&
                       tp_input_shows(data, size, "total_size")
                   ? 95
                   : 30;
    if (tp_input_shows(data, size, "device_traces") || tp_input_shows(data, size, "host_traces") ||
        (tp_input_shows(data, size, "segments") && tp_input_shows(data, size, "total_size")))
        return 95;
    return memchr(HEAD_OPCODES, data[2], sizeof HEAD_OPCODES - 1) ? 30 : 0;
}

/* Opens the file again for code places. Frames are read only when somebody asks for them. Metadata
 * are short, and kept. */
static int open_places(struct tp_pytorch *s, struct tp_pytorch_places **out, struct tp_err *err)
{
    struct tp_memo memo;
    int rc = TP_OK;
    if (s->framed) {
        tp_pickle_take_memo(s->pickle, &memo);
        rc = tp_pytorch_places_new(s->reading->in, &memo, out, err);
    }
    return rc == TP_OK && s->labelled ? tp_pytorch_places_label(out, s->reading, err) : rc;
}

static void describe(struct tp_pytorch *s)
{
    struct tp_meta *meta = s->reading->meta;
    const char *device = tp_pytorch_allocator(s), *release = tp_pytorch_newest(s, device);
    tp_pytorch_describe(s);
    if (device)
        tp_meta_set(meta, &meta->allocator_device, "%s", device);
    if (release)
        tp_meta_set(meta, &meta->allocator_release, "%s", release);
}

static int read_snapshot(struct tp_pytorch *s, struct tp_err *err)
{
    struct tp_pytorch_places *places = NULL;
    int rc = tp_pytorch_read(s, err);
    if (rc == TP_OK)
        rc = tp_pytorch_date_segments(s, err);
    if (rc == TP_OK) {
        describe(s);
        rc = open_places(s, &places, err);
    }
    if (rc == TP_OK)
        rc = tp_pytorch_lower(s, places, err);
    tp_pytorch_places_give(places, s->reading->places);
    return rc;
}

static int read_trace(const struct tp_reading *r, struct tp_err *err)
{
    struct tp_pytorch *s = calloc(1, sizeof *s);
    if (!s)
        return tp_input_no_memory(r->in, err);
    s->reading = r;
    int rc = read_snapshot(s, err);
    tp_pytorch_release(s);
    free(s);
    return rc;
}

const struct tp_format tp_format_pytorch = {
    .name = "pytorch",
    .has_devices = true,
    .has_spaces = true,
    .summary = "PyTorch CUDA memory snapshot (torch.cuda.memory._dump_snapshot), pickle 2 to 5",
    .record = "torch.cuda.memory._record_memory_history(); ...; "
              "torch.cuda.memory._dump_snapshot(\"FILE\")",
    .capture = TP_PYTORCH_CAPTURE,
    .whole = "call torch.cuda.memory._record_memory_history() before the model is built",
    .probe = probe_pytorch,
    .read = read_trace,
};
