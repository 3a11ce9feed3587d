/* How fast a trace is read, without all else that a command does.
 *
 *     decode_loop TRACE N      walks the program N times: decoding alone. Prints the ns per
 *                              instruction of each walk, and of the fastest, one a line
 *     decode_loop open TRACE   opens it once, which reads, lowers and ends with a program. Prints
 *                              events, instructions, seconds, and bytes of the file as it lies
 * there
 *
 * Each walk is a whole one with all its checks; the sum over the instructions keeps the compiler
 * from leaving any out. */
#include "alloc/base/clock.h"
#include "cmd/jobs/catalog.h"
#include "traces/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_trace(const char *path, struct tp_trace *trace, struct tp_err *err)
{
    const char *const none[] = {NULL};
    const struct tp_trace_cfg cfg = {.path = path, .formats = tp_formats, .sample_dirs = none};
    return tp_trace_open(&cfg, trace, err);
}

/* One walk; *out becomes ns per instruction. */
static int walk(struct tp_cursor *cursor, double *out, uint64_t *sum, struct tp_err *err)
{
    struct tp_window w;
    uint64_t count = 0, start = tp_wall_ns();
    int got;
    tp_cursor_rewind(cursor);
    while ((got = tp_cursor_next(cursor, &w, err)) == 1) {
        count += w.count;
        *sum += w.insns[0].size + w.insns[w.count - 1].slot;
    }
    *out = count ? (double)(tp_wall_ns() - start) / (double)count : 0;
    return -got;
}

static int walk_often(struct tp_program *program, unsigned long times, struct tp_err *err)
{
    struct tp_cursor *cursor = NULL;
    double best = 0, ns = 0;
    uint64_t sum = 0;
    int status = tp_cursor_open(program, &cursor, err);
    for (unsigned long i = 0; !status && i < times; i++) {
        status = walk(cursor, &ns, &sum, err);
        best = !best || ns < best ? ns : best;
        if (!status)
            printf("%.3f\n", ns);
    }
    tp_cursor_close(cursor);
    if (!status)
        printf("best %.3f\n", best);
    return sum == UINT64_MAX ? TP_EBROKEN : status;
}

int main(int argc, char **argv)
{
    bool only_open = argc == 3 && !strcmp(argv[1], "open");
    unsigned long times = argc == 3 && !only_open ? strtoul(argv[2], NULL, 10) : 0;
    struct tp_trace trace = {0};
    struct tp_err err = {0};
    if (!only_open && !times)
        return 2;
    uint64_t start = tp_wall_ns();
    int status = open_trace(argv[only_open ? 2 : 1], &trace, &err);
    if (!status && only_open) {
        const struct tp_program_facts *f = tp_program_facts(trace.program);
        printf("%" PRIu64 " %" PRIu64 " %.6f %" PRIu64 "\n", f->events, f->instructions,
               (double)(tp_wall_ns() - start) / 1e9, trace.file_bytes);
    } else if (!status) {
        status = walk_often(trace.program, times, &err);
    }
    tp_trace_close(&trace);
    if (status)
        fprintf(stderr, "decode_loop: %s\n", err.text);
    return status ? 1 : 0;
}
