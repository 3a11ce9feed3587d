/* The operators new and delete of C++, for allocators that have their own and do not come by malloc
 * (tcmalloc, jemalloc, mimalloc). Where the library below has none, or none is loaded yet, they are
 * malloc and free, as C++ would have it; memory that is not there then ends the program, because
 * this library cannot throw.
 *
 * The table has every form: with or without an array, a size, an alignment, std::nothrow. A name is
 * that of the operator in the C++ ABI. */
#include "cmd/recorder/recorder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* An exception of the operator below passes through here, and must find the writer given back. */
static void give_back(struct tp_writer **w)
{
    if (*w)
        tp_writer_leave(*w);
}
#define ENTERED(name) struct tp_writer *name __attribute__((cleanup(give_back))) = tp_writer_enter()

static void *find(void *_Atomic *known, const char *name)
{
    void *found = atomic_load_explicit(known, memory_order_relaxed);
    if (TP_LIKELY(found != NULL))
        return found;
    found = dlsym(RTLD_NEXT, name);
    atomic_store(known, found);
    return found;
}

static void *instead(size_t size, size_t align, bool throws)
{
    void *p = NULL;
    size_t least = align < sizeof(void *) ? sizeof(void *) : align;
    if (tp_below_get()->posix_memalign && align)
        p = tp_below_get()->posix_memalign(&p, least, size ? size : 1) ? NULL : p;
    else
        p = tp_below_get()->malloc(size ? size : 1);
    if (!p && throws)
        abort();
    return p;
}

#define NEW(symbol, params, args, align, throws)                                                   \
    TP_HOOK void *symbol params;                                                                   \
    void *symbol params                                                                            \
    {                                                                                              \
        static void *_Atomic below;                                                                \
        ENTERED(w);                                                                                \
        void *function = find(&below, #symbol), *p = NULL;                                         \
        void *(*call)params = NULL;                                                                \
        memcpy(&call, &function, sizeof call);                                                     \
        p = call ? call args : instead(size, align, throws);                                       \
        if (w)                                                                                     \
            tp_write_alloc(w, p, size, align);                                                     \
        return p;                                                                                  \
    }

#define DELETE(symbol, params, args)                                                               \
    TP_HOOK void symbol params;                                                                    \
    void symbol params                                                                             \
    {                                                                                              \
        static void *_Atomic below;                                                                \
        if (!p)                                                                                    \
            return;                                                                                \
        ENTERED(w);                                                                                \
        void *function = find(&below, #symbol);                                                    \
        void(*call) params = NULL;                                                                 \
        memcpy(&call, &function, sizeof call);                                                     \
        if (w)                                                                                     \
            tp_write_free(w, p);                                                                   \
        if (call)                                                                                  \
            call args;                                                                             \
        else                                                                                       \
            tp_below_get()->free(p);                                                               \
    }

/* std::nothrow_t is passed by reference; std::align_val_t is a size_t. */
NEW(_Znwm, (size_t size), (size), 0, true)
NEW(_Znam, (size_t size), (size), 0, true)
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag), 0, false)
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag), 0, false)
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align), align, true)
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align), align, true)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),
    (size, align, tag), align, false)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),
    (size, align, tag), align, false)
DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag),
       (p, align, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag),
       (p, align, tag))
