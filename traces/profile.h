/* A profile: a generator of events that imitates a kind of program.
 *
 * To add one: one file in traces/profiles/ that exports one `const struct tp_profile`, and one line
 * in cmd/registry.c. Its options use the names that `tapool gen` knows (cmd/gen_cmd.c: size, live,
 * count, streams, ...), each with a range and a default of its own.
 *
 * Events depend on options and seed alone: on no clock, no floating point and nothing of the
 * machine. The same options and seed give the same bytes everywhere and in every version, so the
 * random draws and their order are part of a profile. */
#ifndef TP_PROFILE_H
#define TP_PROFILE_H

#include "alloc/base/opt.h"
#include "traces/event.h"

struct tp_lower;

struct tp_profile {
    const char *name;
    /* NAME of sample:NAME, which replays the profile with defaults and seed 1; NULL: none */
    const char *sample;
    const char *summary; /* one line for `tapool gen` */
    const char *about;   /* exact description of the trace; lines are wrapped */
    enum tp_kind kind;
    size_t opts_size;
    const struct tp_opt *options;

    /* Number n of streams: 0 to n-1 are declared, all on device 0. NULL: none are declared. */
    uint64_t (*streams)(const void *opts);

    /* Gives all events to the sink. Every event has a time, in ns from 0. TP_EUSAGE, before the
     * first event: options contradict each other. A status of the sink other than TP_OK ends it. */
    int (*generate)(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err);
};

/* Allocates options with their defaults. tp_profile_opts_free frees *out. */
int tp_profile_opts_new(const struct tp_profile *p, void **out, struct tp_err *err);
void tp_profile_opts_free(const struct tp_profile *p, void *opts); /* NULL is fine */

/* Writes "synthetic (pair, seed 1, size=4KiB)", with the options that differ from their
 * defaults. */
void tp_profile_describe(const struct tp_profile *p, const void *opts, uint64_t seed, char *out,
                         size_t size);

/* Declares kind and streams and lowers all events directly, without a file. */
int tp_profile_lower(const struct tp_profile *p, const void *opts, uint64_t seed,
                     struct tp_lower *lo, struct tp_err *err);

#endif
