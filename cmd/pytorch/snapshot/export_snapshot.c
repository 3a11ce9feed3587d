/* --format snapshot: what a strategy did with memory, as a PyTorch memory snapshot, which
 * docs.pytorch.org/memory_viz and other tools for such files show.
 *
 *     {"segments": [{..., "blocks": [...]}, ...],       what is held at the end
 *      "device_traces": [[{"action": ...}, ...], ...],  what happened, a list for each device
 *      "allocator_settings": {...},                     the strategy and its options
 *      "external_annotations": [...]}                   the phases of the trace
 *
 * The program is replayed once more, untimed (alloc/heapmap/history.h); what that tells is kept in
 * lists that may be longer than memory, and nothing is written before it is over. Times count from
 * the beginning of the trace. Of what was live then, there is no event, as in PyTorch's own files.
 * What happened has the call stack of the event of the trace during which it did, a block and a
 * segment that of the event that asked for it. An allocation has the metadata of the trace's. Each
 * has every member that PyTorch's own readers look at, whether they need it or not.
 *
 * Known weakness: a block of another allocator that does not lie on a multiple of 512 bytes is
 * written as it is, and a reader that expects PyTorch's blocks may wonder. */
#include "alloc/heapmap/history.h"
#include "alloc/program/heap.h"
#include "cmd/exports/export_text.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/process.h"
#include "cmd/pytorch/snapshot/pickler.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_exports.h"
#include "cmd/ui/stop.h"
#include "traces/event.h"
#include "traces/places/place_table.h"
#include "traces/places/place_text.h"

#include <stdlib.h>

/* ---- snapshot frames ---- */

/* The call stacks of a snapshot, as PyTorch writes them: a list of frames, the innermost first.
 *
 *     [{"filename": "model.py", "line": 31, "name": "forward"}, {"filename": "train.py", ...}]
 *
 * A frame and a list are written once and then referred to, so that a file grows with the number of
 * its stacks, not with that of its events. */

struct tp_snapshot_frames {
    struct tp_place_table *table; /* owned: the places of all events; NULL: none is known */
    /* Numbers in the file + 1 of what was written; 0: not yet. Owned. */
    uint32_t *frames;              /* by text of the table */
    uint32_t *alone;               /* by text: the list of that frame alone */
    uint32_t *stacks;              /* by stack of the table */
    uint32_t empty;                /* the list without frames */
    unsigned filename, line, name; /* the words of the pickler that are the keys */
};

static void snapshot_frames_close(struct tp_snapshot_frames *f)
{
    tp_place_table_free(f->table);
    free(f->frames);
    free(f->alone);
    free(f->stacks);
    *f = (struct tp_snapshot_frames){.table = NULL};
}

/* Collects the places of the events 1 to `events` with their callers; `stop` as for
 * tp_place_table_gather_stacks. The keys are the caller's to set. */
static int snapshot_frames_open(struct tp_snapshot_frames *f, const struct tp_places *places,
                                uint64_t events, int (*stop)(struct tp_err *err),
                                struct tp_err *err)
{
    *f = (struct tp_snapshot_frames){.table = NULL};
    int rc = places->find ? tp_place_table_gather_stacks(places, NULL, events, stop, &f->table, err)
                          : TP_OK;
    if (rc != TP_OK || !f->table)
        return rc;
    size_t texts = tp_place_table_texts(f->table), stacks = tp_place_table_stacks(f->table);
    f->frames = calloc(texts + 1, sizeof *f->frames);
    f->alone = calloc(texts + 1, sizeof *f->alone);
    f->stacks = calloc(stacks + 1, sizeof *f->stacks);
    if (f->frames && f->alone && f->stacks)
        return TP_OK;
    snapshot_frames_close(f);
    return tp_fail(err, TP_ENOMEM, "out of memory for the frames of a snapshot");
}

/* A piece of the text of a place. */
static void put_piece(struct tp_pickler *w, unsigned key, const char *piece, size_t bytes)
{
    char text[TP_PLACE_TEXT];
    snprintf(text, sizeof text, "%.*s", (int)bytes, piece);
    tp_pickler_word(w, key);
    tp_pickler_text(w, text);
}

static void put_frame(struct tp_snapshot_frames *f, struct tp_pickler *w, uint32_t text)
{
    static const char unknown[] = "??";
    tp_pickler_item(w);
    if (f->frames[text]) {
        tp_pickler_again(w, f->frames[text] - 1);
        return;
    }
    const struct tp_place_split place = tp_place_split(tp_place_table_get(f->table, text));
    bool known = place.file_bytes != 0;
    tp_pickler_begin_dict(w);
    put_piece(w, f->filename, known ? place.file : unknown,
              known ? place.file_bytes : sizeof unknown - 1);
    tp_pickler_word(w, f->line);
    tp_pickler_int(w, place.line);
    put_piece(w, f->name, place.function, place.function_bytes);
    tp_pickler_end_dict(w);
    f->frames[text] = tp_pickler_remember(w) + 1;
}

static void put_list(struct tp_snapshot_frames *f, struct tp_pickler *w,
                     const struct tp_place_item *item)
{
    tp_pickler_begin_list(w);
    if (item && !item->stack)
        put_frame(f, w, item->text);
    for (uint32_t stack = item ? item->stack : 0; stack;) {
        const struct tp_place_stack *at = tp_place_table_stack(f->table, stack - 1);
        put_frame(f, w, at->text);
        stack = at->caller;
    }
    tp_pickler_end_list(w);
}

/* Writes the list for an item of the table; the empty one for NULL, or where no place is known. */
static void snapshot_frames_put(struct tp_snapshot_frames *f, struct tp_pickler *w,
                                const struct tp_place_item *item)
{
    uint32_t *number = &f->empty;
    if (item && item->text == TP_NO_PLACE)
        item = NULL;
    if (item)
        number = item->stack ? &f->stacks[item->stack - 1] : &f->alone[item->text];
    if (*number) {
        tp_pickler_again(w, *number - 1);
        return;
    }
    put_list(f, w, item);
    *number = tp_pickler_remember(w) + 1;
}

#define IN_MEMORY ((size_t)16 << 20) /* bytes of the events, all devices together */
#define LEAST     ((size_t)64 << 10) /* bytes of the events of a device */
#define AT_END    ((size_t)4 << 20) /* bytes of each list of what is held at the end, and of marks */

/* clang-format off */
enum snapshot_word {
    SEGMENTS, DEVICE_TRACES, SETTINGS, ANNOTATIONS, BLOCKS,
    ADDRESS, ADDR, SIZE, REQUESTED, TOTAL, ALLOCATED, ACTIVE, DEVICE, STREAM, TIME, DEVICE_FREE,
    ACTION, STATE, TYPE, STAGE, NAME, FRAMES, FILENAME, LINE, POOL, SEGMENT_POOL, IS_EXPANDABLE,
    CONF, EXPANDABLE, TOOL, STRATEGY, OPTIONS, SOURCE, TRACE, PROGRAM,
    LIVE, PENDING, INACTIVE, LARGE, SMALL, START, END, USER_METADATA,
    ACTIONS /* in the order of enum tp_history_action */
};

static const char *const words[] = {
    "segments", "device_traces", "allocator_settings", "external_annotations", "blocks",
    "address", "addr", "size", "requested_size", "total_size", "allocated_size", "active_size",
    "device", "stream", "time_us", "device_free",
    "action", "state", "segment_type", "stage", "name", "frames", "filename", "line", "pool_id",
    "segment_pool_id", "is_expandable",
    "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments", "tool", "strategy", "options", "source",
    "trace", "program",
    "active_allocated", "active_pending_free", "inactive", "large", "small", "START", "END",
    "user_metadata",
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "oom", NULL};
/* clang-format on */
static_assert(sizeof words / sizeof *words - 1 == ACTIONS + TP_HISTORY_MARK,
              "a text for each word");
static_assert((int)ACTIONS + (int)TP_HISTORY_MARK <= (int)TP_PICKLER_WORDS, "all are remembered");

struct listed_segment {
    struct tp_history_segment segment;
    uint64_t blocks;
};

struct snapshot {
    const struct tp_result *result;
    struct tp_spill *events; /* by device */
    struct tp_spill marks, segments, blocks;
    bool grows; /* memory was mapped */
    bool noted; /* events have user_metadata, as from PyTorch 2.10 on: a reader tells the release */
    struct tp_snapshot_frames frames;
    uint32_t pool; /* number in the file + 1 of the id of pool 0; 0: not written yet */
    struct tp_pickler w;
};

/* ---- listening ---- */

static int take_event(void *ctx, const struct tp_history_event *e, struct tp_err *err)
{
    struct snapshot *s = ctx;
    s->grows |= e->action == TP_HISTORY_SEGMENT_MAP;
    return tp_spill_add(e->action == TP_HISTORY_MARK ? &s->marks : &s->events[e->device], e, err);
}

static int take_segment(void *ctx, const struct tp_history_segment *segment,
                        const struct tp_history_block *blocks, size_t count, struct tp_err *err)
{
    struct snapshot *s = ctx;
    const struct listed_segment listed = {.segment = *segment, .blocks = count};
    int status = tp_spill_add(&s->segments, &listed, err);
    s->grows |= segment->mapped;
    for (size_t i = 0; !status && i < count; i++)
        status = tp_spill_add(&s->blocks, &blocks[i], err);
    return status;
}

/* Replays. After an interrupt what was measured is written all the same. What a plug-in prints
 * meanwhile is no part of the output. */
static int listen(struct snapshot *s, struct tp_err *err)
{
    struct tp_replay_cfg cfg = s->result->replayed;
    const struct tp_history_sink sink = {take_event, take_segment, s};
    if (cfg.interrupted && *cfg.interrupted)
        cfg.interrupted = NULL;
    int aside = s->result->spec->plugin ? tp_stdout_aside() : -1;
    int status = tp_history(&cfg, &sink, err);
    if (s->result->spec->plugin)
        tp_stdout_back(aside);
    return status;
}

/* ---- members ---- */

static void write_number(struct snapshot *s, enum snapshot_word key, uint64_t n)
{
    tp_pickler_word(&s->w, key);
    tp_pickler_int(&s->w, n);
}

static void write_word(struct snapshot *s, enum snapshot_word key, enum snapshot_word value)
{
    tp_pickler_word(&s->w, key);
    tp_pickler_word(&s->w, value);
}

static void write_text(struct snapshot *s, enum snapshot_word key, const char *text)
{
    tp_pickler_word(&s->w, key);
    tp_pickler_text(&s->w, text);
}

static void write_bool(struct snapshot *s, enum snapshot_word key, bool truth)
{
    tp_pickler_word(&s->w, key);
    tp_pickler_bool(&s->w, truth);
}

/* The id of a pool; that of all who ask for none, (0, 0), is in the file once. */
static void write_pool(struct snapshot *s, enum snapshot_word key, uint64_t pool)
{
    tp_pickler_word(&s->w, key);
    if (!pool && s->pool) {
        tp_pickler_again(&s->w, s->pool - 1);
        return;
    }
    tp_pickler_int(&s->w, tp_pool_first(pool));
    tp_pickler_int(&s->w, tp_pool_second(pool));
    tp_pickler_pair(&s->w);
    if (!pool)
        s->pool = tp_pickler_remember(&s->w) + 1;
}

/* The call stack of an event; 0: none. */
static int write_frames(struct snapshot *s, uint64_t event, struct tp_err *err)
{
    struct tp_place_item item = {.text = TP_NO_PLACE};
    int status = TP_OK;
    if (s->frames.table && event)
        status = tp_place_table_find(s->frames.table, event, &item, err);
    tp_pickler_word(&s->w, FRAMES);
    snapshot_frames_put(&s->frames, &s->w, &item);
    return status;
}

/* ---- segments ---- */

static int write_block(struct snapshot *s, const struct tp_history_block *b, struct tp_err *err)
{
    tp_pickler_item(&s->w);
    tp_pickler_begin_dict(&s->w);
    write_number(s, ADDRESS, b->addr);
    write_number(s, SIZE, b->size);
    write_number(s, REQUESTED, b->requested);
    enum snapshot_word unless_pending = b->requested ? LIVE : INACTIVE;
    write_word(s, STATE, b->pending ? PENDING : unless_pending);
    int status = write_frames(s, b->event, err);
    tp_pickler_end_dict(&s->w);
    return status;
}

/* Sums over the blocks of a segment. A block is active until its free is completed. */
struct segment_sums {
    uint64_t allocated, active, requested; /* bytes */
};

static int write_blocks(struct snapshot *s, uint64_t count, struct tp_spill_cursor *blocks,
                        struct segment_sums *sums, struct tp_err *err)
{
    int status = TP_OK;
    *sums = (struct segment_sums){0};
    tp_pickler_word(&s->w, BLOCKS);
    tp_pickler_begin_list(&s->w);
    for (uint64_t i = 0; !status && i < count; i++) {
        const struct tp_history_block *b = tp_spill_next(blocks, &status, err);
        if (!b)
            break;
        status = write_block(s, b, err);
        sums->allocated += b->requested && !b->pending ? b->size : 0;
        sums->active += b->requested ? b->size : 0;
        sums->requested += b->requested;
    }
    tp_pickler_end_list(&s->w);
    return status;
}

static int write_segment(struct snapshot *s, const struct listed_segment *listed,
                         struct tp_spill_cursor *blocks, struct tp_err *err)
{
    const struct tp_history_segment *g = &listed->segment;
    struct segment_sums sums;
    tp_pickler_item(&s->w);
    tp_pickler_begin_dict(&s->w);
    write_number(s, DEVICE, g->device);
    write_number(s, ADDRESS, g->addr);
    write_number(s, TOTAL, g->size);
    write_number(s, STREAM, g->stream);
    write_word(s, TYPE, g->small ? SMALL : LARGE);
    write_pool(s, SEGMENT_POOL, g->pool);
    write_bool(s, IS_EXPANDABLE, g->mapped);
    int status = write_frames(s, g->event, err);
    if (!status)
        status = write_blocks(s, listed->blocks, blocks, &sums, err);
    if (status)
        return status;
    write_number(s, ALLOCATED, sums.allocated);
    write_number(s, ACTIVE, sums.active);
    write_number(s, REQUESTED, sums.requested);
    tp_pickler_end_dict(&s->w);
    return TP_OK;
}

static int write_segments(struct snapshot *s, struct tp_err *err)
{
    struct tp_spill_cursor segments = {.list = &s->segments, .end = tp_spill_count(&s->segments)};
    struct tp_spill_cursor blocks = {.list = &s->blocks, .end = tp_spill_count(&s->blocks)};
    const struct listed_segment *listed;
    int status = TP_OK;
    tp_pickler_word(&s->w, SEGMENTS);
    tp_pickler_begin_list(&s->w);
    while (!status && (listed = tp_spill_next(&segments, &status, err)))
        status = write_segment(s, listed, &blocks, err);
    tp_pickler_end_list(&s->w);
    return status;
}

/* ---- events ---- */

/* What the trace says of the event of an allocation. */
static int write_metadata(struct snapshot *s, const struct tp_history_event *e, struct tp_err *err)
{
    const struct tp_places *places = &s->result->trace->places;
    uint32_t label = 0;
    int status = places->label && e->event && e->action == TP_HISTORY_ALLOC
                     ? places->label(places->ctx, e->event + places->before, &label, err)
                     : TP_OK;
    if (label || s->noted)
        write_text(s, USER_METADATA, label ? places->label_text(places->ctx, label) : "");
    return status;
}

/* A failure has an address too, which is 0, as some readers ask every event for it; and what the
 * device has left is a number for all of them: 0 where the source does not know it. */
static int write_event(struct snapshot *s, const struct tp_history_event *e,
                       struct tp_place_cursor *places, struct tp_err *err)
{
    const struct tp_place_item *item = NULL;
    int status = tp_place_cursor_look(places, e->event, &item, err);
    tp_pickler_item(&s->w);
    tp_pickler_begin_dict(&s->w);
    write_word(s, ACTION, (enum snapshot_word)(ACTIONS + e->action));
    write_number(s, ADDR, e->addr);
    if (e->action == TP_HISTORY_OOM)
        write_number(s, DEVICE_FREE, e->left != TP_NONE ? e->left : 0);
    write_number(s, SIZE, e->size);
    write_number(s, STREAM, e->stream);
    write_number(s, TIME, e->time_ns / 1000);
    write_pool(s, POOL, e->pool);
    tp_pickler_word(&s->w, FRAMES);
    snapshot_frames_put(&s->frames, &s->w, item && item->event == e->event ? item : NULL);
    if (!status)
        status = write_metadata(s, e, err);
    tp_pickler_end_dict(&s->w);
    return status;
}

static int write_device(struct snapshot *s, const struct tp_spill *events, struct tp_err *err)
{
    struct tp_spill_cursor all = {.list = events, .end = tp_spill_count(events)};
    struct tp_place_cursor places = {.table = s->frames.table};
    const struct tp_history_event *e;
    int status = TP_OK;
    tp_pickler_item(&s->w);
    tp_pickler_begin_list(&s->w);
    while (!status && (e = tp_spill_next(&all, &status, err)))
        status = write_event(s, e, &places, err);
    tp_pickler_end_list(&s->w);
    return status;
}

static int write_devices(struct snapshot *s, struct tp_err *err)
{
    int status = TP_OK;
    tp_pickler_word(&s->w, DEVICE_TRACES);
    tp_pickler_begin_list(&s->w);
    for (uint16_t i = 0; !status && i < s->result->facts->devices; i++)
        status = write_device(s, &s->events[i], err);
    tp_pickler_end_list(&s->w);
    return status;
}

/* ---- settings and phases ---- */

static void choose_members(struct snapshot *s)
{
    const struct tp_strategy_spec *spec = s->result->spec;
    const struct tp_recorded_strategy *p = tp_find_recorded_strategy("PyTorch");
    char release[TP_SPEC_TEXT] = "";
    if (p && p->strategy == spec->strategy)
        tp_opt_format(tp_opt_find(spec->strategy->options, p->release_option), spec->opts, release,
                      sizeof release);
    s->noted = !p || !p->is_before(release, 2, 10);
}

/* The text of PYTORCH_CUDA_ALLOC_CONF, where that is what sets the strategy. */
static void write_conf(struct snapshot *s)
{
    const struct tp_strategy_spec *spec = s->result->spec;
    const struct tp_recorded_strategy *p = tp_find_recorded_strategy("PyTorch");
    char conf[TP_SPEC_TEXT] = "";
    if (!p || p->strategy != spec->strategy)
        return;
    tp_opt_format(tp_opt_find(spec->strategy->options, p->option), spec->opts, conf, sizeof conf);
    write_text(s, CONF, conf);
    write_bool(s, EXPANDABLE, s->grows);
}

static void write_settings(struct snapshot *s)
{
    const struct tp_result *r = s->result;
    char options[TP_SPEC_TEXT] = "";
    tp_opts_text(r->spec->strategy->options, r->spec->opts, options, sizeof options);
    tp_pickler_word(&s->w, SETTINGS);
    tp_pickler_begin_dict(&s->w);
    write_conf(s);
    write_text(s, TOOL, "tapool " TAPOOL_VERSION);
    write_text(s, STRATEGY, r->spec->strategy->name);
    write_text(s, OPTIONS, options);
    write_text(s, SOURCE, r->source->name);
    write_text(s, TRACE, r->trace->meta.name);
    write_text(s, PROGRAM, tp_hash_text(r->facts).s);
    tp_pickler_end_dict(&s->w);
}

static void write_annotation(struct snapshot *s, enum snapshot_word stage, const char *name,
                             uint64_t time_us)
{
    for (uint16_t i = 0; i < s->result->facts->devices; i++) {
        tp_pickler_item(&s->w);
        tp_pickler_begin_dict(&s->w);
        write_word(s, STAGE, stage);
        write_text(s, NAME, name);
        write_number(s, DEVICE, i);
        write_number(s, TIME, time_us);
        tp_pickler_end_dict(&s->w);
    }
}

/* A phase lasts from its mark to the next one; the last one has no end. */
static int write_phases(struct snapshot *s, struct tp_err *err)
{
    struct tp_spill_cursor marks = {.list = &s->marks, .end = tp_spill_count(&s->marks)};
    const struct tp_history_event *e;
    const char *phase = NULL;
    int status = TP_OK;
    tp_pickler_word(&s->w, ANNOTATIONS);
    tp_pickler_begin_list(&s->w);
    while (!status && (e = tp_spill_next(&marks, &status, err))) {
        if (phase)
            write_annotation(s, END, phase, e->time_ns / 1000);
        phase = tp_mark_phase(s->result->trace->program, e->mark);
        if (phase)
            write_annotation(s, START, phase, e->time_ns / 1000);
    }
    tp_pickler_end_list(&s->w);
    return status;
}

/* ---- the file ---- */

static int write_all(struct snapshot *s, FILE *out, struct tp_err *err)
{
    choose_members(s);
    tp_pickler_begin(&s->w, out, words);
    tp_pickler_begin_dict(&s->w);
    int status = write_segments(s, err);
    if (!status)
        status = write_devices(s, err);
    if (!status)
        write_settings(s);
    if (!status)
        status = write_phases(s, err);
    tp_pickler_end_dict(&s->w);
    tp_pickler_end(&s->w);
    return status;
}

static int open_lists(struct snapshot *s, struct tp_err *err)
{
    uint16_t devices = s->result->facts->devices;
    size_t share = IN_MEMORY / devices > LEAST ? IN_MEMORY / devices : LEAST;
    tp_spill_init(&s->marks, sizeof(struct tp_history_event), AT_END);
    tp_spill_init(&s->segments, sizeof(struct listed_segment), AT_END);
    tp_spill_init(&s->blocks, sizeof(struct tp_history_block), AT_END);
    s->events = calloc(devices, sizeof *s->events);
    for (uint16_t i = 0; s->events && i < devices; i++)
        tp_spill_init(&s->events[i], sizeof(struct tp_history_event), share);
    return s->events ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static int open_frames(struct snapshot *s, struct tp_err *err)
{
    const struct tp_trace *trace = s->result->trace;
    int status = snapshot_frames_open(&s->frames, &trace->places, s->result->facts->events,
                                      tp_stop_asked, err);
    s->frames.filename = FILENAME;
    s->frames.line = LINE;
    s->frames.name = NAME;
    return status;
}

static void release_lists(struct snapshot *s)
{
    for (uint16_t i = 0; s->events && i < s->result->facts->devices; i++)
        tp_spill_release(&s->events[i]);
    free(s->events);
    snapshot_frames_close(&s->frames);
    tp_spill_release(&s->marks);
    tp_spill_release(&s->segments);
    tp_spill_release(&s->blocks);
}

static int write_part(const void *of, size_t index, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    struct snapshot s = {.result = &r->results[index]};
    int status = open_lists(&s, err);
    if (!status)
        status = listen(&s, err);
    if (!status && !r->partial) /* who interrupts does not wait for a file to be read again */
        status = open_frames(&s, err);
    if (!status)
        status = write_all(&s, out, err);
    release_lists(&s);
    return status;
}

/* ---- the files ---- */

static bool name_part(const void *of, size_t index, char *name, size_t size)
{
    const struct tp_report *r = of;
    char part[TP_EXPORT_PART];
    if (index >= tp_export_results(r))
        return false;
    tp_export_part(r, index, part);
    snprintf(name, size, "%s", part);
    return true;
}

/* A real allocator does not say where its memory comes from, nor does the driver's pool. */
static int check(const void *of, struct tp_err *err)
{
    const struct tp_report *r = of;
    for (size_t i = 0; i < r->planned; i++) {
        const struct tp_strategy_spec *spec = r->results[i].spec;
        bool takes = tp_strategy_takes_source(spec->strategy);
        if (!tp_strategy_has_ranges(spec->strategy))
            return tp_hint(err,
                           tp_fail(err, TP_EUSAGE,
                                   "a snapshot cannot show '%s': only %s knows its segments",
                                   spec->label, takes ? "the driver" : "the allocator itself"),
                           "-s names the strategies, such as '-s arena -s torch'");
    }
    return TP_OK;
}

static const char about[] = "A PyTorch memory snapshot of what the strategy did, for\n"
                            "docs.pytorch.org/memory_viz, tapool and other readers: each segment\n"
                            "reserved and returned, each block, each OOM, and the final state. A\n"
                            "file holds one strategy; several give FILE-LABEL and\n"
                            "FILE-TRACE-LABEL. The trace is replayed once more for it. Addresses\n"
                            "are invented: segments follow each other in the order they were\n"
                            "reserved. Times start at the first event; marks of the trace are\n"
                            "annotations. Frames are those of the trace, as in 'tapool info':\n"
                            "lines of the program, without folders. Free memory at a failure is 0\n"
                            "if the source does not report it.\n"
                            "Not available for real allocators (system, lib) and the driver's\n"
                            "pool, which do not report where their memory comes from.";

const struct tp_exporter tp_replay_snapshot = {
    .name = "snapshot",
    .summary = "every segment and block over time, for PyTorch's memory_viz",
    .about = about,
    .part = name_part,
    .write_part = write_part,
    .check = check,
};
