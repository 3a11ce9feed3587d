/* The strategy `system`: the C library's malloc.
 *
 * The reference for speed on host. A real allocator: it takes no source, promises nothing about
 * wrong frees, and its heap cannot be made fresh, so it is replayed in a process of its own.
 * Allocated bytes of a block come from malloc_usable_size, outside the timed calls. Reserved bytes
 * come from mallinfo2, minus the bytes that tapool itself used at the start; memory that was free
 * in the heap at that time counts, because it serves the program. The figures are only informative,
 * because tapool's own memory is part of them.
 *
 * Another library may replace the C library's malloc (LD_PRELOAD, a sanitizer). It is named in
 * reports, and its reserved bytes are not known, because mallinfo2 then reports a heap that nobody
 * uses. */
#include "alloc/strategies/common/malloc_calls.h"

#include <limits.h>

/* glibc has it since 2.33. A tapool that was built with an older one still finds it where there is
 * one; elsewhere reserved bytes are not known, since the counts of mallinfo wrap at 4 GiB. */
#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 33)
struct mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
extern struct mallinfo2 mallinfo2(void) __attribute__((weak));
#define HAS_MALLINFO2 (mallinfo2 != NULL)
#else
#define HAS_MALLINFO2 true
#endif

struct system_opts {
    uint64_t mmap_threshold, trim_threshold, top_pad; /* bytes; TP_OPT_KEYWORD(0): left unchanged */
    struct tp_opt_list env;                           /* for the caller, who starts the process */
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
    SYSTEM_ROW(mmap_threshold, "M_MMAP_THRESHOLD: size above which a block gets its own mapping\n"
                               "default: unchanged"),
    SYSTEM_ROW(trim_threshold, "M_TRIM_THRESHOLD: free bytes at the top before a release"),
    SYSTEM_ROW(top_pad, "M_TOP_PAD: extra bytes per growth of the heap"),
    MALLOC_ENV_ROW(struct system_opts),
    {.name = NULL}};

static struct mallinfo2 heap_now(void)
{
    return HAS_MALLINFO2 ? mallinfo2() : (struct mallinfo2){0};
}

static uint64_t reserved_now(void)
{
    struct mallinfo2 info = heap_now();
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
    bool own = !find_front(&library);
    malloc_library(name, sizeof name);
    const char *front = own ? NULL : name;
    int rc = set_option(M_MMAP_THRESHOLD, opts->mmap_threshold, "mmap_threshold", front, err);
    if (!rc)
        rc = set_option(M_TRIM_THRESHOLD, opts->trim_threshold, "trim_threshold", front, err);
    if (!rc)
        rc = set_option(M_TOP_PAD, opts->top_pad, "top_pad", front, err);
    *(struct system *)state = (struct system){.used_at_start = reserved_now() - heap_now().fordblks,
                                              .known = own && HAS_MALLINFO2};
    return rc;
}

static void system_fini(void *state)
{
    (void)state;
}

static int system_trim(void *state, uint64_t keep)
{
    (void)state;
    malloc_trim(keep);
    return TP_OK;
}

static void system_stats(void *state, struct tp_stats *out)
{
    const struct system *st = state;
    uint64_t now = reserved_now(), start = st->used_at_start;
    uint64_t reserved = now > start ? now - start : 0;
    *out = (struct tp_stats){.reserved_bytes = st->known ? reserved : UINT64_MAX};
}

const struct tp_strategy tp_strategy_system = {
    .name = "system",
    .summary = "the C library's malloc",
    .resembles = "the C library's malloc",
    .to_use = "the default of every program; the options are those of mallopt, set by\n"
              "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=N:glibc.malloc.trim_threshold=N",
    .group = TP_GROUP_REAL,
    .caps = TP_CAP_ALIGN | TP_CAP_FOREIGN | TP_CAP_THREADS,
    .state_size = sizeof(struct system),
    .opts_size = sizeof(struct system_opts),
    .options = system_rows,
    .init = system_init,
    .fini = system_fini,
    .alloc = malloc_alloc,
    .free = malloc_free,
    .move = malloc_move,
    .trim = system_trim,
    .usable = malloc_usable,
    .stats = system_stats,
    .library = malloc_library,
};
