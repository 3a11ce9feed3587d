/* The log of glibc's mtrace(3): one line per call, in the file that MALLOC_TRACE names.
 *
 *     = Start
 *     @ ./a.out:[0x1284] + 0x55c8 0xa          malloc, calloc, memalign; the place may be missing
 *     @ ./a.out:(f+1a)[0x9e9aa] < 0x55c8       realloc of this
 *     @ ./a.out:(f+1a)[0x9e9aa] > 0x5600 0x63  became that: always the line behind it
 *     - 0x5600                                 free
 *     ! 0x5600 0x1000000000000000              realloc that failed
 *     = End
 *
 * Known weakness: frees between two sections of a file are unknown, so objects of the first one may
 * seem live when their addresses come again; lowering then repairs that. */
#include "traces/format.h"
#include "traces/lower/bad_line.h"
#include "traces/lower/host_calls.h"

#include "alloc/base/numbers.h"

#include <inttypes.h>
#include <stdio.h>

struct mtrace {
    const struct tp_reading *reading;
    struct tp_lines lines;
    struct tp_host_counts counts;
    struct tp_host_calls calls;
    bool moving; /* a '<' line was read and its '>' line was not */
    uint64_t from;
    uint64_t sections;
};

/* A line without its code place. `op` is one of "+-<>!=". */
struct call {
    char op;
    uint64_t pointer, size;
};

/* Takes the code place, which ends with "[ADDRESS] ". Names in it may contain any byte. */
static bool cut_place(struct tp_cut *line)
{
    if (!tp_cut_text(line, "@ "))
        return true;
    for (const char *at = line->end; at - line->at >= 2; at--) {
        if (at[-1] != ' ' || at[-2] != ']')
            continue;
        line->at = at;
        return true;
    }
    return false;
}

static bool cut_call(struct tp_cut *line, struct call *call)
{
    if (tp_cut_text(line, "= ")) {
        call->op = '=';
        return tp_cut_text(line, "Start") || tp_cut_text(line, "End");
    }
    if (!cut_place(line) || line->at == line->end)
        return false;
    call->op = *line->at++;
    bool sized = call->op == '+' || call->op == '>' || call->op == '!';
    if ((!sized && call->op != '-' && call->op != '<') || !tp_cut_byte(line, ' ') ||
        !tp_cut_pointer(line, &call->pointer))
        return false;
    if (sized && (!tp_cut_byte(line, ' ') || !tp_cut_hex(line, &call->size)))
        return false;
    return tp_cut_done(line);
}

static int probe_mtrace(const unsigned char *data, size_t size)
{
    struct tp_cut text = tp_cut_start(data, size), line;
    int calls = 0;
    if (tp_cut_line(&text, &line) && tp_cut_text(&line, "= Start") && tp_cut_done(&line))
        return 95;
    for (text = tp_cut_start(data, size); calls < 3 && tp_cut_line(&text, &line);) {
        struct call call;
        bool placed = line.end - line.at > 2 && line.at[0] == '@';
        if (!cut_call(&line, &call) || call.op == '=')
            return 0;
        calls += placed; /* a line without a place is too short to be a sure sign */
    }
    return calls == 3 ? 75 : 0;
}

/* ---- calls ---- */

static struct tp_event event_of(const struct mtrace *m, const struct call *call)
{
    return (struct tp_event){.line = m->lines.number, .size = call->size};
}

static int take_alloc(struct mtrace *m, const struct call *call, struct tp_err *err)
{
    struct tp_event ev = event_of(m, call);
    return tp_host_alloc(&m->calls, &ev, call->op == '!' ? 0 : call->pointer, err);
}

static int take_free(struct mtrace *m, const struct call *call, struct tp_err *err)
{
    struct tp_event ev = event_of(m, call);
    return tp_host_free(&m->calls, &ev, call->pointer, err);
}

static int take_from(struct mtrace *m, const struct call *call, struct tp_err *err)
{
    (void)err;
    m->moving = true;
    m->from = call->pointer;
    return TP_OK;
}

static int take_to(struct mtrace *m, const struct call *call, struct tp_err *err)
{
    struct tp_event ev = event_of(m, call);
    m->moving = false;
    return tp_host_realloc(&m->calls, &ev, m->from, call->pointer, err);
}

static int take_call(struct mtrace *m, const struct call *call, struct tp_err *err)
{
    static const struct {
        char op;
        int (*take)(struct mtrace *m, const struct call *call, struct tp_err *err);
    } takers[] = {
        {'+', take_alloc}, {'-', take_free}, {'<', take_from}, {'>', take_to}, {'!', take_alloc}};
    if (m->moving != (call->op == '>'))
        return tp_lines_fail(&m->lines, tp_lower_count(m->reading->lower) + 1, err,
                             m->moving ? "the line before has the '<' of a realloc, this one no '>'"
                                       : "'>' ends a realloc, but the line before has no '<'");
    for (size_t i = 0; i < sizeof takers / sizeof takers[0]; i++)
        if (takers[i].op == call->op)
            return takers[i].take(m, call, err);
    return TP_OK;
}

/* ---- the whole ---- */

static int take_line(struct mtrace *m, struct tp_cut line, struct tp_err *err)
{
    struct call call = {0};
    struct tp_cut rest = line;
    char shown[TP_CUT_SHOWN];
    if (tp_cut_done(&rest))
        return TP_OK;
    rest = line;
    m->sections += tp_cut_text(&rest, "= Start");
    rest = line;
    if (cut_call(&rest, &call))
        return take_call(m, &call, err);
    /* a cut line ends the realloc too, so only one repair is counted */
    m->moving = m->moving && !m->lines.unended;
    int rc = tp_lines_bad(&m->lines, m->reading->lower, err, "'%s' is not an mtrace line",
                          tp_cut_show(line, shown));
    return rc == TP_EINPUT && !m->lines.unended
               ? tp_hint(err, rc,
                         "its lines end with '+ PTR SIZE', '- PTR', '< PTR', "
                         "'> PTR SIZE' or '! PTR SIZE'")
               : rc;
}

static int finish(struct mtrace *m, struct tp_err *err)
{
    struct tp_meta *meta = m->reading->meta;
    const struct tp_event ev = {.op = TP_EV_REALLOC, .line = m->lines.number};
    int rc = m->moving ? tp_lower_repaired(m->reading->lower, &ev, TP_REPAIR_TRUNCATED,
                                           ": the file ends in the middle of a realloc", err)
                       : TP_OK;
    if (m->sections > 1)
        tp_meta_remark(meta, "It has %s sections; what happened between them was not recorded.",
                       tp_count(m->sections).s);
    tp_host_describe(&m->counts, meta);
    return rc;
}

static int read_mtrace(const struct tp_reading *reading, struct tp_err *err)
{
    struct mtrace m = {.reading = reading, .lines = {.in = reading->in}};
    struct tp_cut line;
    int rc = tp_host_kind(reading, err);
    tp_host_calls_init(&m.calls, reading, tp_lower_sink(reading->lower), &m.counts);
    tp_meta_set(reading->meta, &reading->meta->capture, "glibc mtrace log");
    tp_meta_set(reading->meta, &reading->meta->unknown, "times, threads, alignment");
    while (tp_lines_more(&m.lines, &line, &rc, err))
        rc = take_line(&m, line, err);
    if (rc == TP_OK)
        rc = finish(&m, err);
    tp_host_calls_release(&m.calls);
    return rc;
}

const struct tp_format tp_format_mtrace = {
    .name = "mtrace",
    .summary = "output of glibc's mtrace(3), the file named by MALLOC_TRACE",
    .record = "MALLOC_TRACE=FILE LD_PRELOAD=libc_malloc_debug.so.0 PROGRAM, which calls mtrace()",
    .probe = probe_mtrace,
    .read = read_mtrace,
};
