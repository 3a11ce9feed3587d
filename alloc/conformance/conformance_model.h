/* A shadow model that replays a program on a rig and knows what must come out.
 *
 *     struct tp_insn --> model --> strategy --> source
 *                          |          |
 *              what is live, where, with which contents; which streams may still work on what is
 *              freed; after every step: check(), the walk, wrong calls
 *
 * On a source that queues work the streams really work on every block, ordered as a correct program
 * orders them, and it is the source that knows what overlaps; the model then asks no fences, as a
 * query would order what the strategy has left unordered.
 *
 * It never jumps out: the first thing that is wrong is noted as a kind and a sentence, so that a
 * shrinker can replay a program hundreds of times. Steps that make no sense (a free of what is not
 * there) are passed over, so that any part of a program is a program.
 *
 * Known weakness: contents are one byte value per block, so bytes moved within a block are not
 * seen; where streams are in step (host) a wrong stream is not seen either. */
#ifndef TP_CONFORMANCE_MODEL_H
#define TP_CONFORMANCE_MODEL_H

#include "alloc/base/addr_map.h"
#include "alloc/conformance/conformance_rig.h"

#include <stdio.h>
#include <string.h>

#define MODEL_SLOTS   512
#define MODEL_KEPT    UINT64_C(2048) /* bytes at either end of a block, filled and verified */
#define MODEL_PENDING 1024
#define MODEL_WORK_NS 20000 /* that a stream is busy with a block */
#define MODEL_PIECES  8192  /* of a walk, looked at for overlaps */
#define MODEL_MANY    2048  /* so many pieces more, one step longer to the next check */

enum model_kind {
    MODEL_FINE,
    MODEL_OVERLAP,    /* a block lies over a live one */
    MODEL_MISALIGNED, /* not the alignment asked for */
    MODEL_ALLOCATED,  /* too small, or not what `usable` says */
    MODEL_CONTENTS,   /* bytes changed */
    MODEL_STREAM,     /* handed to a stream while another may still work on it */
    MODEL_WALK,       /* the walk or the statistics do not add up */
    MODEL_CHECK,      /* check() says so */
    MODEL_WRONG_CALL, /* an unknown, interior or repeated address, a wrong size was accepted */
    MODEL_STATUS,     /* a correct call was refused */
    MODEL_SOURCE,     /* the source complains of what it was asked to do */
    MODEL_LEFT,       /* something was kept at the end */
    MODEL_OUTSIDE,    /* a block is no memory that the source gave */
    MODEL_CRASH,      /* a signal or a sanitizer ended the process */
    MODEL_KINDS
};

extern const char *const tp_model_kind_names[MODEL_KINDS];

struct model_failure {
    enum model_kind kind;
    uint32_t step; /* index of the instruction */
    char text[400];
};

struct model_object {
    tp_addr addr; /* 0: the allocation failed, or there is not an object */
    uint64_t size, align, allocated;
    uint32_t refs;   /* as the program has it; 0: no object */
    uint32_t used;   /* one bit per stream that it was also used on */
    uint32_t busy;   /* one bit per stream that worked on it */
    uint16_t stream; /* that it was allocated on */
    unsigned char fill;
};

/* Memory that a stream may still work on, up to the fence. */
struct model_pending {
    tp_addr addr;
    uint64_t size;
    struct tp_fence fence;
    uint32_t behind; /* streams that were made to wait for it, bit by bit */
};

struct model {
    struct rig *rig;
    bool probes;          /* make wrong calls after every step */
    bool detects;         /* the instance refuses invalid frees */
    bool streams;         /* look for reuse on wrong streams */
    bool works;           /* the source queues work, and the strategy keeps streams apart */
    uint32_t check_every; /* steps; more while the walk has thousands of pieces */
    uint64_t next_check;  /* in steps */
    struct model_object objects[MODEL_SLOTS];
    struct model_pending pending[MODEL_PENDING];
    uint32_t pending_count;
    struct tp_addr_map live; /* address -> index into objects */
    uint64_t live_bytes;     /* allocated */
    uint64_t steps;
    uint64_t refusals; /* requests for which there was no memory */
    uint32_t step;
    struct model_failure failure;
};

__attribute__((format(printf, 3, 4))) bool tp_model_fail(struct model *m, enum model_kind kind,
                                                         const char *format, ...);

/* To be followed by tp_model_close, in every case. */
void tp_model_open(struct model *m, struct rig *r);

void tp_model_close(struct model *m);

/* splitmix64: values that depend on nothing but the step */
uint64_t tp_model_mix(uint64_t z);

void *tp_model_thread(const struct model *m, uint32_t thread);

/* ---- contents ---- */

unsigned char *tp_model_bytes(struct model *m, tp_addr addr);

void tp_model_fill(struct model *m, struct model_object *o);

/* Are the first `kept` bytes at `addr` those of the object as it was filled? */
bool tp_model_verify(struct model *m, const struct model_object *o, tp_addr addr, uint64_t kept);

/* ---- streams ---- */

/* Notes for all that is pending which streams the strategy made wait for it: for its own stream, or
 * for one that waits for it. */
void tp_model_follow(struct model *m);

/* What is freed on a stream may still be worked on there, and where else it was used. Fences are
 * taken before the strategy is called, so that they never pass later than its own. */
struct model_fences {
    struct tp_fence list[33];
    uint32_t count;
};

void tp_model_record(struct model *m, const struct model_object *o, uint16_t stream,
                     struct model_fences *out);

void tp_model_freed(struct model *m, tp_addr addr, uint64_t size,
                    const struct model_fences *fences);

/* The stream works on the object, after all others that did so far. */
void tp_model_work(struct model *m, struct model_object *o, uint16_t stream);

/* The object changes hands on a stream: the program orders it after the streams that the strategy
 * does not know of. What it was told, it must order by itself. */
void tp_model_order(struct model *m, const struct model_object *o, uint16_t stream);

/* Memory is allocated for a stream: no other one may still work on it. What was pending on the
 * same stream is over for this memory: from now on it is the new owner who keeps the order. */
bool tp_model_handed_out(struct model *m, tp_addr addr, uint64_t size, uint16_t stream);

/* ---- blocks ---- */

/* Enters a block that was allocated into an object. */
bool tp_model_place(struct model *m, struct model_object *o, const struct tp_req *rq,
                    struct tp_block b);

void tp_model_remove(struct model *m, struct model_object *o);

bool tp_model_refused(struct model *m, int rc, const struct tp_req *rq);

bool tp_model_expect(struct model *m, int rc, const char *what);

/* Whether a call may be made once more: bookkeeping memory was failed on purpose, and nothing has
 * changed. */
bool tp_model_again(const struct model *m, int rc);

/* ---- wrong calls ---- */

bool tp_model_einval(struct model *m, int rc, const char *what);

/* Every member that takes an address refuses this one. */
bool tp_model_wrong_address(struct model *m, void *thr, tp_addr addr, const char *what);

/* Wrong addresses and requests are refused, and nothing changes. */
bool tp_model_probe(struct model *m, uint32_t thread, const struct model_object *o);

/* A size that no block of this kind can have. */
bool tp_model_probe_size(struct model *m, void *thr, const struct model_object *o);

/* ---- check and walk ---- */

/* check() holds, the walk names exactly what is live and adds up to what is reserved. `deep`: no
 * piece lies over another. */
bool tp_model_check(struct model *m, bool deep);

#endif
