/* Status codes and error sentences. Everything in tapool includes this, and plug-ins do: this
 * header is installed.
 *
 * Functions that run once take a `struct tp_err *` and write one sentence into it; functions that
 * run once per operation return only a status. `return tp_fail(err, TP_EINVAL, "...")` keeps a
 * failing branch to one line. */
#ifndef TP_ERR_H
#define TP_ERR_H

#include "alloc/base/api.h"

TP_API_BEGIN

/* 0 is success. TP_EOOM is data: a simulated or real device is full. TP_ENOMEM is a failure:
 * tapool's own malloc returned NULL. Neither stands in for the other. */
enum tp_status {
    TP_OK = 0,
    TP_EOOM,    /* the source has no memory left: an answer, not an error */
    TP_EINVAL,  /* a wrong argument: an unknown address, a size of 0, ... */
    TP_EUNSUP,  /* this strategy or source does not do that */
    TP_ENOMEM,  /* tapool's own memory is exhausted */
    TP_EUSAGE,  /* the command line is wrong                    (exit 2) */
    TP_EINPUT,  /* the input cannot be used                     (exit 3) */
    TP_EIO,     /* reading, writing, starting a process failed  (exit 4) */
    TP_EDEVICE, /* a device is missing or lost                  (exit 4) */
    TP_EBROKEN, /* an invariant does not hold: a bug            (exit 4) */
    TP_ELATE,   /* a process did not end in its time            (exit 4) */
    TP_ESTOP,   /* enough was read, or a signal asked to stop; not a failure */
    TP_EFOUND,  /* a condition that the user asked to fail on was found (exit 1) */
    TP_EUNSURE, /* such a condition can neither be found nor ruled out (exit 5) */
    TP_STATUS_COUNT
};

/* The reason of an error for code to test, so that no code parses a sentence. */
enum tp_reason {
    TP_REASON_OTHER,
    TP_REASON_UNKNOWN, /* this build lacks the strategy, the source, or an option of one */
    TP_REASON_ABSENT,  /* a library that is not installed */
    TP_REASON_EMPTY,   /* a trace without events */
    TP_REASON_COUNT
};

#define TP_ERR_TEXT 512

/* Valid only after a call returned something other than TP_OK. */
struct tp_err {
    enum tp_status status;
    enum tp_reason reason;
    char text[TP_ERR_TEXT]; /* one sentence: lower case, no full stop, subjects in single quotes */
    char hint[TP_ERR_TEXT]; /* what to do about it, or "" */
};

/* Writes the sentence, clears the hint and returns `status`. `err` may be NULL. Text that does not
 * fit is cut and ends in "...". */
TP_API int tp_fail(struct tp_err *err, enum tp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the hint of an error that was just written and returns its status. `err` may be NULL: then
 * `status` is returned, which must be the status that tp_fail got. */
TP_API int tp_hint(struct tp_err *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the reason of an error that was just written and returns its status; `err` and `status` as
 * in tp_hint. Until then the reason is TP_REASON_OTHER. */
int tp_because(struct tp_err *err, int status, enum tp_reason reason);

/* Puts the formatted prefix and ": " before the sentence in `err`; returns its status. */
int tp_prefix(struct tp_err *err, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* TP_EIO with the sentence "NAME could not be written: " and the text of errno; errno 0 means that
 * an earlier write failed. */
int tp_fail_write(struct tp_err *err, const char *name);

/* A constant name such as "out of memory"; never NULL. */
TP_API const char *tp_status_text(int status);

TP_API_END

#endif
