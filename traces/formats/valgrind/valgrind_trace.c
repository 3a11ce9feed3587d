/* The log of valgrind --trace-malloc=yes: one line per call, among other output of valgrind and of
 * the program.
 *
 *     --2548-- malloc(10) = 0x4A42040              a call and its result
 *     --2548-- realloc(0x4A421A0,0)free(0x4A421A0) one that makes another,
 *     --2548--  = 0                                and its result on a line of its own
 *     ==2548== Command: ./a.out                    valgrind's words
 *     no newline here--2548-- malloc(33) = 0x4A0   the program's, with a call behind them
 *     --2548-- mallo                               a torn line: others were printed within it
 *     valgrind: ./a.out: No such file or directory what it says of a program that does not start
 *
 * A call and its result are printed separately, so calls wait for their results on a stack, one per
 * process. Each process is a memory space. Known weakness: if another thread runs between a call
 * and its result, the first result goes to the call that was printed last. */
#include "traces/format.h"
#include "traces/formats/valgrind/valgrind_call.h"
#include "traces/lower/host_calls.h"
#include "traces/lower/spaces.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES 256 /* further processes are left out, which the meta says */
#define WAITING   16  /* calls of a process that wait for their results */

struct waiting {
    struct tp_valgrind_call call;
    bool spent; /* a nested call has done its work */
};

struct process {
    uint64_t pid;
    struct tp_spaces *spaces;
    uint32_t space;
    struct tp_host_calls calls;
    struct waiting waiting[WAITING];
    size_t count;
};

struct valgrind {
    const struct tp_reading *reading;
    struct tp_lines lines;
    struct tp_spaces *spaces;
    struct process *processes[PROCESSES];
    size_t process_count, last;
    struct tp_host_counts counts;
    struct tp_valgrind_prefix now; /* prefix of the current line */
    bool some_without_time, banner;
    char refusal[200]; /* why the program did not start; "": it did */
    uint64_t foreign;  /* lines that the program printed */
    uint64_t aborted;  /* calls without a result */
    uint64_t torn;     /* lines with a part of a call */
    uint64_t others;   /* calls of processes above PROCESSES */
};

/* ---- events ---- */

static int take_event(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    const struct process *p = ctx;
    return tp_spaces_event(p->spaces, p->space, 0, ev, err);
}

static struct tp_event event_of(struct valgrind *v, const struct tp_valgrind_call *call)
{
    v->some_without_time |= !v->now.has_time;
    return (struct tp_event){.line = v->lines.number,
                             .has_time = v->now.has_time,
                             .time_ns = v->now.time_ns,
                             .size = call->size,
                             .align = call->align};
}

/* A torn line has no event. `p` is NULL if its process is not known. */
static int take_torn(struct valgrind *v, struct process *p, struct tp_err *err)
{
    const struct tp_event ev = {.op = TP_EV_SKIP,
                                .uncounted = true,
                                .repaired = TP_REPAIR_TRUNCATED + 1,
                                .line = v->lines.number};
    v->torn++;
    return p ? take_event(p, &ev, err) : TP_OK;
}

/* ---- calls and results ---- */

static void wait_for_result(struct valgrind *v, struct process *p,
                            const struct tp_valgrind_call *call)
{
    if (p->count == WAITING) { /* the oldest call is given up */
        memmove(p->waiting, p->waiting + 1, (WAITING - 1) * sizeof *p->waiting);
        p->count--;
        v->aborted++;
    }
    p->waiting[p->count++] = (struct waiting){.call = *call};
}

static int begin_call(struct valgrind *v, struct process *p, const struct tp_valgrind_call *call,
                      struct tp_err *err)
{
    struct waiting *outer = p->count > 0 ? &p->waiting[p->count - 1] : NULL;
    bool within = outer && outer->call.kind == TP_VG_REALLOC;
    if (call->kind == TP_VG_FREE) {
        if (within && outer->call.size == 0 && outer->call.pointer == call->pointer)
            outer->spent = true;
        struct tp_event ev = event_of(v, call);
        return tp_host_free(&p->calls, &ev, call->pointer, err);
    }
    if (within && call->kind == TP_VG_ALLOC && outer->call.pointer == 0 &&
        outer->call.size == call->size)
        p->count--; /* realloc(NULL) calls malloc and prints no result of its own */
    wait_for_result(v, p, call);
    return TP_OK;
}

static int end_call(struct valgrind *v, struct process *p, uint64_t result, struct tp_err *err)
{
    if (p->count == 0)
        return TP_OK;
    const struct waiting *w = &p->waiting[--p->count];
    if (w->spent || w->call.kind == TP_VG_ASIDE)
        return TP_OK;
    struct tp_event ev = event_of(v, &w->call);
    return w->call.kind == TP_VG_ALLOC
               ? tp_host_alloc(&p->calls, &ev, result, err)
               : tp_host_realloc(&p->calls, &ev, w->call.pointer, result, err);
}

/* Handles calls and results up to any other text, which valgrind also prints in such lines. */
static int take_message(struct valgrind *v, struct process *p, struct tp_cut message,
                        struct tp_err *err)
{
    for (;;) {
        struct tp_valgrind_call call;
        uint64_t result = 0;
        int rc = TP_OK;
        if (tp_valgrind_cut_result(&message, &result))
            rc = end_call(v, p, result, err);
        else if (tp_valgrind_cut_call(&message, &call))
            rc = begin_call(v, p, &call, err);
        else
            return tp_valgrind_is_torn(message) ? take_torn(v, p, err) : TP_OK;
        if (rc != TP_OK)
            return rc;
    }
}

/* ---- processes ---- */

static struct process *find_process(struct valgrind *v, uint64_t pid)
{
    if (v->last < v->process_count && v->processes[v->last]->pid == pid)
        return v->processes[v->last];
    for (size_t i = 0; i < v->process_count; i++) {
        if (v->processes[i]->pid == pid) {
            v->last = i;
            return v->processes[i];
        }
    }
    return NULL;
}

static int new_process(struct valgrind *v, uint64_t pid, struct process **out, struct tp_err *err)
{
    char name[40];
    struct process *p = calloc(1, sizeof *p);
    if (!p)
        return tp_input_no_memory(v->lines.in, err);
    p->pid = pid;
    p->spaces = v->spaces;
    tp_host_calls_init(&p->calls, v->reading, (struct tp_event_sink){take_event, p}, &v->counts);
    v->processes[v->process_count++] = p;
    snprintf(name, sizeof name, "process %" PRIu64, pid);
    *out = p;
    return tp_spaces_define(v->spaces, name, TP_KIND_HOST, &p->space, err);
}

/* Handles the text behind a prefix. A process is added with its first call. */
static int take_traced(struct valgrind *v, struct tp_cut message, struct tp_err *err)
{
    struct process *p = find_process(v, v->now.pid);
    struct tp_cut first = message;
    struct tp_valgrind_call call;
    if (!p && !tp_valgrind_cut_call(&first, &call))
        return tp_valgrind_is_torn(message) ? take_torn(v, NULL, err) : TP_OK;
    if (!p && v->process_count == PROCESSES) {
        v->others++;
        return TP_OK;
    }
    int rc = p ? TP_OK : new_process(v, v->now.pid, &p, err);
    return rc == TP_OK ? take_message(v, p, message, err) : rc;
}

/* ---- lines ---- */

/* Handles a line of valgrind's own, such as "==2548== Command: ./a.out". */
static void take_words(struct valgrind *v, struct tp_cut words)
{
    struct tp_meta *meta = v->reading->meta;
    v->banner = true;
    if (!meta->program && tp_cut_text(&words, "Command: "))
        tp_meta_set(meta, &meta->program, "%.*s", (int)(words.end - words.at), words.at);
}

/* Keeps the first line that says why the program did not start. Such a line, from valgrind or the
 * dynamic linker, has no prefix, like the output of the program. */
static void take_refusal(struct valgrind *v, struct tp_cut line)
{
    static const char missing[] = ": error while loading shared libraries: ";
    size_t length = (size_t)(line.end - line.at);
    if (v->refusal[0] || v->process_count)
        return;
    if (!tp_cut_text(&line, "valgrind: ") && !memmem(line.at, length, missing, sizeof missing - 1))
        return;
    while (line.at < line.end && *line.at == ' ')
        line.at++;
    snprintf(v->refusal, sizeof v->refusal, "%.*s", (int)(line.end - line.at), line.at);
}

/* Handles a line that begins with output of the program. It may end with a call of a known
 * process, or with one whose prefix is torn. */
static int take_foreign(struct valgrind *v, struct tp_cut line, struct tp_err *err)
{
    struct tp_cut rest = line;
    bool words = !tp_cut_done(&rest);
    take_refusal(v, line);
    for (const char *at = line.at; (at = memchr(at, '-', (size_t)(line.end - at))) != NULL; at++) {
        rest.at = at;
        if (tp_valgrind_cut_prefix(&rest, '-', &v->now) && find_process(v, v->now.pid)) {
            v->foreign++;
            return take_traced(v, rest, err);
        }
    }
    if (tp_valgrind_is_torn_line(line))
        return take_torn(v, NULL, err);
    v->foreign += words;
    return TP_OK;
}

static int take_line(struct valgrind *v, struct tp_cut line, struct tp_err *err)
{
    struct tp_valgrind_prefix prefix;
    if (tp_valgrind_cut_prefix(&line, '-', &v->now))
        return take_traced(v, line, err);
    if (tp_valgrind_cut_prefix(&line, '=', &prefix))
        take_words(v, line);
    else if (!tp_valgrind_cut_prefix(&line, '*', &prefix) && line.at < line.end)
        return take_foreign(v, line, err);
    return TP_OK;
}

/* ---- the whole ---- */

static int probe_valgrind(const unsigned char *data, size_t size)
{
    struct tp_cut text = tp_cut_start(data, size), line;
    int calls = 0;
    struct tp_cut start = text;
    /* the only line when the program did not start */
    bool banner = tp_cut_text(&start, "valgrind: ");
    while (calls < 3 && tp_cut_line(&text, &line)) {
        struct tp_valgrind_prefix prefix;
        struct tp_valgrind_call call;
        if (tp_valgrind_cut_prefix(&line, '-', &prefix))
            calls += tp_valgrind_cut_call(&line, &call);
        else if (tp_valgrind_cut_prefix(&line, '=', &prefix))
            banner |= tp_cut_text(&line, "Using Valgrind-");
    }
    if (calls == 0)
        return banner ? 30 : 0;
    if (banner)
        return 96;
    return calls == 3 ? 80 : 60;
}

static void describe(struct valgrind *v)
{
    struct tp_meta *meta = v->reading->meta;
    for (size_t i = 0; i < v->process_count; i++)
        v->aborted += v->processes[i]->count;
    tp_meta_set(meta, &meta->capture, "valgrind --trace-malloc=yes (text)");
    tp_meta_set(meta, &meta->unknown, v->some_without_time ? "times, threads" : "threads");
    if (v->foreign)
        tp_meta_remark(meta, "Lines of the program's own words are left out: %s.",
                       tp_count(v->foreign).s);
    if (v->aborted)
        tp_meta_remark(meta, "Calls without a result are left out: %s.", tp_count(v->aborted).s);
    if (v->torn)
        tp_meta_remark(meta, "Torn lines are left out: %s.", tp_count(v->torn).s);
    tp_host_describe(&v->counts, meta);
    if (v->others)
        tp_meta_remark(meta, "Calls of processes after the 256th are left out: %s.",
                       tp_count(v->others).s);
    if (tp_spaces_count(v->spaces) > 0 || !(v->banner || v->refusal[0]))
        return;
    if (v->refusal[0]) {
        tp_meta_set(meta, &meta->nothing, "the program did not start: %s", v->refusal);
        tp_meta_set(meta, &meta->nothing_hint,
                    "valgrind says so in this file; does the command run by itself?");
    } else {
        tp_meta_set(meta, &meta->nothing, "valgrind ran without --trace-malloc=yes");
        tp_meta_set(meta, &meta->nothing_hint, "valgrind --trace-malloc=yes PROGRAM 2>FILE");
    }
}

static int read_valgrind(const struct tp_reading *reading, struct tp_err *err)
{
    struct valgrind v = {.reading = reading, .lines = {.in = reading->in, .skip_long = true}};
    struct tp_cut line;
    int rc = tp_spaces_new(reading, &v.spaces, err);
    while (tp_lines_more(&v.lines, &line, &rc, err))
        rc = take_line(&v, line, err);
    if (rc == TP_OK) {
        describe(&v);
        rc = tp_spaces_lower(v.spaces, err);
    }
    for (size_t i = 0; i < v.process_count; i++) {
        tp_host_calls_release(&v.processes[i]->calls);
        free(v.processes[i]);
    }
    tp_spaces_free(v.spaces);
    return rc;
}

const struct tp_format tp_format_valgrind = {
    .name = "valgrind",
    .has_spaces = true,
    .summary = "output of valgrind --trace-malloc=yes",
    .record = "valgrind --trace-malloc=yes PROGRAM 2>FILE",
    .probe = probe_valgrind,
    .read = read_valgrind,
};
