/* The operators new and delete of C++, for allocators that have their own and do not come by malloc
 * (tcmalloc, jemalloc, mimalloc).
 *
 * Each operator is looked for once, at start. A look later on would wait for the lock of a dlopen
 * that another thread is in, change what dlerror says, and could find a library that is unloaded
 * again. One that no library below has is withdrawn: a plug-in that is loaded later finds its own,
 * or that of its C++ library, as it would without the recorder, and these call malloc.
 *
 * The table has every form: with or without an array, a size, an alignment, std::nothrow. A name is
 * that of the operator in the C++ ABI. */
#include "cmd/preload/recorder.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A call of an operator. */
struct entered {
    struct tp_call call;
    struct tp_writer *w; /* NULL: it is not written */
    const void *p;       /* what it gave */
};

/* An exception of the operator below passes through here, and must find the writer given back. */
static void give_back(const struct entered *e)
{
    if (!e->w)
        return;
    tp_time_end_if(e->w, e->w->timing);
    tp_writer_leave(e->w, &e->call, e->p);
}

#define ENTERED(e)                                                                                 \
    struct entered e __attribute__((cleanup(give_back)));                                          \
    (e).p = NULL;                                                                                  \
    (e).w = tp_writer_enter(&(e).call)

/* An operator of the libraries below; NULL: there is none. */
struct below {
    void *_Atomic function;
    _Atomic bool looked;
};

static void *look(struct below *below, const char *name)
{
    void *found = tp_below_look(name);
    atomic_store(&below->function, found);
    atomic_store(&below->looked, true);
    return found;
}

/* A constructor may run before the one that looks. */
static void *find(struct below *below, const char *name)
{
    return TP_LIKELY(atomic_load_explicit(&below->looked, memory_order_acquire))
               ? atomic_load_explicit(&below->function, memory_order_relaxed)
               : look(below, name);
}

/* Takes a function of this library out of those that libraries find which are loaded from now on.
 */
static void withdraw(uintptr_t function)
{
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    if (!dladdr1((void *)function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return;
    uintptr_t page = (uintptr_t)symbol & ~((uintptr_t)getpagesize() - 1);
    size_t bytes = (uintptr_t)(symbol + 1) - page;
    if (mprotect((void *)page, bytes, PROT_READ | PROT_WRITE) != 0)
        return;
    symbol->st_shndx = SHN_UNDEF;
    symbol->st_value = 0;
    mprotect((void *)page, bytes, PROT_READ);
}

/* For who calls before it is withdrawn: a constructor of another library. */
static void *instead(size_t size, size_t align, bool throws)
{
    void *p = NULL;
    size_t least = align < sizeof(void *) ? sizeof(void *) : align, bytes = size ? size : 1;
    if (tp_below_get()->posix_memalign && align)
        p = tp_below_get()->posix_memalign(&p, least, bytes) ? NULL : p;
    else
        p = tp_below_get()->malloc(bytes);
    if (!p && throws)
        abort();
    return p;
}

#define OWN extern __attribute__((visibility("hidden")))

#define BELOW(symbol)                                                                              \
    static struct below below_##symbol;                                                            \
    __attribute__((constructor)) static void look_##symbol(void)                                   \
    {                                                                                              \
        if (!look(&below_##symbol, #symbol))                                                       \
            withdraw((uintptr_t)own_##symbol);                                                     \
    }

/* Writes the block of an operator new, unless the call that got it in the end has written it. */
static void *took(struct entered *e, void *p, size_t size, size_t align)
{
    e->p = p;
    if (!e->w)
        tp_writer_took(p, size);
    else if (e->w->call == &e->call)
        tp_write_alloc(e->w, p, size, align);
    return p;
}

#define NEW(symbol, params, args, align, throws)                                                   \
    TP_HOOK void *symbol params;                                                                   \
    OWN void *own_##symbol params __attribute__((alias(#symbol)));                                 \
    BELOW(symbol)                                                                                  \
    void *symbol params                                                                            \
    {                                                                                              \
        ENTERED(e);                                                                                \
        void *function = find(&below_##symbol, #symbol);                                           \
        void *(*call)params = NULL;                                                                \
        memcpy(&call, &function, sizeof call);                                                     \
        if (e.w)                                                                                   \
            e.call.in_new = true;                                                                  \
        return took(&e, call ? call args : instead(size, align, throws), size, align);             \
    }

static void gives(struct entered *e, const void *p)
{
    if (e->w) {
        bool timed = e->w->timing != 0;
        e->call.gone = p;
        tp_write_free(e->w, p);
        e->w->timing = TP_UNLIKELY(timed) ? tp_recorder_stamp() : 0;
    } else
        tp_writer_gave(p);
}

#define DELETE(symbol, params, args)                                                               \
    TP_HOOK void symbol params;                                                                    \
    OWN void own_##symbol params __attribute__((alias(#symbol)));                                  \
    BELOW(symbol)                                                                                  \
    void symbol params                                                                             \
    {                                                                                              \
        if (!p)                                                                                    \
            return;                                                                                \
        ENTERED(e);                                                                                \
        void *function = find(&below_##symbol, #symbol);                                           \
        void(*call) params = NULL;                                                                 \
        memcpy(&call, &function, sizeof call);                                                     \
        gives(&e, p);                                                                              \
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
