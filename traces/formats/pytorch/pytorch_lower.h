/* Turns a snapshot that was read into a program. */
#ifndef TP_PYTORCH_LOWER_H
#define TP_PYTORCH_LOWER_H

#include "traces/formats/pytorch/pytorch_heap.h"
#include "traces/formats/pytorch/pytorch_places.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

/* Lowers everything, and fills in the rest of the meta and of the recorded state. `places` may be
 * NULL. A snapshot without events gives TP_OK and sets meta->nothing. */
int tp_pytorch_lower(struct tp_pytorch *s, struct tp_pytorch_places *places, struct tp_err *err);

/* Finds the largest free block in the segments of the recorded allocator at the trace peak. */

/* Bytes live and reserved on a device while its events pass, and the moment of the trace peak. At
 * first all members are 0, except `reserved`. */
struct tp_pytorch_moment {
    uint64_t live, blocks; /* bytes requested; bytes with each block rounded up to a block size */
    uint64_t reserved;
    uint64_t passed; /* events of the device that were followed */
    /* the first moment of the trace peak */
    uint64_t demand, event; /* bytes requested; the event, 0: before the first one */
    uint64_t at_passed, at_blocks, at_reserved;
};

/* Counts a block that was live before the first event; `size` in bytes. */
void tp_pytorch_moment_begin(struct tp_pytorch_moment *m, uint64_t size);

/* Counts the next event of the device. `event` is its number among the events of all devices. */
void tp_pytorch_moment_follow(struct tp_pytorch_moment *m, const struct tp_pytorch_event *ev,
                              enum tp_pytorch_action freeing, uint64_t event);

/* Rebuilds the layout of segments and blocks at the moment of the trace peak, and sets *largest to
 * the largest free block in bytes. TP_RECORDED_UNKNOWN: the file does not say, contradicts itself,
 * or needs more memory than reading may take. */
int tp_pytorch_largest(const struct tp_pytorch *s, uint32_t device, enum tp_pytorch_action freeing,
                       const struct tp_pytorch_moment *m, uint64_t *largest, struct tp_err *err);

/* For whom segments went back to the driver: because the program called empty_cache(), or because
 * cudaMalloc failed and the allocator freed its cache to try once more. */

struct tp_pytorch_returns {
    const struct tp_pytorch *snapshot;
    struct tp_pytorch_places *places;   /* may be NULL */
    const struct tp_pytorch_heap *heap; /* at the start */
    uint64_t collections; /* devices of which garbage was collected: unused segments stayed */
    bool collects;        /* the settings have garbage_collection_threshold */
    bool framed;          /* what frees has stack frames, so that empty_cache() would be in them */
    struct {
        uint64_t highest; /* most bytes of its segments in the whole recording */
        bool giving;      /* the last event gave a segment back */
        bool looked;      /* at the first group that may be garbage */
        uint64_t freed;   /* address of the block that it freed; 0: none */
    } devices[TP_PYTORCH_LISTS];
};

/* `highest`, of the devices in the caller's order, is filled in by the caller. */
int tp_pytorch_returns_begin(struct tp_pytorch_returns *r, const struct tp_pytorch *s,
                             const struct tp_pytorch_heap *heap, struct tp_pytorch_places *places,
                             struct tp_err *err);

/* Why a group of segments went back: empty_cache(), the end of a private pool, or another reason;
 * also for events that are not the first of one. */
enum tp_pytorch_return { TP_RETURN_OTHER, TP_RETURN_ASKED, TP_RETURN_POOL };

/* Looks at the next event of a device, `number` in the snapshot, before which `reserved` bytes
 * were; `now` is a cursor that stands behind it. */
int tp_pytorch_returned(struct tp_pytorch_returns *r, uint32_t device, uint32_t number,
                        const struct tp_spill_cursor *now, const struct tp_pytorch_event *ev,
                        uint64_t reserved, enum tp_pytorch_return *why, struct tp_err *err);

/* The annotations of a snapshot as phases: at each time the innermost annotation that is open. */

#define TP_PYTORCH_NO_PHASE UINT32_MAX

enum { TP_PYTORCH_NESTED_MAX = 64 };

/* Begin with a zeroed one but for `snapshot`. */
struct tp_pytorch_phases {
    const struct tp_pytorch *snapshot;
    size_t next;                          /* annotation */
    uint16_t open[TP_PYTORCH_NESTED_MAX]; /* names of the open ones, as words */
    uint32_t nested;
};

/* Puts the annotations into the order of time, which the functions below need. */
void tp_pytorch_sort_annotations(struct tp_pytorch *s);

/* Passes the annotations up to a time, of devices with `taken` set and of no device, with NULL of
 * all. False: there are none. *last_us is the time of the last one. */
bool tp_pytorch_pass_phases(struct tp_pytorch_phases *p, const bool *taken, int64_t time_us,
                            int64_t *last_us);

/* The phase now, or TP_PYTORCH_NO_PHASE. */
uint32_t tp_pytorch_phase(const struct tp_pytorch_phases *p);

/* Its name; NULL for TP_PYTORCH_NO_PHASE. */
const char *tp_pytorch_phase_name(const struct tp_pytorch *s, uint32_t phase);

#endif
