/* How much of its large blocks the program has written, looked up when a block goes, and at exit:
 * pages that the kernel has given the process for it (mincore). The blocks that are live stand in a
 * table; what does not find a place there is not counted.
 *
 * Known weakness: pages that a block before it has written, in memory that the allocator kept,
 * count for the block too; as they do in the process's memory. */
#include "cmd/preload/recorder.h"

#include <errno.h>
#include <sys/mman.h>

enum {
    PLACES = 1 << 12,
    PROBES = 16,
    BUSY = 1, /* a place that is being filled; no block lies there */
    PAGE = 4096,
    VECTOR = 512, /* pages that are looked at in one call */
    PIECES = 32   /* calls for one block: of a larger block, as many pieces lie evenly in it */
};

struct large_block {
    _Atomic uintptr_t at;
    size_t size;
};

static struct large_block places[PLACES];
_Atomic uint32_t tp_large_held;

static struct large_block *place_of(uintptr_t at, unsigned probe)
{
    uint64_t hash = (at >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    return &places[(hash + probe) % PLACES];
}

void tp_large_took(const void *p, size_t size)
{
    uintptr_t at = (uintptr_t)p;
    for (unsigned i = 0; i < PROBES; i++) {
        uintptr_t none = 0;
        struct large_block *place = place_of(at, i);
        if (!atomic_compare_exchange_strong(&place->at, &none, BUSY))
            continue;
        place->size = size;
        atomic_store(&place->at, at);
        atomic_fetch_add(&tp_large_held, 1);
        return;
    }
}

/* Pages of the process in [from, from + bytes). */
static size_t resident_pages(uintptr_t from, size_t bytes)
{
    unsigned char vector[VECTOR];
    size_t count = 0, pages = bytes / PAGE;
    if (mincore((void *)from, bytes, vector) != 0)
        return 0;
    for (size_t i = 0; i < pages; i++)
        count += vector[i] & 1;
    return count;
}

static uint64_t written_bytes(uintptr_t at, size_t size)
{
    uintptr_t from = at & ~(uintptr_t)(PAGE - 1);
    size_t pages = (at + size - from + PAGE - 1) / PAGE, looked = 0, found = 0;
    size_t step = pages > (size_t)PIECES * VECTOR ? pages / PIECES : VECTOR;
    for (size_t i = 0; i < pages; i += step) {
        size_t some = pages - i < VECTOR ? pages - i : VECTOR;
        found += resident_pages(from + i * PAGE, some * PAGE);
        looked += some;
    }
    return (uint64_t)((double)size * (double)found / (double)looked);
}

static void look_at(struct large_block *place, uintptr_t at)
{
    struct tp_recording_head *head = tp_recorder.head;
    size_t size = place->size;
    int code = errno;
    if (tp_recorder_may_call()) {
        unsigned octave = tp_touched_octave(size);
        atomic_fetch_add(&head->large[octave], size);
        atomic_fetch_add(&head->written[octave], written_bytes(at, size));
        tp_recorder_called();
    }
    errno = code;
}

void tp_large_gone(const void *p)
{
    uintptr_t at = (uintptr_t)p;
    for (unsigned i = 0; i < PROBES; i++) {
        struct large_block *place = place_of(at, i);
        if (atomic_load(&place->at) != at)
            continue;
        look_at(place, at);
        if (atomic_compare_exchange_strong(&place->at, &at, 0))
            atomic_fetch_sub(&tp_large_held, 1);
        return;
    }
}

void tp_large_end(void)
{
    for (size_t i = 0; i < PLACES && atomic_load(&tp_large_held); i++) {
        uintptr_t at = atomic_load(&places[i].at);
        if (at > BUSY)
            look_at(&places[i], at);
    }
}

void tp_large_forget(void)
{
    for (size_t i = 0; i < PLACES && atomic_load(&tp_large_held); i++)
        atomic_store(&places[i].at, 0);
    atomic_store(&tp_large_held, 0);
}
