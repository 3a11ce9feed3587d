/* The text of Android's memory_replay: one line a call, with the thread first. Pointers are
 * hexadecimal, the rest is decimal; newer files have the times at which the call began and ended,
 * in ns, on every line.
 *
 *     2345: malloc 0x7f00 64
 *     2345: calloc 0x7f80 4 16
 *     2345: realloc 0x8000 0x7f00 128 5000 5120     the new address first; from 0x0: malloc
 *     2346: memalign 0x9000 4096 100
 *     2346: free 0x8000
 *     2346: thread_done 0x0                         one time, if any: its end
 *
 * Known weakness: an allocation happens at its end and a free at its beginning, so that addresses
 * change hands in order; where lines of threads overlap, time may run backwards and is held. */
#include "traces/format.h"
#include "traces/lower/bad_line.h"
#include "traces/lower/host_calls.h"

#include <inttypes.h>

struct memory_replay {
    const struct tp_reading *reading;
    struct tp_lines lines;
    struct tp_host_counts counts;
    struct tp_host_calls calls;
    uint64_t first; /* time of the first event that has one, ns */
    bool timed;     /* some line has times */
};

/* A line. `to` is the address that a call gives or takes; a realloc is `from` another one. */
struct replayed_call {
    enum tp_event_op op;
    uint64_t thread, to, from, align, factor, size;
    uint64_t begin, end;
    bool timed;
};

/* A call and the numbers behind its address, by the member that they go to. */
static const struct replay_row {
    const char *name;
    enum tp_event_op op;
    size_t members[2];
    int count;
} rows[] = {
    {"malloc", TP_EV_ALLOC, {offsetof(struct replayed_call, size)}, 1},
    {"calloc",
     TP_EV_ALLOC,
     {offsetof(struct replayed_call, factor), offsetof(struct replayed_call, size)},
     2},
    {"realloc", TP_EV_REALLOC, {offsetof(struct replayed_call, size)}, 1},
    {"memalign",
     TP_EV_ALLOC,
     {offsetof(struct replayed_call, align), offsetof(struct replayed_call, size)},
     2},
    {"free", TP_EV_FREE, {0}, 0},
    {"thread_done", TP_EV_THREAD_END, {0}, 0},
};

static bool cut_pointer(struct tp_cut *line, uint64_t *value)
{
    return tp_cut_byte(line, ' ') && tp_cut_pointer(line, value);
}

static bool cut_number(struct tp_cut *line, uint64_t *value)
{
    return tp_cut_byte(line, ' ') && tp_cut_decimal(line, value);
}

static bool cut_call(struct tp_cut *line, struct replayed_call *call)
{
    struct tp_cut name;
    *call = (struct replayed_call){.factor = 1};
    if (!tp_cut_decimal(line, &call->thread) || !tp_cut_text(line, ": "))
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct replay_row *row = &rows[i];
        name = *line;
        if (!tp_cut_text(&name, row->name) || !cut_pointer(&name, &call->to))
            continue;
        call->op = row->op;
        bool good = row->op != TP_EV_REALLOC || cut_pointer(&name, &call->from);
        for (int n = 0; n < row->count; n++)
            good = good && cut_number(&name, (uint64_t *)(void *)((char *)call + row->members[n]));
        call->timed = good && cut_number(&name, &call->begin);
        bool two = call->timed && cut_number(&name, &call->end);
        bool enough = two || !call->timed || row->op == TP_EV_THREAD_END;
        return good && enough && tp_cut_done(&name);
    }
    return false;
}

static int probe_memory_replay(const unsigned char *data, size_t size)
{
    struct tp_cut text = tp_cut_start(data, size), line;
    struct replayed_call call;
    int calls = 0;
    while (calls < 3 && tp_cut_line(&text, &line)) {
        if (text.at == text.end && size >= TP_PROBE_BYTES)
            break; /* the line is cut, and says nothing */
        if (!cut_call(&line, &call))
            return 0;
        calls++;
    }
    return calls ? 85 : 0;
}

/* ---- calls ---- */

static struct tp_event event_of(struct memory_replay *m, const struct replayed_call *call)
{
    uint64_t time = call->op == TP_EV_ALLOC || call->op == TP_EV_REALLOC ? call->end : call->begin;
    if (call->timed && !m->timed)
        m->first = time;
    m->timed |= call->timed;
    return (struct tp_event){.op = call->op,
                             .line = m->lines.number,
                             .thread = call->thread,
                             .has_time = call->timed,
                             .time_ns = time > m->first ? time - m->first : 0,
                             .size = tp_host_product(call->factor, call->size),
                             .align = call->align};
}

static int take_call(struct memory_replay *m, const struct replayed_call *call, struct tp_err *err)
{
    struct tp_event ev = event_of(m, call);
    if (call->op == TP_EV_THREAD_END)
        return tp_lower_event(m->reading->lower, &ev, err);
    if (call->op == TP_EV_FREE)
        return tp_host_free(&m->calls, &ev, call->to, err);
    return call->op == TP_EV_REALLOC ? tp_host_realloc(&m->calls, &ev, call->from, call->to, err)
                                     : tp_host_alloc(&m->calls, &ev, call->to, err);
}

static int take_line(struct memory_replay *m, struct tp_cut line, struct tp_err *err)
{
    char shown[TP_CUT_SHOWN];
    struct replayed_call call;
    struct tp_cut rest = line;
    if (tp_cut_done(&rest))
        return TP_OK;
    rest = line;
    if (cut_call(&rest, &call))
        return take_call(m, &call, err);
    return tp_lines_bad(&m->lines, m->reading->lower, err, "'%s' is not a memory_replay line",
                        tp_cut_show(line, shown));
}

static int read_memory_replay(const struct tp_reading *reading, struct tp_err *err)
{
    struct memory_replay m = {.reading = reading, .lines = {.in = reading->in}};
    struct tp_cut line;
    int rc = tp_host_kind(reading, err);
    tp_host_calls_init(&m.calls, reading, tp_lower_sink(reading->lower), &m.counts);
    tp_meta_set(reading->meta, &reading->meta->capture, "Android memory_replay text");
    while (tp_lines_more(&m.lines, &line, &rc, err))
        rc = take_line(&m, line, err);
    if (!m.timed)
        tp_meta_set(reading->meta, &reading->meta->unknown, "times");
    tp_host_describe(&m.counts, reading->meta);
    tp_host_calls_release(&m.calls);
    return rc;
}

const struct tp_format tp_format_memory_replay = {
    .name = "memory-replay",
    .summary = "text of Android's memory_replay (unzip -p FILE.zip | tapool info -)",
    .record = "on Android: setprop libc.debug.malloc.options record_allocs; kill -46 PID",
    .probe = probe_memory_replay,
    .read = read_memory_replay,
};
