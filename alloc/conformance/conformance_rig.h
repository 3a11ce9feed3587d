/* A rig for strategies: a stack of sources, counted bookkeeping memory, one instance, its threads.
 *
 *     strategy -> meter -> follows -> [fault] -> [limit] -> [shuffle] -> host | virtual | cuda
 *
 * conformance_model.h puts a shadow model beside it. Nothing here jumps out or ends the process:
 * what goes wrong is a status and a sentence in `err`. */
#ifndef TP_CONFORMANCE_RIG_H
#define TP_CONFORMANCE_RIG_H

#include "alloc/base/aliases.h"
#include "alloc/base/opt.h"
#include "alloc/sources/common/meta_heap.h"
#include "alloc/strategy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

extern const struct tp_source_ops tp_source_meter, tp_source_limit, tp_source_fault,
    tp_source_shuffle;

#define RIG_LAYERS      6
#define RIG_THREADS     3 /* unless the configuration says otherwise */
#define RIG_MAX_THREADS 8

struct rig;

/* What the base has to complain of so far, NULL: nothing. Asked while it is open, and once more
 * when it is closed (r->depth is 0). */
typedef const char *rig_complaint_fn(const struct rig *r);

/* Lets the device's time pass, as the recorded time does. */
typedef void rig_passes_fn(uint64_t ns);

/* Notes which streams a strategy made wait for which: a source that queues no work has no such
 * member, and its fences do not tell. */
enum { FOLLOWS_MAX = 256 };

/* Waits since the model looked last. Those that found no room are forgotten: the model is then
 * stricter than it need be. */
struct follows {
    struct tp_source *inner;
    uint32_t count;
    uint16_t pairs[FOLLOWS_MAX][2]; /* the stream that waits, and the one that it waits for */
};

struct rig_cfg {
    const struct tp_strategy *strategy;
    const char *options;
    const struct tp_source_ops *base; /* NULL for a strategy that takes no source */
    const char *base_options;         /* NULL = the defaults */
    rig_complaint_fn *complaint;      /* NULL: the base never has any */
    rig_passes_fn *passes;            /* NULL: the base has no time of its own */
    enum tp_kind kind;
    bool shuffle;
    const char *limit, *fault; /* options, NULL = without */
    uint64_t meta_fail_at;     /* 0 = none */
    uint32_t streams;          /* 0 = 1 */
    uint32_t threads;          /* 0 = RIG_THREADS, at most RIG_MAX_THREADS */
    bool concurrent;           /* as in struct tp_env */
};

struct rig {
    const struct tp_strategy *s;
    struct tp_source stack[RIG_LAYERS];
    void *source_opts[RIG_LAYERS];
    unsigned depth;
    struct tp_account account;
    struct tp_range_table ranges; /* that the meter keeps */
    struct tp_aliases aliases;    /* of the meter, with the claims of the model */
    struct tp_meta_heap meta;
    struct tp_env env;
    uint64_t now_ns;
    int lost;          /* what the source says of its device */
    void *current;     /* device of the thread, as the source keeps it */
    struct tp_err err; /* of what failed */
    rig_complaint_fn *complaint;
    rig_passes_fn *passes;
    void *opts, *st;
    void *threads[RIG_MAX_THREADS];
    uint32_t thread_count; /* of those that are ready */
    bool host;
    uint64_t random;
};

uint64_t tp_rig_random(struct rig *r);

/* Makes an option struct of the defaults and `spec`, which may be NULL; NULL: `err` says why. */
void *tp_rig_make_opts(const struct tp_opt *rows, size_t size, const char *spec,
                       struct tp_err *err);

int tp_rig_add_source(struct rig *r, const struct tp_source_ops *ops, const char *spec,
                      const struct rig_cfg *cfg);

int tp_rig_add_sources(struct rig *r, const struct rig_cfg *cfg);

/* What the strategy made wait since the model looked last; there are sources. */
struct follows *tp_rig_follows(const struct rig *r);

const char *tp_rig_complaint(const struct rig *r);

void tp_rig_close_sources(struct rig *r);

/* Returns what init, or the first thread_init to fail, said; after a failure everything is closed
 * again. TP_EBROKEN: something was left nevertheless. */
int tp_rig_start(struct rig *r, const struct rig_cfg *cfg);

/* Takes the instance down with whatever is live in it. Says what it kept, or what the source
 * complains of; NULL when nothing. */
const char *tp_rig_shut(struct rig *r, char *text, size_t size);

/* What the strategy says of itself; zeros where it says nothing. */
struct tp_stats tp_rig_stats(struct rig *r);

#endif
