/* The operators new and delete of C++, for allocators that have their own and do not come by malloc
 * (tcmalloc, jemalloc, mimalloc). Where no library below has one when the program starts, they are
 * malloc and free, as C++ would have it, and what a plug-in loads later throws for them.
 *
 * Each operator is looked for once, at start. A look later on would wait for the lock of a dlopen
 * that another thread is in, change what dlerror says, and could find a library that is unloaded
 * again.
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

/* An operator of the libraries below; NULL: there is none. */
struct below {
    void *_Atomic function;
    _Atomic bool looked;
};

static void *look(struct below *below, const char *name)
{
    bool before = tp_writer_hush(true);
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        dlerror(); /* that it is missing is nobody else's affair */
    atomic_store(&below->function, found);
    atomic_store(&below->looked, true);
    tp_writer_hush(before);
    return found;
}

/* A constructor may run before the one that looks. */
static void *find(struct below *below, const char *name)
{
    return TP_LIKELY(atomic_load_explicit(&below->looked, memory_order_acquire))
               ? atomic_load_explicit(&below->function, memory_order_relaxed)
               : look(below, name);
}

/* What operator new does when there is no memory: the C++ library of whoever asked throws. */
static void *throw_there(size_t size, size_t align)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *function = library ? dlsym(library, align ? "_ZnwmSt11align_val_t" : "_Znwm") : NULL;
    void *(*call)(size_t, size_t) = NULL;
    memcpy(&call, &function, sizeof call);
    if (!call)
        abort();
    return call(size, align);
}

static void *instead(size_t size, size_t align, bool throws)
{
    void *p = NULL;
    size_t least = align < sizeof(void *) ? sizeof(void *) : align;
    if (tp_below_get()->posix_memalign && align)
        p = tp_below_get()->posix_memalign(&p, least, size ? size : 1) ? NULL : p;
    else
        p = tp_below_get()->malloc(size ? size : 1);
    return p || !throws ? p : throw_there(size, align);
}

#define BELOW(symbol)                                                                              \
    static struct below below_##symbol;                                                            \
    __attribute__((constructor)) static void look_##symbol(void)                                   \
    {                                                                                              \
        look(&below_##symbol, #symbol);                                                            \
    }

#define NEW(symbol, params, args, align, throws)                                                   \
    BELOW(symbol)                                                                                  \
    TP_HOOK void *symbol params;                                                                   \
    void *symbol params                                                                            \
    {                                                                                              \
        ENTERED(w);                                                                                \
        void *function = find(&below_##symbol, #symbol), *p = NULL;                                \
        void *(*call)params = NULL;                                                                \
        memcpy(&call, &function, sizeof call);                                                     \
        p = call ? call args : instead(size, align, throws);                                       \
        if (w)                                                                                     \
            tp_write_alloc(w, p, size, align);                                                     \
        return p;                                                                                  \
    }

#define DELETE(symbol, params, args)                                                               \
    BELOW(symbol)                                                                                  \
    TP_HOOK void symbol params;                                                                    \
    void symbol params                                                                             \
    {                                                                                              \
        if (!p)                                                                                    \
            return;                                                                                \
        ENTERED(w);                                                                                \
        void *function = find(&below_##symbol, #symbol);                                           \
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
