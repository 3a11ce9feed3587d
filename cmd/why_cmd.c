/* tapool why: what filled the memory of a device at one event, and what was in the way. */
#include "alloc/base/clean.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/page/html_page.h"
#include "cmd/pages/why_pages.h"
#include "cmd/report/report_sites.h"
#include "cmd/stats/measure.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/stop.h"
#include "cmd/why/ranks.h"
#include "cmd/why/why.h"

#include <stdlib.h>
#include <string.h>

struct why_opts {
    struct tp_exports exports;
    char *conf, *malloc;
    uint64_t at, device, depth, max_memory, capacity, reserve, frames, timeout, try_time;
    uint32_t by;
    bool thp;
};

enum { SHOWN_MAX = 4096 }; /* bytes of a path */
enum { FRAMES = 16 };      /* moments of a host trace */

enum { TP_EXPORT_INDEXES(why, TP_WHY_EXPORTS) };
static const char *const why_words[] = {TP_EXPORT_WORDS(TP_WHY_EXPORTS)};

#define ROW(member) offsetof(struct why_opts, member)
static const struct tp_opt rows[] = {
    TP_UINT_AT("at", ROW(at), .def = "auto", .max = INT64_MAX, .choices = tp_why_when_words,
               TP_FIRST(OUTPUT),
               .help = "event to explain, by name or number\n"
                       "oom: the last OOM; peak: the most reserved memory; end: the last event; "
                       "auto: oom, or peak without an OOM. Numbers count the events of the "
                       "device."),
    TP_SITES_BY_ROW(ROW(by), FIRST),
    TP_SITES_DEPTH_ROW(ROW(depth)),
    TP_UINT_AT("device", ROW(device), .def = "all", .max = TP_MAX_DEVICES - 1,
               .choices = tp_device_words, TP_FIRST(TRACES),
               .help = "GPU to read from a snapshot of several\nall: those with memory."),
    TP_TEXT_AT("malloc", ROW(malloc), .from = TP_OPT_USER, .arg = "NAME", TP_FIRST(STRATEGIES),
               .help = "malloc or strategy to replay a host trace with: glibc, jemalloc, arena\n"
                       "With options as for -s: lib:jemalloc,env={MALLOC_CONF=narenas:1} (default: "
                       "the recorded malloc, or else glibc)"),
    TP_UINT_AT("frames", ROW(frames), .def = "auto", .min = 1, .max = TP_PAGE_MOMENTS - 3,
               .choices = tp_auto_words, TP_FIRST(OUTPUT),
               .help = "moments of a host trace to show, evenly spaced\n"
                       "auto: 16 are looked at and not shown."),
    TP_TIME_AT("try-time", ROW(try_time), .def = "20s", .max = UINT64_C(86400000000000),
               TP_FIRST(MEASURING),
               .help = "time for replays of a host trace with alternatives; 0: none"),
    TP_CONF_ROW(ROW(conf)),
    TP_CAPACITY_ROW(ROW(capacity), "memory of the device, for the settings to try; 0: no limit\n"
                                   "recorded: inferred from failed allocations and cudaMallocs."),
    TP_RESERVE_ROW(ROW(reserve)),
    TP_SNAPSHOT_MEMORY_ROW(ROW(max_memory)),
    TP_EXPORT_ROWS(why, TP_WHY_EXPORTS),
    TP_THEME_ROW(why),
    TP_COLOR_ROW(offsetof(struct why_opts, exports.color)),
    TP_BYTES_ROW(ROW(exports.bytes)),
    TP_THP_ROW(ROW(thp)),
    TP_TIMEOUT_ROW(ROW(timeout)),
    {.name = NULL}};

/* The answers for all devices that were asked about. */
struct answers {
    const struct why_opts *opts;
    const char *path, *shown; /* the same, clean */
    struct tp_why *list;
    size_t count;
};

/* ---- what is printed ---- */

enum { APART = 6 }; /* columns between two commands on a line */

/* Adds the command that draws what was asked about. */
static void add_picture(const struct answers *a, struct tp_str *s)
{
    tp_str_add(s, "tapool why");
    tp_str_word(s, a->shown);
    for (const struct tp_opt *row = rows; strcmp(row->name, "format") != 0; row++)
        tp_str_row(s, row, a->opts);
    tp_str_add(s, " --export-html why.html");
}

/* What can be typed next, on one line where there is room. Without events there is nothing to
 * tune. */
static void print_next(const struct answers *a, bool replayed, struct tp_page *page)
{
    struct tp_str tune = {0}, picture = {0};
    if (replayed) {
        tp_str_add(&tune, "Next: tapool tune");
        tp_str_word(&tune, a->shown);
    }
    if (!a->opts->exports.files[why_index_html]) {
        tp_str_add(&picture, " picture: ");
        add_picture(a, &picture);
    }
    const char *first = tp_str_text(&tune), *second = tp_str_text(&picture);
    int wide = tp_text_width(first) + APART + 1 + tp_text_width(second);
    bool beside = *first && wide <= page->width;
    fputs(first, page->out);
    if (*first && *second)
        fprintf(page->out, beside ? "%*s" : "\n", APART, "");
    if (*second)
        fprintf(page->out, "%s%s", beside ? "a" : "A", second);
    if (*first || *second)
        tp_page_line(page);
    tp_str_drop(&tune);
    tp_str_drop(&picture);
}

static void print_text(const void *of, struct tp_page *page)
{
    const struct answers *a = of;
    bool replayed = false;
    for (size_t i = 0; i < a->count; i++) {
        if (i)
            tp_page_line(page);
        tp_why_text(&a->list[i], a->count > 1, page);
        replayed |= a->list[i].verified.addresses.all > 0 && a->list[i].by->try_settings;
    }
    print_next(a, replayed, page);
}

static cJSON *why_tree(struct tp_json *j, const void *of)
{
    const struct answers *a = of;
    return tp_why_tree(j, a->list, a->count, a->shown);
}

static int check_folded(const void *of, struct tp_err *err)
{
    return tp_sites_have_stacks(((const struct answers *)of)->opts->by, err);
}

static int write_folded(const void *of, FILE *out, struct tp_err *err)
{
    const struct answers *a = of;
    (void)err;
    for (size_t i = 0; i < a->count; i++)
        tp_sites_folded(a->list[i].sites, NULL, out);
    return TP_OK;
}

static int write_html(const void *of, FILE *out, struct tp_err *err)
{
    const struct answers *a = of;
    return tp_why_page(&(struct tp_why_page){.list = a->list,
                                             .count = a->count,
                                             .file = a->shown,
                                             .exact = a->opts->exports.bytes,
                                             .rows = rows,
                                             .opts = a->opts},
                       out, err);
}

/* Whether the file is a host trace is known once it was opened. */
static int refuse_svg(const void *of, FILE *out, struct tp_err *err)
{
    (void)of;
    (void)out;
    return tp_fail(err, TP_EUSAGE, "the format svg takes a host trace");
}

static const struct tp_exporter why_text = {.name = "text", .print = print_text};
static const struct tp_exporter why_folded = {
    .name = "folded", .write = write_folded, .check = check_folded};
static const struct tp_exporter why_html = {
    .name = "html", .write = write_html, .check = tp_html_check};
static const struct tp_exporter why_svg = {.name = "svg", .write = refuse_svg};
static const struct tp_exporters why_exporters = TP_EXPORT_TABLE(why, TP_WHY_EXPORTS, why_tree);

/* ---- the answers ---- */

static bool is_asked(const struct why_opts *o, const struct tp_explained *x, uint32_t device)
{
    return tp_explained_has(x, device, o->device == TP_OPT_KEYWORD(0), (uint32_t)o->device);
}

/* How many devices are asked about. */
static uint32_t count_devices(const struct why_opts *o, const struct tp_explained *x)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < x->file.by->count(x->file.state); i++)
        count += is_asked(o, x, i);
    return count;
}

enum { TRY_MOST = 1000000 }; /* events of a program that is replayed with other settings */

/* Advice needs rules that do what the recorded allocator did, and a program that is soon replayed.
 */
static bool is_worth_trying(const struct tp_why *w)
{
    return w->moment.events && w->moment.events <= TRY_MOST && tp_why_is_faithful(w);
}

static uint64_t capacity_of(const struct why_opts *o, const struct tp_why *w)
{
    if (o->capacity != TP_OPT_KEYWORD(0))
        return o->capacity - o->reserve; /* checked before */
    if (w->recording.capacity)
        return w->recording.capacity;
    return w->room.capacity;
}

static int open_recording(const struct answers *a, uint32_t device, struct tp_why_trace *trace,
                          struct tp_why_recording *out, struct tp_err *err)
{
    int rc = tp_why_trace_open(trace, a->path, device, a->opts->max_memory, err);
    if (rc == TP_OK)
        *out = tp_why_recording_of(trace, a->opts->exports.bytes);
    return rc;
}

/* The answer for one device. The file is only read as a trace, too, if memory may have been short,
 * or for settings that are tried. */
static int answer_device(struct answers *a, const struct tp_explained *x, uint32_t device,
                         struct tp_why_cfg *cfg, struct tp_why_places *places, struct tp_err *err)
{
    struct tp_why *w = &a->list[a->count++];
    struct tp_why_trace trace = {.open = false};
    struct tp_why_recording r = {.capacity = 0};
    const struct why_opts *o = a->opts;
    bool pressed = x->by->is_pressed(x->file.state);
    int rc = pressed ? open_recording(a, device, &trace, &r, err) : TP_OK;
    cfg->limit = r.limit;
    if (rc == TP_OK)
        rc = tp_why(x, device, cfg, places, w, err);
    bool tries = rc == TP_OK && x->by->try_settings && is_worth_trying(w);
    if (tries && !pressed)
        rc = open_recording(a, device, &trace, &r, err);
    w->recording = r;
    if (rc == TP_OK && trace.open && tries)
        rc = tp_recorded_verify(&x->file, device, &w->whole, err);
    if (rc == TP_OK && trace.open && tries && !tp_why_has_switched(w))
        rc = x->by->try_settings(&trace, o->conf, capacity_of(o, w), o->max_memory, &w->tries, err);
    if (rc == TP_OK && trace.open && w->picture)
        tp_why_find_site_curve(&trace, w);
    tp_why_trace_close(&trace);
    return rc;
}

static int answer(struct answers *a, const struct tp_explained *x, struct tp_why_cfg *cfg,
                  struct tp_err *err)
{
    const struct tp_recorded_file *f = &x->file;
    struct tp_why_places places = {.count = 0};
    uint64_t wanted = a->opts->device;
    int rc = x->by->open_places(f->state, &places, err);
    for (uint32_t i = 0; rc == TP_OK && i < f->by->count(f->state); i++)
        if (is_asked(a->opts, x, i))
            rc = answer_device(a, x, i, cfg, &places, err);
    tp_why_places_close(&places);
    if (rc != TP_OK || a->count)
        return rc;
    return tp_explained_fail(x, wanted == TP_OPT_KEYWORD(0), (uint32_t)wanted,
                             tp_input_name(f->reading.in), err);
}

/* Opens a recording, or the replay of a trace in its place. The error is that of the recording
 * where the file is no trace either. */
static int open_file(const struct why_opts *o, const char *path, struct tp_explained *x,
                     struct tp_why_replayed *replayed, struct tp_err *err)
{
    struct tp_err other = {0};
    const struct tp_stand_in_ask ask = {
        .path = path,
        .conf = o->conf,
        .capacity = o->capacity == TP_OPT_KEYWORD(0) ? UINT64_MAX : o->capacity - o->reserve,
        .max_memory = o->max_memory};
    *replayed = (struct tp_why_replayed){.fd = -1};
    int rc = tp_explained_open(x, path, o->max_memory, err);
    if (rc != TP_EINPUT || !strcmp(path, "-"))
        return rc;
    int done = tp_stand_in(&ask, replayed, &other);
    if (done == TP_EINPUT)
        return rc;
    *err = other;
    if (done != TP_OK)
        return done;
    tp_explained_close(x);
    return tp_explained_open(x, replayed->path, o->max_memory, err);
}

/* ---- host traces ---- */

static int answer_host(const struct why_opts *o, const struct tp_trace *trace, FILE *out,
                       struct tp_err *err)
{
    static const enum tp_pages_when words[] = {
        [TP_WHY_AUTO] = TP_PAGES_AUTO, [TP_WHY_PEAK] = TP_PAGES_PEAK, [TP_WHY_END] = TP_PAGES_END};
    bool given = o->at < TP_OPT_KEYWORD(TP_WHY_AT - 1), shown = o->frames != TP_OPT_KEYWORD(0);
    enum tp_why_when when = given ? TP_WHY_AT : (enum tp_why_when)(TP_OPT_KEYWORD(0) - o->at);
    if (when == TP_WHY_OOM)
        return tp_fail(err, TP_EUSAGE, "--at oom does not apply to host traces");
    const struct tp_why_pages_cfg cfg = {
        .trace = trace,
        .malloc = o->malloc,
        .when = given ? TP_PAGES_AT : words[when],
        .at = o->at,
        .sites = {.by = o->by, .depth = o->depth > 1 ? (unsigned)o->depth : 0},
        .frames = shown ? (uint32_t)o->frames : FRAMES,
        .over_time = shown,
        .try_ns = o->try_time,
        .exact = o->exports.bytes,
        .theme = o->exports.theme,
        .timeout_ns = tp_timeout_of(o->timeout, tp_program_facts(trace->program)->events, 0),
        .huge_pages = o->thp,
        .interrupted = tp_stop_flag(),
        .stop = tp_stop_asked,
        .rows = rows,
        .opts = o};
    return tp_why_pages_run(&cfg, &o->exports, out, err);
}

/* Answers for a host trace. false: it is none, and `err` says why. */
static bool try_host(const struct tp_args *args, FILE *out, int *status, struct tp_err *err)
{
    static const char *const fitting[] = {
        "malloc", "frames",      "try-time",   "timeout",   "thp",           "at", "by", "depth",
        "color",  "export-html", "export-svg", "svg-theme", TP_RANKS_OPTIONS};
    const struct why_opts *o = args->opts;
    const char *path = args->words[0], *other = tp_config_typed_other(args, rows, fitting);
    const struct tp_open_opts open = {.max_memory = o->max_memory, .device = TP_OPT_KEYWORD(0)};
    struct tp_trace trace;
    struct tp_stop stop;
    *status = tp_open_trace(path, &open, false, &trace, err);
    if (*status)
        return false;
    bool host = tp_program_facts(trace.program)->kind == TP_KIND_HOST &&
                !tp_find_recorded_strategy(trace.recorded.by);
    tp_stop_catch(&stop, true);
    if (host)
        *status = other ? tp_fail(err, TP_EUSAGE, "--%s does not apply to host traces", other)
                        : answer_host(o, &trace, out, err);
    tp_stop_restore(&stop);
    tp_trace_close(&trace);
    if (!host)
        *status = tp_fail(err, TP_EUSAGE, "--malloc takes a host trace");
    return host;
}

/* Answers and writes; `cfg` lacks what the file decides. */
static int answer_devices(const struct tp_args *args, struct answers *a, struct tp_explained *x,
                          struct tp_why_cfg *cfg, FILE *out, struct tp_err *err)
{
    const struct why_opts *o = args->opts;
    const struct tp_recorded_file *f = &x->file;
    uint32_t count = f->by->count(f->state);
    int rc = tp_certifier_refuses(f->by, args, rows, err);
    if (rc == TP_OK && tp_exports_asked(&o->exports, why_index_svg))
        rc = refuse_svg(NULL, NULL, err);
    if (rc == TP_OK)
        rc = f->by->set_rules(f->state, &(struct tp_rules_ask){.conf = o->conf}, err);
    if (rc == TP_OK && tp_exports_asked(&o->exports, why_index_html))
        cfg->pictures = count_devices(o, x);
    if (rc == TP_OK && !(a->list = calloc(count, sizeof *a->list)))
        rc = tp_fail(err, TP_ENOMEM, "out of memory");
    if (rc == TP_OK)
        rc = answer(a, x, cfg, err);
    if (rc == TP_OK)
        rc = tp_exports_write(&o->exports, &why_exporters, a, out, err);
    for (size_t i = 0; i < a->count; i++)
        tp_why_release(&a->list[i]);
    free(a->list);
    return rc;
}

static int answer_file(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct why_opts *o = args->opts;
    const char *path = args->words[0];
    bool given = o->at < TP_OPT_KEYWORD(TP_WHY_AT - 1);
    struct tp_explained x;
    struct tp_why_cfg cfg = {.when =
                                 given ? TP_WHY_AT : (enum tp_why_when)(TP_OPT_KEYWORD(0) - o->at),
                             .at = o->at,
                             .sites = {.by = o->by, .depth = (unsigned)o->depth},
                             .stop = tp_stop_asked};
    char *shown = tp_clean_copy(path, SHOWN_MAX);
    struct answers a = {.opts = o, .path = path, .shown = shown ? shown : ""};
    struct tp_why_replayed replayed;
    int rc = open_file(o, path, &x, &replayed, err);
    if (replayed.fd >= 0) {
        a.path = replayed.path;
        cfg.replayed = true;
        cfg.remarks = replayed.remarks;
    }
    if (rc == TP_OK)
        rc = answer_devices(args, &a, &x, &cfg, out, err);
    free(shown);
    tp_explained_close(&x);
    tp_why_replayed_close(&replayed);
    return rc;
}

/* ---- several snapshots ---- */

static int compare_ranks(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    static const char *const fitting[] = {"conf", TP_RANKS_OPTIONS};
    const struct why_opts *o = args->opts;
    const struct tp_ranks_ask ask = {.cfg = {.paths = args->words,
                                             .count = (size_t)args->count,
                                             .conf = o->conf,
                                             .all_devices = o->device == TP_OPT_KEYWORD(0),
                                             .device = (uint32_t)o->device,
                                             .max_memory = o->max_memory,
                                             .stop = tp_stop_asked},
                                     .exports = &o->exports};
    const char *other = tp_config_typed_other(args, rows, fitting);
    if (other)
        return tp_fail(err, TP_EUSAGE, "--%s takes one snapshot or trace", other);
    return tp_ranks_run(&ask, out, err);
}

/* A host trace is found where the file is no snapshot. */
static int answer_any(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    struct tp_err other = {0};
    int status, rc = answer_file(args, out, err);
    if (rc != TP_EINPUT || !strcmp(args->words[0], "-") || !try_host(args, out, &status, &other))
        return rc;
    *err = other;
    return status;
}

static int run_why(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct why_opts *o = args->opts;
    if (args->count > 1)
        return compare_ranks(args, out, err);
    if (args->count != 1)
        return tp_hint(
            err,
            tp_fail(err, TP_EUSAGE,
                    "why needs a PyTorch snapshot, a TensorFlow or JAX capture or a host "
                    "trace"),
            "'tapool info TRACE --at EVENT' shows live memory by site of other traces");
    if (o->malloc) {
        int status;
        try_host(args, out, &status, err);
        return status;
    }
    int rc = tp_exports_check(&o->exports, &why_exporters, &(struct answers){.opts = o}, err);
    uint64_t capacity = o->capacity;
    if (rc == TP_OK)
        rc = tp_less_reserve(&capacity, o->reserve, err);
    return rc == TP_OK ? answer_any(args, out, err) : rc;
}

const struct tp_command tp_command_why = {
    .name = "why",
    .usage = "why SNAPSHOT|TRACE... [OPTION]...",
    .summary = "explain a GPU OOM or memory peak, or resident memory of a host trace",
    .about =
        "Explain one event of a PyTorch snapshot or of a capture of the TensorFlow or JAX "
        "profiler (*.xplane.pb): the last OOM, or else the peak of reserved memory. The report "
        "splits reserved memory into live blocks, rounding, free blocks and unused segments, "
        "then shows live memory by allocation site. For an OOM it says whether memory was too "
        "small or fragmented, and which live blocks were in the way. Several snapshots, such "
        "as those of the ranks of a job, make one table with the outlier first ('tapool help "
        "snapshots ranks').\n\n"
        "Positions of blocks are replayed by the rules of the recorded allocator, as in 'tapool "
        "verify'. A trace without positions, such as one of 'tapool predict -o', is replayed "
        "first.\n\n"
        "Of a host trace, explain the resident memory that a malloc holds: live blocks, "
        "partly free pages and the allocation sites that hold them, free pages, and what "
        "would leave less ('tapool help malloc pages').",
    .opts_size = sizeof(struct why_opts),
    .options = rows,
    .run = run_why,
};
