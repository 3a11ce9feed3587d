/* What a program will request at a value of a setting at which it was not recorded.
 *
 *     recordings at 128, 256 --> aligned by call stacks --> a law for each request
 *                            --> the program of the nearest recording, with the sizes at 1,024
 *
 * The order of the events is that of the nearest recording, the base. Where the recordings differ
 * in what they do, nothing is predicted above TP_PREDICT_DOUBT of the bytes. */
#ifndef TP_PREDICT_H
#define TP_PREDICT_H

#include "cmd/predict/law.h"
#include "cmd/predict/sample_run.h"

#define TP_PREDICT_DOUBT 0.01 /* share of the bytes without a partner that is accepted */

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
 * is taken to be n. */

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

/* The same, with doubtful requests growing as n^2: what they are at most. */
int tp_predict_sizes_most(const struct tp_prediction *p, uint64_t n, uint64_t **out,
                          struct tp_err *err);

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
    struct tp_predict_site *sites; /* owned; those that change most first */
    size_t count;
};

/* Finds the peak with these sizes. `out` is to be released in every case. */
int tp_predict_peak(const struct tp_prediction *p, const uint64_t *sizes,
                    struct tp_predict_peak *out, struct tp_err *err);
void tp_predict_peak_release(struct tp_predict_peak *peak);

#endif
