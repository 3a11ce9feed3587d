/* See predict.h. */
#include "cmd/predict/predict.h"

#include "alloc/base/units.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/trial.h"
#include "cmd/predict/align.h"
#include "cmd/predict/doubts.h"
#include "cmd/results/captured.h"
#include "cmd/stats/measure.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/progress.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the prediction");
}

static const struct tp_sample_run *base_of(const struct tp_predict_answer *a)
{
    return a->prediction.recordings[a->prediction.base];
}

/* ---- settings ---- */

/* Whether what is reserved of it can be told: the allocator of its device is one that is replayed.
 */
static bool has_strategy(const struct tp_sample_run *r)
{
    return tp_find_recorded_strategy(r->trace.recorded.by) &&
           tp_program_facts(r->trace.program)->kind == TP_KIND_DEVICE;
}

static const struct tp_recorded_strategy *strategy_of(const struct tp_predict_answer *a)
{
    return tp_recorded_strategy_or_first(base_of(a)->trace.recorded.by);
}

static int find_conf(struct tp_predict_answer *a, struct tp_err *err)
{
    const char *said = strategy_of(a)->settings(base_of(a)->trace.meta.settings);
    size_t room = said ? strlen(said) + 1 : 1;
    a->conf = calloc(room, 1);
    if (a->conf && said)
        tp_copy_plain(said, a->conf, room);
    return a->conf ? TP_OK : no_memory(err);
}

static struct tp_trial_cfg trials_of(const struct tp_predict_asking *q,
                                     const struct tp_predict_answer *a, struct tp_program *program,
                                     uint64_t capacity)
{
    const struct tp_meta *m = &base_of(a)->trace.meta;
    return (struct tp_trial_cfg){.program = program,
                                 .by = strategy_of(a),
                                 .allocator = m->allocator_device,
                                 .release = m->allocator_release,
                                 .capacity = capacity,
                                 .memory = q->memory,
                                 .timeout_ns = tp_timeout_of(TP_OPT_KEYWORD(TP_TIMEOUT_AUTO),
                                                             tp_program_facts(program)->events, 0),
                                 .interrupted = tp_stop_flag(),
                                 .progress = tp_progress_show,
                                 .progress_ctx = q->progress};
}

/* Replays a program once under the recorded setting. `trial` is to be released in every case. */
static int replay_once(const struct tp_predict_asking *q, const struct tp_predict_answer *a,
                       struct tp_program *program, struct tp_trial *trial, uint64_t capacity,
                       struct tp_err *err)
{
    const struct tp_trial_cfg cfg = trials_of(q, a, program, capacity);
    trial->conf = a->conf;
    return tp_trials_replay(&cfg, trial, 1, err);
}

/* The same of the predicted program with these sizes. */
static int replay_sizes(const struct tp_predict_asking *q, const struct tp_predict_answer *a,
                        const struct tp_prediction *p, const uint64_t *sizes,
                        struct tp_trial *trial, uint64_t capacity, struct tp_err *err)
{
    struct tp_program *program = NULL;
    int rc = tp_predict_program(p, sizes, &program, err);
    if (rc == TP_OK)
        rc = replay_once(q, a, program, trial, capacity, err);
    tp_program_release(program);
    return rc;
}

/* TP_NONE: it could not be replayed. */
static uint64_t reserved_of(const struct tp_trial *t)
{
    return t->status == TP_OK && t->device_count ? t->devices[0].peak_reserved : TP_NONE;
}

static struct tp_predict_try try_of(const struct tp_trial *t, const struct tp_predict_answer *a)
{
    if (reserved_of(t) == TP_NONE)
        return (struct tp_predict_try){.peak_reserved = TP_NONE};
    return (struct tp_predict_try){.conf = t->conf,
                                   .compacted =
                                       !t->aged && tp_program_facts(a->program)->initial_heap,
                                   .peak_reserved = t->devices[0].peak_reserved,
                                   .failed = t->devices[0].failed,
                                   .failed_event = t->devices[0].first_failed_event,
                                   .min_capacity = t->devices[0].min_capacity};
}

bool tp_predict_reserves_less(const struct tp_predict_try *a, const struct tp_predict_try *b)
{
    if (a->peak_reserved == TP_NONE || b->peak_reserved == TP_NONE)
        return a->peak_reserved < b->peak_reserved;
    if (!a->failed != !b->failed)
        return !a->failed;
    return a->peak_reserved < b->peak_reserved;
}

static void take_try(const struct tp_predict_try *t, enum tp_predict_try_of of,
                     struct tp_predict_answer *a)
{
    if (t->conf)
        a->tries[of] = *t;
}

/* The first of those that reserve least is the simplest: so the settings are listed. */
static void take_best(const struct tp_trial *trials, size_t count, struct tp_predict_answer *a)
{
    struct tp_predict_try best = {.peak_reserved = TP_NONE};
    for (size_t i = 0; i < count; i++) {
        const struct tp_predict_try one = try_of(&trials[i], a);
        best = tp_predict_reserves_less(&one, &best) ? one : best;
    }
    take_try(&best, TP_PREDICT_BEST, a);
}

/* With other settings the recorded heap would not have come to lie as it did: they begin with a
 * compacted one, and so does the recorded setting once more, to compare. */
static int try_settings(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                        struct tp_err *err)
{
    size_t count = TP_PREDICT_BEST + q->setting_count;
    struct tp_trial *trials = calloc(count, sizeof *trials);
    const struct tp_trial_cfg cfg = trials_of(q, a, a->program, 0);
    if (!trials)
        return no_memory(err);
    trials[TP_PREDICT_RECORDED] = (struct tp_trial){.conf = a->conf, .fits = true};
    trials[TP_PREDICT_COMPACTED] = (struct tp_trial){.conf = a->conf, .compacted = true};
    for (size_t i = TP_PREDICT_BEST; i < count; i++)
        trials[i] = (struct tp_trial){.conf = q->settings[i - TP_PREDICT_BEST], .compacted = true};
    int rc = tp_trials_replay(&cfg, trials, count, err);
    if (rc == TP_OK) {
        const struct tp_predict_try recorded = try_of(&trials[TP_PREDICT_RECORDED], a);
        const struct tp_predict_try compacted = try_of(&trials[TP_PREDICT_COMPACTED], a);
        take_try(&recorded, TP_PREDICT_RECORDED, a);
        if (trials[TP_PREDICT_RECORDED].aged)
            take_try(&compacted, TP_PREDICT_COMPACTED, a);
        take_best(trials + TP_PREDICT_BEST, count - TP_PREDICT_BEST, a);
    }
    tp_trials_release(trials, count);
    free(trials);
    return rc;
}

/* ---- a recording at the value, beside the prediction ---- */

static int count_exact(const struct tp_prediction *p, const uint64_t *sizes,
                       const struct tp_sample_run *real, struct tp_predict_real *out,
                       struct tp_err *err)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    size_t *pairs = calloc(base->count + 1, sizeof *pairs);
    int rc = pairs ? tp_predict_pairs(base, real, pairs, err) : no_memory(err);
    bool apart = rc == TP_EUNSUP; /* no reason to predict less: none of its sizes is told */
    for (size_t i = 0; rc == TP_OK && i < base->count; i++)
        out->exact += pairs[i] != TP_UNPAIRED && sizes[i] == real->requests[pairs[i]].size;
    out->requests = real->count;
    out->peak = tp_program_demand(real->trace.program, 0)->bytes;
    free(pairs);
    return apart ? TP_OK : rc;
}

static int find_recorded_peak(const struct tp_sample_run *real, struct tp_predict_real *out,
                              struct tp_err *err)
{
    struct tp_captured captured;
    int rc = tp_captured_scan(&real->trace, &captured, err);
    out->recorded = TP_NONE;
    if (rc != TP_OK)
        return rc;
    if (captured.known && captured.count)
        out->recorded = captured.devices[0].peak_reserved;
    tp_captured_release(&captured);
    return TP_OK;
}

/* Replays the real program as the predicted one was: under the same setting, from the same start.
 */
static int compare(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                   const uint64_t *sizes, struct tp_err *err)
{
    const struct tp_predict_try *recorded = &a->tries[TP_PREDICT_RECORDED];
    struct tp_trial trial = {.compacted = recorded->compacted};
    a->real.peak_reserved = TP_NONE;
    int rc = count_exact(&a->prediction, sizes, q->real, &a->real, err);
    if (rc == TP_OK)
        rc = find_recorded_peak(q->real, &a->real, err);
    if (rc == TP_OK && recorded->conf) {
        rc = replay_once(q, a, q->real->trace.program, &trial, 0, err);
        a->real.peak_reserved = reserved_of(&trial);
    }
    tp_trials_release(&trial, 1);
    return rc;
}

/* ---- the recordings, predicted from one another ---- */

static int check_one(const struct tp_predict_asking *q, size_t left_out,
                     struct tp_predict_check *to, struct tp_err *err)
{
    const struct tp_sample_run **others = calloc(q->count, sizeof *others);
    const struct tp_sample_run *of = q->recordings[left_out];
    struct tp_prediction p = {.count = 0};
    struct tp_predict_peak peak = {.bytes = 0};
    struct tp_predict_most most = {.peak = 0};
    size_t count = 0;
    *to = (struct tp_predict_check){.recording = left_out,
                                    .was = tp_program_demand(of->trace.program, 0)->bytes};
    for (size_t i = 0; others && i < q->count; i++)
        if (i != left_out)
            others[count++] = q->recordings[i];
    to->decided = others && tp_predict_decides(others, count);
    int rc = others ? TP_OK : no_memory(err);
    if (to->decided)
        rc = tp_predict_make(others, count, &of->at, q->axis, &p, err);
    to->sound = to->alike = rc == TP_OK && to->decided && tp_predict_is_sound(&p);
    if (to->sound)
        rc = tp_predict_find_peak(&p, of->n, &peak, &most, err);
    to->sound &= rc == TP_OK && !most.matters;
    to->predicted = peak.bytes;
    tp_predict_peak_release(&peak);
    tp_predict_release(&p);
    free(others);
    return rc == TP_EUNSUP || rc == TP_EINPUT ? TP_OK : rc; /* of that recording alone */
}

static int check_all(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                     struct tp_err *err)
{
    int rc = TP_OK;
    if (q->count < 3)
        return TP_OK;
    a->checks = calloc(q->count, sizeof *a->checks);
    if (!a->checks)
        return no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < q->count; i++)
        rc = check_one(q, i, &a->checks[a->check_count++], err);
    return rc;
}

/* ---- what fits ---- */

static uint64_t step_of(const struct tp_predict_asking *q)
{
    uint64_t common = 0;
    for (size_t i = 0; i < q->count; i++)
        common = tp_common_divisor(common, q->recordings[i]->n);
    if (q->step)
        return q->step;
    return common / 8 ? common / 8 : 1;
}

/* What became of a value on the device. */
struct tried {
    bool fits;
    uint64_t event; /* of the first request that failed; 0: see `initial` */
    bool initial;   /* the initial heap did; false with no event: it is larger than any device */
};

static int replay_value(const struct tp_predict_asking *q, const struct tp_predict_answer *a,
                        uint64_t n, struct tried *out, struct tp_err *err)
{
    struct tp_trial trial = {.status = TP_OK};
    uint64_t *sizes = NULL;
    *out = (struct tried){.event = 0};
    int rc = tp_predict_sizes(&a->prediction, n, &sizes, err);
    if (rc == TP_OK)
        rc = replay_sizes(q, a, &a->prediction, sizes, &trial, q->capacity, err);
    free(sizes);
    if (rc == TP_OK && trial.status) {
        *err = trial.err;
        rc = trial.status;
    }
    out->fits = rc == TP_OK && trial.device_count && !trial.devices[0].failed;
    if (rc == TP_OK && trial.device_count && !out->fits)
        out->event = trial.devices[0].first_failed_event;
    out->initial = rc == TP_OK && trial.device_count && !out->fits && !out->event;
    bool larger = rc == TP_EINPUT && !trial.status; /* than any device */
    tp_trials_release(&trial, 1);
    return larger ? TP_OK : rc;
}

static void name_failed(struct tp_predict_answer *a)
{
    const struct tp_sample_run *base = base_of(a);
    const struct tp_request *q = tp_request_at(base, a->fit.event);
    if (!q)
        return;
    a->fit.place = tp_request_place(base, q);
    struct tp_axis_values at = a->prediction.target;
    at.values[a->prediction.axis] = a->fit.fails;
    tp_law_at_setting(&a->prediction.requests[q - base->requests].law, &at, &a->fit.size);
}

/* What is requested grows with the value where all laws do, so that values that cannot fit are told
 * without a replay: *out is the first multiple of which the requests alone are too many, or the
 * first behind TP_LAW_N_MOST. */
static int find_hopeless(const struct tp_predict_asking *q, const struct tp_predict_answer *a,
                         uint64_t *out, struct tp_err *err)
{
    uint64_t low = 0, high = TP_LAW_N_MOST / a->fit.step + 1;
    int rc = TP_OK;
    while (rc == TP_OK && high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        struct tp_predict_peak peak = {.bytes = 0};
        rc = tp_predict_find_requested(&a->prediction, middle * a->fit.step, &peak, err);
        bool fits = rc == TP_OK && peak.bytes <= q->capacity;
        low = fits ? middle : low;
        high = fits ? high : middle;
        rc = rc == TP_EINPUT ? TP_OK : rc; /* larger than any device */
        tp_predict_peak_release(&peak);
    }
    *out = high;
    return rc;
}

enum { SCANNED = 32 }; /* values at one distance */

/* From the top down, the first value that fits; 0 where none does. The first SCANNED values are
 * tried one by one, then every second, and so on. *high becomes the last one that failed. */
static int scan_down(const struct tp_predict_asking *q, struct tp_predict_answer *a, uint64_t low,
                     uint64_t *high, uint64_t *fits, struct tp_err *err)
{
    uint64_t stride = 1, tries = 0;
    int rc = TP_OK;
    for (uint64_t at = *high - 1; rc == TP_OK && at > low && !*fits;) {
        struct tried tried;
        rc = replay_value(q, a, at * a->fit.step, &tried, err);
        if (tried.fits) {
            *fits = at;
            break;
        }
        a->fit.apart = stride > a->fit.apart ? stride : a->fit.apart;
        a->fit.event = tried.event;
        a->fit.initial = tried.initial;
        *high = at;
        stride *= ++tries % SCANNED ? 1 : 2;
        at -= at - low > stride ? stride : at - low;
    }
    return rc;
}

/* What is reserved may fall where the value grows, so it is no search by halves. What was passed
 * over above the value that fits is looked through once more. */
static int scan(const struct tp_predict_asking *q, struct tp_predict_answer *a, uint64_t high,
                struct tp_err *err)
{
    uint64_t low = 0, most = TP_LAW_N_MOST / a->fit.step;
    int rc = TP_OK;
    for (a->fit.apart = 1; rc == TP_OK && high - low > 1;) {
        uint64_t fits = 0;
        rc = scan_down(q, a, low, &high, &fits, err);
        low = fits ? fits : low;
    }
    a->fit.fits = low * a->fit.step;
    a->fit.fails = high > most ? 0 : high * a->fit.step;
    return rc;
}

/* What the recordings do not show of a value. */
static int find_unseen(const struct tp_predict_asking *q, uint64_t n, uint64_t peak,
                       struct tp_predict_answer *a, struct tp_err *err)
{
    tp_predict_find_before(q, n, peak, a);
    int rc = tp_predict_find_padding(n, peak, a, err);
    return rc == TP_OK ? tp_predict_find_fewest(n, peak, a, err) : rc;
}

enum { LOOKED_BELOW = 8 }; /* values below the one that fits */

/* What is reserved may be more at a smaller value. */
static int find_hole(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                     struct tp_err *err)
{
    int rc = TP_OK;
    for (uint64_t i = 1; rc == TP_OK && !a->fit.hole && i <= LOOKED_BELOW; i++) {
        struct tried tried = {.fits = true};
        const uint64_t by = i * a->fit.step;
        if (by < a->fit.fits)
            rc = replay_value(q, a, a->fit.fits - by, &tried, err);
        a->fit.hole = tried.fits ? 0 : a->fit.fits - by;
    }
    return rc;
}

/* What is not known at the value that fits, or at the smallest, which does not. */
static int doubt_fit(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                     struct tp_err *err)
{
    struct tp_predict_peak peak = {.bytes = 0};
    struct tp_predict_most most = {.peak = 0};
    const uint64_t n = tp_predict_fit_value(a);
    int rc = n ? tp_predict_find_peak(&a->prediction, n, &peak, &most, err) : TP_OK;
    a->most.matters |= most.matters;
    a->most.narrowed |= most.narrowed;
    a->fit.peak = peak.bytes;
    a->fit.most = most.peak;
    if (rc == TP_OK && n && !q->n)
        rc = find_unseen(q, n, peak.bytes, a, err);
    tp_predict_peak_release(&peak);
    if (rc == TP_EINPUT)
        return TP_OK; /* larger than any device */
    return rc == TP_OK && !most.matters ? find_hole(q, a, err) : rc;
}

/* The request that fails at the next value; a value that was not replayed is replayed for it. */
static int find_fit(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                    struct tp_err *err)
{
    uint64_t high;
    struct tried tried = {.fits = false};
    a->fit = (struct tp_predict_fit){.capacity = q->capacity, .step = step_of(q)};
    int rc = find_hopeless(q, a, &high, err);
    if (rc == TP_OK)
        rc = scan(q, a, high, err);
    if (rc == TP_OK && a->fit.fails && !a->fit.event) {
        rc = replay_value(q, a, a->fit.fails, &tried, err);
        a->fit.event = tried.event;
        a->fit.initial = tried.initial;
    }
    name_failed(a);
    return rc == TP_OK && !a->most.matters ? doubt_fit(q, a, err) : rc;
}

/* ---- memory by value ---- */

enum { EVEN_VALUES = 12 }; /* between the smallest and the largest, at equal distances */

static void add_value(struct tp_predict_answer *a, uint64_t n, uint64_t recorded)
{
    size_t at = a->point_count;
    for (size_t i = 0; i < a->point_count; i++)
        if (a->points[i].n == n) {
            a->points[i].recorded = recorded == TP_NONE ? a->points[i].recorded : recorded;
            return;
        }
    if (!n || a->point_count == TP_PREDICT_POINTS)
        return;
    for (; at && a->points[at - 1].n > n; at--)
        a->points[at] = a->points[at - 1];
    a->points[at] = (struct tp_predict_point){n, TP_NONE, TP_NONE, recorded};
    a->point_count++;
}

/* Whether a recording differs from what is asked in one setting alone. */
static bool is_on_the_way(const struct tp_sample_run *r, const struct tp_predict_asking *q)
{
    bool same = true;
    for (size_t i = 0; i < r->at.count; i++)
        same &= i == q->axis || r->at.values[i] == q->target.values[i];
    return same;
}

/* What was recorded and what is asked first, then multiples of a step between them. */
void tp_predict_values(const struct tp_predict_asking *q, struct tp_predict_answer *a)
{
    uint64_t least = q->n && q->n < q->recordings[0]->n ? q->n : q->recordings[0]->n;
    uint64_t last = q->recordings[q->count - 1]->n, step = step_of(q);
    last = q->n > last ? q->n : last;
    last = a->fit.fits > last ? a->fit.fits : last;
    while ((last - least) / step >= EVEN_VALUES)
        step *= 2;
    add_value(a, q->n, TP_NONE);
    add_value(a, a->fit.fits, TP_NONE);
    for (size_t i = 0; i < q->count; i++) {
        const struct tp_sample_run *r = q->recordings[i];
        if (is_on_the_way(r, q))
            add_value(a, r->n, tp_program_demand(r->trace.program, 0)->bytes);
    }
    for (uint64_t n = (least / step + 1) * step; n < last; n += step)
        add_value(a, n, TP_NONE);
}

/* Laws that hold for the recordings nearest to the answer only are found anew at each value. */
static int predict_point(const struct tp_predict_asking *q, const struct tp_predict_answer *a,
                         uint64_t n, struct tp_prediction *out, struct tp_err *err)
{
    struct tp_axis_values at = a->prediction.target;
    at.values[q->axis] = n;
    return tp_predict_make(q->recordings, q->count, &at, q->axis, out, err);
}

static int find_point(const struct tp_predict_asking *q, const struct tp_predict_answer *a,
                      struct tp_predict_point *to, struct tp_err *err)
{
    uint64_t *sizes = NULL;
    struct tp_predict_peak peak = {.bytes = 0};
    struct tp_trial trial = {.status = TP_OK};
    struct tp_prediction own = {.count = 0};
    const struct tp_prediction *p = a->prediction.narrowed ? &own : &a->prediction;
    int rc = p == &own ? predict_point(q, a, to->n, &own, err) : TP_OK;
    if (rc == TP_OK)
        rc = tp_predict_sizes(p, to->n, &sizes, err);
    if (rc == TP_OK)
        rc = tp_predict_peak(p, sizes, &peak, err);
    if (rc == TP_OK)
        to->requested = peak.bytes;
    if (rc == TP_OK && has_strategy(base_of(a)))
        rc = replay_sizes(q, a, p, sizes, &trial, to->n <= a->fit.fits ? a->fit.capacity : 0, err);
    if (rc == TP_OK)
        to->reserved = reserved_of(&trial);
    tp_trials_release(&trial, 1);
    tp_predict_peak_release(&peak);
    tp_predict_release(&own);
    free(sizes);
    return rc == TP_EINPUT || rc == TP_EUNSUP ? TP_OK : rc; /* too large, or not to be aligned */
}

/* What fits is on the device that it was asked for, the rest on one without a limit. */
static int find_points(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                       struct tp_err *err)
{
    int rc = TP_OK;
    tp_predict_values(q, a);
    for (size_t i = 0; rc == TP_OK && i < a->point_count; i++)
        rc = find_point(q, a, &a->points[i], err);
    return rc;
}

/* ---- the whole ---- */

/* The recorded setting once more, with doubtful requests as they would be with n^2. */
static int replay_most(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                       struct tp_err *err)
{
    const struct tp_predict_try *recorded = &a->tries[TP_PREDICT_RECORDED];
    struct tp_trial trial = {.compacted = recorded->compacted};
    uint64_t *sizes = NULL;
    if (!tp_predict_has_doubts(&a->prediction) || !recorded->conf)
        return TP_OK;
    int rc = tp_predict_sizes_most(&a->prediction, q->n, &sizes, err);
    if (rc == TP_OK)
        rc = replay_sizes(q, a, &a->prediction, sizes, &trial, 0, err);
    if (rc == TP_OK && reserved_of(&trial) != TP_NONE)
        a->most.peak_reserved = reserved_of(&trial);
    tp_trials_release(&trial, 1);
    free(sizes);
    return rc;
}

static int replay(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                  const uint64_t *sizes, struct tp_err *err)
{
    int rc = tp_predict_program(&a->prediction, sizes, &a->program, err);
    if (rc == TP_OK && has_strategy(base_of(a)))
        rc = try_settings(q, a, err);
    if (rc == TP_OK)
        rc = replay_most(q, a, err);
    return rc == TP_OK && q->real ? compare(q, a, sizes, err) : rc;
}

static int predict_memory(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                          struct tp_err *err)
{
    uint64_t *sizes = NULL;
    int rc = tp_predict_sizes(&a->prediction, q->n, &sizes, err);
    if (rc == TP_OK)
        rc = tp_predict_peak(&a->prediction, sizes, &a->peak, err);
    if (rc == TP_OK)
        rc = tp_predict_find_most(&a->prediction, q->n, &a->peak, &a->most, err);
    if (rc == TP_OK && !a->most.matters)
        rc = find_unseen(q, q->n, a->peak.bytes, a, err);
    if (rc == TP_OK && !a->most.matters)
        rc = replay(q, a, sizes, err);
    free(sizes);
    return rc;
}

/* Whether the others are far off at the recording that is nearest to what is asked, and requests
 * that decide have a law that not all recordings follow: then nothing tells that it holds. */
static bool contradicts(const struct tp_predict_asking *q, const struct tp_predict_answer *a)
{
    const struct tp_predict_check *c = a->check_count ? &a->checks[a->prediction.base] : NULL;
    bool recorded = q->n && !memcmp(&q->target, &base_of(a)->at, sizeof q->target);
    return c && c->sound && !recorded && a->most.narrowed &&
           (double)tp_predict_change(c->was, c->predicted) >
               TP_PREDICT_CROSS_DOUBT * (double)c->was;
}

static void refuse(struct tp_predict_answer *a, bool refused, enum tp_predict_why why)
{
    a->why = a->sound && refused ? why : a->why;
    a->sound &= !refused;
}

static int answer_exactly(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                          struct tp_err *err)
{
    int rc = find_conf(a, err);
    if (rc == TP_OK)
        rc = check_all(q, a, err);
    if (rc == TP_OK && q->n)
        rc = predict_memory(q, a, err);
    if (rc == TP_OK && q->capacity && !a->most.matters)
        rc = find_fit(q, a, err);
    refuse(a, a->most.matters,
           tp_predict_is_of_base(&a->peak) ? TP_PREDICT_REQUESTS : TP_PREDICT_LAWS);
    if (rc == TP_OK && a->sound)
        rc = tp_predict_redo(a, q->n ? q->n : tp_predict_fit_value(a), err);
    refuse(a, a->redone.differs, TP_PREDICT_LIFETIMES);
    refuse(a, contradicts(q, a), TP_PREDICT_CROSS);
    if (rc == TP_OK && q->curve && a->sound)
        rc = find_points(q, a, err);
    return rc;
}

static int ask_once(const struct tp_predict_asking *q, struct tp_predict_answer *out,
                    struct tp_err *err)
{
    *out = (struct tp_predict_answer){.sound = false};
    int rc = tp_predict_make(q->recordings, q->count, &q->target, q->axis, &out->prediction, err);
    out->sound = rc == TP_OK && tp_predict_is_sound(&out->prediction);
    return out->sound ? answer_exactly(q, out, err) : rc;
}

/* Whether another recording is nearer to the value that fits than the base is, which was the
 * largest one, or the one nearest to the answer of before. */
static bool is_off_base(const struct tp_predict_answer *a)
{
    const struct tp_prediction *p = &a->prediction;
    struct tp_axis_values at = p->target;
    at.values[p->axis] = tp_predict_fit_value(a);
    return at.values[p->axis] && tp_predict_nearest(p->recordings, p->count, &at) != p->base;
}

enum { ASKED_AGAIN = 2 }; /* times; the base moves towards the value */

int tp_predict_ask(const struct tp_predict_asking *q, struct tp_predict_answer *out,
                   struct tp_err *err)
{
    struct tp_predict_asking again = *q;
    int rc = ask_once(q, out, err);
    for (int i = 0; i < ASKED_AGAIN && rc == TP_OK && !q->n && is_off_base(out); i++) {
        again.target.values[q->axis] = tp_predict_fit_value(out);
        tp_predict_answer_release(out);
        rc = ask_once(&again, out, err);
    }
    return rc;
}

void tp_predict_answer_release(struct tp_predict_answer *a)
{
    tp_predict_release(&a->prediction);
    tp_predict_peak_release(&a->peak);
    tp_program_release(a->program);
    free(a->conf);
    free(a->checks);
}
