/* See sweep_call.h. */
#include "cmd/sweep/sweep_call.h"

#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "cmd/cli/commands.h"
#include "cmd/jobs/machine.h"
#include "cmd/stats/measure.h"
#include "cmd/sweep/shard_share.h"
#include "cmd/sweep/sweep_run.h"
#include "cmd/ui/stop.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARD_DONE "shard done" /* a note: "I/N" */

#define ESTIMATE_NS UINT64_C(2000000000)

/* Seconds of a timed pass when a trace is shorter than its least time, and it is not set. */
#define TIMED_SECONDS 0.25

static void close_state(struct tp_sweep_state *c)
{
    tp_store_drop(c->store);
    tp_sweep_plan_release(&c->plan);
    free(c->mine);
}

static int make_path(struct tp_sweep_call *call, struct tp_sweep_state *c, struct tp_err *err)
{
    c->path = call->path = tp_sweep_store_path(&c->plan, c->shard, c->shards);
    return call->path ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static int open_state(struct tp_sweep_call *call, struct tp_sweep_state *c, struct tp_err *err)
{
    int status = tp_sweep_plan_read(&c->plan, call->command, call->args, err);
    if (!status && c->o->shard)
        status = tp_sweep_shard(c->o->shard, &c->shard, &c->shards, err);
    if (!status)
        status = make_path(call, c, err);
    if (!status && c->shards)
        status = tp_sweep_share(&c->plan, c->shard, c->shards, c->o->costs, &c->mine, err);
    return status ? status : tp_cells_open(&c->cells, &c->plan, err);
}

/* The settings are stored before any cell, whose row names one. */
static int keep_plan(const struct tp_sweep_state *c, struct tp_err *err)
{
    char cells[32], seed[32];
    snprintf(cells, sizeof cells, "%" PRIu64, tp_sweep_cells(&c->plan));
    snprintf(seed, sizeof seed, "%" PRIu64, c->o->seed);
    const char *const notes[][2] = {{"plan", c->plan.text},
                                    {"plan cells", cells},
                                    {"tool", c->cells.tool},
                                    {"version", TAPOOL_VERSION},
                                    {"machine", c->cells.machine},
                                    {"environment", c->cells.environment},
                                    {"seed", seed},
                                    {"options", c->cells.options},
                                    {"reading", c->cells.reading}};
    int status = TP_OK;
    for (size_t i = 0; !status && i < sizeof notes / sizeof *notes; i++)
        status = tp_store_note(c->store, notes[i][0], notes[i][1], err);
    for (size_t i = 0; !status && i < c->plan.settings.count; i++) {
        const struct tp_sweep_setting *s = &c->plan.settings.items[i];
        const struct tp_store_setting row = {s->text, s->strategy, (const char *const *)s->options};
        status = tp_store_setting(c->store, &row, err);
    }
    return status ? status : tp_store_commit(c->store, err);
}

/* Signals are only noted from here on, so that what is computed is stored and temporary files go;
 * the process then ends by the signal. */
static int compute(struct tp_sweep_state *c, uint64_t limit_ns, struct tp_err *err)
{
    struct tp_stop stop;
    const struct tp_sweep_run run = {
        .cells = &c->cells,
        .store = c->store,
        .mine = c->mine,
        .jobs = c->o->jobs == TP_OPT_KEYWORD(0) ? tp_machine_cores_to_use() : c->o->jobs,
        .limit_ns = limit_ns};
    tp_stop_catch(&stop, true);
    int status = tp_sweep_compute(&run, &c->done, err);
    if (status == TP_ESTOP)
        status = tp_hint(err,
                         tp_fail(err, TP_ESTOP,
                                 "interrupted: %" PRIu64 " of %" PRIu64 " cells are stored",
                                 c->done.stored + c->done.computed, c->done.cells),
                         "the same command goes on there");
    return status;
}

/* Notes for a merge whether the shard was done. */
static int note_shard(const struct tp_sweep_state *c, bool done, struct tp_err *err)
{
    char text[64] = "";
    if (!c->shards)
        return TP_OK;
    if (done)
        snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, c->shard, c->shards);
    int status = tp_store_note(c->store, SHARD_DONE, text, err);
    return status ? status : tp_store_commit(c->store, err);
}

static int compute_all(struct tp_sweep_call *call, struct tp_sweep_state *c, struct tp_err *err)
{
    int status = open_state(call, c, err);
    if (!status)
        status = tp_store_write(c->path, &c->store, err);
    if (!status)
        status = keep_plan(c, err);
    if (!status)
        status = note_shard(c, false, err);
    if (!status)
        status = compute(c, 0, err);
    return status ? status : note_shard(c, true, err);
}

int tp_sweep_call_compute(struct tp_sweep_call *call, FILE *out, struct tp_err *failed,
                          struct tp_err *err)
{
    struct tp_sweep_state c = {.o = call->o};
    int status = compute_all(call, &c, err);
    if (!status && out)
        tp_sweep_print_done(&c, out);
    *failed = c.done.first_failure;
    if (failed->status)
        tp_prefix(failed, (int)failed->status, "%s failed; the first",
                  tp_plural(c.done.failed, "cell").s);
    close_state(&c);
    return status;
}

/* ---- estimates ---- */

/* Replays of whole traces for a time: those are computed when all others are. */
static uint64_t count_timed(const struct tp_sweep_state *c)
{
    uint64_t cells = tp_sweep_cells(&c->plan), timed = 0;
    for (uint64_t i = 0; i < cells; i++)
        timed += (!c->mine || c->mine[i]) && c->plan.groups[i % c->plan.group_count].timed;
    return timed;
}

static double timed_seconds(const struct tp_sweep_state *c)
{
    uint64_t ns = c->o->min_time;
    return 2 * (ns == TP_OPT_KEYWORD(0) ? TIMED_SECONDS : 1.5 * (double)ns / 1e9);
}

static void estimate(const struct tp_sweep_state *c, const char *path, uint64_t stored,
                     struct tp_sweep_estimate *out)
{
    const struct tp_sweep_done *d = &c->done;
    struct stat file = {0};
    uint64_t rows = stored + d->computed;
    double rate = d->computed ? (double)d->ns / 1e9 / (double)d->computed : NAN;
    out->stored = stored;
    out->left = d->cells - stored;
    out->timed = count_timed(c);
    if (out->timed > out->left)
        out->timed = out->left;
    out->seconds = out->left > out->timed ? rate * (double)(out->left - out->timed) : 0;
    out->seconds += (double)out->timed * timed_seconds(c);
    out->bytes = rows && !stat(path, &file) ? (double)file.st_size / (double)rows * (double)d->cells
                                            : (double)NAN;
}

static int compute_part(struct tp_sweep_state *c, const char *path, struct tp_sweep_estimate *out,
                        struct tp_err *err)
{
    int status = tp_store_write(path, &c->store, err);
    if (!status && !access(c->path, F_OK))
        status = tp_store_merge(c->store, c->path, err);
    if (!status)
        status = keep_plan(c, err);
    if (!status)
        status = compute(c, ESTIMATE_NS, err);
    if (!status)
        estimate(c, path, c->done.stored, out);
    return status;
}

int tp_sweep_call_estimate(struct tp_sweep_call *call, FILE *out, struct tp_err *err)
{
    char folder[4096], path[4200];
    struct tp_sweep_state c = {.o = call->o};
    struct tp_sweep_estimate e = {0};
    int status = open_state(call, &c, err);
    int made = status ? status : tp_measure_folder(folder, sizeof folder, err);
    if (!made) {
        snprintf(path, sizeof path, "%s/estimate.sqlite", folder);
        status = compute_part(&c, path, &e, err);
        tp_measure_folder_remove(folder);
    }
    if (!made && !status)
        tp_sweep_print_estimate(&c, &e, out);
    close_state(&c);
    return made ? made : status;
}

/* ---- joining ---- */

/* The stores of the shards, "BASE.shard-I-of-N.sqlite". */
struct shard_stores {
    glob_t found;
    size_t skip;     /* characters of BASE */
    uint64_t shards; /* N, of all of them */
};

/* Whether the store is that of a shard which was done: other stores have no such note, or that of
 * another shard. */
static int check_shard(const char *path, uint64_t shard, uint64_t shards, struct tp_err *err)
{
    struct tp_store *store;
    char done[64], expected[64];
    int status = tp_store_open(path, &store, err);
    if (status)
        return status;
    status = tp_store_read_note(store, SHARD_DONE, done, sizeof done, err);
    tp_store_drop(store);
    snprintf(expected, sizeof expected, "%" PRIu64 "/%" PRIu64, shard, shards);
    if (status || !strcmp(done, expected))
        return status;
    return tp_hint(err, tp_fail(err, TP_EINPUT, "%s: shard %s is not done", path, expected),
                   "run it again: --shard %s; or join what is there: --partial", expected);
}

/* Names the first shards of which there is no store. */
static int check_missing(const struct shard_stores *s, const bool *there, struct tp_err *err)
{
    char room[128];
    struct tp_str missing = TP_STR_IN(room);
    uint64_t count = 0;
    for (uint64_t i = 0; i < s->shards; i++)
        if (!there[i] && ++count <= 8)
            tp_str_item(&missing, ", ", "%" PRIu64, i + 1);
    if (!count)
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EINPUT, "%s of %" PRIu64 " not there: %s%s",
                           tp_plural(count, "shard").s, s->shards, tp_str_text(&missing),
                           count > 8 ? ", ..." : ""),
                   "--partial joins those that are there");
}

static int check_shards(struct shard_stores *s, struct tp_err *err)
{
    bool *there = NULL;
    int status = TP_OK;
    for (size_t i = 0; !status && i < s->found.gl_pathc; i++) {
        const char *path = s->found.gl_pathv[i];
        uint64_t shard, shards;
        int used = 0;
        if (sscanf(path + s->skip, ".shard-%" SCNu64 "-of-%" SCNu64 TP_STORE_SUFFIX "%n", &shard,
                   &shards, &used) != 2 ||
            !used || path[s->skip + (size_t)used] || !shard || shard > shards ||
            shards > TP_SWEEP_SHARDS)
            status = tp_fail(err, TP_EINPUT, "%s: no name of a shard", path);
        else if (s->shards && shards != s->shards)
            status = tp_hint(
                err,
                tp_fail(err, TP_EINPUT, "%s: there are also shards of %" PRIu64, path, s->shards),
                "remove the stores of one of the two");
        if (status)
            break;
        s->shards = shards;
        there = there ? there : calloc(shards, sizeof *there);
        status = there ? check_shard(path, shard, shards, err)
                       : tp_fail(err, TP_ENOMEM, "out of memory");
        if (!status)
            there[shard - 1] = true;
    }
    if (!status)
        status = check_missing(s, there, err);
    free(there);
    return status;
}

static int find_shards(const struct tp_sweep_state *c, struct shard_stores *s, struct tp_err *err)
{
    static const char first[] = ".shard-1-of-1" TP_STORE_SUFFIX;
    char *path = tp_sweep_store_path(&c->plan, 1, 1);
    struct tp_str pattern = {0};
    if (!path)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    s->skip = strlen(path) - strlen(first);
    tp_sweep_add_literal(&pattern, path, s->skip);
    tp_str_add(&pattern, ".shard-*-of-*" TP_STORE_SUFFIX);
    int status = tp_str_status(&pattern, err);
    if (!status && glob(tp_str_text(&pattern), 0, NULL, &s->found))
        status = tp_hint(err, tp_fail(err, TP_EINPUT, "no shard of '%s' is there", c->path),
                         "--shard I/N computes one");
    tp_str_drop(&pattern);
    free(path);
    return status || c->o->partial ? status : check_shards(s, err);
}

static int merge_all(struct tp_sweep_state *c, char *const *paths, size_t count, struct tp_err *err)
{
    int status = tp_store_write(c->path, &c->store, err);
    for (size_t i = 0; !status && i < count; i++) {
        status = tp_stop_asked(err);
        if (!status)
            status = tp_store_merge(c->store, paths[i], err);
        c->joined += !status;
    }
    return status;
}

/* Joins the stores among the words; *any: there were some. */
static int merge_words(struct tp_sweep_state *c, const struct tp_args *args, bool *any,
                       struct tp_err *err)
{
    char **words = calloc((size_t)args->count + 1, sizeof *words);
    size_t count = 0;
    if (!words)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (int i = 0; i < args->count; i++)
        if (!tp_sweep_is_plan(args->words[i]))
            words[count++] = args->words[i];
    *any = count > 0;
    int status = count ? merge_all(c, words, count, err) : TP_OK;
    free(words);
    return status;
}

static int merge_found(struct tp_sweep_state *c, const struct tp_args *args, struct tp_err *err)
{
    struct shard_stores s = {0};
    bool any = false;
    int status = merge_words(c, args, &any, err);
    if (status || any)
        return status;
    status = find_shards(c, &s, err);
    if (!status)
        status = merge_all(c, s.found.gl_pathv, s.found.gl_pathc, err);
    globfree(&s.found);
    return status;
}

int tp_sweep_call_merge(struct tp_sweep_call *call, FILE *out, struct tp_err *err)
{
    struct tp_sweep_state c = {.o = call->o};
    struct tp_stop stop; /* never restored: the process ends after this */
    tp_stop_catch(&stop, true);
    int status = tp_sweep_plan_options(&c.plan, call->command, call->args, err);
    if (!status)
        status = make_path(call, &c, err);
    if (!status)
        status = merge_found(&c, call->args, err);
    if (!status)
        tp_sweep_print_merged(&c, out);
    close_state(&c);
    return status;
}

int tp_sweep_call_find(struct tp_sweep_call *call, struct tp_err *err)
{
    struct tp_sweep_state c = {.o = call->o};
    if (call->args->count > 1)
        return tp_fail(err, TP_EUSAGE, "--report and --cite are of one store or plan");
    int status = tp_sweep_plan_options(&c.plan, call->command, call->args, err);
    if (!status && (c.plan.file || !call->args->count))
        status = make_path(call, &c, err);
    else if (!status)
        call->path = strdup(call->args->words[0]);
    if (!status && !call->path)
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    close_state(&c);
    return status;
}
