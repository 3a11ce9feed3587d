/* Which policy, and why: one rule over one small record of each, which replay fills from what it
 * just measured and compare from what it measured in turn or read from a file. The rule is a table
 * of steps; `tapool help report` prints its sentences. */
#ifndef TP_PICK_H
#define TP_PICK_H

#include "cmd/ui/text.h"

enum { TP_PICK_MAX = 64, TP_PICK_TIED = 4, TP_PICK_WORDS = 320 };

/* One policy. What is not known is NAN. */
struct tp_choice {
    const char *label;
    bool yardstick;       /* by what tapool knows of it */
    bool region;          /* it reuses nothing before a reset */
    bool failed;          /* some allocations */
    bool unsafe;          /* hands out memory on which another stream may still work */
    bool small;           /* the warning small-trace is about it */
    bool cold;            /* its time is that of single replays: compares with none that is not */
    double fits_in, peak; /* bytes, sums over the devices */
    double calls_first, calls_later; /* to the source: of the first pass on a fresh instance, and of
                                        the next one on the same */
    double ns, low, high;            /* per call, and the 95 % interval */
};

/* What is the same for all of them. */
struct tp_pick_question {
    const struct tp_choice *list;
    size_t count;       /* those from TP_PICK_MAX on are not looked at */
    size_t base;        /* the one that the others are set beside; `count`: none */
    bool frees;         /* the trace frees objects one by one */
    bool loop;          /* it is one period of a loop: what a first pass costs is paid once */
    bool policy_time;   /* no call to the source is in the times */
    double operations;  /* of the trace */
    double capacity;    /* bytes, of the device */
    const char *callee; /* who answers those calls: "driver", "system" */
    bool exact;         /* bytes in full */

    /* Is x faster than y, beyond doubt and by what matters? *change: ns(x) / ns(y) - 1. NULL: where
     * the intervals do not meet. */
    bool (*faster)(const void *ctx, size_t x, size_t y, double *change);
    const void *ctx;
};

struct tp_pick {
    size_t chosen[TP_PICK_TIED];  /* several: nothing separates them, but something from the rest */
    size_t count;                 /* 0: none */
    char head[TP_PICK_WORDS];     /* "Pick arena", "Pick lru or stream-pool", "Pick: none" */
    char reason[TP_PICK_WORDS];   /* ": 6 driver calls where lru needs 264", or "" */
    char other[2][TP_PICK_WORDS]; /* who suits another goal; "": nobody */
};

void tp_pick(const struct tp_pick_question *q, struct tp_pick *out);

/* As lines on a page; as one text. */
void tp_pick_print(const struct tp_pick *pick, struct tp_page *page);
void tp_pick_text(const struct tp_pick *pick, char *text, size_t size);

/* The sentence of the step n, from 0; NULL: there are no more. From the step with the number
 * TP_PICK_DECIDING on, counted from 1, figures decide; before, somebody is out of the question. */
enum { TP_PICK_DECIDING = 5 };
const char *tp_pick_rule(size_t n);

#endif
