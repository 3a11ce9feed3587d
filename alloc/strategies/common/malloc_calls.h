/* What the strategies of real allocators do: they call this process's malloc, whichever library
 * answers it, and can tell which one that is. The members of a strategy's table are functions with
 * the prefix malloc_. They take no state.
 *
 * None of these may call anything else that allocates, because it would be measured too. */
#ifndef TP_STRATEGY_MALLOC_CALLS_H
#define TP_STRATEGY_MALLOC_CALLS_H

#include "alloc/base/own.h"
#include "alloc/strategies/common/chores.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MALLOC_ALIGN 16u /* bytes; alignment that malloc promises */

/* The option `env` of a strategy's table, for a member `env`. */
#define MALLOC_ENV_ROW(opts)                                                                       \
    TP_LIST_AT("env", offsetof(opts, env), .arg = "NAME=VALUE",                                    \
               .help =                                                                             \
                   "environment variable of the replay process; repeatable\n"                      \
                   "Example: env=MALLOC_CONF=narenas:1. In braces if the value contains a comma.")

/* ---- which library answers ---- */

/* Finds the library that implements a function of this process. */
static inline bool find_library_of(const char *function, Dl_info *out)
{
    void *symbol = dlsym(RTLD_DEFAULT, function);
    return symbol && dladdr(symbol, out) && out->dli_fname;
}

/* Is the library the C library? A sanitizer's runtime counts as such, because the user did not
 * choose it. */
static inline bool is_libc(const Dl_info *library)
{
    Dl_info libc;
    return TP_SANITIZED ||
           (find_library_of("gnu_get_libc_version", &libc) && libc.dli_fbase == library->dli_fbase);
}

/* Finds the library that replaces the C library's malloc; false: there is none. */
static inline bool find_front(Dl_info *out)
{
    return find_library_of("malloc", out) && !is_libc(out);
}

/* Whether the function of this name is the library's own. Then it is written to `function`, the
 * address of a pointer to such a function; NULL: nobody wants it. */
static inline bool library_has(const Dl_info *library, const char *name, void *function)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    Dl_info at;
    if (!symbol || !dladdr(symbol, &at) || at.dli_fbase != library->dli_fbase)
        return false;
    if (function)
        memcpy(function, &symbol, sizeof symbol);
    return true;
}

/* The member `library`: "glibc 2.36" or "libjemalloc.so.2". */
static inline void malloc_library(char *out, size_t size)
{
    Dl_info library;
    if (!find_front(&library)) {
        if (!confstr(_CS_GNU_LIBC_VERSION, out, size))
            snprintf(out, size, "the C library");
        return;
    }
    const char *slash = strrchr(library.dli_fname, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : library.dli_fname);
}

/* ---- calls ---- */

static inline void *aligned_block(const struct tp_req *rq)
{
    void *p = NULL;
    return posix_memalign(&p, rq->align, rq->size) ? NULL : p;
}

/* Hands out what malloc or realloc gave. */
static inline int block_of(void *p, struct tp_block *out)
{
    *out = (struct tp_block){(uintptr_t)p, 0};
    return p ? TP_OK : TP_EOOM;
}

static inline int malloc_alloc(void *state, void *thread, const struct tp_req *rq,
                               struct tp_block *out)
{
    (void)state, (void)thread;
    if (UNLIKELY(!request_is_sound(rq)))
        return TP_EINVAL;
    return block_of(rq->align <= MALLOC_ALIGN ? malloc(rq->size) : aligned_block(rq), out);
}

static inline int malloc_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)state, (void)thread, (void)rq;
    free((void *)(uintptr_t)addr);
    return TP_OK;
}

/* A block with an alignment above malloc's own is allocated anew, because realloc does not keep
 * such an alignment. Its old size is what malloc_usable_size says, or at least as much as a realloc
 * copies. */
static inline void *realloc_aligned(void *old, const struct tp_req *rq)
{
    void *p = aligned_block(rq);
    size_t usable = malloc_usable_size(old);
    if (p)
        memcpy(p, old, usable < rq->size ? usable : rq->size);
    if (p)
        free(old);
    return p;
}

static inline int malloc_move(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                              struct tp_block *out)
{
    (void)state, (void)thread;
    if (UNLIKELY(!request_is_sound(rq)))
        return TP_EINVAL;
    void *old = (void *)(uintptr_t)addr;
    return block_of(rq->align <= MALLOC_ALIGN ? realloc(old, rq->size) : realloc_aligned(old, rq),
                    out);
}

static inline uint64_t malloc_usable(void *state, tp_addr addr)
{
    (void)state;
    return malloc_usable_size((void *)(uintptr_t)addr);
}

#endif
