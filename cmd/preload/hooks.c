/* The functions of malloc, as the program calls them. Each passes its call on and writes what came
 * of it: a block once it is there, a free before it is done, so that the order of the times is that
 * in which addresses change hands. */
#include "cmd/preload/recorder.h"

#include <errno.h>
#include <unistd.h>

TP_HOOK void *malloc(size_t size);
TP_HOOK void *calloc(size_t count, size_t size);
TP_HOOK void *realloc(void *old, size_t size);
TP_HOOK void *reallocarray(void *old, size_t count, size_t size);
TP_HOOK void free(void *p);
TP_HOOK void cfree(void *p);
TP_HOOK void free_sized(void *p, size_t size);
TP_HOOK void free_aligned_sized(void *p, size_t align, size_t size);
TP_HOOK int posix_memalign(void **out, size_t align, size_t size);
TP_HOOK void *aligned_alloc(size_t align, size_t size);
TP_HOOK void *memalign(size_t align, size_t size);
TP_HOOK void *valloc(size_t size);
TP_HOOK void *pvalloc(size_t size);

/* A program that never calls malloc is seen too: it loaded the recorder. If a call as the program
 * would make it does not come by here, its malloc is its own: that of a sanitizer, or of an
 * allocator that is linked into it. */
__attribute__((constructor)) static void begin_at_start(void)
{
    void *(*const volatile take)(size_t) = malloc;
    void (*const volatile give)(void *) = free;
    struct tp_call call;
    struct tp_hush hush;
    struct tp_writer *w = tp_writer_enter(&call);
    if (!w)
        return;
    tp_writer_hush(&hush);
    give(take(1));
    tp_writer_unhush(&hush);
    tp_recorder.head->own_malloc = !tp_below.malloc;
    tp_recorder_note_library();
    tp_writer_leave(w, &call, NULL);
}

/* Writes a block that `p` is the answer for, and gives it. */
static void *took(struct tp_writer *w, const struct tp_call *call, void *p, size_t size,
                  size_t align)
{
    if (TP_LIKELY(w != NULL)) {
        tp_write_alloc(w, p, size, align);
        tp_writer_leave(w, call, p);
    } else
        tp_writer_took(p, size);
    return p;
}

void *malloc(size_t size)
{
    const struct tp_below *below = tp_below_get();
    struct tp_call call;
    struct tp_writer *w = tp_writer_enter(&call);
    return took(w, &call, below->malloc(size), size, 0);
}

void *calloc(size_t count, size_t size)
{
    const struct tp_below *below = tp_below_get();
    struct tp_call call;
    struct tp_writer *w = tp_writer_enter(&call);
    return took(w, &call, below->calloc(count, size), count * size,
                0); /* no product that overflows */
}

/* Blocks from before there was an allocator move into it. */
static void *realloc_early(void *old, size_t size)
{
    unsigned char *p = malloc(size);
    const unsigned char *from = old;
    for (size_t i = 0; p && i < size && tp_is_early(from + i); i++)
        p[i] = from[i];
    return p;
}

/* One for which there is no writer. */
static void *realloc_unwritten(void *old, size_t size)
{
    void *p = tp_below_get()->realloc(old, size);
    if (p)
        tp_writer_moved(old, p, size);
    else if (!size)
        tp_writer_gave(old);
    return p;
}

void *realloc(void *old, size_t size)
{
    const struct tp_below *below = tp_below_get();
    struct tp_call call;
    if (!old)
        return malloc(size);
    if (TP_UNLIKELY(tp_is_early(old)))
        return realloc_early(old, size);
    tp_large_gone_if(old);
    struct tp_writer *w = tp_writer_enter(&call);
    if (!w)
        return realloc_unwritten(old, size);
    call.gone = old;
    uint64_t began = tp_recorder_stamp_if_on();
    void *p = below->realloc(old, size);
    if (p)
        tp_write_realloc(w, began, old, p, size);
    else if (!size) /* the C library's way to free */
        tp_write_free_at(w, old, began);
    tp_writer_leave(w, &call, p);
    return p;
}

void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, bytes);
}

/* A free while the allocator does it, which comes after it is written. */
struct freeing {
    struct tp_writer *w;
    uint64_t from; /* stamp of one that is timed; 0: it is not */
};

/* Writes a free before it is done. false: there is nothing for the allocator to free. */
static bool frees(void *p, struct freeing *f)
{
    *f = (struct freeing){.from = 0};
    if (!p || TP_UNLIKELY(tp_is_early(p)))
        return false;
    struct tp_call call;
    struct tp_writer *w = f->w = tp_writer_enter(&call);
    if (TP_LIKELY(w != NULL)) {
        bool timed = w->timing != 0;
        tp_write_free(w, p);
        tp_writer_leave(w, &call, NULL);
        f->from = TP_UNLIKELY(timed) ? tp_recorder_stamp() : 0;
    } else
        tp_writer_gave(p);
    return true;
}

void free(void *p)
{
    struct freeing f;
    if (frees(p, &f))
        tp_below_get()->free(p);
    tp_time_end_if(f.w, f.from);
}

void cfree(void *p)
{
    free(p);
}

void free_sized(void *p, size_t size)
{
    struct freeing f;
    if (frees(p, &f))
        tp_below.free_sized ? tp_below.free_sized(p, size) : tp_below_get()->free(p);
    tp_time_end_if(f.w, f.from);
}

void free_aligned_sized(void *p, size_t align, size_t size)
{
    struct freeing f;
    if (frees(p, &f))
        tp_below.free_aligned_sized ? tp_below.free_aligned_sized(p, align, size)
                                    : tp_below_get()->free(p);
    tp_time_end_if(f.w, f.from);
}

/* ---- with an alignment ---- */

static void *not_below(void)
{
    errno = ENOMEM;
    return NULL;
}

int posix_memalign(void **out, size_t align, size_t size)
{
    const struct tp_below *below = tp_below_get();
    struct tp_call call;
    if (!below->posix_memalign)
        return ENOMEM;
    struct tp_writer *w = tp_writer_enter(&call);
    int status = below->posix_memalign(out, align, size);
    took(w, &call, status ? NULL : *out, size, align);
    return status;
}

void *aligned_alloc(size_t align, size_t size)
{
    const struct tp_below *below = tp_below_get();
    if (!below->aligned_alloc)
        return not_below();
    struct tp_call call;
    struct tp_writer *w = tp_writer_enter(&call);
    return took(w, &call, below->aligned_alloc(align, size), size, tp_power_of_two(align));
}

void *memalign(size_t align, size_t size)
{
    const struct tp_below *below = tp_below_get();
    if (!below->memalign)
        return not_below();
    struct tp_call call;
    struct tp_writer *w = tp_writer_enter(&call);
    return took(w, &call, below->memalign(align, size), size, tp_power_of_two(align));
}

void *valloc(size_t size)
{
    const struct tp_below *below = tp_below_get();
    if (!below->valloc)
        return not_below();
    struct tp_call call;
    struct tp_writer *w = tp_writer_enter(&call);
    return took(w, &call, below->valloc(size), size, (size_t)getpagesize());
}

void *pvalloc(size_t size)
{
    const struct tp_below *below = tp_below_get();
    size_t page = (size_t)getpagesize();
    if (!below->pvalloc)
        return not_below();
    struct tp_call call;
    struct tp_writer *w = tp_writer_enter(&call);
    size_t whole = size ? (size + page - 1) & ~(page - 1) : page;
    return took(w, &call, below->pvalloc(size), whole, page);
}
