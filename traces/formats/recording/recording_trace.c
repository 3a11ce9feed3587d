/* What `tapool record` has not made a trace of yet: a recording in progress, or one whose `record`
 * was ended. recording.h in traces/record specifies it.
 *
 *      chunks of threads -> one order (recording_merge.c) -> lowering */
#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "traces/formats/recording/recording_merge.h"
#include "traces/record/ended.h"

#include <math.h>
#include <string.h>

enum { TIMED_LEAST = 30 }; /* calls, for an interval */

/* Recording takes this factor more at most than the steps of it that are timed: those before and
 * after them, and what it takes from the program's caches. 1.0 to 2.0 in five programs of 1 to 9
 * million events a second, 2026-11. */
#define OWN_MOST 2.0

static int probe_recording(const unsigned char *data, size_t size)
{
    size_t magic = sizeof TP_RECORDING_MAGIC - 1;
    return size >= magic && !memcmp(data, TP_RECORDING_MAGIC, magic) ? 100 : 0;
}

/* Ticks that recording took, by the events that were timed. NAN: not known. */
static double overhead(const struct tp_recording *rec, const struct tp_merge_counts *counts)
{
    if (!rec->samples)
        return NAN;
    return (double)rec->sampled / (double)rec->samples * (double)counts->events +
           (double)rec->taking;
}

static void remark_overhead(struct tp_meta *meta, const struct tp_recording *rec,
                            const struct tp_merge_counts *counts)
{
    double events = (double)counts->events, ticks = overhead(rec, counts);
    if (isnan(ticks) || !counts->events || !counts->alive)
        return;
    double alive = (double)counts->alive * (double)(UINT64_C(1) << rec->head.shift);
    tp_meta_remark(meta, "recording overhead: about %.0f ns/event, %.1f%% of thread time",
                   ticks / events * rec->head.ns_per_tick, ticks / alive * 100);
}

/* Whether the whole program was recorded, so that its CPU time is that of its events. */
static bool is_whole(const struct tp_recording_head *h)
{
    return h->memory == TP_REC_OF_HOST && !h->after && !h->stacks && !atomic_load(&h->pauses) &&
           atomic_load(&h->why) == TP_REC_NO_REASON;
}

/* CPU time of the program, and what of it its calls of malloc took: the mean of the timed ones,
 * less a stamp, and twice its standard error. */
static void describe_cost(struct tp_meta *meta, const struct tp_recording *rec,
                          const struct tp_merge_counts *counts)
{
    const struct tp_recording_head *h = &rec->head;
    double n = (double)rec->timed, calls = (double)counts->events;
    double mean = (double)rec->timed_ticks / n;
    double error = sqrt((rec->timed_squares / n - mean * mean) / n);
    double net = mean - (double)h->empty_ticks / TP_REC_EMPTY;
    double cpu = (double)atomic_load(&h->cpu_to) - (double)atomic_load(&h->cpu_from);
    double own = overhead(rec, counts) * h->ns_per_tick;
    double wall = (double)atomic_load(&h->ticks_to) - (double)atomic_load(&h->ticks_from);
    if (!is_whole(h) || !(cpu > OWN_MOST * own) || !(wall > 0))
        return;
    tp_meta_set_number(meta, TP_META_CPU_LOW_NS, cpu - OWN_MOST * own);
    tp_meta_set_number(meta, TP_META_CPU_HIGH_NS, cpu - own);
    tp_meta_set_number(meta, TP_META_WALL_NS, wall * h->ns_per_tick);
    if (rec->timed < TIMED_LEAST || !(error >= 0) || !(net > 2 * error))
        return;
    tp_meta_set_number(meta, TP_META_MALLOC_LOW_NS, (net - 2 * error) * calls * h->ns_per_tick);
    tp_meta_set_number(meta, TP_META_MALLOC_HIGH_NS, (net + 2 * error) * calls * h->ns_per_tick);
}

static void describe_written(struct tp_meta *meta, const struct tp_recording_head *h)
{
    uint64_t large[TP_TOUCHED_OCTAVES], written[TP_TOUCHED_OCTAVES];
    for (unsigned i = 0; i < TP_TOUCHED_OCTAVES; i++) {
        large[i] = atomic_load(&h->large[i]);
        written[i] = atomic_load(&h->written[i]);
    }
    tp_meta_set_written(meta, large, written);
}

/* The file of the library that served the program, and the variables that set it. */
static void describe_library(struct tp_meta *meta, const struct tp_recording_head *h)
{
    char library[TP_RECORDING_LIBRARY + 1] = {0}, settings[TP_RECORDING_SETTINGS + 1] = {0};
    memcpy(library, h->library, TP_RECORDING_LIBRARY);
    memcpy(settings, h->settings, TP_RECORDING_SETTINGS);
    const char *slash = strrchr(library, '/');
    if (library[0])
        tp_meta_set(meta, &meta->allocator, "%s", slash ? slash + 1 : library);
    if (settings[0])
        tp_meta_set(meta, &meta->settings, "%s", settings);
}

/* Each pause with the first event after it began. */
static void remark_pauses(struct tp_meta *meta, const struct tp_recording *rec,
                          const struct tp_merge_counts *counts)
{
    const struct tp_recording_head *h = &rec->head;
    uint32_t all = atomic_load(&h->pauses);
    char text[TP_REC_PAUSES * 64] = "";
    struct tp_str s = TP_STR_IN(text);
    for (uint32_t i = 0; i < counts->pauses; i++) {
        uint64_t from = atomic_load(&h->pause[i].from), to = atomic_load(&h->pause[i].to);
        double seconds = to > from ? (double)(to - from) * h->ns_per_tick / 1e9 : 0;
        tp_str_add(&s, "%s at event %s ", i ? "," : "", tp_count(counts->paused_at[i]).s);
        if (to)
            tp_str_add(&s, "for %s s", tp_digits(seconds).s);
        else
            tp_str_add(&s, "to the end");
    }
    if (all > counts->pauses)
        tp_str_add(&s, " and %s more", tp_plural(all - counts->pauses, "time").s);
    if (all)
        tp_meta_remark(meta, "SIGUSR2 paused the recording%s", text);
}

static void describe(const struct tp_reading *r, const struct tp_recording *rec,
                     const struct tp_merge_counts *counts)
{
    struct tp_meta *meta = r->meta;
    uint32_t alone = atomic_load(&rec->head.left_alone);
    const struct {
        uint64_t count;
        const char *what;
    } remarks[] = {
        {counts->mended,
         "overlapping events were reordered so that each address is freed before it is reused"},
        {rec->lost, "parts of the file are missing"},
        {rec->image, "programs ran in the process before this one (exec), and are left out"},
    };
    char program[TP_RECORDING_PROGRAM + 1] = {0}, ended[256];
    memcpy(program, rec->head.program, TP_RECORDING_PROGRAM);
    if (program[0])
        tp_meta_set(meta, &meta->program, "%s", program);
    describe_library(meta, &rec->head);
    describe_written(meta, &rec->head);
    describe_cost(meta, rec, counts);
    remark_overhead(meta, rec, counts);
    tp_host_describe(&counts->calls, meta);
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (remarks[i].count)
            tp_meta_remark(meta, "%s: %s", remarks[i].what, tp_count(remarks[i].count).s);
    remark_pauses(meta, rec, counts);
    if (alone)
        tp_meta_remark(meta, "%s %s not recorded: --follow all",
                       tp_plural(alone, "child process").s, alone == 1 ? "was" : "were");
    if (rec->head.own_malloc)
        tp_meta_remark(meta, "the program's own malloc is not recorded, only what libraries do");
    tp_recording_ended(&rec->head, ended, sizeof ended);
    if (ended[0])
        tp_meta_remark(meta, "the recording ended before the program: %s", ended);
    tp_recording_devices_describe(&counts->devices, meta);
    tp_meta_set_number(meta, TP_META_NOT_RECORDED, (double)rec->dropped);
    if (tp_lower_count(r->lower) == 0)
        tp_meta_set(meta, &meta->nothing, "the program had allocated nothing yet");
}

static int set_kind(const struct tp_reading *r, bool device, struct tp_err *err)
{
    r->meta->kind = device ? TP_KIND_DEVICE : TP_KIND_HOST;
    tp_meta_set(r->meta, &r->meta->capture, "tapool record%s", device ? " --cuda" : "");
    if (device)
        tp_meta_set(r->meta, &r->meta->unknown, "memory use of kernels");
    return tp_lower_kind(r->lower, r->meta->kind, err);
}

static int read_recording(const struct tp_reading *r, struct tp_err *err)
{
    struct tp_recording rec;
    struct tp_merge_counts counts = {0};
    int rc = tp_recording_open(r, &rec, err);
    if (!rc)
        rc = set_kind(r, rec.head.memory == TP_REC_OF_DEVICE, err);
    if (!rc)
        rc = tp_recording_merge(r, &rec, &counts, err);
    counts.calls.paused = atomic_load(&rec.head.pauses) != 0;
    if (!rc || rc == TP_ESTOP)
        describe(r, &rec, &counts);
    tp_recording_release(&rec);
    return rc;
}

const struct tp_format tp_format_recording = {
    .name = "recording",
    .summary = "output of `tapool record` while the program runs",
    .record = "tapool record -o OUT.tpt -- PROGRAM",
    .probe = probe_recording,
    .read = read_recording,
};
