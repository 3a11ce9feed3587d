/* Bookkeeping memory of strategies. Small blocks come from calloc, large ones straight from mmap,
 * so that a table of which only some pages are used costs only those. Bytes are counted as
 * requested. Beside a real allocator all blocks are mapped, because calloc is what is measured.
 * Known weakness: the counters are plain, so one heap serves one thread at a time. */
#include "alloc/sources/common/meta_heap.h"

#include "alloc/base/own.h"

#include <sys/mman.h>

#define MAP_FROM (UINT64_C(128) << 10)

enum { ALIGN = 16 }; /* of each block */

static void *take_zeroed(const struct tp_meta_heap *heap, size_t size)
{
    if (heap->own)
        return tp_own_zeroed(1, size);
    if (size < MAP_FROM)
        return calloc(1, size > ALIGN ? size : ALIGN); /* a malloc may align less to less */
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *tp_meta_get(const struct tp_env *env, size_t size)
{
    struct tp_meta_heap *heap = env->meta;
    heap->calls++;
    if (heap->calls == heap->fail_at)
        return NULL;
    void *p = take_zeroed(heap, size);
    if (!p)
        return NULL;
    assert((uintptr_t)p % ALIGN == 0);
    heap->live_bytes += size;
    heap->live_blocks++;
    if (heap->account) {
        heap->account->metadata += size;
        tp_account_update(heap->account);
    }
    return p;
}

void tp_meta_put(const struct tp_env *env, void *p, size_t size)
{
    if (!p)
        return;
    struct tp_meta_heap *heap = env->meta;
    assert(heap->live_blocks > 0 && heap->live_bytes >= size);
    heap->live_bytes -= size;
    heap->live_blocks--;
    if (heap->account)
        heap->account->metadata -= size;
    if (heap->own)
        tp_own_free(p);
    else if (size < MAP_FROM)
        free(p);
    else
        munmap(p, size);
}
