/* The recordings that a prediction is made from: FILE@VALUE words, matched by the names of their
 * settings, opened, ordered and cut. */
#ifndef TP_RECORDINGS_H
#define TP_RECORDINGS_H

#include "cmd/jobs/open_trace.h"
#include "cmd/predict/sample_run.h"

struct tp_recordings {
    struct tp_sample_run real;             /* what --check names; without a path there is none */
    struct tp_sample_run *list;            /* owned; as they were named */
    const struct tp_sample_run **by_value; /* owned; points into the list */
    size_t count;
};

/* Reads the words. `all` is zeroed, and to be closed in every case. TP_EUSAGE: a word is none, they
 * name different settings, one has another one's values, or a setting never varies. */
int tp_recordings_name(struct tp_recordings *all, char *const *words, size_t count,
                       struct tp_err *err);

/* Reads the values of an option, "1024" or "batch=32", in the order of the recordings' names; 0 for
 * one that is not given. */
int tp_recordings_value(const struct tp_recordings *all, const char *option, const char *text,
                        struct tp_axis_values *at, struct tp_err *err);

/* Reads VALUE=FILE of --check, which becomes all->real. */
int tp_recordings_real(struct tp_recordings *all, const char *text, struct tp_err *err);

/* Orders them by the values of one setting. */
void tp_recordings_order(struct tp_recordings *all, size_t axis);

/* Opens all, and lists their requests. TP_EINPUT: host and device traces together. */
int tp_recordings_open(struct tp_recordings *all, const struct tp_open_opts *o, struct tp_err *err);
/* The same for those of the list after they were cut, which makes them whole again. */
int tp_recordings_open_again(struct tp_recordings *all, const struct tp_open_opts *o,
                             struct tp_err *err);

/* Whether something was live before a recording began, so that it may begin inside a step. */
bool tp_recordings_begin_late(const struct tp_recordings *all);

/* Cuts the last steps that all have out of each recording: where it begins in the middle of a step,
 * and, unless `only_midway`, in every case. *cut: how many; 0: nothing was cut. */
int tp_recordings_cut(struct tp_recordings *all, bool only_midway, size_t *cut, struct tp_err *err);

void tp_recordings_close(struct tp_recordings *all);

#endif
