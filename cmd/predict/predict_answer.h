/* The answer of a prediction: memory at a value, how well the recordings predict one another, and
 * the largest value that fits. */
#ifndef TP_PREDICT_ANSWER_H
#define TP_PREDICT_ANSWER_H

#include "alloc/base/str.h"
#include "cmd/predict/predict.h"

enum { TP_PREDICT_TRIES = 3 };

/* The predicted program under settings of the recorded allocator. */
struct tp_predict_try {
    const char *conf; /* "" for the defaults; static or owned by the asking */
    bool recorded;    /* the recorded setting, or the defaults where none is recorded */
    uint64_t peak_reserved, failed, first_failed_event;
    int status; /* of the trial; its figures are known where it is TP_OK */
};

/* A recording, predicted from the others. */
struct tp_predict_check {
    size_t recording;
    bool sound;              /* the others align well enough */
    uint64_t predicted, was; /* peak requested, bytes */
};

/* The largest value that fits, and the first one behind it that does not. */
struct tp_predict_fit {
    uint64_t capacity;    /* bytes; 0: not asked */
    uint64_t step;        /* values are multiples of it */
    uint64_t fits;        /* 0: not even the smallest */
    uint64_t fails;       /* 0: all up to TP_LAW_N_MOST fit */
    uint64_t event, size; /* of the first request that fails there */
    const char *place;    /* of it; NULL: not known */
};

struct tp_predict_asking {
    const struct tp_sample_run *const *recordings; /* at least two, by value ascending */
    size_t count;
    uint64_t n;        /* 0: only what fits */
    uint64_t capacity; /* of --fits, bytes; 0: not asked */
    uint64_t step;     /* 0: an eighth of the greatest common divisor of the recorded values */
    uint64_t memory;   /* bytes that trials may take */
};

struct tp_predict_answer {
    struct tp_prediction prediction;
    bool sound;
    struct tp_program *program; /* owned; NULL unless sound */
    struct tp_predict_peak peak;
    struct tp_predict_try tries[TP_PREDICT_TRIES];
    size_t try_count;                /* 0: not a GPU trace of PyTorch */
    char *conf;                      /* owned: the recorded setting */
    struct tp_predict_check *checks; /* owned: with three or more recordings, one for each */
    size_t check_count;
    struct tp_predict_fit fit;
};

/* Adds "a.pickle at 2, b.pickle at 4". */
void tp_predict_sources(const struct tp_predict_asking *q, struct tp_str *out);

/* `out` is to be released in every case. TP_EUNSUP: as tp_predict_make. */
int tp_predict_ask(const struct tp_predict_asking *asking, struct tp_predict_answer *out,
                   struct tp_err *err);
void tp_predict_answer_release(struct tp_predict_answer *a);

#endif
