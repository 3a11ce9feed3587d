/* A plug-in that cuts blocks off one range, and is wrong in one way that the test which compiles it
 * names with -D; without any it is right. */
#include <tapool/strategy.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANGE = 32 << 20, WHEN = 100 };

#ifndef NAME
#define NAME "misfit"
#endif
#ifndef SUMMARY
#define SUMMARY "cuts blocks off one range"
#endif
#ifndef VERSION
#define VERSION "0.9"
#endif
#ifndef CAPS
#define CAPS 0
#endif
#ifndef OPTION
#define OPTION "first"
#endif

struct misfit_opts {
    uint64_t first; /* where blocks begin */
};

struct misfit {
    const struct tp_env *env;
    tp_addr range, next, last;
    unsigned calls;
    unsigned live[RANGE / 16]; /* the bytes of the block that begins there */
};

#ifdef LINGER
/* The copy adds its number to the file that LINGERS_FILE names, and stays; ESCAPE: in a session of
 * its own. */
static void linger(void)
{
    FILE *out = fork() ? NULL : fopen(getenv("LINGERS_FILE"), "a");
    if (!out)
        return;
#ifdef ESCAPE
    setsid();
#endif
    fprintf(out, "%d\n", (int)getpid());
    fclose(out);
    alarm(30); /* should it be left after all */
    for (;;)
        pause();
}
#endif

static int misfit_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    struct misfit *m = st;
#ifdef LINGER
    linger();
#endif
    m->env = env;
    int rc = tp_src_get(env->source, RANGE, env->source->page, &m->range);
    m->next = m->range + ((const struct misfit_opts *)opts)->first;
    return rc ? tp_fail(err, (enum tp_status)rc, "no range") : TP_OK;
}

static void misfit_fini(void *st)
{
    struct misfit *m = st;
    (void)m;
#ifndef LEAK
    if (tp_src_put(m->env->source, m->range, RANGE))
        tp_src_put(m->env->source, m->range, RANGE); /* one that is refused is asked again */
#endif
}

#ifdef SCRIBBLE
/* Fills what is shared with another process. */
static void scribble(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        char *end, *from = (char *)strtoul(line, &end, 16),
                   *to = (char *)strtoul(end + 1, &end, 16);
        if (!strncmp(end, " rw-s", 5) && strstr(end, "/dev/zero"))
            memset(from, 0xff, (size_t)(to - from));
    }
    if (maps)
        fclose(maps);
}
#endif

static int misfit_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct misfit *m = st;
    (void)thr;
    if (!rq->size || !rq->align || rq->align & (rq->align - 1))
        return TP_EINVAL;
    if (rq->align > 16)
        return TP_EUNSUP;
    bool now = ++m->calls == WHEN;
    (void)now;
#ifdef PRINT
    if (now && write(1, "hello\n", 6) != 6)
        abort();
#endif
#ifdef CRASH
    if (now)
        *(volatile int *)(uintptr_t)(m->calls - WHEN) = 1;
#endif
#ifdef LEAVE
    if (now)
        exit(7);
#endif
#ifdef SCRIBBLE
    if (now)
        scribble();
#endif
#ifdef HANG
    while (now)
        pause();
#endif
#ifdef ADDRESSES
    m->next +=
        (m->range * UINT64_C(0x9E3779B97F4A7C15) >> 58) * 16; /* other addresses, other blocks */
#endif
    *out = (struct tp_block){.addr = m->next, .allocated = (rq->size + 15) & ~UINT64_C(15)};
    if (out->allocated > m->range + RANGE - m->next)
        return TP_EOOM;
#ifdef OVERLAP
    if (now)
        out->addr = m->last;
#endif
#ifdef OUTSIDE
    if (now)
        out->addr = m->range + RANGE - 8;
#endif
    m->last = m->next;
    m->live[(m->next - m->range) / 16] = (unsigned)out->allocated;
    m->next += out->allocated;
    return TP_OK;
}

static int misfit_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct misfit *m = st;
    uint64_t at = addr - m->range;
    (void)thr;
    if (at >= RANGE || at % 16 || !m->live[at / 16] || rq->size > m->live[at / 16])
        return TP_EINVAL;
    m->live[at / 16] = 0;
    return TP_OK;
}

static void misfit_stats(void *st, struct tp_stats *out)
{
    struct misfit *m = st;
    *out = (struct tp_stats){.carved_bytes = m->next - m->range,
                             .peak_carved_bytes = m->next - m->range};
}

#ifdef WIDE
#define TEN(digit)                                                                                 \
    "a" digit, "b" digit, "c" digit, "d" digit, "e" digit, "f" digit, "g" digit, "h" digit,        \
        "i" digit, "j" digit
static const char *const wide[] = {TEN("0"), TEN("1"), TEN("2"), TEN("3"), NULL};
#endif

static const struct tp_opt rows[] = {
    TP_SIZE_AT(OPTION, 0, .def = "0", .max = 4096, .help = "where blocks begin"),
#ifdef WIDE
    TP_SET_AT("wide", 4, .choices = wide, .help = "more than a set has room for"),
#endif
    {.name = NULL}};

extern const struct tp_strategy misfit;
const struct tp_strategy misfit = {.name = NAME,
                                   .summary = SUMMARY,
                                   .caps = CAPS,
                                   .group =
                                       CAPS & TP_CAP_FOREIGN ? TP_GROUP_REAL : TP_GROUP_STRATEGY,
                                   .state_size = sizeof(struct misfit),
                                   .opts_size = sizeof(struct misfit_opts),
                                   .options = rows,
                                   .init = misfit_init,
                                   .fini = misfit_fini,
                                   .alloc = misfit_alloc,
                                   .free = misfit_free,
                                   .stats = misfit_stats};

#if defined ABI || defined MAGIC || defined SIZE
#ifndef ABI
#define ABI TP_ABI
#endif
#ifndef MAGIC
#define MAGIC TP_PLUGIN_MAGIC
#endif
#ifndef SIZE
#define SIZE sizeof(struct tp_strategy)
#endif
extern TP_API const struct tp_plugin tapool_plugin;
const struct tp_plugin tapool_plugin = {MAGIC,  ABI,     sizeof(struct tp_plugin),
                                        {SIZE}, VERSION, &misfit};
#elif !defined NO_SYMBOL
TP_PLUGIN(&misfit, VERSION)
#endif

#ifdef CRASH_LOADING
__attribute__((constructor)) static void crash(void)
{
    abort();
}
#endif
#ifdef PRINT
__attribute__((constructor, destructor)) static void print(void)
{
    puts("hello"); /* into a buffer that is tapool's as well */
}
#endif
#ifdef LEAVE_LOADING
__attribute__((constructor)) static void leave(void)
{
    _exit(3);
}
#endif
#ifdef LACKS
void lacking_function(void);
extern void (*const lacks)(void);
void (*const lacks)(void) = lacking_function;
#endif
