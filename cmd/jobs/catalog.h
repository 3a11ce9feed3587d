/* What can be replayed, read and written: the tables of strategies, sources, formats and profiles.
 * All are NULL-terminated; cmd/registry.c fills them. */
#ifndef TP_CATALOG_H
#define TP_CATALOG_H

#include "alloc/source.h"
#include "alloc/strategy.h"
#include "traces/format.h"
#include "traces/profile.h"
#include "traces/trace_writer.h"

extern const struct tp_strategy *const tp_strategies[];
extern const struct tp_source_ops *const tp_sources[];
extern const struct tp_format *const tp_formats[];
extern const struct tp_trace_writer *const tp_trace_writers[];
extern const struct tp_profile *const tp_profiles[];
extern const struct tp_trace_writer tp_writer_tpt; /* the one that keeps everything */

/* The strategies that are replayed without -s, for host and for device traces. `lib` stands for
 * every library that is found. */
enum { TP_DEFAULT_MAX = 16 };
extern const struct tp_strategy *const tp_default_host[];
extern const struct tp_strategy *const tp_default_device[];

struct tp_trace;
struct tp_open_opts;
struct tp_fidelity;

/* The strategy that does what a recorded allocator did: replayed first on its recordings, on
 * simulated memory, with the recorded settings unless others are given. `by`: its name in struct
 * tp_recorded. A member that may be NULL says so. */
struct tp_recorded_strategy {
    const char *by;
    const char *whose; /* for sentences, which are about its program: "PyTorch" */
    const struct tp_strategy *strategy;
    /* takes the settings as they are recorded. NULL: settings are options of the strategy, which
     * are not taken from a recording */
    const char *option;
    /* a choice whose word "recorded" leaves to the recording whose allocator it was; NULL: none */
    const char *device_option;
    /* takes the release whose allocator it was, where that is not given; NULL: none */
    const char *release_option;
    bool (*knows_release)(const char *text); /* NULL: it knows none */
    /* whether one that it knows is older than this one; NULL: it knows none */
    bool (*is_before)(const char *release, unsigned major, unsigned minor);
    /* The text for it among the settings that a trace says, which may be NULL; "" for the
     * allocator's defaults, NULL: it does not say. */
    const char *(*settings)(const char *said);
    /* TP_EUSAGE: they are not simulated. `device` may be NULL; NULL itself without an `option` */
    int (*check)(const char *text, const char *device, struct tp_err *err);
    /* What a text sets otherwise than the recorded one and is not simulated; NULL: nothing. May be
     * NULL itself. */
    const char *(*unplayed)(const char *text, const char *recorded);
    /* ",key:value", added to the settings where the program had set its share of the device, which
     * is then all that is known of the device's size. NULL: nothing. */
    const char *shared;
    /* What the settings among what a trace says mean for limits of memory; NULL: not known. */
    struct tp_limit_rules (*limits)(const char *said, const char *device);

    /* How many of the recorded addresses the strategy reproduces, as tp_fidelity_of (verify.h);
     * NULL: nothing compares them. And the format whose files tell them; NULL: none does. */
    bool (*fidelity)(const struct tp_trace *trace, const char *path, const struct tp_open_opts *o,
                     bool large, struct tp_fidelity *out);
    const char *format;
    const char *switching;  /* the setting of struct tp_fidelity's `switches`; NULL: none */
    const char *gives_back; /* the call that gives back unused segments; NULL: not known */
    const char *apart; /* why a replay reserves another sum though all addresses agree, or NULL */
    const char *ring; /* what a program sets so that no events are lost to a ring buffer, or NULL */
};
extern const struct tp_recorded_strategy *const tp_recorded_strategies[];
const struct tp_recorded_strategy *
tp_find_recorded_strategy(const char *by); /* NULL: there is none */

/* The same; where there is none the first of the table, which device traces are taken to be of that
 * do not say whose they are. */
const struct tp_recorded_strategy *tp_recorded_strategy_or_first(const char *by);

/* Its `shared`, where a text of settings does not have that key already, else "". */
const char *tp_recorded_share(const struct tp_recorded_strategy *by, const char *text);

/* Find an entry by its name in any case. NULL: unknown; err is TP_EUSAGE with the nearest name as
 * hint. */
const struct tp_strategy *tp_find_strategy(const char *name, struct tp_err *err);
const struct tp_source_ops *tp_find_source(const char *name, bool wrapper, struct tp_err *err);
const struct tp_profile *tp_find_profile(const char *name, struct tp_err *err);

/* The folders that are searched for shipped samples, in order. `list` is NULL-terminated and may
 * point to `installed`, so do not copy the struct. */
struct tp_sample_dirs {
    const char *list[4];
    char installed[4096];
};
void tp_sample_dirs(struct tp_sample_dirs *out);

#endif
