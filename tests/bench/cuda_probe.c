/* What the driver of this machine's GPU does where its documentation leaves room: how it waits,
 * what it queues, what its counters count.
 *
 *     cuda_probe [--seconds N] [WORD...]     20 s by default; what begins with a WORD, or all
 *
 *     device                                     NVIDIA X, CUDA 13.0, connections: default
 *     cuMemFree(3 MiB) beside a 10 ms kernel     8.1 us [7.9, 9.4]; the kernel went on in 5 of 5
 *     QUESTION                                   MEDIAN [LEAST, MOST] ...
 *
 * A line is two columns with two or more spaces in between; a number alone was the same in every
 * round. Each question is a row of a table. A driver call that fails is the answer to its question,
 * and the next one is asked all the same; where the time is over, that is the answer. Times are the
 * host's, by CLOCK_MONOTONIC.
 *
 * How many queues the device has for streams is read from CUDA_DEVICE_MAX_CONNECTIONS by cuInit, so
 * that a second run asks about another number.
 *
 * Exit status: 0, 1 a call failed, 2 usage, 4 no driver or no device. Known weakness: a call is
 * taken to wait for the queue where it takes 50 ms, so another process that takes the core for as
 * long is taken for that. */
#include "alloc/base/clock.h"
#include "cuda/cuda_source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STREAMS = 32,
    MOST_ROUNDS = 16,
    TEXT = 240,
    NO_DRIVER = 4,
    KIB = 1 << 10,
    MIB = 1 << 20,
    MS = 1000000, /* ns */
    POOL_BLOCKS = 160,
    QUEUE_CALLS = 4096,
    QUEUED_BEFORE = 256,
    CHAIN = 4 /* kernels in a row on each stream */
};

struct probe {
    struct cuda_driver driver;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction spin;
    CUstream streams[STREAMS];
    CUevent event;
    CUmemoryPool keep; /* it keeps what is freed */
    uint64_t end_ns;   /* nothing is asked from then on */
    /* of the question that is being asked: the first call that failed */
    const char *call;
    CUresult code;
    char answer[TEXT];
};

/* ---- calls, answers, figures ---- */

static bool done(struct probe *p, const char *call, CUresult code)
{
    if (code != CUDA_SUCCESS && p->code == CUDA_SUCCESS) {
        p->call = call;
        p->code = code;
    }
    return code == CUDA_SUCCESS;
}

#define TRY(p, name, ...) done((p), "cu" #name, (p)->driver.name(__VA_ARGS__))

static bool finish(struct probe *p)
{
    return done(p, "cuCtxSynchronize", p->driver.CtxSynchronize());
}

__attribute__((format(printf, 2, 3))) static void say(struct probe *p, const char *format, ...)
{
    size_t used = strlen(p->answer);
    va_list more;
    va_start(more, format);
    vsnprintf(p->answer + used, TEXT - used, format, more);
    va_end(more);
}

struct figures {
    double values[MOST_ROUNDS];
    int count;
};

static void add(struct figures *f, double value)
{
    f->values[f->count++] = value;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median, and from the least to the most where they differ. */
static void say_figures(struct probe *p, struct figures *f, int digits, const char *unit)
{
    int last = f->count - 1;
    if (last < 0)
        return;
    qsort(f->values, (size_t)f->count, sizeof *f->values, by_size);
    say(p, "%.*f%s", digits, f->values[f->count / 2], unit);
    if (f->values[last] > f->values[0])
        say(p, " [%.*f, %.*f]", digits, f->values[0], digits, f->values[last]);
}

static double us_since(uint64_t start_ns)
{
    return (double)(tp_wall_ns() - start_ns) / 1e3;
}

/* ---- what questions are made of ---- */

static bool spin(struct probe *p, int stream, uint64_t busy_ns)
{
    CUdeviceptr block = 0;
    unsigned long long bytes = 0, ns = busy_ns;
    void *arguments[] = {&block, &bytes, &ns};
    return TRY(p, LaunchKernel, p->spin, 1, 1, 1, 1, 1, 1, 0, p->streams[stream], arguments, NULL);
}

/* A pool that gives memory back at a synchronisation when it has more than `threshold` bytes. */
static CUmemoryPool make_pool(struct probe *p, cuuint64_t threshold)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = p->device}};
    CUmemoryPool pool = NULL;
    if (!TRY(p, MemPoolCreate, &pool, &props))
        return NULL;
    TRY(p, MemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    return pool;
}

static void end_pool(struct probe *p, CUmemoryPool pool)
{
    finish(p);
    if (pool)
        TRY(p, MemPoolDestroy, pool);
}

static uint64_t attribute(struct probe *p, CUmemoryPool pool, CUmemPool_attribute name)
{
    cuuint64_t value = 0;
    TRY(p, MemPoolGetAttribute, pool, name, &value);
    return value;
}

static bool from_pool(struct probe *p, CUmemoryPool pool, uint64_t bytes, CUdeviceptr *out)
{
    *out = 0;
    return TRY(p, MemAllocFromPoolAsync, out, bytes, pool, p->streams[0]);
}

struct row {
    const char *question;
    void (*ask)(struct probe *p, const struct row *row);
    uint64_t number; /* bytes, blocks or streams: what `ask` says */
    int how;         /* one of an enum of `ask` */
    int other;       /* the same */
};

/* ---- does it wait for a kernel? ---- */

enum { TAKE, GIVE };

/* Takes or gives back `number` bytes that the kernel does not touch. */
static void ask_beside_kernel(struct probe *p, const struct row *row)
{
    struct figures took = {0};
    int went_on = 0, rounds = 5;
    for (int i = 0; i < rounds && !p->code; i++) {
        CUdeviceptr block = 0;
        if (row->how == GIVE && !TRY(p, MemAlloc, &block, row->number))
            return;
        spin(p, 0, 10 * MS);
        TRY(p, EventRecord, p->event, p->streams[0]);
        uint64_t start = tp_wall_ns();
        if (row->how == GIVE)
            TRY(p, MemFree, block);
        else
            TRY(p, MemAlloc, &block, row->number);
        add(&took, us_since(start));
        went_on += p->driver.EventQuery(p->event) == CUDA_ERROR_NOT_READY;
        finish(p);
        if (row->how == TAKE && block)
            TRY(p, MemFree, block);
    }
    say_figures(p, &took, 1, " us");
    say(p, "; the kernel went on in %d of %d", went_on, rounds);
}

/* ---- how many calls does a stream take? ---- */

enum push { NOTHING, LAUNCH, RECORD, PAIR };

static void push_one(struct probe *p, enum push what)
{
    CUdeviceptr block;
    if (what == LAUNCH)
        spin(p, 0, 0);
    else if (what == RECORD)
        TRY(p, EventRecord, p->event, p->streams[0]);
    else if (what == PAIR && from_pool(p, p->keep, MIB, &block))
        TRY(p, MemFreeAsync, block, p->streams[0]);
}

struct depth {
    int calls;      /* before the one that waited, or all */
    double us_each; /* of these, on average */
    bool waited;
};

/* Behind a kernel of 150 ms, and behind QUEUED_BEFORE of `before`, until a call waits. No more is
 * pushed after 75 ms, so that a call that waits for the kernel takes as long or longer. */
static struct depth push_until_wait(struct probe *p, enum push what, enum push before)
{
    struct depth depth = {0};
    spin(p, 0, 150 * MS);
    for (int i = 0; before != NOTHING && i < QUEUED_BEFORE; i++)
        push_one(p, before);
    uint64_t start = tp_wall_ns(), last = start;
    while (!p->code && depth.calls < QUEUE_CALLS && last - start < 75 * MS) {
        push_one(p, what);
        uint64_t now = tp_wall_ns();
        depth.waited = now - last > 50 * MS;
        if (depth.waited)
            break;
        depth.calls++;
        last = now;
    }
    if (depth.calls)
        depth.us_each = (double)(last - start) / 1e3 / depth.calls;
    finish(p);
    return depth;
}

static void ask_queue(struct probe *p, const struct row *row)
{
    struct figures calls = {0}, each = {0};
    int waited = 0, rounds = 3;
    for (int i = 0; i < rounds && !p->code; i++) {
        struct depth depth = push_until_wait(p, (enum push)row->how, (enum push)row->other);
        add(&calls, depth.calls);
        add(&each, depth.us_each);
        waited += depth.waited;
    }
    say_figures(p, &calls, 0, "");
    if (waited)
        say(p, " before the host waits, in %d of %d rounds; ", waited, rounds);
    else
        say(p, " and no wait; ");
    say_figures(p, &each, 2, " us");
    say(p, " each");
}

/* ---- what do the counters of a pool count? ---- */

/* One block of `number` bytes. */
static void ask_used(struct probe *p, const struct row *row)
{
    struct figures used = {0};
    uint64_t aligned = 0;
    for (int i = 0; i < 3 && !p->code; i++) {
        CUdeviceptr block;
        uint64_t before = attribute(p, p->keep, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        if (!from_pool(p, p->keep, row->number, &block))
            return;
        uint64_t after = attribute(p, p->keep, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        add(&used, (double)(after - before));
        aligned |= block & -block;
        TRY(p, MemFreeAsync, block, p->streams[0]);
        finish(p);
    }
    say_figures(p, &used, 0, " bytes");
    say(p, "; at a multiple of %llu", (unsigned long long)(aligned & -aligned));
}

/* Blocks of `number` bytes, `other` of them, in a pool that is new. */
static void ask_reserved(struct probe *p, const struct row *row)
{
    CUdeviceptr blocks[POOL_BLOCKS] = {0};
    struct figures steps = {0};
    CUmemoryPool pool = make_pool(p, UINT64_MAX);
    uint64_t before = 0, grown = 0, now = 0;
    for (int i = 0; i < row->other && !p->code; i++) {
        if (from_pool(p, pool, row->number, &blocks[i]))
            now = attribute(p, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        grown += now > before;
        if (now > before && steps.count < MOST_ROUNDS)
            add(&steps, (double)(now - before) / MIB);
        before = now;
    }
    for (int i = 0; i < row->other && blocks[i]; i++)
        TRY(p, MemFreeAsync, blocks[i], p->streams[0]);
    end_pool(p, pool);
    say(p, "%.1f MiB in %llu steps of ", (double)before / MIB, (unsigned long long)grown);
    say_figures(p, &steps, 1, " MiB");
}

/* ---- what does it cost to give memory back? ---- */

enum wait { POLL, EVENT, STREAM, OTHER_STREAM, CONTEXT };

static void wait_by(struct probe *p, enum wait how)
{
    uint64_t start = tp_wall_ns();
    if (how == EVENT)
        TRY(p, EventSynchronize, p->event);
    else if (how == STREAM || how == OTHER_STREAM)
        TRY(p, StreamSynchronize, p->streams[how == OTHER_STREAM]);
    else if (how == CONTEXT)
        finish(p);
    else
        while (p->driver.EventQuery(p->event) == CUDA_ERROR_NOT_READY &&
               tp_wall_ns() - start < 1000 * MS)
            ;
}

/* One block of `number` bytes, free for 2 ms when the host comes to wait; `other` says whether the
 * pool keeps it. */
static void ask_trim(struct probe *p, const struct row *row)
{
    struct figures waits = {0}, trims = {0}, reserved = {0};
    CUmemoryPool pool = make_pool(p, row->other ? UINT64_MAX : 0);
    for (int i = 0; i < 5 && !p->code; i++) {
        CUdeviceptr block;
        if (from_pool(p, pool, row->number, &block))
            TRY(p, MemFreeAsync, block, p->streams[0]);
        TRY(p, EventRecord, p->event, p->streams[0]);
        usleep(2000);
        uint64_t start = tp_wall_ns();
        wait_by(p, (enum wait)row->how);
        add(&waits, us_since(start));
        uint64_t left = attribute(p, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        add(&reserved, (double)left / MIB);
        start = tp_wall_ns();
        TRY(p, MemPoolTrimTo, pool, 0);
        add(&trims, us_since(start));
        finish(p);
    }
    end_pool(p, pool);
    say_figures(p, &waits, 1, " us");
    say(p, "; keeps ");
    say_figures(p, &reserved, 0, " MiB");
    say(p, "; trim ");
    say_figures(p, &trims, 1, " us");
}

/* ---- what does a request say that cannot be served? ---- */

enum { FROM_DEVICE, FROM_POOL };

/* `number` bytes beyond the device's memory. */
static void ask_too_large(struct probe *p, const struct row *row)
{
    struct figures took = {0};
    char why[CUDA_ERROR_TEXT] = "it was given";
    size_t total = 0, unused;
    TRY(p, MemGetInfo, &unused, &total);
    for (int i = 0; i < 5 && !p->code; i++) {
        CUdeviceptr block = 0, small = 0;
        uint64_t start = tp_wall_ns();
        CUresult code = row->how == FROM_POOL
                            ? p->driver.MemAllocFromPoolAsync(&block, total + row->number, p->keep,
                                                              p->streams[0])
                            : p->driver.MemAlloc(&block, total + row->number);
        add(&took, us_since(start));
        if (code != CUDA_SUCCESS)
            tp_cuda_error_text(&p->driver, code, why);
        else if (row->how == FROM_POOL)
            TRY(p, MemFreeAsync, block, p->streams[0]);
        else
            TRY(p, MemFree, block);
        if (TRY(p, MemAlloc, &small, MIB)) /* does the device live? */
            TRY(p, MemFree, small);
        finish(p);
    }
    say(p, "%s, ", why);
    say_figures(p, &took, 1, " us");
}

/* ---- how many streams run at a time? ---- */

/* CHAIN kernels on each of `number` streams, one stream after the other: where two streams share a
 * queue of the device, the second waits for the first one's chain. */
static void ask_streams(struct probe *p, const struct row *row)
{
    struct figures took = {0};
    for (int i = 0; i < 9 && !p->code; i++) {
        finish(p);
        uint64_t start = tp_wall_ns();
        for (uint64_t k = 0; k < row->number * CHAIN; k++)
            spin(p, (int)(k / CHAIN), MS);
        finish(p);
        add(&took, us_since(start) / 1e3);
    }
    say_figures(p, &took, 2, " ms");
}

/* ---- the driver in a fork ---- */

/* What the child was answered goes through a page that both have: an exit status has 8 bits, and
 * there are more errors. */
static void ask_fork(struct probe *p, const struct row *row)
{
    char said[CUDA_ERROR_TEXT];
    int status = 0;
    (void)row;
    CUresult *code =
        mmap(NULL, sizeof *code, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = code == MAP_FAILED ? -1 : fork();
    if (child == 0) {
        alarm(5);
        *code = p->driver.Init(0);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        say(p, "there was no child");
    else if (!WIFEXITED(status))
        say(p, "the child ended by signal %d", WTERMSIG(status));
    else {
        tp_cuda_error_text(&p->driver, *code, said);
        say(p, "%s", said);
    }
    if (code != MAP_FAILED)
        munmap(code, sizeof *code);
}

/* ---- the questions ---- */

#define FREE_OF(text, size)                                                                        \
    {                                                                                              \
        "cuMemFree(" text ") beside a 10 ms kernel", ask_beside_kernel, size, GIVE, 0              \
    }
#define TAKE_OF(text, size)                                                                        \
    {                                                                                              \
        "cuMemAlloc(" text ") beside a 10 ms kernel", ask_beside_kernel, size, TAKE, 0             \
    }
#define USED_OF(text, size)                                                                        \
    {                                                                                              \
        "USED of a block of " text, ask_used, size, 0, 0                                           \
    }
#define TRIM_AT(text, wait)                                                                        \
    {"release 0, " text, ask_trim, UINT64_C(256) * MIB, wait, 0},                                  \
    {                                                                                              \
        "release max, " text, ask_trim, UINT64_C(256) * MIB, wait, 1                               \
    }

static const struct row rows[] = {
    FREE_OF("4 KiB", 4 * KIB),
    FREE_OF("3 MiB", 3 * MIB),
    FREE_OF("100 MiB", 100 * MIB),
    TAKE_OF("4 KiB", 4 * KIB),
    TAKE_OF("100 MiB", 100 * MIB),
    {"queue: launches", ask_queue, 0, LAUNCH, NOTHING},
    {"queue: records", ask_queue, 0, RECORD, NOTHING},
    {"queue: async pairs", ask_queue, 0, PAIR, NOTHING},
    {"queue: launches behind 256 records", ask_queue, 0, LAUNCH, RECORD},
    {"queue: launches behind 256 async pairs", ask_queue, 0, LAUNCH, PAIR},
    USED_OF("1 byte", 1),
    USED_OF("513 bytes", 513),
    USED_OF("1 MiB + 1 byte", MIB + 1),
    USED_OF("33 MiB + 1 byte", 33 * MIB + 1),
    {"RESERVED of 160 blocks of 1 MiB", ask_reserved, MIB, 0, POOL_BLOCKS},
    {"RESERVED of 16 blocks of 33 MiB + 1 byte", ask_reserved, 33 * MIB + 1, 0, 16},
    TRIM_AT("cuEventQuery", POLL),
    TRIM_AT("cuEventSynchronize", EVENT),
    TRIM_AT("cuStreamSynchronize", STREAM),
    TRIM_AT("sync of another stream", OTHER_STREAM),
    TRIM_AT("cuCtxSynchronize", CONTEXT),
    {"too large: cuMemAlloc, device + 1 MiB", ask_too_large, MIB, FROM_DEVICE, 0},
    {"too large: cuMemAlloc, device + 2^50", ask_too_large, UINT64_C(1) << 50, FROM_DEVICE, 0},
    {"too large: pool, device + 1 MiB", ask_too_large, MIB, FROM_POOL, 0},
    {"too large: pool, device + 2^50", ask_too_large, UINT64_C(1) << 50, FROM_POOL, 0},
    {"streams: 4 kernels of 1 ms on 1", ask_streams, 1, 0, 0},
    {"streams: 4 kernels of 1 ms on each of 8", ask_streams, 8, 0, 0},
    {"streams: 4 kernels of 1 ms on each of 9", ask_streams, 9, 0, 0},
    {"streams: 4 kernels of 1 ms on each of 32", ask_streams, STREAMS, 0, 0},
    {"fork: cuInit once more, in a child", ask_fork, 0, 0, 0},
};

static void print_line(const char *left, const char *right)
{
    printf("%-41s  %s\n", left, right);
    fflush(stdout);
}

/* False where a call failed. */
static bool ask(struct probe *p, const struct row *row)
{
    char why[CUDA_ERROR_TEXT];
    p->code = CUDA_SUCCESS;
    p->answer[0] = '\0';
    if (tp_wall_ns() >= p->end_ns)
        say(p, "not asked: no time");
    else
        row->ask(p, row);
    if (p->code != CUDA_SUCCESS) {
        tp_cuda_error_text(&p->driver, p->code, why);
        snprintf(p->answer, TEXT, "FAILED: %s: %s", p->call, why);
    }
    print_line(row->question, p->answer);
    return p->code == CUDA_SUCCESS;
}

/* ---- the device ---- */

static void print_device(struct probe *p)
{
    const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    char name[128] = "";
    TRY(p, DeviceGetName, name, (int)sizeof name - 1, p->device);
    say(p, "%s, CUDA %d.%d, %sconnections: %s", name, p->driver.version / 1000,
        p->driver.version % 1000 / 10, p->driver.simulated ? "simulated, " : "",
        connections ? connections : "default");
    print_line("device", p->answer);
}

/* The first kernels bring up the clocks of the device. */
static bool open_device(struct probe *p)
{
    TRY(p, DeviceGet, &p->device, 0);
    if (!TRY(p, DevicePrimaryCtxRetain, &p->context, p->device))
        return false;
    TRY(p, CtxSetCurrent, p->context);
    done(p, "cuModuleLoadData", tp_cuda_spin_module(&p->driver, &p->module));
    if (!p->code)
        TRY(p, ModuleGetFunction, &p->spin, p->module, "tapool_spin");
    for (int i = 0; i < STREAMS && !p->code; i++)
        TRY(p, StreamCreate, &p->streams[i], CU_STREAM_NON_BLOCKING);
    if (!p->code && TRY(p, EventCreate, &p->event, CU_EVENT_DISABLE_TIMING))
        p->keep = make_pool(p, UINT64_MAX);
    for (int i = 0; i < 50 && !p->code; i++)
        spin(p, 0, 2 * MS);
    finish(p);
    return p->code == CUDA_SUCCESS;
}

static void close_device(struct probe *p)
{
    if (!p->context)
        return;
    end_pool(p, p->keep);
    if (p->event)
        TRY(p, EventDestroy, p->event);
    for (int i = 0; i < STREAMS && p->streams[i]; i++)
        TRY(p, StreamDestroy, p->streams[i]);
    if (p->module)
        TRY(p, ModuleUnload, p->module);
    TRY(p, DevicePrimaryCtxRelease, p->device);
}

/* ---- the command line ---- */

static bool is_asked(const struct row *row, int words, char **word)
{
    for (int i = 0; i < words; i++)
        if (strncmp(row->question, word[i], strlen(word[i])) == 0)
            return true;
    return words == 0;
}

/* The number of arguments that are read; 0: they are wrong. */
static int read_seconds(int argc, char **argv, uint64_t *seconds)
{
    char *end = NULL;
    if (argc < 2 || argv[1][0] != '-')
        return 1;
    if (argc < 3 || strcmp(argv[1], "--seconds") != 0)
        return 0;
    *seconds = strtoull(argv[2], &end, 10);
    return end != argv[2] && !*end && *seconds > 0 && *seconds <= 3600 ? 3 : 0;
}

static bool ask_all(struct probe *p, int words, char **word)
{
    bool good = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_asked(&rows[i], words, word))
            good = ask(p, &rows[i]) && good;
    return good;
}

static bool has_all(const struct cuda_driver *d)
{
    return !d->missing[CUDA_POOLS] && !d->missing[CUDA_KERNEL];
}

int main(int argc, char **argv)
{
    static struct probe probe;
    struct tp_err err = {0};
    char why[CUDA_ERROR_TEXT];
    uint64_t seconds = 20;
    int read = read_seconds(argc, argv, &seconds);
    if (!read) {
        fprintf(stderr, "usage: cuda_probe [--seconds N] [WORD...]\n");
        return 2;
    }
    probe.end_ns = tp_wall_ns() + seconds * 1000 * MS;
    if (tp_cuda_driver_load(&probe.driver, &err) || !has_all(&probe.driver)) {
        fprintf(stderr, "cuda_probe: %s\n",
                err.status ? err.text : "the driver has no pools or no kernels");
        return NO_DRIVER;
    }
    print_device(&probe);
    bool good = open_device(&probe);
    if (good) {
        good = ask_all(&probe, argc - read, argv + read);
    } else {
        tp_cuda_error_text(&probe.driver, probe.code, why);
        fprintf(stderr, "cuda_probe: %s failed: %s\n", probe.call, why);
    }
    probe.code = CUDA_SUCCESS;
    close_device(&probe);
    if (probe.code != CUDA_SUCCESS)
        fprintf(stderr, "cuda_probe: %s failed at the end\n", probe.call);
    return good && probe.code == CUDA_SUCCESS ? 0 : 1;
}
