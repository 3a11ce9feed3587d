/* The source `cuda` and its parts, one file each: ranges (source_cuda.c), fences, a pool of the
 * driver, work that keeps a device busy. Each part implements its members of struct tp_source_ops;
 * alloc/source.h has their contracts. */
#ifndef TP_CUDA_SOURCE_H
#define TP_CUDA_SOURCE_H

#include "alloc/sources/common/device_pages.h"
#include "alloc/sources/common/mappings.h"
#include "cuda/gpu.h"

/* ---- fences.c: points that a stream's work has passed or not ----
 *
 *   events    | 0 | 1 | 2 | 3 | 4 | ...          all made at the start, none later
 *   idle      5 -> 6 -> 7 -> ...                 a stack
 *   stream 0  passed 12   0:#13 -> 3:#17         recorded, oldest first; # is the fence's serial
 *   stream 1  passed 16   (none)
 *
 * A stream passes its events in order, so a fence has passed when an event with its serial or a
 * later one has. This also serves more fences than there are events: when no event is idle, the
 * stream's newest event is recorded again for the new fence, and the older fence passes at that
 * later point, which is later than necessary but never too early. */
enum { FENCE_EVENTS = 1024, FENCE_EVENTS_PER_STREAM = 4 };

#define FENCE_NONE UINT32_MAX

struct fence_event {
    CUevent event;
    uint64_t serial;
    uint32_t next; /* next event of the stream, or next idle event */
};

struct fence_stream {
    CUstream handle;
    uint32_t head, tail, count; /* recorded events that are not known to have passed */
    uint64_t passed;            /* fences of the stream up to this serial have passed */
    uint64_t last;              /* serial of the stream's newest fence */
    uint64_t worked; /* its work is complete once a fence with this serial or a later one has
                        passed; 0: it has none */
};

struct cuda_fences {
    struct fence_event *events;
    struct fence_stream *streams; /* by number; the handles are borrowed */
    uint32_t event_count, stream_count;
    uint32_t idle;
    uint32_t working; /* streams whose work is not known to be complete */
    /* event for `follow`; a wait uses the state recorded before it, so one event serves all */
    CUevent order;
    uint64_t serial;
};

/* ---- pool.c: a stream-ordered pool of the driver (cuMemAllocFromPoolAsync) ----
 *
 * The device's default pool belongs to the whole process, so its attributes are saved and restored.
 * Both kinds of pool are emptied at first, and their high-water marks count from then. */
enum { POOL_ATTRIBUTES = 4 }; /* attributes that are set, and saved for a default pool */

struct cuda_pool {
    CUmemoryPool handle; /* NULL: not open */
    bool own;
    cuuint64_t saved[POOL_ATTRIBUTES]; /* attributes of a default pool before it was opened */
};

/* ---- occupy.c: work that keeps a stream busy with a block ----
 *
 * A stream takes about a thousand things before the host waits in whatever call comes next, which
 * may be a timed one. So at most 2 * OCCUPY_BATCH works of a stream are pending: an event stands
 * behind each batch, and before a third batch begins the source waits for the first. */
enum { OCCUPY_BATCH = 128 };

struct cuda_queue {
    CUevent batch;  /* behind the last whole batch */
    uint32_t works; /* queued since */
    /* of all kernels so far: the times that were asked for, and when the first was queued */
    uint64_t asked_ns, began_ns;
};

struct cuda_occupy {
    CUmodule module; /* NULL: not loaded yet */
    CUfunction spin;
    struct cuda_queue *queues; /* by stream */
};

/* The compiled kernel of spin.cu, embedded by spin_kernel.cmake; size 0: it was built without
 * nvcc. What CUDA 13 compiles loads on drivers from 580 on. */
extern const unsigned char tp_cuda_spin_image[];
extern const size_t tp_cuda_spin_image_size;

/* The same kernel as text, for all other drivers (spin_ptx.c). */
extern const char tp_cuda_spin_ptx[];

/* Loads the module with the function `tapool_spin`: the compiled kernel where there is one that
 * this driver takes, else the text. The caller unloads it; after an error there is nothing to
 * unload. The driver's group CUDA_KERNEL must be there. */
CUresult tp_cuda_spin_module(const struct cuda_driver *d, CUmodule *out);

/* ---- the source ---- */

struct cuda_source {
    struct cuda_gpu gpu;
    struct cuda_fences fences;
    struct cuda_pool pool;
    struct cuda_occupy occupy;
    struct tp_addr_map ranges; /* address -> size */
    struct tp_addr_map bases;  /* address -> address that cuMemAlloc gave, where the two differ */
    struct tp_device_pages pages;
    struct tp_mappings mappings;
    struct tp_addr_map units; /* address of a unit -> handle of cuMemCreate */
    uint64_t map_page;        /* 0: not asked yet, or there is none */
    CUstream *streams;
    uint32_t stream_count;
    uint32_t created; /* streams [first_created, created) were created by this source */
    uint32_t first_created;
    uint64_t capacity; /* free bytes of the device once the source's own handles were made */
    /* bytes of the device. A request for more is out of memory, and the driver is not asked: its
     * answer to such a size need not be that, and any other answer would lose the device */
    uint64_t total;
    const uint64_t *now_ns; /* recorded time; may be NULL */
};

/* The bytes that are free now become the capacity. TP_EDEVICE: the device is lost. */
static inline int cuda_read_capacity(struct cuda_source *s)
{
    return tp_cuda_look_at_memory(&s->gpu, &s->capacity, &s->total);
}

/* Creates the events of all streams; s->streams must be set and the device's context current. After
 * a failure tp_cuda_fences_close must still be called. */
int tp_cuda_fences_open(struct cuda_source *s, struct tp_err *err);
void tp_cuda_fences_close(struct cuda_source *s); /* zeroed fences are fine */

/* For the streams of s->streams. After a failure tp_cuda_occupy_close must still be called. */
int tp_cuda_occupy_open(struct cuda_source *s, struct tp_err *err);
void tp_cuda_occupy_close(struct cuda_source *s); /* a zeroed one is fine */

/* record: gives a fence with serial 0 when the device is lost. done: makes at most two driver
 * calls; false once the device is lost. A serial that the stream never recorded counts as
 * passed. */
void tp_cuda_record(void *state, uint16_t stream, struct tp_fence *out);
bool tp_cuda_done(void *state, const struct tp_fence *fence);
int tp_cuda_wait(void *state, const struct tp_fence *fence);
void tp_cuda_synced(void *state, uint16_t stream);
void tp_cuda_drained(void *state, uint16_t stream);
int tp_cuda_follow(void *state, uint16_t stream, uint16_t after);

/* To be called when work was queued on the stream. */
void tp_cuda_fences_work(struct cuda_fences *f, uint16_t stream);

/* Waits for the device where work may still be running there, and counts that; nothing otherwise.
 * cuMemFree only "may perform implicit synchronization" (cuda.h), so this comes before it. */
int tp_cuda_finish_work(struct cuda_source *s);

int tp_cuda_pool_open(void *state, const struct tp_pool_cfg *cfg, struct tp_err *err);
int tp_cuda_pool_close(void *state);
int tp_cuda_get_async(void *state, uint64_t size, uint16_t stream, tp_addr *out);
int tp_cuda_put_async(void *state, tp_addr addr, uint16_t stream);
int tp_cuda_pool_trim(void *state, uint64_t keep);
int tp_cuda_pool_marks(void *state, struct tp_pool_marks *out);

uint64_t tp_cuda_map_page(void *state);
int tp_cuda_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out);
int tp_cuda_space_put(void *state, tp_addr base, uint64_t size);
int tp_cuda_map_units(void *state, tp_addr base, uint64_t from, uint64_t size);
int tp_cuda_unmap_units(void *state, tp_addr base, uint64_t from, uint64_t size);
int tp_cuda_alias(void *state, tp_addr base, uint64_t from, uint64_t size, tp_addr of);
int tp_cuda_unalias(void *state, tp_addr base, uint64_t from, uint64_t size);
void tp_cuda_spaces_close(struct cuda_source *s); /* gives back what is left */

int tp_cuda_work(void *state, uint16_t stream, tp_addr block, uint64_t size, uint64_t ns,
                 enum tp_occupy how);
void tp_cuda_settle(void *state);

#endif
