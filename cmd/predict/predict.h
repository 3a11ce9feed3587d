/* What a program will request at a value of a setting at which it was not recorded.
 *
 *     recordings at 128, 256 --> aligned by call stacks --> a law for each request
 *                            --> the program of the nearest recording, with the sizes at 1,024
 *
 * The order of the events is that of the nearest recording, the base. Where the recordings differ
 * in what they do, nothing is predicted above TP_PREDICT_DOUBT of the bytes. */
#ifndef TP_PREDICT_H
#define TP_PREDICT_H

#include "alloc/base/str.h"
#include "cmd/predict/law.h"
#include "cmd/predict/sample_run.h"

#define TP_PREDICT_REDONE      0.02 /* share of a peak that another recording may differ, made again */
#define TP_PREDICT_DOUBT       0.01 /* share of the bytes without a partner that is accepted */
#define TP_PREDICT_RANGE       0.1  /* share of a peak that requests of an unknown law may add */
#define TP_PREDICT_CROSS_DOUBT 0.2  /* share of a peak that the others may be off at the nearest */

/* The law of a request of the base. */
struct tp_predicted {
    struct tp_law law;
    uint32_t points; /* recordings that have it, the base included */
    bool narrowed;   /* the law holds for those nearest to the value, and not for all of them */
    bool doubtful;   /* its law is not known, see below */
};

/* A request that only the base has takes the law of its twins: aligned requests of the same call
 * stack and size, if they all have one law. So kernels that keep one more buffer than they did at a
 * smaller value are predicted. One without twins, whose call stack other recordings have, is
 * doubtful, as is one whose sizes follow no law: kernels need such workspaces from some size on.
 * Its law may be anything from constant to n^2, which matters only where it is live at the peak; it
 * is taken to grow with n above the base, and not to shrink below it, as workspaces do. */

/* What kept requests from being predicted, in bytes and requests. */
struct tp_predict_gap {
    uint64_t bytes, requests;
    double share; /* of the bytes of all requests of that recording */
};

struct tp_prediction {
    const struct tp_sample_run *const *recordings; /* at least two, by value ascending */
    size_t count;
    struct tp_axis_values target;   /* values that are predicted */
    size_t axis;                    /* of target: the setting that is looked along */
    size_t base;                    /* index of the nearest recording */
    struct tp_predicted *requests;  /* owned: of the base, in its order */
    uint64_t aligned;               /* requests with a law of two or more recordings */
    uint64_t ambiguous;             /* of these, with one of two laws, see law.h */
    uint64_t narrowed;              /* of these, with a law of the nearest recordings only */
    uint64_t kinds[TP_LAW_KINDS];   /* requests of each kind of law */
    struct tp_predict_gap twins;    /* requests of the base alone, with a law of twins */
    struct tp_predict_gap doubtful; /* and those of a known call stack, without a law */
    struct tp_predict_gap alone;    /* requests of the base that no other recording has */
    struct tp_predict_gap missing;  /* those of the recording most like it that the base lacks */
    size_t alike;                   /* index of that recording */
    bool *shared;                   /* owned: by request of it, whether the base has it too */
    struct tp_predict_gap lawless;  /* requests whose sizes follow no law */
};

/* Aligns the recordings and finds the laws. `out` is to be released in every case. TP_EUNSUP: they
 * differ too much to be aligned. */
int tp_predict_make(const struct tp_sample_run *const *recordings, size_t count,
                    const struct tp_axis_values *target, size_t axis, struct tp_prediction *out,
                    struct tp_err *err);
void tp_predict_release(struct tp_prediction *p); /* a zeroed one is fine */

/* The index of the recording that is the base at these values: the nearest one by the ratios; of
 * two the larger. */
size_t tp_predict_nearest(const struct tp_sample_run *const *recordings, size_t count,
                          const struct tp_axis_values *target);

/* Whether recordings at these values, up to TP_LAW_POINTS, decide laws (law.h). */
bool tp_predict_decides(const struct tp_sample_run *const *recordings, size_t count);

/* Sets pairs[i] to the request of the other recording that is request i of `base`, or TP_UNPAIRED
 * (align.h). TP_EUNSUP: as tp_predict_make. */
int tp_predict_pairs(const struct tp_sample_run *base, const struct tp_sample_run *other,
                     size_t *pairs, struct tp_err *err);

/* Whether so much is aligned and has a law that a figure means something. */
bool tp_predict_is_sound(const struct tp_prediction *p);

/* Whether requests of the base are doubtful. */
bool tp_predict_has_doubts(const struct tp_prediction *p);

/* Whether a request of the base, or of the recording most like it, is in no other. */
bool tp_predict_is_apart(const struct tp_prediction *p, bool of_base, size_t request);

/* The sizes at a value, by request of the base, which the caller frees in every case. TP_EINPUT:
 * one is too large, which is named. */
int tp_predict_sizes(const struct tp_prediction *p, uint64_t n, uint64_t **out, struct tp_err *err);

/* The same, with doubtful requests as far from that as they may be: growing with n^2 or more, below
 * the base shrinking with n^2. */
int tp_predict_sizes_most(const struct tp_prediction *p, uint64_t n, uint64_t **out,
                          struct tp_err *err);

/* The same at values of all settings, rounded up to the largest multiple that explains the recorded
 * sizes. */
int tp_predict_sizes_padded(const struct tp_prediction *p, const struct tp_axis_values *at,
                            uint64_t **out, struct tp_err *err);

/* The program with these sizes. It begins with the recorded heap where no block of that grows, and
 * is without the recorded allocator's segments. The caller releases it. */
int tp_predict_program(const struct tp_prediction *p, const uint64_t *sizes,
                       struct tp_program **out, struct tp_err *err);

/* Live bytes by place at the peak of the predicted program. */
struct tp_predict_site {
    const char *place; /* NULL: not known; owned by the base */
    struct tp_law law; /* of the request there that changes most */
    uint64_t was;      /* what the base had of these requests, bytes */
    uint64_t is;       /* what is predicted */
};

static inline uint64_t tp_predict_change(uint64_t was, uint64_t is)
{
    return is > was ? is - was : was - is;
}

struct tp_predict_peak {
    uint64_t bytes, event;         /* event 0: in the initial heap */
    uint64_t was;                  /* live in the base at the same event, bytes */
    uint64_t alone;                /* of `bytes`, those of requests that only the base has */
    uint64_t narrowed;             /* and those whose law not all recordings follow */
    struct tp_predict_site *sites; /* owned; those that change most first */
    size_t count;
};

/* Finds the peak with these sizes. `out` is to be released in every case. */
int tp_predict_peak(const struct tp_prediction *p, const uint64_t *sizes,
                    struct tp_predict_peak *out, struct tp_err *err);
void tp_predict_peak_release(struct tp_predict_peak *peak);

/* ---- the answer ---- */

/* Replays of the predicted program under settings of the recorded allocator. */
enum tp_predict_try_of {
    TP_PREDICT_RECORDED,  /* the recorded setting, or the defaults where none is recorded */
    TP_PREDICT_COMPACTED, /* the same without the gaps of the recorded heap; where that was there */
    TP_PREDICT_BEST,      /* the one of all settings tried that reserves least, where some does */
    TP_PREDICT_TRIES
};

struct tp_predict_try {
    const char
        *conf;      /* "" for the defaults; owned by the answer or the asking. NULL: not replayed */
    bool compacted; /* it began with a heap without gaps */
    uint64_t peak_reserved; /* bytes; TP_NONE: unknown, as `conf` is NULL */
    uint64_t failed;        /* requests, by a limit of the setting: there is no other */
    uint64_t failed_event;  /* the first of them; TP_NONE: none */
    uint64_t min_capacity;  /* smallest device on which nothing fails, bytes; TP_NONE: not known */
};

/* A setting with which nothing fails reserves less than any with which something does; one that
 * could not be replayed less than none. */
bool tp_predict_reserves_less(const struct tp_predict_try *a, const struct tp_predict_try *b);

/* A recording at the value that is predicted, beside the prediction. */
struct tp_predict_real {
    uint64_t requests, exact; /* of it, and those whose size was predicted */
    uint64_t peak;            /* requested, bytes */
    uint64_t peak_reserved;   /* of its replay from the start of the prediction; TP_NONE: none */
    uint64_t recorded;        /* what was reserved then at the peak, bytes; TP_NONE: not known */
};

/* A recording, predicted from the others. */
struct tp_predict_check {
    size_t recording;
    bool decided;            /* the others decide laws */
    bool alike;              /* and align well enough */
    bool sound;              /* and what has no law does not matter */
    uint64_t predicted, was; /* peak requested, bytes */
};

/* Memory at one of several values, up to the one that is predicted. */
struct tp_predict_point {
    uint64_t n;
    uint64_t requested; /* peak, bytes; TP_NONE: above 2^48 */
    uint64_t reserved;  /* under the recorded setting, bytes; TP_NONE: not replayed */
    uint64_t recorded; /* requested in the recording of this value, bytes; TP_NONE: there is none */
};
enum { TP_PREDICT_POINTS = 24 };

/* The largest value that fits, and the first one behind it that does not. */
struct tp_predict_fit {
    uint64_t capacity;    /* bytes; 0: not asked */
    uint64_t step;        /* values are multiples of it */
    uint64_t fits;        /* 0: not even the smallest */
    uint64_t fails;       /* the next value tried; 0: all up to TP_LAW_N_MOST fit */
    uint64_t apart;       /* values above it that were tried are so far apart, in steps */
    uint64_t event, size; /* of the first request that fails there */
    bool initial;         /* the initial heap fails there */
    uint64_t hole;        /* a smaller value that does not fit; 0: none was found */
    const char *place;    /* of it; NULL: not known */
    uint64_t peak, most; /* requested at tp_predict_fit_value, and if doubtful requests grow as n^2,
                          * or do not shrink, bytes */
};

struct tp_progress_line;
struct tp_predict_asking {
    const struct tp_sample_run *const *recordings; /* at least two, by value ascending */
    size_t count;
    uint64_t n;                   /* of the setting that is looked along; 0: only what fits */
    struct tp_axis_values target; /* with n, or where that is 0 with the largest recorded one */
    size_t axis;                  /* of target: the setting that is looked along */
    uint64_t capacity;            /* of --fits, bytes; 0: not asked */
    uint64_t step;   /* 0: an eighth of the greatest common divisor of the recorded values */
    uint64_t memory; /* bytes that trials may take */
    bool curve;      /* points are to be found */
    struct tp_progress_line *progress; /* of replays; borrowed */
    const char *const *settings;       /* that are tried beside the recorded one */
    size_t setting_count;
    size_t steps;                     /* that were cut out of each recording; 0: they are whole */
    const struct tp_sample_run *real; /* recorded at n, to be compared; NULL: none */
};

/* Adds "a.pickle at 2, b.pickle at 4". */
void tp_predict_sources(const struct tp_predict_asking *q, struct tp_str *out);

/* The answer with doubtful requests at the other end of what they may be. */
struct tp_predict_most {
    uint64_t peak, peak_reserved; /* bytes; peak_reserved 0: not replayed */
    /* it is more than TP_PREDICT_RANGE off the answer, or TP_PREDICT_DOUBT of the peak is of
     * requests that only the base has: then that is another program */
    bool matters;
    bool narrowed; /* TP_PREDICT_DOUBT of it is of requests whose law not all recordings follow */
};

/* Another recording, made again from the base: its own sizes in the order of the base. */
struct tp_predict_redone {
    size_t recording;     /* the one most like the base, or the next one behind the value */
    uint64_t redone, was; /* peak requested, bytes */
    bool differs;         /* by more than TP_PREDICT_REDONE, or by so much for each step on the way
                           * to the value that it would be TP_PREDICT_CROSS_DOUBT there */
};

/* What the recorded values do not show: that the program rounds them up. */
struct tp_predict_padding {
    uint64_t multiples[TP_AXES]; /* largest that explains what was recorded of a setting, and that
                                  * the value is none of; 0: none */
    bool doubles[TP_AXES];       /* so does the next power of 2 */
    uint64_t peak;    /* requested, if values are rounded up to multiples; 0: no difference */
    uint64_t doubled; /* the same, to a power of 2, bytes */
};

/* Why there is no answer. */
enum tp_predict_why {
    TP_PREDICT_REQUESTS,  /* the recordings do not make the same requests */
    TP_PREDICT_LAWS,      /* requests of an unknown law decide */
    TP_PREDICT_LIFETIMES, /* they do not keep the same memory */
    TP_PREDICT_CROSS      /* the others do not predict the nearest one: TP_PREDICT_CROSS_DOUBT */
};

struct tp_predict_answer {
    struct tp_prediction prediction;
    struct tp_predict_redone redone;
    bool sound;                 /* the recordings make the same requests, and tell their laws */
    enum tp_predict_why why;    /* where it is not */
    struct tp_program *program; /* owned; NULL unless sound */
    struct tp_predict_peak peak;
    struct tp_predict_most most; /* where there are doubtful requests */
    struct tp_predict_padding padding;
    uint64_t fewest; /* peak requested if call stacks that ask more often at larger values do not
                      * ask at all, where that is less, bytes */
    uint64_t before; /* most requested before the steps that were cut out, if it grows as n^2 or
                      * does not shrink, where that is more than in them, bytes */
    struct tp_predict_try
        tries[TP_PREDICT_TRIES];     /* none unless of a recorded allocator of a GPU */
    struct tp_predict_real real;     /* where the asking has a recording for it */
    char *conf;                      /* owned: the recorded setting */
    struct tp_predict_check *checks; /* owned: with three or more recordings, one for each */
    size_t check_count;
    struct tp_predict_fit fit;
    struct tp_predict_point points[TP_PREDICT_POINTS]; /* by value ascending */
    size_t point_count;
};

/* The value that --fits is about: the one that fits, or the first that does not; 0: neither. */
static inline uint64_t tp_predict_fit_value(const struct tp_predict_answer *a)
{
    return a->fit.fits ? a->fit.fits : a->fit.fails;
}

/* ---- where the runs do not agree (site_totals.h) ---- */

#define TP_TOTALS_DOUBT 0.2   /* largest difference that is accepted */
enum { TP_TOTALS_LEAST = 3 }; /* recordings, without which no difference is known */

struct tp_site_total {
    const char *place; /* owned by a recording; NULL: not known */
    uint64_t bytes;    /* predicted, live at the peak */
    uint64_t was;      /* in the largest recording, bytes */
    unsigned power;    /* of n; 0: constant */
    bool doubles;      /* it is a table that doubles when it is full */
};

struct tp_site_totals {
    struct tp_site_total *sites; /* owned; the largest first */
    size_t count;
    uint64_t bytes; /* of all sites: peak requested */
    uint64_t bent;  /* the same, if growth goes on to change as it did between the recordings */
    uint64_t other_phase; /* another moment, which the recordings do not predict, at most; bytes */
    uint64_t smaller, larger; /* the same, with what tables have that double when they are full */
    uint64_t *others;         /* owned: by recording, its peak as the others predict it, bytes */
    double difference;        /* the largest of these to what was recorded, as a share of it */
    bool sound; /* it is at most TP_TOTALS_DOUBT, and so is what each of the above differs by */
};

/* Whether another figure is so near that the answer holds with it. */
static inline bool tp_totals_near(const struct tp_site_totals *t, uint64_t other)
{
    double allowed = TP_TOTALS_DOUBT * (double)t->bytes;
    return !t->bytes || (double)tp_predict_change(t->bytes, other) <= allowed;
}

/* ---- all that is shown ---- */

struct tp_predict_report {
    const struct tp_predict_asking *asking;
    const struct tp_predict_answer *answer;
    const struct tp_site_totals *totals; /* they were tried; they answer where they are sound */
    const char *output; /* file that the predicted trace was written to; NULL: none */
};

/* Finds memory at the value, how well the recordings predict one another, and the largest value
 * that fits. `out` is to be released in every case. TP_EUNSUP: as tp_predict_make. */
int tp_predict_ask(const struct tp_predict_asking *asking, struct tp_predict_answer *out,
                   struct tp_err *err);

/* Chooses the values of the curve, from the smallest recording to what is asked; their memory is
 * not known yet. */
void tp_predict_values(const struct tp_predict_asking *asking, struct tp_predict_answer *a);
void tp_predict_answer_release(struct tp_predict_answer *a);

#endif
