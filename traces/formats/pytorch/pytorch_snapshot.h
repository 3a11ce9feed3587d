/* A PyTorch memory snapshot that was read: events and blocks in the file's own terms.
 *
 *     pickle --> pytorch_snapshot.c --> events, by device and of the host (pytorch_events.h)
 *                                  \--> blocks, segments, annotations, settings
 *                pytorch_lower.c makes a program of all that, pytorch_places.c finds frames again
 *
 * Pinned memory of the host (CachingHostAllocator) is in `host_segments` and `host_traces`, from
 * PyTorch 2.14 on where it was recorded with record_pinned_host_memory=True (pull request 182407;
 * with record_cuda=False it is all that was recorded). By that request segments and events have the
 * members of those of a GPU. What was not to be found in public source: whether host_traces is a
 * list of events or of lists of them, and which device a segment names; both forms are read, and
 * the device is not looked at. It is kept as one more device, TP_PYTORCH_HOST. */
#ifndef TP_PYTORCH_SNAPSHOT_H
#define TP_PYTORCH_SNAPSHOT_H

#include "traces/format.h"
#include "traces/formats/pytorch/pytorch_events.h"
#include "traces/input/pickle.h"

#define TP_PYTORCH_CAPTURE "PyTorch memory snapshot" /* prefix of meta->capture */

#define TP_PYTORCH_HOST_SPACE "host (pinned)"

enum {
    TP_PYTORCH_DEVICES = TP_MAX_DEVICES,
    TP_PYTORCH_HOST = TP_PYTORCH_DEVICES, /* index of the host's pinned memory among the devices */
    TP_PYTORCH_LISTS = TP_PYTORCH_HOST + 1,
    TP_PYTORCH_MEMBERS = 32
};

/* A block that was live when the recording began or when the snapshot was taken; or a segment. */
struct tp_pytorch_block {
    uint64_t address;
    uint64_t size;   /* bytes: the requested size, or the block's size where that is not known */
    uint64_t bytes;  /* of the block itself, with its rounding; 0: not known, or a segment */
    uint64_t behind; /* see struct tp_heap_block; 0: not known, or a segment */
    int64_t stream;
    uint64_t pool;   /* of a segment: see pytorch_events.h */
    uint64_t frames; /* byte in the file of the opcode of its stack frames; 0: none */
    uint64_t since;  /* of a segment at the end: byte of the event that took it; 0: before all */
    uint32_t device;
    bool relative;   /* `address` is an offset in its segment, whose address is not known yet */
    bool expandable; /* the segment can grow; this is what was mapped of it side by side */
    bool inferred;   /* its pool is not in the file */
    bool small;      /* the segment is of the small pool */
};

struct tp_pytorch_blocks {
    struct tp_pytorch_block *items;
    size_t count, room;
};

/* What a segment held at the end. */
struct tp_pytorch_content {
    size_t first,
        count; /* its blocks that are live, in the list of all, in the order of the file */
    uint64_t free_blocks; /* its blocks that are free */
};

/* Beginning or end of a named range: record_function, an optimizer's step. */
struct tp_pytorch_annotation {
    int64_t time_us;
    uint32_t order; /* position among the annotations of the file */
    int32_t device; /* -1: not given */
    uint16_t name;  /* word of the pickle with the name */
    bool begins;
};

struct tp_pytorch_device {
    uint64_t first, count;         /* the device's range in the list of all events */
    uint64_t snapshots;            /* snapshot events in that range */
    uint64_t completed, requested; /* frees of each kind */
    uint64_t asked;                /* bytes of all its requests, at most UINT64_MAX */
    uint64_t taken, returned;      /* bytes of segments, summed over the events */
    int64_t highest;               /* most bytes of segments above those before the first event */
    uint64_t allocs, frees;        /* number of whole segments allocated and freed */
    struct tp_recorded_device end; /* the end_ members, computed from the segments */
};

/* The members of a dict that is being read. */
struct tp_pytorch_values {
    uint32_t has; /* a bit for each member that is present */
    int64_t of[TP_PYTORCH_MEMBERS];
};

struct tp_pytorch {
    const struct tp_reading *reading;
    struct tp_pickle *pickle;
    struct tp_spill events;
    struct tp_pytorch_blocks blocks;     /* blocks that are live at the end */
    struct tp_pytorch_blocks spans;      /* segments at the end */
    struct tp_pytorch_content *contents; /* of each of them */
    size_t content_room;
    struct tp_pytorch_annotation *annotations;
    size_t annotation_count, annotation_room;
    struct tp_pytorch_device devices[TP_PYTORCH_LISTS];
    uint64_t device_lists;   /* lists in device_traces that were read so far */
    uint64_t segments;       /* of devices; without those of the host */
    bool host;               /* a container of the host is open */
    uint8_t freeing[2];      /* enum tp_pytorch_action, of GPUs and of the host */
    uint64_t unaligned;      /* allocations at addresses where PyTorch places none */
    uint64_t framed;         /* events with stack frames */
    uint64_t framed_frees;   /* of them, those that free a block */
    uint64_t pooled;         /* events that say their pool */
    bool noted, numbered;    /* events have user_metadata, pool_id, whatever it is */
    uint64_t pressed;        /* events that give a segment back or say that memory ran out */
    uint64_t private_spans;  /* segments of private pools at the end */
    uint64_t labelled;       /* events with metadata */
    uint64_t annotates;      /* those that annotate a block, and do nothing else */
    uint64_t framed_blocks;  /* blocks at the end with stack frames */
    bool grown;              /* some segments grow */
    uint64_t too_large;      /* failed requests of more than 2^48 bytes */
    uint64_t unknown;        /* events with an unknown action */
    uint16_t unknown_action; /* word of the first unknown action */
    /* a bit for each role that may come once in a file or in a segment */
    uint32_t seen;
    uint64_t offset[TP_PICKLE_ROLES]; /* byte of the open dict of each role */
    struct tp_pytorch_values values[TP_PICKLE_ROLES];
    struct { /* the open segment */
        size_t first_block;
        uint64_t size; /* bytes of its blocks so far */
        uint64_t free_bytes, free_blocks, largest;
        uint64_t small_pages, large_pages; /* bytes of whole pages within free blocks */
        bool active;
    } segment;
};

/* Reads the whole pickle. `s` is zeroed except for `reading`, and must be released in every
 * case. */
int tp_pytorch_read(struct tp_pytorch *s, struct tp_err *err);
void tp_pytorch_release(struct tp_pytorch *s);

/* tp_pytorch_add_block: TP_EINPUT when the blocks need more memory than reading may take. */
void tp_pytorch_free_blocks(const struct tp_reading *r, struct tp_pytorch_blocks *blocks);
int tp_pytorch_add_block(const struct tp_reading *r, struct tp_pytorch_blocks *to,
                         const struct tp_pytorch_block *block, struct tp_err *err);

/* The recorded text of PYTORCH_CUDA_ALLOC_CONF; NULL: the file has none. */
const char *tp_pytorch_conf(const struct tp_pytorch *s);

/* Whether new segments grew when the snapshot was taken, as far as the file says: by its settings,
 * or else, in older files, by segments that grow. */
bool tp_pytorch_grows(const struct tp_pytorch *s);

/* The action that frees on a device: the recording may have left out some kinds of events
 * (skip_actions), of all GPUs or of the host. */
static inline enum tp_pytorch_action tp_pytorch_freeing(const struct tp_pytorch *s, uint32_t device)
{
    return (enum tp_pytorch_action)s->freeing[device == TP_PYTORCH_HOST];
}

/* Whether the file says what lay on a device at the end. */
bool tp_pytorch_has_end(const struct tp_pytorch *s, uint32_t device);

/* Why a snapshot has no events, as far as the file shows it. */
struct tp_pytorch_silence {
    const char *why;  /* the end of a sentence: "PyTorch was not recording when ..." */
    const char *hint; /* what to do */
};
struct tp_pytorch_silence tp_pytorch_silence(const struct tp_pytorch *s);

/* Sets capture, settings and `unknown` of the meta. */
void tp_pytorch_describe(struct tp_pytorch *s);

static inline bool tp_pytorch_has_events(const struct tp_pytorch_device *d)
{
    return d->count > d->snapshots;
}

#endif
