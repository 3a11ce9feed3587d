/* Which setting of a recorded allocator (tunable.h) would need less? Settings are tried on all
 * files of a job (cmd/jobs/trial.h), such as the snapshots of several ranks, and what they did on
 * each is made one figure: the largest peak, the sum of all calls. Nothing is printed here. */
#ifndef TP_TUNE_H
#define TP_TUNE_H

#include "alloc/base/opt.h"
#include "alloc/base/texts.h"
#include "cmd/jobs/trial.h"
#include "cmd/results/captured.h"
#include "cmd/results/result.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"
#include "traces/trace.h"

#include <stdio.h>

/* Peaks that differ by less than this share are taken as equal. */
#define TP_TUNE_NOISE 0.01
/* A smaller gain is no advice. */
#define TP_TUNE_GAIN 0.02

/* What a setting did: on one file, or on all. */
struct tp_tune_figures {
    uint64_t peak_reserved; /* the largest of the devices */
    size_t peak_file;
    uint64_t calls;              /* segments taken and given back */
    uint64_t retries;            /* times that all unused segments went back */
    uint64_t failed;             /* requests that were refused for good */
    uint64_t first_failed_event; /* in the file `failed_file`; TP_NONE: none failed */
    size_t failed_file;
    bool too_big; /* at that event the program itself needed more than the device has */
    size_t files; /* that were joined */
};

struct tp_tune_file {
    const char *path; /* to open it again; borrowed. trace.path is for people */
    struct tp_trace trace;
    struct tp_captured captured;
    char *recorded;    /* owned; the setting of the recording without blanks; NULL: not known */
    char *replayed;    /* owned: the same with the share of the device that the program had set */
    bool has_heap;     /* the heap that it began with is known */
    uint64_t capacity; /* bytes that each device has for the program; 0: not known */
    bool inferred;     /* the recording tells the capacity, as the least that it was */
    uint64_t most;     /* that it may have been */
    uint64_t live;     /* the most bytes that the program needed on one device */
    uint64_t live_event;
    uint64_t packed; /* the best packing found of that device (cmd/jobs/bound.h); 0: unknown */
    bool compared;   /* the format has addresses to compare */
    struct tp_fidelity fidelity; /* of the rules with the recorded setting; zeros: not compared */
    struct tp_tune_figures did;  /* what the recorded allocator did */
    bool knows;                  /* the file says so */
};

struct tp_tune_setting {
    const char *conf;   /* as tunable.h has it; "": the allocator's defaults */
    const char *danger; /* why it must not be used; NULL: no reason is known */
    const char *newer;  /* a key that only newer releases have; NULL: none */
    size_t keys;
    bool recorded; /* each file's own, which `conf` is where they agree */
    /* it started compacted where the heap that a recording began with is known: it makes other
     * segments or blocks than those of that heap */
    bool compacted;
    bool twin;  /* the recorded one from a compacted start: what such ones are compared with */
    int status; /* TP_OK: all files were replayed; else `err` is that of the first which was not */
    struct tp_err err;
    struct tp_tune_figures all;
    struct tp_tune_figures *files; /* owned; one for each file */
    bool on_front;                 /* no other is better in one figure and as good in the rest */
};

struct tp_tunable;
struct tp_tune {
    struct tp_tune_file *files;
    size_t file_count;
    bool host;                        /* the one file is a trace of host memory (malloc_tune.h) */
    const struct tp_tunable *chosen;  /* by the user; NULL: the recorded one is the target */
    const struct tp_tunable *target;  /* whose settings are tried */
    struct tp_texts texts;            /* of the grid */
    struct tp_tune_setting *settings; /* the recorded one first, if it is known */
    size_t setting_count;
    bool recorded_differs; /* between files */
    struct tp_str kept;    /* parts of the recorded setting that decide nothing which is tried */
    /* The driver's pool: its peak and its failures, where a GPU could replay all. */
    int pool_status;
    struct tp_err pool_err;
    struct tp_tune_figures pool;
};

/* Opens the files, at least one. The caller releases `t` in every case. `capacity` is that of each
 * device, 0 for no limit, TP_OPT_KEYWORD(0) for the recorded one. TP_EINPUT: one is no trace of a
 * device nor of pinned memory, has no events, or is of another allocator. A single host trace is
 * opened, and nothing else is read of it. */
struct tp_open_opts;
int tp_tune_open(struct tp_tune *t, char *const *paths, size_t count, const struct tp_open_opts *o,
                 uint64_t capacity, struct tp_err *err);

/* Whether the settings that are tried are those of the allocator that made the recording. */
bool tp_tune_is_own(const struct tp_tune *t, const struct tp_tune_file *f);

/* Makes the settings of the texts, after all files are open, without those that have one of the
 * keys in `without`, which ends with NULL. Recorded ones stay, to be compared with. */
int tp_tune_settings(struct tp_tune *t, const char *const *without, struct tp_err *err);

/* Tries all settings on all files. `how` has what is the same for all; program and capacity are
 * those of each file. */
int tp_tune_replay(struct tp_tune *t, const struct tp_trial_cfg *how, struct tp_err *err);
void tp_tune_release(struct tp_tune *t);

/* What the recorded allocator did on all files; false: not all of them say so. */
bool tp_tune_recorded(const struct tp_tune *t, struct tp_tune_figures *out);

/* The capacity of all devices; 0: it differs, or is not known of one. */
uint64_t tp_tune_capacity(const struct tp_tune *t);

/* The file in which the program needed most. */
const struct tp_tune_file *tp_tune_largest(const struct tp_tune *t);

/* ---- judging ---- */

/* Marks the settings on the front: those that none beats in failed requests, peak, calls and
 * retries together. Of equal ones the first with the fewest keys is on it. Dangerous ones are
 * not, nor with `older` those that an older release refuses. */
void tp_tune_front(struct tp_tune_setting *settings, size_t count, bool older);

/* Above 0: of two that run out of memory `a` reaches farther: of several files the one with fewer
 * failed requests. */
int tp_tune_reaches(const struct tp_tune_figures *a, const struct tp_tune_figures *b);

/* What the answer says. */
enum tp_tune_verdict {
    TP_TUNE_SET,        /* a setting needs less */
    TP_TUNE_RESCUES,    /* a setting avoids the out of memory */
    TP_TUNE_FINE,       /* what is set is as good as any */
    TP_TUNE_TOO_BIG,    /* none avoids it: the program itself needs more than the device has */
    TP_TUNE_NONE,       /* none of those that were tried avoids it */
    TP_TUNE_UNTOLD,     /* the recording ran out of memory and its replay does not, or the other way
                           round */
    TP_TUNE_UNFAITHFUL, /* the rules do not do what the recorded allocator did */
    TP_TUNE_UNKNOWN     /* no setting could be replayed */
};

/* What one may want. */
enum tp_tune_named { TP_TUNE_LEAST_MEMORY, TP_TUNE_FEWEST_CALLS, TP_TUNE_SIMPLEST, TP_TUNE_NAMED };
extern const char *const tp_tune_names[TP_TUNE_NAMED]; /* "least memory" */

struct tp_tune_answer {
    enum tp_tune_verdict verdict;
    const struct tp_tune_setting *base; /* what the others are compared with; NULL: unknown */
    const struct tp_tune_setting *twin; /* what those are that start compacted; NULL: unknown */
    /* the one to set; the base where that is as good; NULL: the verdict is none of these */
    const struct tp_tune_setting *best;
    const struct tp_tune_setting *farthest; /* with TP_TUNE_NONE: reaches farthest; may be NULL */
    const struct tp_tune_setting *refused;  /* the recorded one, where it could not be replayed */
    uint64_t choices;                       /* settings that were replayed and might be proposed */
    bool cheaper; /* one of them needs less than the base, and more retries */
    bool untold; /* one avoids an out of memory, but so does the recorded one from a compacted start
                  */
    double gain; /* share of the base's peak that the best setting found saves; below 0: more */
    /* where all is served; of each the best, NULL: none. FEWEST_CALLS: without more memory;
     * SIMPLEST: one key, with about the least memory */
    const struct tp_tune_setting *named[TP_TUNE_NAMED];
};
/* What an answer must know of the files. */
struct tp_tune_case {
    bool too_big; /* the program itself needs more than the device has */
    bool mid_run; /* the base starts compacted mid-run: calls that warm it up say nothing */
    bool older; /* settings with a newer key are not proposed, as one file is of an older release */
    bool ran_out;    /* a recorded program ran out of memory */
    bool inferred;   /* the device is that of the recording, in all files */
    bool unfaithful; /* see TP_FAITHFUL; or what could be compared was not */
    /* most bytes that the recorded allocator held; its replay may need more where it depends on
     * addresses of the driver. 0: not known */
    uint64_t did;
};
struct tp_tune_case tp_tune_case(const struct tp_tune *t);

struct tp_tune_answer tp_tune_answer(const struct tp_tune_setting *settings, size_t count,
                                     struct tp_tune_case of);

/* Whether it says to set something. */
/* The setting that began as `x` did, with which its figures compare: the recorded one, or that from
 * a compacted start. */
static inline const struct tp_tune_setting *tp_tune_base_of(const struct tp_tune_answer *a,
                                                            const struct tp_tune_setting *x)
{
    return x->compacted && !a->base->compacted && a->twin ? a->twin : a->base;
}

static inline bool tp_tune_is_order(const struct tp_tune_answer *a)
{
    return a->verdict == TP_TUNE_SET || a->verdict == TP_TUNE_RESCUES;
}

/* The answer, and the one for a release that does not have the newer keys. */
struct tp_tune_answers {
    struct tp_tune_answer any, older;
};

/* The page of `tapool tune`. Its data is the document of --json without the figures of each file.
 */

struct tp_tune_page {
    const struct tp_tune *t;
    const struct tp_tune_answers *answers;
    bool exact; /* sizes are shown in bytes */
    const struct tp_opt *rows;
    const void *opts; /* of the command line */
};

/* Writes the page of a struct tp_tune_page. TP_ENOMEM: a part is missing. */
int tp_tune_page(const void *of, FILE *out, struct tp_err *err);

/* The `pool` of the target is not tried but measured, on a GPU, where this machine has one. */

struct tp_open_opts;

/* Replays all files on the GPU and fills in t->pool; a file that cannot be replayed is no error,
 * t->pool says why. `how` is as for tp_tune_replay. TP_ESTOP, TP_ENOMEM. */
int tp_tune_measure_pool(struct tp_tune *t, const struct tp_open_opts *o,
                         const struct tp_trial_cfg *how, struct tp_err *err);

/* What `tapool tune` prints: the screen, its sentences, and the document tapool.tune/2. */

/* The environment variable that the recorded programs read; static. NULL: there is no such single
 * variable. */
const char *tp_tune_variable(const struct tp_tune *t);

/* Words of enum tp_tune_verdict in the document. */
extern const char *const tp_tune_verdicts[];

/* Of an answer that says to set something: adds the `order` of the target, which can be pasted and
 * is never to be wrapped, and what that does. */
void tp_tune_order(const struct tp_tune *t, const struct tp_tune_answer *a, struct tp_str *out);
void tp_tune_effect(const struct tp_tune_answer *a, bool exact, struct tp_str *out);

/* Adds what it says to set and what that does to a table of figures (cmd/ui/table.h); where it says
 * to set nothing, the verdict. */
struct tp_table;
void tp_tune_figures(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                     struct tp_table *out);

/* Adds the sentence that answers. */
void tp_tune_sentence(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                      struct tp_str *out);

/* Orders pointers to settings, for qsort: the lowest peak first, then the fewest calls. */
int tp_tune_by_peak(const void *a, const void *b);

/* Parts of the screen: the i-th file, how far the rules did what was recorded there, how each
 * starts, what was tried, what was left out and why, the table of settings, how the replay as
 * recorded differs from the recording, the lower bound, and the answer with its doubts. The table
 * has all settings or those on the front, of each only those that `chosen` has; NULL: it has all.
 */
void tp_tune_file_print(const struct tp_tune *t, size_t i, struct tp_page *page);
void tp_tune_fidelity_print(const struct tp_tune *t, size_t i, struct tp_page *page);
void tp_tune_start_print(const struct tp_tune *t, struct tp_page *page);
void tp_tune_tried_print(const struct tp_tune *t, struct tp_page *page);
void tp_tune_refused_print(const struct tp_tune *t, struct tp_page *page);
void tp_tune_table_print(const struct tp_tune *t, const struct tp_tune_answers *a, bool all,
                         const bool *chosen, struct tp_page *page);
void tp_tune_difference_print(const struct tp_tune *t, const struct tp_tune_setting *base,
                              struct tp_page *page);
void tp_tune_bound_print(const struct tp_tune *t, struct tp_page *page);
void tp_tune_answer_print(const struct tp_tune *t, const struct tp_tune_answers *a,
                          struct tp_page *page);

/* `all`: all settings, and not those on the front only. */
void tp_tune_text(const struct tp_tune *t, const struct tp_tune_answers *a, bool all,
                  struct tp_page *page);
/* The document of a struct tp_tune_page as a tree, which the caller owns. */
cJSON *tp_tune_tree(struct tp_json *j, const void *of);

/* The same with the settings that are `chosen` alone, and without the figures of each file; NULL:
 * all of it. */
cJSON *tp_tune_tree_of(struct tp_json *j, const struct tp_tune *t, const struct tp_tune_answers *a,
                       const bool *chosen);

#endif
