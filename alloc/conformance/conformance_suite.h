/* The conformance suite: what every strategy has to do, wherever it places blocks, as a table of
 * checks. Each replays random programs beside a shadow model (conformance_model.h) on a place,
 * which is a source with its shape. Seeds are fixed, so that what fails fails again. */
#ifndef TP_CONFORMANCE_SUITE_H
#define TP_CONFORMANCE_SUITE_H

#include "alloc/conformance/conformance_rig.h"

enum tp_conformance_bit {
    TP_CONFORM_TABLE = 1 << 0,     /* flags, members and options agree */
    TP_CONFORM_RANDOM = 1 << 1,    /* random programs, wrong calls among them */
    TP_CONFORM_FULL = 1 << 2,      /* a source that runs out of memory again and again */
    TP_CONFORM_ADDRESSES = 1 << 3, /* other addresses change no figure */
    TP_CONFORM_GETS = 1 << 4,      /* each call that gets memory fails once */
    TP_CONFORM_PUTS = 1 << 5,      /* each call that gives memory back fails once */
    TP_CONFORM_META = 1 << 6,      /* each call for bookkeeping memory fails once */
    TP_CONFORM_OPTIONS = 1 << 7,   /* each flag and choice of its options once */
    TP_CONFORM_THREADS = 1 << 8    /* several threads at once; not the same twice */
};

struct tp_conformance_place {
    const char *name;
    const struct tp_source_ops *base; /* NULL: a real allocator's own heap */
    enum tp_kind kind;
    bool shuffle;
    uint32_t streams;
    unsigned checks; /* bits of those that are replayed here */
    unsigned nth;    /* moves the seed of the random programs */
    bool slow;       /* each call takes long: fewer programs */
    /* what is held may lie in more pages than its bytes need, so a limit does not bound it */
    bool scattered;
    bool pool_only; /* nothing but pools of a driver can be replayed here */
    rig_complaint_fn *complaint;
    rig_passes_fn *passes;
};

struct tp_conformance_case {
    const struct tp_strategy *strategy;
    const char *options; /* as tp_opts_parse reads them; NULL or "": the defaults */
};

struct tp_conformance_check {
    enum tp_conformance_bit bit;
    const char *name;
    /* TP_OK, or TP_EBROKEN and the sentence of the first failure with its seed and step. Other
     * errors are tapool's own. */
    int (*run)(const struct tp_conformance_case *c, const struct tp_conformance_place *on,
               struct tp_err *err);
};

extern const struct tp_conformance_check tp_conformance_checks[]; /* the last has no name */

/* The places that every machine has; the last has no name. */
extern const struct tp_conformance_place tp_conformance_places[];

/* Whether the check makes sense for the strategy on this place. */
bool tp_conformance_replays(const struct tp_conformance_check *check,
                            const struct tp_conformance_case *c,
                            const struct tp_conformance_place *on);

#endif
