/* See tune.h. */
#include "cmd/tune/tune.h"

#include "cmd/jobs/open_trace.h"
#include "cmd/tune/grid.h"
#include "cmd/tune/tunable.h"
#include "cmd/ui/text.h"

#include <stdlib.h>
#include <string.h>

enum { CONF_TEXT = 1024, MAY_BE_CUT = 997 }; /* readers keep 1,000 bytes of a text */

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

/* ---- figures ---- */

static struct tp_tune_figures no_figures(size_t file)
{
    return (struct tp_tune_figures){
        .peak_file = file, .failed_file = file, .first_failed_event = UINT64_MAX};
}

/* Adds what happened on a device, or in another file. */
static void join(struct tp_tune_figures *all, const struct tp_tune_figures *one)
{
    if (one->peak_reserved > all->peak_reserved) {
        all->peak_reserved = one->peak_reserved;
        all->peak_file = one->peak_file;
    }
    bool first = all->failed_file == one->failed_file
                     ? one->first_failed_event < all->first_failed_event
                     : !all->failed;
    if (one->failed && first) {
        all->first_failed_event = one->first_failed_event;
        all->failed_file = one->failed_file;
        all->too_big = one->too_big;
    }
    all->files += one->files;
    all->calls += one->calls;
    all->retries += one->retries;
    all->failed += one->failed;
}

static struct tp_tune_figures sum_devices(const struct tp_trial *trial, size_t file)
{
    struct tp_tune_figures sum = no_figures(file);
    sum.files = 1;
    for (uint32_t i = 0; i < trial->device_count; i++) {
        const struct tp_trial_device *d = &trial->devices[i];
        join(&sum, &(struct tp_tune_figures){.peak_reserved = d->peak_reserved,
                                             .peak_file = file,
                                             .calls = d->gets + d->puts,
                                             .retries = d->retries,
                                             .failed = d->failed,
                                             .first_failed_event = d->first_failed_event,
                                             .failed_file = file,
                                             .too_big = d->too_big});
    }
    return sum;
}

static void find_did(struct tp_tune_file *f, size_t file)
{
    const struct tp_captured *c = &f->captured;
    f->knows = c->known && c->devices;
    f->did = no_figures(file);
    for (uint32_t i = 0; f->knows && i < c->count; i++) {
        const struct tp_captured_device *d = &c->devices[i];
        join(&f->did, &(struct tp_tune_figures){.peak_reserved = d->peak_reserved,
                                                .peak_file = file,
                                                .calls = d->takes + d->gives + d->maps + d->unmaps,
                                                .retries = d->limit.retries,
                                                .failed = d->ooms,
                                                .first_failed_event = d->oom_event,
                                                .failed_file = file});
    }
}

/* ---- files ---- */

static int find_recorded(const struct tp_recorded_strategy *by, struct tp_tune_file *f,
                         struct tp_err *err)
{
    const char *said = f->trace.meta.settings, *text = by->settings(said);
    char plain[CONF_TEXT];
    if (!text || (said && strlen(said) >= MAY_BE_CUT) || !tp_copy_plain(text, plain, sizeof plain))
        return TP_OK;
    f->recorded = strdup(plain);
    bool shared = f->inferred && f->capacity && tp_captured_collects(&f->captured);
    struct tp_str replayed = {0};
    tp_str_add(&replayed, "%s%s", plain, shared ? tp_recorded_share(by, plain) : "");
    f->replayed = strdup(tp_str_text(&replayed));
    tp_str_drop(&replayed);
    return f->recorded && f->replayed ? TP_OK : no_memory(err);
}

/* Whether a host trace is of memory of a recorded allocator, and not of a malloc. */
static bool is_recorded_host(const struct tp_trace *t)
{
    return tp_program_facts(t->program)->kind == TP_KIND_HOST &&
           tp_tunable_of(t->recorded.by)->host;
}

static const struct tp_tunable *target_of(const struct tp_tune *t, const struct tp_trace *trace)
{
    return t->chosen ? t->chosen : tp_tunable_of(trace->recorded.by);
}

bool tp_tune_is_own(const struct tp_tune *t, const struct tp_tune_file *f)
{
    return t->target == tp_tunable_of(f->trace.recorded.by);
}

static const char *title_of(const struct tp_tunable *target, const struct tp_meta *m)
{
    return target->title ? target->title(m->allocator_device) : target->of->by;
}

/* Of an allocator that nothing is known of, as that of a TPU, others' settings say nothing. */
static int check_known(const struct tp_tune *all, const struct tp_trace *t, struct tp_err *err)
{
    const char *by = t->recorded.by;
    if (all->chosen || !by || !strcmp(tp_tunable_of(by)->of->by, by))
        return TP_OK;
    return tp_hint(
        err,
        tp_fail(err, TP_EINPUT, "%s: no settings of the allocator of a %s are known", t->file, by),
        "--allocator jax tries JAX's settings on its requests");
}

static int check_kind(const struct tp_tune *all, const struct tp_trace *t, struct tp_err *err)
{
    const struct tp_tunable *target = target_of(all, t);
    const char *strategy = target->of->strategy->name, *other = all->target->of->strategy->name;
    if (strcmp(strategy, other) != 0)
        return tp_fail(err, TP_EINPUT,
                       "%s is of the strategy %s, %s of %s: tune takes files of one of them",
                       t->file, strategy, all->files[0].trace.file, other);
    const char *title = title_of(target, &t->meta);
    const char *first = title_of(all->target, &all->files[0].trace.meta);
    if (strcmp(title, first) != 0)
        return tp_fail(err, TP_EINPUT, "%s is of %s, %s of %s: tune takes files of one of them",
                       t->file, title, all->files[0].trace.file, first);
    if (tp_program_facts(t->program)->kind == TP_KIND_DEVICE || is_recorded_host(t))
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EINPUT,
                           "%s is a host trace: tune takes one of these, or several GPU snapshots",
                           t->file),
                   "tapool tune %s", t->file);
}

static void find_needs(struct tp_tune_file *f)
{
    uint16_t devices = tp_program_facts(f->trace.program)->devices;
    for (uint16_t d = 0; d < devices; d++) {
        const struct tp_demand *demand = tp_program_demand(f->trace.program, d);
        if (demand->bytes > f->live) {
            f->live = demand->bytes;
            f->live_event = demand->event;
        }
    }
}

/* What each device has for the program. What the recording tells is that already. */
static void find_capacity(struct tp_tune_file *f, uint64_t capacity)
{
    f->inferred = capacity == TP_OPT_KEYWORD(0);
    f->capacity = f->inferred ? tp_captured_capacity(&f->captured) : capacity;
    f->most = f->inferred ? tp_captured_capacity_most(&f->captured) : capacity;
}

static int read_file(const struct tp_tune *t, struct tp_tune_file *f, uint64_t capacity,
                     struct tp_err *err)
{
    int status = check_known(t, &f->trace, err);
    if (!status)
        status = check_kind(t, &f->trace, err);
    if (!status)
        status = tp_captured_scan(&f->trace, &f->captured, err);
    f->has_heap = tp_program_heap(f->trace.program) != NULL;
    find_capacity(f, capacity);
    return status || !tp_tune_is_own(t, f) ? status : find_recorded(t->target->of, f, err);
}

int tp_tune_open(struct tp_tune *t, char *const *paths, size_t count, const struct tp_open_opts *o,
                 uint64_t capacity, struct tp_err *err)
{
    t->files = calloc(count, sizeof *t->files);
    int status = t->files ? TP_OK : no_memory(err);
    for (size_t i = 0; !status && i < count; i++) {
        struct tp_tune_file *f = &t->files[i];
        f->path = paths[i];
        status = tp_open_trace(f->path, o, false, &f->trace, err);
        if (status)
            return status;
        t->file_count++; /* it is closed by tp_tune_release */
        t->host = count == 1 && tp_program_facts(f->trace.program)->kind == TP_KIND_HOST &&
                  !is_recorded_host(&f->trace);
        t->target = i ? t->target : target_of(t, &f->trace);
        if (t->host)
            return TP_OK;
        status = read_file(t, f, capacity, err);
        find_needs(f);
        find_did(f, i);
    }
    return status;
}

/* ---- settings ---- */

/* Adds a setting with room for the figures of all files. */
static int add_setting(struct tp_tune *t, const char *conf, bool recorded, const char *danger,
                       struct tp_err *err)
{
    struct tp_tune_setting *s = &t->settings[t->setting_count];
    const char *device = t->files[0].trace.meta.allocator_device;
    *s = (struct tp_tune_setting){.conf = conf,
                                  .danger =
                                      danger ? danger : tp_tunable_danger(t->target, conf, device),
                                  .newer = tp_tunable_newer(t->target, conf, device),
                                  .keys = tp_grid_keys(conf),
                                  .recorded = recorded,
                                  .all = no_figures(0),
                                  .files = calloc(t->file_count, sizeof *s->files)};
    t->setting_count++;
    return s->files ? TP_OK : no_memory(err);
}

/* `without`: keys, or a key with its value. */
static bool is_left_out(const char *conf, const char *const *without)
{
    bool some = false;
    for (; *without; without++) {
        struct tp_text start = tp_text_of("%s%s", *without, strchr(*without, ':') ? "" : ":");
        some |= tp_grid_has(conf, start.s);
    }
    return some;
}

static bool any_heap(const struct tp_tune *t)
{
    bool some = false;
    for (size_t i = 0; i < t->file_count; i++)
        some |= t->files[i].has_heap;
    return some;
}

/* A share of the device is one of the whole GPU, or of the limit that the process was given. What
 * cudaMalloc had left is neither, because other processes take memory too. */
static const char *danger_of_size(const struct tp_tune *t, const char *conf)
{
    bool known = true, any = true;
    for (size_t i = 0; i < t->file_count; i++) {
        const struct tp_tune_file *f = &t->files[i];
        any &= f->capacity || tp_tune_is_own(t, f);
        known &= !f->inferred || !f->capacity || tp_captured_collects(&f->captured) ||
                 tp_captured_retries(&f->captured).by_limit;
    }
    const char *why = !any && t->target->needs_any_size ? t->target->needs_any_size(conf) : NULL;
    return why || known ? why : tp_tunable_needs_size(t->target, conf);
}

int tp_tune_settings(struct tp_tune *t, const char *const *without, struct tp_err *err)
{
    const char *recorded = t->files[0].recorded, *danger = NULL;
    bool known = true;
    int status = TP_OK;
    for (size_t i = 0; i < t->file_count; i++) {
        known &= t->files[i].recorded != NULL;
        if (known && strcmp(t->files[i].recorded, recorded) != 0)
            t->recorded_differs = true;
    }
    t->settings = calloc(t->texts.count + 2, sizeof *t->settings);
    if (!t->settings)
        return no_memory(err);
    const char *own = known && !t->recorded_differs ? recorded : "";
    if (t->target->kept)
        t->target->kept(own, &t->kept);
    /* the files' own settings stay what others are compared with */
    for (size_t i = 0; known && i < t->file_count; i++)
        if (is_left_out(t->files[i].recorded, without))
            danger = "--without or --for leaves it out";
    if (known)
        status = add_setting(t, own, true, danger, err);
    for (uint32_t i = 0; !status && i < t->texts.count; i++) {
        const char *conf = tp_texts_get(&t->texts, i);
        bool same = known && !t->recorded_differs && !strcmp(conf, recorded);
        if (!same && !is_left_out(conf, without))
            status = add_setting(t, conf, false, danger_of_size(t, conf), err);
    }
    if (status || !any_heap(t))
        return status;
    status = add_setting(t, own, known, NULL, err);
    t->settings[t->setting_count - 1].twin = true;
    return status;
}

/* ---- replaying ---- */

/* With other kinds of segments or blocks a program would not have made the recorded heap. What
 * holds for one file holds for all, which are compared together. */
static bool begins_compacted(const struct tp_tune *t, const struct tp_tune_setting *s)
{
    bool compacted = s->twin;
    for (size_t i = 0; !s->recorded && i < t->file_count; i++) {
        const struct tp_tune_file *f = &t->files[i];
        const char *own = f->recorded ? f->recorded : "";
        compacted |= f->has_heap && !tp_tune_is_own(t, f);
        compacted |= f->has_heap && !t->target->makes_alike(&f->trace.meta, s->conf, own);
    }
    return compacted;
}

static void take_trials(struct tp_tune *t, const struct tp_trial *trials, size_t file)
{
    for (size_t i = 0; i < t->setting_count; i++) {
        struct tp_tune_setting *s = &t->settings[i];
        if (s->status)
            continue;
        s->status = trials[i].status;
        s->err = trials[i].err;
        if (s->status)
            continue;
        s->compacted |= t->files[file].has_heap && !trials[i].aged;
        s->files[file] = sum_devices(&trials[i], file);
        join(&s->all, &s->files[file]);
    }
}

/* The setting as it is replayed, which the caller frees; NULL: out of memory. */
static char *replayed_conf(const struct tp_tune *t, const struct tp_tune_file *f,
                           const struct tp_tune_setting *s)
{
    const char *conf = s->recorded ? f->replayed : s->conf;
    struct tp_str text = {0};
    tp_str_add(&text, "%s", conf);
    /* a share of a size that is given is another limit */
    bool sized = f->capacity && !f->inferred;
    if (!s->recorded && t->target->held && tp_tune_is_own(t, f) && !sized)
        t->target->held(&f->trace.meta, conf, &text);
    char *out = strdup(tp_str_text(&text));
    tp_str_drop(&text);
    return out;
}

/* Replays the settings on a file. `confs` has room for all, and is freed by the caller. */
static int replay_file(struct tp_tune *t, const struct tp_trial_cfg *cfg, size_t file,
                       struct tp_trial *trials, char **confs, struct tp_err *err)
{
    for (size_t i = 0; i < t->setting_count; i++) {
        confs[i] = replayed_conf(t, &t->files[file], &t->settings[i]);
        if (!confs[i])
            return no_memory(err);
        trials[i] =
            (struct tp_trial){.conf = confs[i], .compacted = begins_compacted(t, &t->settings[i])};
    }
    int status = tp_trials_replay(cfg, trials, t->setting_count, err);
    if (!status)
        take_trials(t, trials, file);
    tp_trials_release(trials, t->setting_count);
    return status;
}

int tp_tune_replay(struct tp_tune *t, const struct tp_trial_cfg *how, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t f = 0; !status && f < t->file_count; f++) {
        struct tp_tune_file *file = &t->files[f];
        struct tp_trial_cfg cfg = *how;
        struct tp_trial *trials = calloc(t->setting_count, sizeof *trials);
        char **confs = calloc(t->setting_count, sizeof *confs);
        cfg.program = file->trace.program;
        cfg.by = t->target->of;
        cfg.capacity = file->capacity;
        cfg.allocator = t->target->flavour ? t->target->flavour : file->trace.meta.allocator_device;
        cfg.release = file->trace.meta.allocator_release;
        status = trials && confs ? replay_file(t, &cfg, f, trials, confs, err) : no_memory(err);
        for (size_t i = 0; confs && i < t->setting_count; i++)
            free(confs[i]);
        free(confs);
        free(trials);
    }
    return status;
}

/* ---- all files ---- */

bool tp_tune_recorded(const struct tp_tune *t, struct tp_tune_figures *out)
{
    bool known = true;
    *out = no_figures(0);
    for (size_t i = 0; i < t->file_count; i++) {
        known &= t->files[i].knows;
        join(out, &t->files[i].did);
    }
    return known;
}

uint64_t tp_tune_capacity(const struct tp_tune *t)
{
    uint64_t capacity = t->files[0].capacity;
    for (size_t i = 1; i < t->file_count; i++)
        capacity = t->files[i].capacity == capacity ? capacity : 0;
    return capacity;
}

const struct tp_tune_file *tp_tune_largest(const struct tp_tune *t)
{
    const struct tp_tune_file *largest = &t->files[0];
    for (size_t i = 1; i < t->file_count; i++)
        if (t->files[i].live > largest->live)
            largest = &t->files[i];
    return largest;
}

struct tp_tune_case tp_tune_case(const struct tp_tune *t)
{
    struct tp_tune_case of = {.inferred = true};
    struct tp_tune_figures did;
    of.did = tp_tune_recorded(t, &did) ? did.peak_reserved : 0;
    for (size_t i = 0; i < t->file_count; i++) {
        const struct tp_tune_file *f = &t->files[i];
        const struct tp_fidelity *how = &f->fidelity;
        of.too_big |= f->capacity && f->live > f->most;
        of.inferred &= f->inferred && f->capacity;
        of.unfaithful |= (f->compared && !how->addresses) || how->switches;
        of.mid_run |= tp_program_facts(f->trace.program)->initial_heap > 0 && !f->has_heap;
        of.ran_out |= f->knows && f->did.failed;
        of.older |= tp_tunable_is_older(t->target, f->trace.meta.allocator_release);
        of.unfaithful |= (double)how->good_addresses < TP_FAITHFUL * (double)how->addresses;
    }
    return of;
}

void tp_tune_release(struct tp_tune *t)
{
    for (size_t i = 0; i < t->setting_count; i++)
        free(t->settings[i].files);
    free(t->settings);
    tp_texts_release(&t->texts);
    tp_str_drop(&t->kept);
    for (size_t i = 0; i < t->file_count; i++) {
        free(t->files[i].recorded);
        free(t->files[i].replayed);
        tp_captured_release(&t->files[i].captured);
        tp_trace_close(&t->files[i].trace);
    }
    free(t->files);
}
