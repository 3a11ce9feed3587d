/* The strategy `lib`: any malloc library, replayed as people use it.
 *
 *     tapool --- starts, with LD_PRELOAD=libX.so ---> tapool __child: malloc is libX's from the
 *                                                     first instruction on
 *
 * Preloading, not dlopen, so that the library's thread-local storage, constructors and hooks are
 * what they are in production. Whoever replays this strategy preloads the library (TP_CAP_PRELOAD);
 * this file checks that it answers, and calls malloc, realloc, free and posix_memalign as any
 * program does. Allocated bytes come from the library's malloc_usable_size, and are not known where
 * it has none.
 *
 * Known weakness: what the library does behind these calls, such as a thread that returns memory,
 * is in its process and in the wall time, but in no call. */
#include "alloc/base/str.h"
#include "alloc/strategies/common/malloc_calls.h"

#include <sys/stat.h>

struct lib_opts {
    char *library; /* a path; names are looked up by the caller */
    bool sized;
    struct tp_opt_list env; /* for the caller, who starts the process */
};

typedef void sized_fn(void *p, size_t size);
typedef void flagged_fn(void *p, size_t size, int flags);

struct lib {
    sized_fn *sized;     /* frees a block of a known size; NULL: free is called */
    flagged_fn *flagged; /* the same with flags; NULL: not used */
    bool aligns;         /* posix_memalign is the library's too */
    bool tells;          /* malloc_usable_size is */
};

static const struct tp_opt lib_rows[] = {
    TP_TEXT_AT("library", offsetof(struct lib_opts, library), .arg = "NAME|PATH", .bare = true,
               .help = "library name, or a path with a slash\n"
                       "jemalloc, mimalloc, tcmalloc, tbbmalloc, rpmalloc, hoard, ... "
                       "A name is searched like the dynamic linker does."),
    TP_FLAG_ROW(struct lib_opts, sized, .def = "no",
                .help = "pass the size to free, if the library has a call for that\n"
                        "Programs call plain free."),
    MALLOC_ENV_ROW(struct lib_opts),
    {.name = NULL}};

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Finds out why a library that was preloaded does not answer malloc. */
static int not_served(const char *path, const Dl_info *answers, struct tp_err *err)
{
    char name[64];
    malloc_library(name, sizeof name);
    void *there = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (there) {
        void *own = dlsym(there, "malloc");
        Dl_info at;
        bool has_one = own && dladdr(own, &at) && is_same_file(at.dli_fname, path);
        dlclose(there);
        return has_one ? tp_fail(err, TP_EINPUT, "'%s' is hidden by %s, which answers malloc", path,
                                 answers->dli_fname)
                       : tp_fail(err, TP_EINPUT, "'%s' has no malloc: %s answers in its place",
                                 path, name);
    }
    /* The process is of no further use, so its constructors may run: the loader's own words are
     * wanted. */
    there = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const char *why = there ? "the dynamic linker did not preload it" : dlerror();
    return tp_fail(err, TP_EINPUT, "'%s' cannot be loaded: %.300s", path, why ? why : "no reason");
}

static int find_sized(struct lib *st, const Dl_info *library, const char *path, struct tp_err *err)
{
    static const char *const plain[] = {"free_sized", "mi_free_size", "tc_free_sized"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain && !st->sized; i++)
        library_has(library, plain[i], &st->sized);
    if (!st->sized)
        library_has(library, "sdallocx", &st->flagged);
    return st->sized || st->flagged
               ? TP_OK
               : tp_fail(err, TP_EUSAGE,
                         "'%s' has no call that frees a block of a known size: sized=yes", path);
}

/* Asks the library for its version: "5.3.0". "" where it has no function that says. */
static void ask_version(const Dl_info *library, char *out, size_t size)
{
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    int (*mi_version)(void);
    const char *(*tc_version)(int *, int *, const char **);
    out[0] = '\0';
    if (library_has(library, "mallctl", &mallctl)) {
        const char *text = NULL;
        size_t length = sizeof text;
        if (!mallctl("version", &text, &length, NULL, 0) && text)
            snprintf(out, size, "%.*s", (int)strcspn(text, "-"), text);
    } else if (library_has(library, "mi_version", &mi_version)) {
        int n = mi_version(), unit = n >= 10000 ? 100 : 10; /* 30105 is 3.1.5; 209 is 2.0.9 */
        snprintf(out, size, "%d.%d.%d", n / unit / unit, n / unit % unit, n % unit);
    } else if (library_has(library, "tc_version", &tc_version)) {
        int major = 0, minor = 0;
        tc_version(&major, &minor, NULL);
        snprintf(out, size, "%d.%d", major, minor);
    }
}

/* The member `library`: "libjemalloc.so.2 5.3.0", or the file alone. */
static void lib_library(char *out, size_t size)
{
    Dl_info library;
    char version[32] = "";
    malloc_library(out, size);
    if (find_front(&library))
        ask_version(&library, version, sizeof version);
    if (*version)
        tp_append(out, size, " %s", version);
}

static int lib_init(void *state, const struct tp_env *env, const void *options, struct tp_err *err)
{
    (void)env;
    const struct lib_opts *opts = options;
    struct lib *st = state;
    Dl_info library;
    if (!opts || !opts->library)
        return tp_fail(err, TP_EUSAGE, "strategy 'lib' needs a library");
    if (TP_SANITIZED)
        return tp_fail(err, TP_EUSAGE,
                       "this tapool is built with a sanitizer, whose malloc no library replaces");
    if (!find_library_of("malloc", &library))
        return tp_fail(err, TP_EBROKEN, "nobody answers malloc in this process");
    if (!is_same_file(library.dli_fname, opts->library))
        return not_served(opts->library, &library, err);
    if (!library_has(&library, "free", NULL) || !library_has(&library, "realloc", NULL))
        return tp_fail(err, TP_EINPUT, "'%s' has malloc, but no %s", opts->library,
                       library_has(&library, "free", NULL) ? "realloc" : "free");
    *st = (struct lib){.aligns = library_has(&library, "posix_memalign", NULL),
                       .tells = library_has(&library, "malloc_usable_size", NULL)};
    return opts->sized ? find_sized(st, &library, opts->library, err) : TP_OK;
}

static void lib_fini(void *state)
{
    (void)state;
}

static int lib_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    const struct lib *st = state;
    if (UNLIKELY(rq->align > MALLOC_ALIGN) && !st->aligns)
        return TP_EUNSUP;
    return malloc_alloc(state, thread, rq, out);
}

/* A block with an alignment of its own is freed by free, because the calls that take a size would
 * need the alignment too. */
static int lib_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    const struct lib *st = state;
    void *p = (void *)(uintptr_t)addr;
    if (UNLIKELY(st->sized != NULL) && rq->align <= MALLOC_ALIGN)
        st->sized(p, rq->size);
    else if (UNLIKELY(st->flagged != NULL) && rq->align <= MALLOC_ALIGN)
        st->flagged(p, rq->size, 0);
    else
        return malloc_free(state, thread, addr, rq);
    return TP_OK;
}

/* Reallocates a block with an alignment of its own where its old size cannot be asked: realloc
 * keeps the contents, and a second block the alignment. */
static void *move_untold(void *old, const struct tp_req *rq)
{
    void *p = aligned_block(rq); /* first, so that a failure leaves the old block as it is */
    void *kept = p ? realloc(old, rq->size) : NULL;
    if (!kept) {
        free(p);
        return NULL;
    }
    memcpy(p, kept, rq->size);
    free(kept);
    return p;
}

static int lib_move(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                    struct tp_block *out)
{
    const struct lib *st = state;
    if (LIKELY(rq->align <= MALLOC_ALIGN || (st->aligns && st->tells)))
        return malloc_move(state, thread, addr, rq, out);
    if (!st->aligns)
        return TP_EUNSUP;
    void *p = request_is_sound(rq) ? move_untold((void *)(uintptr_t)addr, rq) : NULL;
    *out = (struct tp_block){(uintptr_t)p, 0};
    return p ? TP_OK : TP_EOOM;
}

static uint64_t lib_usable(void *state, tp_addr addr)
{
    const struct lib *st = state;
    return st->tells ? malloc_usable(state, addr) : 0;
}

/* Tells the library to give its free memory back; all of it, because none of them has a call that
 * keeps some. */
static int lib_trim(void *state, uint64_t keep)
{
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    void (*mi_collect)(bool);
    void (*tc_release)(void);
    Dl_info library;
    (void)state, (void)keep;
    if (!find_front(&library))
        return TP_EUNSUP;
    if (library_has(&library, "mallctl", &mallctl)) {
        mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
        bool failed = mallctl("arena.4096.purge", NULL, NULL, NULL, 0); /* of all arenas */
        return failed ? TP_EUNSUP : TP_OK;
    }
    if (library_has(&library, "mi_collect", &mi_collect))
        mi_collect(true);
    else if (library_has(&library, "MallocExtension_ReleaseFreeMemory", &tc_release))
        tc_release();
    else
        return TP_EUNSUP;
    return TP_OK;
}

static void lib_stats(void *state, struct tp_stats *out)
{
    (void)state;
    *out = (struct tp_stats){.reserved_bytes = UINT64_MAX};
}

const struct tp_strategy tp_strategy_lib = {
    .name = "lib",
    .summary = "a malloc library",
    .resembles = "jemalloc, mimalloc, tcmalloc, ...",
    .to_use = "LD_PRELOAD=libmimalloc.so.2 ./server, or link it: -lmimalloc\n"
              "env= sets variables of that start: MALLOC_CONF=narenas:1 ./server",
    .group = TP_GROUP_REAL,
    .caps = TP_CAP_ALIGN | TP_CAP_FOREIGN | TP_CAP_THREADS | TP_CAP_PRELOAD,
    .state_size = sizeof(struct lib),
    .opts_size = sizeof(struct lib_opts),
    .options = lib_rows,
    .init = lib_init,
    .fini = lib_fini,
    .alloc = lib_alloc,
    .free = lib_free,
    .move = lib_move,
    .trim = lib_trim,
    .usable = lib_usable,
    .stats = lib_stats,
    .library = lib_library,
};
