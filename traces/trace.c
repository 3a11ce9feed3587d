/* Makes a program of a name on the command line: finds and opens the file, detects its format,
 * reads and lowers it. A sample without a file may be a profile, which is lowered directly.
 *
 * Detection asks every format for a score and takes the highest; a tie is an error, because a
 * question is better than a guess that is wrong half of the time. */
#include "traces/trace.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "alloc/base/opt.h"
#include "alloc/base/str.h"
#include "traces/lower/unknown_formats.h"
#include "traces/lower/unlower.h"
#include "traces/places/place_table.h"

#include <assert.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN_MAX    4096 /* bytes kept of a path */
#define SURE         40   /* lowest score that is not a mere guess */
#define SAMPLES_MAX  64
#define FORMATS_MAX  64
#define SAMPLE_SPACE "sample:"
#define SAMPLE_SEED  1 /* seed of generated samples */

/* ---- samples ---- */

struct samples {
    char *names[SAMPLES_MAX + 1]; /* NULL-terminated */
    size_t count;
};

bool tp_trace_is_sample(const char *path)
{
    return strncmp(path, SAMPLE_SPACE, strlen(SAMPLE_SPACE)) == 0;
}

/* Whether a name is not empty and cannot lead out of the directory. */
static bool sample_name_ok(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/') && strlen(name) < 100;
}

/* Adds a name unless it is listed already. */
static void add_name(struct samples *found, const char *text, size_t length)
{
    if (found->count == SAMPLES_MAX)
        return;
    char *name = tp_clean_copy(text, length);
    bool known = false;
    for (size_t i = 0; name && i < found->count && !known; i++)
        known = strcmp(found->names[i], name) == 0;
    if (!name || known)
        free(name);
    else
        found->names[found->count++] = name;
}

/* Of the files of samples. */
static const char *const endings[] = {".json", ".tpt"};

static void list_directory(const char *path, struct samples *found)
{
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e && found->count < SAMPLES_MAX; e = readdir(dir)) {
        size_t length = strlen(e->d_name);
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            size_t ending = strlen(endings[i]);
            if (length > ending && *e->d_name != '.' &&
                strcmp(e->d_name + length - ending, endings[i]) == 0)
                add_name(found, e->d_name, length - ending);
        }
    }
    closedir(dir);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Joins names: "jq, python-threads, sqlite". */
static void join(const char *const *names, char *out, size_t size)
{
    struct tp_str all = tp_str_in(out, size);
    for (size_t i = 0; names[i]; i++)
        tp_str_item(&all, ", ", "%s", names[i]);
}

static int unknown_sample(const struct tp_trace_cfg *cfg, const char *name, struct tp_err *err)
{
    struct samples found = {0};
    char shown[128], all[TP_ERR_TEXT / 2];
    tp_clean_text(name, shown, sizeof shown);
    for (size_t i = 0; cfg->sample_dirs && cfg->sample_dirs[i]; i++)
        list_directory(cfg->sample_dirs[i], &found);
    for (size_t i = 0; cfg->profiles && cfg->profiles[i]; i++)
        if (cfg->profiles[i]->sample)
            add_name(&found, cfg->profiles[i]->sample, strlen(cfg->profiles[i]->sample));
    qsort(found.names, found.count, sizeof found.names[0], by_text);
    const char *const *names = (const char *const *)found.names;
    join(names, all, sizeof all);
    const char *near = tp_nearest(shown, names);
    int rc = tp_fail(err, TP_EINPUT, "unknown sample '%s'", shown);
    if (found.count == 0)
        rc = tp_hint(err, rc, "no samples are installed here");
    else if (near)
        rc = tp_hint(err, rc, "did you mean 'sample:%s'? there are: %s", near, all);
    else
        rc = tp_hint(err, rc, "there are: %s", all);
    for (size_t i = 0; i < found.count; i++)
        free(found.names[i]);
    return rc;
}

static const struct tp_profile *sample_profile(const struct tp_trace_cfg *cfg, const char *name)
{
    for (size_t i = 0; cfg->profiles && cfg->profiles[i]; i++)
        if (cfg->profiles[i]->sample && strcmp(cfg->profiles[i]->sample, name) == 0)
            return cfg->profiles[i];
    return NULL;
}

/* The path of the file of a sample in a folder. False: there is none. */
static bool find_sample(const char *folder, const char *name, char *path, size_t size)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        int n = snprintf(path, size, "%s/%s%s", folder, name, endings[i]);
        if (n >= 0 && (size_t)n < size && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* Opens the file of a sample, or finds the profile of that name if there is no file. Sets either
 * *in or *made. */
static int open_sample(const struct tp_trace_cfg *cfg, struct tp_input **in,
                       const struct tp_profile **made, struct tp_err *err)
{
    const char *name = cfg->path + strlen(SAMPLE_SPACE);
    if (!sample_name_ok(name))
        return unknown_sample(cfg, name, err);
    for (size_t i = 0; cfg->sample_dirs && cfg->sample_dirs[i]; i++) {
        char path[SHOWN_MAX];
        if (find_sample(cfg->sample_dirs[i], name, path, sizeof path))
            return tp_input_open(path, tp_max_memory(&cfg->read), cfg->read.stop, in, err);
    }
    *made = sample_profile(cfg, name);
    return *made ? TP_OK : unknown_sample(cfg, name, err);
}

/* ---- formats ---- */

static size_t format_names(const struct tp_format *const *formats, const char **names)
{
    size_t n = 0;
    for (; formats[n] && n < FORMATS_MAX; n++)
        names[n] = formats[n]->name;
    names[n] = NULL;
    return n;
}

static int named_format(const struct tp_trace_cfg *cfg, const struct tp_format **out,
                        struct tp_err *err)
{
    const char *names[FORMATS_MAX + 1];
    size_t count = format_names(cfg->formats, names);
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(names[i], cfg->input_format) == 0) {
            *out = cfg->formats[i];
            return TP_OK;
        }
    }
    char shown[64], all[TP_ERR_TEXT / 2];
    tp_clean_text(cfg->input_format, shown, sizeof shown);
    join(names, all, sizeof all);
    const char *near = tp_nearest(shown, names);
    int rc = tp_fail(err, TP_EUSAGE, "unknown input format '%s'", shown);
    return near ? tp_hint(err, rc, "did you mean '%s'? there are: %s", near, all)
                : tp_hint(err, rc, "there are: %s", all);
}

static int check_pointer(const struct tp_input *in, const unsigned char *data, size_t size,
                         struct tp_err *err)
{
    static const char mark[] = "version https://git-lfs";
    if (size < sizeof mark - 1 || memcmp(data, mark, sizeof mark - 1) != 0)
        return TP_OK;
    int rc = tp_fail(err, TP_EINPUT, "%s is a Git LFS pointer (%zu bytes), not the trace",
                     tp_input_name(in), size);
    return tp_hint(err, rc, "git lfs pull");
}

/* Finds the format with the highest score for these bytes. */
static int detect(const struct tp_trace_cfg *cfg, const struct tp_input *in,
                  const unsigned char *data, size_t size, const struct tp_format **out,
                  struct tp_err *err)
{
    const struct tp_format *best = NULL, *other = NULL;
    const struct tp_unknown_format *unknown_format = NULL;
    int score = 0;
    for (size_t i = 0; cfg->formats[i]; i++) {
        int s = cfg->formats[i]->probe(data, size);
        if (s > score) {
            best = cfg->formats[i];
            other = NULL;
            score = s;
        } else if (s == score && s > 0) {
            other = cfg->formats[i];
        }
    }
    if (score < SURE && (unknown_format = tp_unknown_format_of(data, size)))
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s is %s, %s", tp_input_name(in),
                               unknown_format->name, unknown_format->why),
                       "%s", unknown_format->hint);
    if (best && !other) {
        *out = best;
        return TP_OK;
    }
    if (other)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s: could be '%s' or '%s'", tp_input_name(in),
                               best->name, other->name),
                       "--input-format=%s or --input-format=%s decides", best->name, other->name);
    const char *names[FORMATS_MAX + 1];
    char all[TP_ERR_TEXT / 2];
    format_names(cfg->formats, names);
    join(names, all, sizeof all);
    int rc = tp_fail(err, TP_EINPUT, "%s: not a trace format that tapool knows", tp_input_name(in));
    return tp_hint(err, rc, "known are: %s; 'tapool help formats' says what they are", all);
}

/* Looks at the first bytes: refuses a pointer file, and detects the format unless *out is set
 * already. */
static int choose_format(const struct tp_trace_cfg *cfg, struct tp_input *in,
                         const struct tp_format **out, struct tp_err *err)
{
    const unsigned char *data = NULL;
    size_t size = 0;
    int rc = tp_input_peek(in, TP_PROBE_BYTES, &data, &size, err);
    if (rc == TP_OK)
        rc = check_pointer(in, data, size, err);
    return rc == TP_OK && !*out ? detect(cfg, in, data, size, out, err) : rc;
}

/* ---- the whole ---- */

static int set_names(const struct tp_trace_cfg *cfg, const char *file, struct tp_trace *out,
                     struct tp_err *err)
{
    const char *slash = strrchr(file, '/');
    struct stat st;
    if (strcmp(cfg->path, "-") != 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode))
        out->file_bytes = (uint64_t)st.st_size;
    out->path = tp_clean_copy(cfg->path, SHOWN_MAX);
    out->file = tp_clean_copy(slash ? slash + 1 : file, SHOWN_MAX);
    if (!out->path || !out->file)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening a trace");
    return TP_OK;
}

/* Cuts off the extension, if there is a name before it. */
static void cut_extension(char *name, bool packing_alone)
{
    char *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return;
    if (!packing_alone || strcasecmp(dot, ".gz") == 0 || strcasecmp(dot, ".zst") == 0)
        *dot = '\0';
}

/* Names a trace that has no name after its file: x.pickle.gz becomes "x". */
static int default_name(struct tp_trace *t, struct tp_err *err)
{
    if (t->meta.name)
        return tp_meta_status(&t->meta, err);
    char *stem = tp_clean_copy(t->file, SHOWN_MAX);
    if (!stem)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening a trace");
    cut_extension(stem, true);
    cut_extension(stem, false);
    tp_meta_set(&t->meta, &t->meta.name, "%s", stem);
    free(stem);
    return tp_meta_status(&t->meta, err);
}

/* Turns TP_ESTOP, the event limit, into success and sets out->cut. Then drops the recorded state at
 * the end, which does not describe this part of the file. */
static int enough(int rc, struct tp_trace *out)
{
    out->cut = rc == TP_ESTOP;
    if (out->cut)
        tp_recorded_forget_end(&out->recorded);
    return out->cut ? TP_OK : rc;
}

/* Refuses a trace without events, unless the caller accepts one with a recorded state. */
static int check_some(const struct tp_trace_cfg *cfg, const struct tp_input *in, uint64_t count,
                      const struct tp_trace *t, struct tp_err *err)
{
    const struct tp_meta *meta = &t->meta;
    if (count > 0 || (cfg->allow_empty && meta->nothing && t->recorded.by))
        return TP_OK;
    int rc = tp_fail(err, TP_EINPUT, "%s: no events%s%s", tp_input_name(in),
                     meta->nothing ? ": " : "", meta->nothing ? meta->nothing : "");
    if (meta->nothing && meta->nothing_hint)
        rc = tp_hint(err, rc, "%s", meta->nothing_hint);
    return tp_because(err, rc, TP_REASON_EMPTY);
}

/* Reads a packed trace to its end. Damage may lie behind the last event, and it explains errors met
 * before. */
static int check_packing(const struct tp_reading *r, int rc, struct tp_err *err)
{
    struct tp_err damage;
    int end = tp_input_finish(r->in, &damage);
    if (end != TP_OK) {
        if (err)
            *err = damage;
        return end;
    }
    if (rc != TP_OK && err && !err->hint[0])
        rc = tp_hint(err, rc, "lines and bytes are counted in the unpacked trace");
    return rc;
}

static int read_events(const struct tp_format *format, const struct tp_reading *r,
                       struct tp_trace *out, struct tp_err *err)
{
    int rc = enough(format->read(r, err), out);
    bool whole = tp_input_packing(r->in) && !out->cut;
    return whole && (rc == TP_OK || rc == TP_EINPUT) ? check_packing(r, rc, err) : rc;
}

static int read_trace(const struct tp_trace_cfg *cfg, const struct tp_format *format,
                      struct tp_input *in, struct tp_trace *out, struct tp_err *err)
{
    struct tp_lower *lo = NULL;
    struct tp_budget budget = {.limit = tp_max_memory(&cfg->read)};
    const struct tp_lower_cfg lower = {.path = tp_input_name(in),
                                       .budget = &budget,
                                       .strict = cfg->strictness == TP_STRICT ||
                                                 (cfg->strictness == TP_BY_ORIGIN && format->own),
                                       .memory_limit = cfg->memory_limit,
                                       .event_limit = cfg->event_limit,
                                       .max_memory = tp_max_memory(&cfg->read),
                                       .stop = cfg->read.stop,
                                       .input = in,
                                       .drop_initial = cfg->drop_initial};
    int rc = tp_lower_new(&lower, &lo, err);
    const struct tp_reading reading = {.in = in,
                                       .lower = lo,
                                       .meta = &out->meta,
                                       .recorded = &out->recorded,
                                       .places = &out->places,
                                       .opts = &cfg->read,
                                       .budget = &budget};
    if (rc == TP_OK)
        rc = read_events(format, &reading, out, err);
    if (rc == TP_OK)
        rc = check_some(cfg, in, tp_lower_count(lo), out, err);
    out->initial_dropped = rc == TP_OK ? tp_lower_dropped(lo) : 0;
    if (rc == TP_OK)
        rc = tp_lower_finish(lo, &out->program, out->repairs, err);
    tp_lower_free(lo);
    return rc;
}

/* Lowers a program of open_program again, without the parts that the caller does not want. */
static int lower_again(const struct tp_trace_cfg *cfg, const struct tp_input *in,
                       struct tp_trace *t, struct tp_err *err)
{
    uint64_t repairs[TP_REPAIR_COUNT]; /* not used: events of a program are clean */
    struct tp_lower *lo = NULL;
    struct tp_program *part = NULL;
    const struct tp_lower_cfg lower = {.path = tp_input_name(in),
                                       .strict = true,
                                       .memory_limit = cfg->memory_limit,
                                       .event_limit = cfg->event_limit,
                                       .max_memory = tp_max_memory(&cfg->read),
                                       .stop = cfg->read.stop,
                                       .input = in,
                                       .drop_initial = cfg->drop_initial};
    int rc = tp_lower_new(&lower, &lo, err);
    if (rc == TP_OK)
        rc = enough(tp_relower(t->program, &(struct tp_unlower_cfg){.numbers = true}, lo, err), t);
    t->initial_dropped = rc == TP_OK ? tp_lower_dropped(lo) : 0;
    if (rc == TP_OK)
        rc = tp_lower_finish(lo, &part, repairs, err);
    tp_lower_free(lo);
    if (rc != TP_OK)
        return rc;
    tp_program_release(t->program);
    t->program = part;
    return TP_OK;
}

/* Opens a file that is a stored program. */
static int open_program(const struct tp_trace_cfg *cfg, const struct tp_format *format,
                        struct tp_input *in, struct tp_trace *out, struct tp_err *err)
{
    struct tp_read_opts opts = cfg->read;
    opts.strict |= cfg->strictness == TP_STRICT;
    const struct tp_reading reading = {.in = in,
                                       .meta = &out->meta,
                                       .recorded = &out->recorded,
                                       .places = &out->places,
                                       .opts = &opts};
    int rc = format->open(&reading, &out->program, out->repairs, err);
    if (rc != TP_OK)
        return rc;
    const struct tp_program_facts *f = tp_program_facts(out->program);
    rc = check_some(cfg, in, f->events, out, err);
    if (rc == TP_OK && ((cfg->event_limit && cfg->event_limit < f->events) ||
                        (cfg->drop_initial && f->initial_heap)))
        rc = lower_again(cfg, in, out, err);
    return rc;
}

/* A recording that lacks calls of its program is not what --strict asks for. */
static int check_complete(const struct tp_trace_cfg *cfg, const struct tp_trace *t,
                          struct tp_err *err)
{
    uint64_t lost = t->meta.not_recorded;
    if (!lost || cfg->strictness != TP_STRICT)
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EINPUT, "%s: %s %s not recorded: made inside another call",
                           t->file, tp_plural(lost, "call").s, lost == 1 ? "was" : "were"),
                   "read it without --strict: peaks and counts lack these calls");
}

static int open_input(const struct tp_trace_cfg *cfg, const struct tp_format *format,
                      struct tp_input *in, struct tp_trace *out, struct tp_err *err)
{
    int rc = set_names(cfg, tp_input_name(in), out, err);
    if (rc == TP_OK)
        rc = choose_format(cfg, in, &format, err);
    if (rc == TP_OK)
        rc = format->open ? open_program(cfg, format, in, out, err)
                          : read_trace(cfg, format, in, out, err);
    if (rc != TP_OK)
        return rc;
    out->format = format->name;
    out->device_chosen = format->has_devices && cfg->read.device >= 0;
    rc = check_complete(cfg, out, err);
    return rc ? rc : default_name(out, err);
}

static int make_trace(const struct tp_trace_cfg *cfg, const struct tp_profile *profile,
                      const void *opts, struct tp_trace *out, struct tp_err *err)
{
    struct tp_lower *lo = NULL;
    const struct tp_lower_cfg lower = {.path = out->path,
                                       .strict = true,
                                       .stop = cfg->read.stop,
                                       .memory_limit = cfg->memory_limit,
                                       .event_limit = cfg->event_limit};
    int rc = tp_lower_new(&lower, &lo, err);
    if (rc == TP_OK)
        rc = enough(tp_profile_lower(profile, opts, SAMPLE_SEED, lo, err), out);
    if (rc == TP_OK)
        rc = tp_lower_finish(lo, &out->program, out->repairs, err);
    tp_lower_free(lo);
    return rc;
}

/* Generates a sample from a profile with default options. */
static int open_made(const struct tp_trace_cfg *cfg, const struct tp_profile *profile,
                     struct tp_trace *out, struct tp_err *err)
{
    char program[256];
    void *opts = NULL;
    int rc = tp_profile_opts_new(profile, &opts, err);
    if (rc != TP_OK)
        return rc;
    tp_profile_describe(profile, opts, SAMPLE_SEED, program, sizeof program);
    rc = set_names(cfg, cfg->path, out, err);
    tp_meta_set(&out->meta, &out->meta.name, "%s", profile->sample);
    tp_meta_set(&out->meta, &out->meta.program, "%s", program);
    if (rc == TP_OK)
        rc = tp_meta_status(&out->meta, err);
    out->meta.kind = profile->kind;
    out->format = "synthetic";
    if (rc == TP_OK)
        rc = make_trace(cfg, profile, opts, out, err);
    tp_profile_opts_free(profile, opts);
    return rc;
}

int tp_trace_open(const struct tp_trace_cfg *cfg, struct tp_trace *out, struct tp_err *err)
{
    struct tp_input *in = NULL;
    const struct tp_format *format = NULL;
    const struct tp_profile *made = NULL;
    *out = (struct tp_trace){0};
    int rc = cfg->input_format ? named_format(cfg, &format, err) : TP_OK;
    if (rc != TP_OK)
        return rc;
    rc = tp_trace_is_sample(cfg->path)
             ? open_sample(cfg, &in, &made, err)
             : tp_input_open(cfg->path, tp_max_memory(&cfg->read), cfg->read.stop, &in, err);
    if (rc != TP_OK)
        return rc;
    rc = made ? open_made(cfg, made, out, err) : open_input(cfg, format, in, out, err);
    tp_input_close(in);
    if (rc != TP_OK)
        tp_trace_close(out);
    return rc;
}

void tp_trace_close(struct tp_trace *t)
{
    tp_program_release(t->program);
    tp_meta_release(&t->meta);
    tp_recorded_release(&t->recorded);
    if (t->places.release)
        t->places.release(t->places.ctx);
    free(t->path);
    free(t->file);
    *t = (struct tp_trace){0};
}

int tp_trace_places(const struct tp_trace *t, const uint64_t *events, size_t count,
                    char (*out)[TP_PLACE_TEXT], struct tp_err *err)
{
    return tp_places_find(&t->places, events, count, out, err);
}
