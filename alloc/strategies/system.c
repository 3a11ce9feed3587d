/* The strategy `system`: the C library's malloc.
 *
 * The yardstick of speed on host. A real allocator: it takes no source, promises nothing about
 * wrong frees, and its heap cannot be made fresh, so it is played in a process of its own. Granted
 * bytes of a block come from malloc_usable_size, outside the timed calls. Reserved bytes come from
 * mallinfo2, minus the bytes that tapool itself used at the start; memory that was free in the heap
 * at that time counts, because it serves the program. The figures are only informative, because
 * tapool's own memory is part of them.
 *
 * Another library may replace the C library's malloc (LD_PRELOAD, a sanitizer). It is named in
 * reports, and its reserved bytes are not known, because mallinfo2 then reports a heap that nobody
 * uses. */
#include "alloc/strategies/common/chores.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_ALIGN 16u /* bytes; alignment that malloc promises */

struct system_opts {
    uint64_t mmap_threshold, trim_threshold, top_pad; /* bytes; TP_OPT_KEYWORD(0): left unchanged */
};

struct system {
    uint64_t used_at_start; /* bytes used by tapool itself */
    bool known;             /* mallinfo2 describes the malloc that is called */
};

static const char *const default_word[] = {"default", NULL};

#define SYSTEM_ROW(member, text)                                                                   \
    TP_SIZE_ROW(struct system_opts, member, .def = "default", .max = INT_MAX,                      \
                .choices = default_word, .help = text)

static const struct tp_opt system_rows[] = {
    SYSTEM_ROW(mmap_threshold, "M_MMAP_THRESHOLD: larger blocks get a mapping each\n"
                               "default: left as it is"),
    SYSTEM_ROW(trim_threshold, "M_TRIM_THRESHOLD: idle bytes at the top before they go back"),
    SYSTEM_ROW(top_pad, "M_TOP_PAD: bytes asked for beyond what is needed"),
    {.name = NULL}};

/* Finds the library that implements `malloc`. */
static bool find_library(Dl_info *out)
{
    void *symbol = dlsym(RTLD_DEFAULT, "malloc");
    return symbol && dladdr(symbol, out) && out->dli_fname;
}

/* Is the library the C library? A sanitizer's runtime counts as such, because the user did not
 * choose it. */
static bool is_libc(const Dl_info *library)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#endif
    Dl_info libc;
    void *symbol = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    return symbol && dladdr(symbol, &libc) && libc.dli_fbase == library->dli_fbase;
}

/* Finds the library that replaces the C library's malloc; false: there is none. */
static bool find_front(Dl_info *out)
{
    return find_library(out) && !is_libc(out);
}

/* Writes the name of the library, such as "glibc 2.36" or "libjemalloc.so.2". */
static void system_library(char *out, size_t size)
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

static uint64_t reserved_now(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.arena + info.hblkhd;
}

/* Sets an option of the C library's malloc. `front`: the library that replaces this malloc, so that
 * the option would have no effect; NULL: none. */
static int set_option(int param, uint64_t value, const char *name, const char *front,
                      struct tp_err *err)
{
    if (value == TP_OPT_KEYWORD(0))
        return TP_OK;
    if (front)
        return tp_hint(
            err,
            tp_fail(err, TP_EUSAGE,
                    "strategy 'system': '%s' sets the C library's malloc, and %s answers "
                    "in its place",
                    name, front),
            "leave it out, or start tapool without LD_PRELOAD");
    if (mallopt(param, (int)value))
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "strategy 'system': the C library refused '%s'", name);
}

static int system_init(void *state, const struct tp_env *env, const void *options,
                       struct tp_err *err)
{
    (void)env;
    const struct system_opts *opts = options;
    char name[64];
    Dl_info library;
    bool known = !find_front(&library);
    system_library(name, sizeof name);
    const char *front = known ? NULL : name;
    int rc = set_option(M_MMAP_THRESHOLD, opts->mmap_threshold, "mmap_threshold", front, err);
    if (!rc)
        rc = set_option(M_TRIM_THRESHOLD, opts->trim_threshold, "trim_threshold", front, err);
    if (!rc)
        rc = set_option(M_TOP_PAD, opts->top_pad, "top_pad", front, err);
    *(struct system *)state =
        (struct system){.used_at_start = reserved_now() - mallinfo2().fordblks, .known = known};
    return rc;
}

static void system_fini(void *state)
{
    (void)state;
}

static void *aligned_block(const struct tp_req *rq)
{
    void *p = NULL;
    return posix_memalign(&p, rq->align, rq->size) ? NULL : p;
}

static int system_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)state, (void)thread;
    if (UNLIKELY(!request_is_sound(rq)))
        return TP_EINVAL;
    void *p = rq->align <= SYSTEM_ALIGN ? malloc(rq->size) : aligned_block(rq);
    *out = (struct tp_block){(uintptr_t)p, 0};
    return p ? TP_OK : TP_EOOM;
}

static int system_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)state, (void)thread, (void)rq;
    free((void *)(uintptr_t)addr);
    return TP_OK;
}

/* A block with an alignment above malloc's own is allocated anew, because realloc does not keep
 * such an alignment. */
static int system_move(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                       struct tp_block *out)
{
    (void)state, (void)thread;
    if (UNLIKELY(!request_is_sound(rq)))
        return TP_EINVAL;
    void *old = (void *)(uintptr_t)addr, *p = NULL;
    if (rq->align <= SYSTEM_ALIGN) {
        p = realloc(old, rq->size);
    } else {
        p = aligned_block(rq);
        size_t usable = malloc_usable_size(old);
        if (p)
            memcpy(p, old, usable < rq->size ? usable : rq->size);
        if (p)
            free(old);
    }
    *out = (struct tp_block){(uintptr_t)p, 0};
    return p ? TP_OK : TP_EOOM;
}

static int system_trim(void *state, uint64_t keep)
{
    (void)state;
    malloc_trim(keep);
    return TP_OK;
}

static uint64_t system_usable(void *state, tp_addr addr)
{
    (void)state;
    return malloc_usable_size((void *)(uintptr_t)addr);
}

static void system_stats(void *state, struct tp_stats *out)
{
    const struct system *st = state;
    uint64_t now = reserved_now(), start = st->used_at_start;
    *out = (struct tp_stats){.reserved_bytes = !st->known    ? UINT64_MAX
                                               : now > start ? now - start
                                                             : 0};
}

const struct tp_strategy tp_strategy_system = {
    .name = "system",
    .summary = "the C library's malloc",
    .resembles = "what your program uses now",
    .to_use =
        "nothing to do: it is what a program gets; the options are mallopt's, and\n"
        "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=N:glibc.malloc.trim_threshold=N sets them",
    .group = TP_GROUP_REAL,
    .caps = TP_CAP_ALIGN | TP_CAP_FOREIGN | TP_CAP_THREADS,
    .state_size = sizeof(struct system),
    .opts_size = sizeof(struct system_opts),
    .options = system_rows,
    .init = system_init,
    .fini = system_fini,
    .alloc = system_alloc,
    .free = system_free,
    .move = system_move,
    .trim = system_trim,
    .usable = system_usable,
    .stats = system_stats,
    .library = system_library,
};
