/* A loop over the calls of a trace as one would write it by hand: malloc, realloc, free, and the
 * first 8 bytes of each block written. What `tapool replay -s system` says is checked against it.
 *
 *     libc_loop extract TRACE > CALLS    writes the calls as they are needed here
 *     libc_loop CALLS                    prints the steady ns per call, less the loop's own share
 *
 * Two steps, because a process that has read a trace no longer has a fresh heap: a large block
 * freed once raises glibc's thresholds for good. The loop's share is that of the same loop without
 * the calls. Nothing of the replay engine is used. */
#include "alloc/base/clock.h"
#include "alloc/numbers/series.h"
#include "traces/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIN_NS UINT64_C(500000000)

extern const struct tp_format tp_format_json;

struct call {
    uint8_t op;
    uint32_t slot;
    size_t size;
};

struct script {
    const struct call *calls;
    size_t count, slots;
};

static int extract(const char *path)
{
    const struct tp_format *const formats[] = {&tp_format_json, NULL};
    const char *const none[] = {NULL};
    struct tp_trace trace = {0};
    struct tp_err err = {0};
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    int status =
        tp_trace_open(&(struct tp_trace_cfg){.path = path, .formats = formats, .sample_dirs = none},
                      &trace, &err);
    if (!status)
        status = tp_cursor_open(trace.program, &cursor, &err);
    while (!status && tp_cursor_next(cursor, &w, &err) == 1) {
        for (uint32_t i = 0; i < w.count; i++) {
            const struct tp_insn *insn = &w.insns[i];
            struct call c = {.op = insn->op, .slot = insn->slot, .size = (size_t)insn->size};
            if (insn->op <= TP_REALLOC && fwrite(&c, sizeof c, 1, stdout) != 1)
                status = TP_EIO;
        }
    }
    tp_cursor_close(cursor);
    tp_trace_close(&trace);
    if (status)
        fprintf(stderr, "libc_loop: %s\n", err.text);
    return status || fflush(stdout) ? 1 : 0;
}

/* Maps the calls: nothing is allocated. */
static int map_script(const char *path, struct script *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)sizeof(struct call))
        return 1;
    out->count = (size_t)st.st_size / sizeof(struct call);
    out->calls = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    close(fd);
    if (out->calls == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < out->count; i++)
        if (out->calls[i].slot >= out->slots)
            out->slots = (size_t)out->calls[i].slot + 1;
    return 0;
}

static inline void touch(void *block, size_t size)
{
    if (size >= 8)
        *(volatile uint64_t *)block = 1;
    else
        *(volatile char *)block = 1;
}

__attribute__((noinline)) static void replay(const struct script *s, void **blocks)
{
    for (const struct call *c = s->calls, *end = c + s->count; c < end; c++) {
        if (c->op == TP_ALLOC) {
            blocks[c->slot] = malloc(c->size);
            touch(blocks[c->slot], c->size);
        } else if (c->op == TP_FREE) {
            free(blocks[c->slot]);
            blocks[c->slot] = NULL;
        } else {
            blocks[c->slot] = realloc(blocks[c->slot], c->size);
        }
    }
}

/* What the calls go to when the loop's own share is measured: functions that do nothing. A loop
 * without calls would not do, the compiler makes it one without branches. */
__attribute__((noinline)) static void *no_malloc(size_t size)
{
    static char line[64];
    void *block = line + (size >> 63);
    __asm__ volatile("" : "+r"(block));
    return block;
}

__attribute__((noinline)) static void no_free(void *block)
{
    __asm__ volatile("" : : "r"(block));
}

__attribute__((noinline)) static void replay_nothing(const struct script *s, void **blocks)
{
    for (const struct call *c = s->calls, *end = c + s->count; c < end; c++) {
        if (c->op == TP_ALLOC) {
            blocks[c->slot] = no_malloc(c->size);
            touch(blocks[c->slot], c->size);
        } else if (c->op == TP_FREE) {
            no_free(blocks[c->slot]);
            blocks[c->slot] = NULL;
        } else {
            blocks[c->slot] = no_malloc(c->size);
        }
    }
}

static double steady_ns(const struct script *s, void **blocks, bool real)
{
    static struct tp_series series;
    memset(&series, 0, sizeof series);
    for (uint64_t spent = 0; spent < MIN_NS;) {
        uint64_t start = tp_wall_ns();
        if (real)
            replay(s, blocks);
        else
            replay_nothing(s, blocks);
        uint64_t took = tp_wall_ns() - start;
        spent += took;
        tp_series_add(&series, (double)took / (double)s->count);
        for (size_t i = 0; i < s->slots; i++) {
            if (real)
                free(blocks[i]);
            blocks[i] = NULL;
        }
    }
    return tp_series_median(&series).median;
}

int main(int argc, char **argv)
{
    struct script script = {0};
    if (argc == 3 && !strcmp(argv[1], "extract"))
        return extract(argv[2]);
    if (argc != 2 || map_script(argv[1], &script))
        return 2;
    size_t bytes = script.slots * sizeof(void *);
    void **blocks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (blocks == MAP_FAILED)
        return 2;
    double gross = steady_ns(&script, blocks, true), own = steady_ns(&script, blocks, false);
    printf("%.3f\n", gross - own);
    if (getenv("V"))
        fprintf(stderr, "gross %.2f own %.2f\n", gross, own);
    return 0;
}
