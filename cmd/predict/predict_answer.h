/* The answer of a prediction: memory at a value, how well the recordings predict one another, and
 * the largest value that fits. */
#ifndef TP_PREDICT_ANSWER_H
#define TP_PREDICT_ANSWER_H

#include "alloc/base/str.h"
#include "cmd/predict/predict.h"

/* Replays of the predicted program under settings of the recorded allocator. */
enum tp_predict_try_of {
    TP_PREDICT_RECORDED,  /* the recorded setting, or the defaults where none is recorded */
    TP_PREDICT_COMPACTED, /* the same without the gaps of the recorded heap; where that was there */
    TP_PREDICT_BEST,      /* the one of all settings tried that reserves least, where some does */
    TP_PREDICT_TRIES
};

struct tp_predict_try {
    const char *conf; /* "" for the defaults; owned by the answer or the asking. NULL: not played */
    bool compacted;   /* it began with a heap without gaps */
    uint64_t peak_reserved; /* bytes */
    uint64_t min_capacity;  /* smallest device on which nothing fails, bytes; TP_NONE: not known */
};

/* A recording at the value that is predicted, beside the prediction. */
struct tp_predict_real {
    uint64_t requests, exact; /* of it, and those whose size was predicted */
    uint64_t peak;            /* requested, bytes */
    uint64_t peak_reserved;   /* of its replay from the start of the prediction; TP_NONE: none */
    uint64_t recorded;        /* what PyTorch reserved at the peak, bytes; TP_NONE: not known */
};

/* A recording, predicted from the others. */
struct tp_predict_check {
    size_t recording;
    bool decided;            /* the others decide laws */
    bool sound;              /* and align well enough */
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
    const char *place;    /* of it; NULL: not known */
};

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
    const char *const *settings; /* that are tried beside the recorded one */
    size_t setting_count;
    size_t steps;                     /* that were cut out of each recording; 0: they are whole */
    const struct tp_sample_run *real; /* recorded at n, to be compared; NULL: none */
};

/* What doubtful requests (predict.h) make of the answer, if they grow as n^2. */
struct tp_predict_most {
    uint64_t peak, peak_reserved; /* bytes; peak_reserved 0: not replayed */
    /* it is more than TP_PREDICT_DOUBT off the answer, or as much of the peak is of requests that
     * only the base has: then that is another program */
    bool matters;
};

struct tp_predict_answer {
    struct tp_prediction prediction;
    bool sound;                 /* the recordings make the same requests */
    struct tp_program *program; /* owned; NULL unless sound */
    struct tp_predict_peak peak;
    struct tp_predict_most most;                   /* where there are doubtful requests */
    struct tp_predict_try tries[TP_PREDICT_TRIES]; /* none unless of PyTorch's GPU allocator */
    struct tp_predict_real real;                   /* where the asking has a recording for it */
    char *conf;                                    /* owned: the recorded setting */
    struct tp_predict_check *checks; /* owned: with three or more recordings, one for each */
    size_t check_count;
    struct tp_predict_fit fit;
    struct tp_predict_point points[TP_PREDICT_POINTS]; /* by value ascending */
    size_t point_count;
};

/* Adds "a.pickle at 2, b.pickle at 4". */
void tp_predict_sources(const struct tp_predict_asking *q, struct tp_str *out);

/* `out` is to be released in every case. TP_EUNSUP: as tp_predict_make. */
int tp_predict_ask(const struct tp_predict_asking *asking, struct tp_predict_answer *out,
                   struct tp_err *err);
void tp_predict_answer_release(struct tp_predict_answer *a);

#endif
