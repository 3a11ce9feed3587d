/* A profile: a generator of events that behave like a kind of program.
 *
 * To add one: one file in traces/profiles/ that exports one `const struct tp_profile`, and one line
 * in cmd/registry.c. Its options use the names that `tapool gen` knows (cmd/gen_cmd.c: size, live,
 * count, streams, ...), each with a range and a default of its own.
 *
 * Events come from options and seed alone: no clock, no floating point, nothing of the machine. The
 * same two give the same bytes everywhere, for good: what is drawn, and in which order, is part of
 * a profile. */
#ifndef TP_PROFILE_H
#define TP_PROFILE_H

#include "alloc/base/opt.h"
#include "traces/event.h"

struct tp_lower;

struct tp_profile {
    const char *name;
    const char *sample;  /* sample:NAME plays it with defaults and seed 1; NULL: no sample */
    const char *summary; /* one line of `tapool gen` */
    const char *about;   /* what the trace looks like, exactly; lines are wrapped */
    enum tp_kind kind;
    size_t opts_size;
    const struct tp_opt *options;

    /* Streams 0 to n-1, all on device 0. NULL: none are declared. */
    uint64_t (*streams)(const void *opts);

    /* TP_EUSAGE, before the first event: options that do not go together. Every event has a time,
     * in ns from 0. What the sink returns ends it. */
    int (*generate)(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err);
};

/* Options with their defaults, in new memory; *out is to be freed with tp_profile_opts_free. */
int tp_profile_opts_new(const struct tp_profile *p, void **out, struct tp_err *err);
void tp_profile_opts_free(const struct tp_profile *p, void *opts); /* NULL is fine */

/* "synthetic (pair, seed 1, size=4KiB)": the options that are not at their defaults. */
void tp_profile_describe(const struct tp_profile *p, const void *opts, uint64_t seed, char *out,
                         size_t size);

/* Declares kind and streams and lowers all events, without a file in between. */
int tp_profile_lower(const struct tp_profile *p, const void *opts, uint64_t seed,
                     struct tp_lower *lo, struct tp_err *err);

#endif
