/* See info_scan.h. One pass over the windows:
 *
 *   instruction --> clock, event --> live objects (by slot) --> counts, histograms
 *                                \-> requested bytes of its device --> columns, curve
 *
 * The live objects of a device form a list, so that a reset costs no more than the frees that it
 * replaces. Known weakness: an object that a reallocation moves still counts as allocated by its
 * first thread. */
#include "cmd/info/info_scan.h"

#include "alloc/base/id_map.h"
#include "alloc/base/units.h"
#include "cmd/results/captured.h"
#include "traces/lower/failed_request.h"

#include <stdlib.h>

#define NO_SLOT     UINT32_MAX
#define SUM_MAX     (UINT64_MAX - 1)
#define KIB(n)      ((uint64_t)(n) << 10)
#define MIB(n)      ((uint64_t)(n) << 20)
#define NO_LIMIT    UINT64_MAX
#define OF_THE_PAST 0 /* event of the initial heap, whose objects have no event of their own */

static const uint64_t host_limits[TP_INFO_SIZES] = {64, 512, KIB(4), KIB(64), MIB(1), NO_LIMIT};
static const uint64_t device_limits[TP_INFO_SIZES] = {512,     KIB(64),  MIB(1),
                                                      MIB(10), MIB(128), NO_LIMIT};

struct object {
    uint64_t size;        /* current size in bytes */
    uint64_t asked;       /* bytes requested at its allocation */
    uint64_t event, time; /* of its allocation */
    uint64_t owner;       /* thread that allocated it, told apart from others of the same index */
    uint32_t next, prev;  /* slots, in the list of live objects of the device */
};

struct device {
    struct tp_info_device *info;
    const struct tp_demand *demand;
    uint64_t requested; /* bytes now */
    uint64_t fresh;     /* requested bytes that were allocated during the recording */
    uint32_t newest;    /* slot of the newest live object */
    uint32_t filled;    /* number of columns that are done */
};

/* The phase that lasts, and where it began. */
struct open_phase {
    struct tp_info_phase *phase; /* NULL: none */
    uint64_t event, time;
};

struct scan {
    const struct tp_program *program;
    const struct tp_program_facts *facts;
    struct tp_info *info;
    struct object *objects; /* by slot */
    struct device *devices;
    uint64_t *ended; /* by index of a thread: how many threads with this index have ended */
    uint16_t *rows;  /* by index of a thread: the element of info->threads, plus 1; 0: none yet */
    uint64_t requested; /* bytes now, on all devices */
    struct open_phase open;
    struct tp_id_map sizes;
    struct tp_failed_request failed;
    uint64_t event, time;
    uint64_t made; /* events that have an instruction */
    uint64_t last; /* the last event that has an instruction */
    uint32_t mark;
    bool begun;  /* the initial heap is over */
    bool curves; /* columns and curves are made */
};

static void grow_sum(uint64_t *sum, uint64_t more)
{
    *sum = more > SUM_MAX - *sum ? SUM_MAX : *sum + more;
}

static void count(struct tp_info_count *c, uint64_t bytes)
{
    c->objects++;
    grow_sum(&c->bytes, bytes);
}

/* ---- the curve ---- */

static uint32_t column_of(const struct scan *s)
{
    const struct tp_program_facts *f = s->facts;
    uint64_t at = s->info->by_time ? s->time : s->event - 1;
    uint64_t of = s->info->by_time ? f->duration_ns : f->events;
    uint64_t column = tp_scaled(at < of ? at : of, of, TP_INFO_COLUMNS);
    return column < TP_INFO_COLUMNS ? (uint32_t)column : TP_INFO_COLUMNS - 1;
}

/* A column begins with the requested bytes that the one before it ended with. */
static void fill_to(struct device *d, uint32_t end)
{
    while (d->filled < end)
        d->info->columns[d->filled++] =
            (struct tp_stretch){d->requested, d->requested, d->requested};
}

/* Counts the requested bytes of objects that were allocated during the recording. */
static void change_fresh(struct device *d, const struct object *o, uint64_t more, uint64_t less)
{
    if (o->event == OF_THE_PAST)
        return;
    d->fresh = d->fresh - less + more;
    if (d->fresh > d->info->peak_new)
        d->info->peak_new = d->fresh;
}

static void add_point(struct device *d, uint64_t event, uint64_t clock)
{
    tp_curve_add(&d->info->curve,
                 &(struct tp_curve_point){.event = event,
                                          .bytes = {d->requested, d->requested, d->requested},
                                          .clock = clock});
}

/* The whole initial heap becomes one point at event 0, because its blocks were all live before the
 * first event. */
static void begin_curves(struct scan *s)
{
    for (uint32_t i = 0; s->curves && !s->begun && i < s->info->device_count; i++)
        if (s->devices[i].requested)
            add_point(&s->devices[i], OF_THE_PAST, 0);
    s->begun = true;
}

static void raise_peak(struct scan *s)
{
    struct tp_info_phase *phase = s->open.phase;
    if (!phase || phase->peak >= s->requested)
        return;
    phase->peak = s->requested;
    phase->peak_event = s->event;
}

static void change(struct scan *s, struct device *d, uint64_t more, uint64_t less)
{
    bool drawn = s->curves && s->event != OF_THE_PAST;
    uint32_t column = drawn ? column_of(s) : 0;
    if (drawn)
        fill_to(d, column + 1);
    d->requested = d->requested - less + more;
    s->requested = s->requested - less + more;
    raise_peak(s);
    if (drawn) {
        tp_stretch_add(&d->info->columns[column], d->requested);
        add_point(d, s->event, s->facts->time_known ? s->time : s->event);
    }
    if (d->requested == d->demand->bytes && s->event == d->demand->event)
        d->info->peak_mark = s->mark;
}

/* ---- sizes ---- */

static int count_size(struct scan *s, uint64_t size, struct tp_err *err)
{
    struct tp_id_entry *e = tp_id_map_find(&s->sizes, (int64_t)size);
    if (e) {
        e->refs += e->refs < UINT32_MAX;
        return TP_OK;
    }
    if (s->sizes.used == TP_INFO_DISTINCT_MAX) {
        s->info->distinct_capped = true;
        return TP_OK;
    }
    return tp_id_map_put(&s->sizes, (int64_t)size, 0, err);
}

static int count_request(struct scan *s, const struct tp_insn *in, struct tp_err *err)
{
    s->info->requests++;
    s->info->aligned += in->align_log2 != s->info->usual_align_log2;
    if (in->align_log2 > s->info->highest_align_log2)
        s->info->highest_align_log2 = in->align_log2;
    return count_size(s, in->size, err);
}

static void count_row(struct tp_info *info, uint64_t size)
{
    int row = 0;
    count(&info->powers[size > 1 ? 64 - __builtin_clzll(size - 1) : 0], size);
    while (size > info->sizes[row].up_to)
        row++;
    count(&info->sizes[row].count, size);
}

static bool commoner(const struct tp_info_common *a, const struct tp_info_common *b)
{
    return a->requests > b->requests || (a->requests == b->requests && a->size < b->size);
}

static void find_common(const struct scan *s, struct tp_info_common *best)
{
    const struct tp_id_entry *e;
    for (uint64_t i = 0; (e = tp_id_map_next(&s->sizes, &i));) {
        struct tp_info_common c = {(uint64_t)e->id, e->refs};
        for (int k = 0; k < TP_INFO_COMMON; k++) {
            if (!commoner(&c, &best[k]))
                continue;
            struct tp_info_common moved = best[k];
            best[k] = c;
            c = moved;
        }
    }
}

/* ---- threads, streams, phases ---- */

static struct tp_info_share *of_thread(struct scan *s, uint16_t thread)
{
    uint16_t *row = &s->rows[thread];
    if (!*row) {
        uint64_t count = ++s->info->thread_count;
        *row = (uint16_t)(count <= TP_INFO_THREADS ? count : TP_INFO_THREADS + 1);
    }
    return &s->info->threads[*row - 1];
}

enum { SHARES = 3 };

/* The thread, the stream and the device of an instruction. */
static void shares_of(struct scan *s, const struct tp_insn *in, struct tp_info_share *out[SHARES])
{
    out[0] = of_thread(s, in->thread);
    out[1] = &s->info->streams[in->stream];
    out[2] = &s->info->devices[in->device].share;
}

static void share_new(struct scan *s, const struct tp_insn *in)
{
    struct tp_info_share *of[SHARES];
    shares_of(s, in, of);
    for (int i = 0; i < SHARES; i++)
        count(&of[i]->allocated, in->size);
}

static void share_free(struct scan *s, const struct tp_insn *in, bool remote)
{
    struct tp_info_share *of[SHARES];
    shares_of(s, in, of);
    for (int i = 0; i < SHARES; i++) {
        of[i]->frees++;
        of[i]->remote += remote;
    }
}

static void end_phase(struct scan *s, uint64_t event)
{
    struct open_phase *o = &s->open;
    if (!o->phase)
        return;
    o->phase->events += event > o->event ? event - o->event - 1 : 0;
    o->phase->ns += s->facts->time_known ? s->time - o->time : 0;
    o->phase = NULL;
}

static void on_mark(struct scan *s, uint32_t mark)
{
    end_phase(s, s->event);
    s->mark = mark;
    if (!tp_mark_phase(s->program, mark))
        return;
    struct tp_info_phase *phase = &s->info->phase_rows[mark];
    s->info->phases_begun++;
    if (!phase->begun++)
        phase->first_event = s->event;
    s->open = (struct open_phase){phase, s->event, s->time};
    raise_peak(s);
}

/* ---- objects ---- */

static uint64_t owner_of(const struct scan *s, uint16_t thread)
{
    return s->ended[thread] << 16 | thread;
}

static void on_new(struct scan *s, const struct tp_insn *in)
{
    struct device *d = &s->devices[in->device];
    struct object *o = &s->objects[in->slot];
    *o = (struct object){.size = in->size,
                         .asked = in->size,
                         .event = s->event,
                         .time = s->time,
                         .owner = owner_of(s, in->thread),
                         .next = d->newest,
                         .prev = NO_SLOT};
    if (d->newest != NO_SLOT)
        s->objects[d->newest].prev = in->slot;
    d->newest = in->slot;
    if (s->event == OF_THE_PAST)
        count(&s->info->before, in->size);
    else
        count(&s->info->allocated, in->size);
    if (s->event != OF_THE_PAST) {
        count_row(s->info, in->size);
        share_new(s, in);
    }
    change_fresh(d, o, in->size, 0);
    change(s, d, in->size, 0);
}

/* The end of an object's life, by a free or a reset. */
static void end_life(struct scan *s, struct device *d, uint32_t slot)
{
    const struct object *o = &s->objects[slot];
    if (o->next != NO_SLOT)
        s->objects[o->next].prev = o->prev;
    if (o->prev != NO_SLOT)
        s->objects[o->prev].next = o->next;
    else
        d->newest = o->next;
    if (o->event == OF_THE_PAST) {
        s->info->before_freed++;
        return;
    }
    s->info->freed++;
    tp_hist_add(&s->info->events, s->event - o->event);
    tp_hist_add(&s->info->times, s->time - o->time);
    if (s->event - o->event <= TP_INFO_TEMPORARY)
        count(&s->info->temporary, o->asked);
}

static void on_free(struct scan *s, const struct tp_insn *in)
{
    struct device *d = &s->devices[in->device];
    const struct object *o = &s->objects[in->slot];
    bool remote = o->event != OF_THE_PAST && o->owner != owner_of(s, in->thread);
    s->info->remote_frees += remote;
    share_free(s, in, remote);
    change_fresh(d, o, 0, o->size);
    change(s, d, 0, o->size);
    end_life(s, d, in->slot);
}

static void on_realloc(struct scan *s, const struct tp_insn *in)
{
    struct object *o = &s->objects[in->slot];
    if (in->size > o->size)
        s->info->grow++;
    else if (in->size < o->size)
        s->info->shrink++;
    else
        s->info->same++;
    change_fresh(&s->devices[in->device], o, in->size, o->size);
    change(s, &s->devices[in->device], in->size, o->size);
    o->size = in->size;
}

static void on_reset(struct scan *s, uint16_t device)
{
    struct device *d = &s->devices[device];
    d->fresh = 0;
    change(s, d, 0, d->requested);
    while (d->newest != NO_SLOT)
        end_life(s, d, d->newest);
}

/* A request that failed when it was recorded counts in the requested bytes, but not as an object.
 */
static void on_failed(struct scan *s, const struct tp_insn *in)
{
    const struct object asked = {.event = s->event};
    uint64_t more = in->op == TP_ALLOC ? in->size : 0;
    change_fresh(&s->devices[in->device], &asked, more, in->size - more);
    change(s, &s->devices[in->device], more, in->size - more);
}

static int on_insn(struct scan *s, const struct tp_insn *in, struct tp_err *err)
{
    if (tp_failed_request_next(&s->failed, in, s->event) != TP_FAILED_NONE) {
        on_failed(s, in);
        return TP_OK;
    }
    int status =
        tp_op_is(in->op, TP_ASKS) && s->event != OF_THE_PAST ? count_request(s, in, err) : TP_OK;
    switch (in->op) {
    case TP_FREE:
        on_free(s, in);
        break;
    case TP_REALLOC:
        on_realloc(s, in);
        break;
    case TP_RESET:
        for (uint32_t d = tp_insn_first_device(in); d < tp_insn_end_device(in, s->facts->devices);
             d++)
            on_reset(s, (uint16_t)d);
        break;
    case TP_THREAD_END:
        s->ended[in->thread]++;
        s->rows[in->thread] = 0;
        break;
    case TP_MARK:
        on_mark(s, in->slot);
        break;
    default: /* what is not new here changes neither objects nor bytes */
        if (tp_op_is(in->op, TP_IS_NEW))
            on_new(s, in);
        break;
    }
    return status;
}

/* ---- the whole program ---- */

static int scan_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    struct scan *s = ctx;
    uint32_t jump = 0;
    uint64_t event = w->first_event;
    if (!w->initial_heap)
        begin_curves(s);
    for (uint32_t i = 0; i < w->count; i++) {
        if (jump < w->jump_count && w->jumps[jump].index == i)
            event = w->jumps[jump++].event;
        s->event = event;
        s->made += event != s->last;
        s->last = event;
        s->time += w->insns[i].gap_ns;
        event += !w->initial_heap;
        int status = on_insn(s, &w->insns[i], err);
        if (status)
            return status;
    }
    return TP_OK;
}

static void begin(struct scan *s, struct tp_program *program)
{
    const struct tp_program_facts *f = s->facts;
    bool device = f->kind == TP_KIND_DEVICE;
    s->info->device_count = f->devices;
    s->info->by_time = f->time_known && f->duration_ns;
    s->info->usual_align_log2 = tp_usual_align_log2((enum tp_kind)f->kind);
    for (int i = 0; i < TP_INFO_SIZES; i++)
        s->info->sizes[i].up_to = device ? device_limits[i] : host_limits[i];
    for (uint16_t i = 0; i < f->devices; i++) {
        s->devices[i] = (struct device){.info = &s->info->devices[i],
                                        .demand = tp_program_demand(program, i),
                                        .newest = NO_SLOT};
        s->info->devices[i].peak_mark = UINT32_MAX;
    }
    s->mark = UINT32_MAX;
    for (uint32_t i = 0; i < f->marks; i++)
        s->info->phases += tp_mark_phase(program, i) != NULL;
    s->sizes.how.what = "distinct sizes";
}

static void finish(struct scan *s)
{
    begin_curves(s);
    end_phase(s, s->facts->events + 1);
    for (uint32_t i = 0; i < s->info->device_count; i++) {
        struct device *d = &s->devices[i];
        if (s->curves) {
            fill_to(d, TP_INFO_COLUMNS);
            tp_curve_finish(&d->info->curve);
        }
        d->info->left = d->requested;
        for (uint32_t slot = d->newest; slot != NO_SLOT; slot = s->objects[slot].next)
            if (s->objects[slot].event != OF_THE_PAST)
                count(&s->info->outlive, s->objects[slot].asked);
    }
    s->info->distinct = s->sizes.used;
    s->info->without_effect = s->facts->events > s->made ? s->facts->events - s->made : 0;
    if (!s->info->distinct_capped)
        find_common(s, s->info->common);
}

/* calloc for at least one element. */
static void *some(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

static bool make_room(struct scan *s)
{
    const struct tp_program_facts *f = s->facts;
    s->info = calloc(1, sizeof *s->info + f->devices * sizeof *s->info->devices);
    s->objects = some(f->slots, sizeof *s->objects);
    s->devices = calloc(f->devices, sizeof *s->devices);
    s->ended = calloc(f->threads, sizeof *s->ended);
    s->rows = calloc(f->threads, sizeof *s->rows);
    if (!s->info)
        return false;
    s->info->streams = some(f->streams, sizeof *s->info->streams);
    s->info->phase_rows = some(f->marks, sizeof *s->info->phase_rows);
    return s->objects && s->devices && s->ended && s->rows && s->info->streams &&
           s->info->phase_rows;
}

static int look_through(struct tp_program *program, bool curves, struct tp_info **out,
                        struct tp_err *err)
{
    struct scan s = {.program = program, .facts = tp_program_facts(program), .curves = curves};
    int status = TP_OK;
    if (!make_room(&s)) {
        status = tp_fail(err, TP_ENOMEM, "out of memory while looking through a trace");
    } else {
        begin(&s, program);
        status = tp_program_walk(program, scan_window, &s, err);
    }
    if (!status)
        finish(&s);
    free(s.objects);
    free(s.devices);
    free(s.ended);
    free(s.rows);
    tp_id_map_release(&s.sizes);
    if (status)
        tp_info_free(s.info);
    else
        *out = s.info;
    return status;
}

int tp_info_scan(struct tp_program *program, struct tp_info **out, struct tp_err *err)
{
    return look_through(program, true, out, err);
}

int tp_info_scan_no_curves(struct tp_program *program, struct tp_info **out, struct tp_err *err)
{
    return look_through(program, false, out, err);
}

void tp_info_free(struct tp_info *info)
{
    if (info) {
        free(info->streams);
        free(info->phase_rows);
    }
    free(info);
}

/* ---- rows ---- */

struct tp_info_rows tp_info_powers(const struct tp_info *info)
{
    struct tp_info_rows rows = {0, TP_INFO_POWERS};
    while (rows.end && !info->powers[rows.end - 1].objects)
        rows.end--;
    while (rows.first < rows.end && !info->powers[rows.first].objects)
        rows.first++;
    return rows;
}

struct tp_info_rows tp_info_doublings(const struct tp_histogram *h,
                                      uint64_t counts[TP_HIST_DOUBLINGS])
{
    struct tp_info_rows rows = {0, TP_HIST_DOUBLINGS};
    tp_hist_double(h, counts);
    while (rows.end && !counts[rows.end - 1])
        rows.end--;
    while (rows.first < rows.end && !counts[rows.first])
        rows.first++;
    return rows;
}

uint64_t tp_info_below(unsigned k)
{
    return k + 1 < TP_HIST_DOUBLINGS ? UINT64_C(2) << k : TP_NONE;
}

struct tp_info_share tp_info_sum(const struct tp_info_share *rows, uint64_t first, uint64_t end)
{
    struct tp_info_share sum = {.frees = 0};
    for (uint64_t i = first; i < end; i++) {
        sum.allocated.objects += rows[i].allocated.objects;
        grow_sum(&sum.allocated.bytes, rows[i].allocated.bytes);
        sum.frees += rows[i].frees;
        sum.remote += rows[i].remote;
    }
    return sum;
}
