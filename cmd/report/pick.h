/* The Pick: which strategy to choose, and why. A rule is applied to a small record of each
 * strategy. `tapool replay` fills the records from its results, `tapool compare` from its rounds or
 * from stored results. The rule is a table of steps; `tapool help report` prints their sentences.
 */
#ifndef TP_PICK_H
#define TP_PICK_H

#include "cmd/ui/text.h"

/* What matters to who asks. */
enum tp_goal { TP_GOAL_BOTH, TP_GOAL_MEMORY, TP_GOAL_TIME };

enum { TP_PICK_MAX = 64, TP_PICK_TIED = 4, TP_PICK_WORDS = 320 };

/* One strategy. A value that is not known is NAN. */
struct tp_choice {
    const char *label;
    bool reference;      /* only to compare with, never picked */
    bool region;         /* reuses nothing before a reset */
    bool failed;         /* some allocations failed */
    bool unsafe;         /* hands out memory on which another stream may still work */
    bool aged;           /* began with the recorded heap, which others cannot */
    bool small;          /* the warning small-trace is about this strategy */
    bool cold;           /* the time is that of single replays, which only compares with such */
    double min_capacity; /* bytes, summed over the devices */
    double peak;         /* peak reserved, or total resident, as the question says */
    /* Calls to the source: in the first pass on a fresh instance, and in the next pass on it. */
    double calls_first, calls_later;
    /* ns per call and its 95% interval; where threads replayed, of the time that passed */
    double ns, low, high;
};

/* The strategies to choose from, and what all of them have in common. */
struct tp_pick_question {
    const struct tp_choice *list;
    size_t count;  /* strategies from TP_PICK_MAX on are ignored */
    size_t base;   /* index of the base of a comparison; equal to `count`: no base */
    bool frees;    /* the trace frees objects one by one */
    bool loop;     /* the trace is one period of a loop, so a first pass happens only once */
    bool resident; /* `peak` of each choice is total resident */
    bool host;     /* memory is the host's: see pick_host.c */
    enum tp_goal goal;
    double share;       /* of the program's CPU time that malloc took, at most; NAN: not known */
    size_t had;         /* index of the malloc that the program had; equal to `count`: not here */
    bool strategy_time; /* times do not include the calls to the source */
    bool wall;          /* times are what passed while several threads replayed */
    double operations;  /* number of operations in the trace */
    double capacity;    /* bytes of the device; NAN: not limited */
    const char *callee; /* who answers calls to the source: "driver" or "system" */
    bool exact;         /* write bytes in full */

    /* Whether x is certainly and relevantly faster than y; *change is ns(x) / ns(y) - 1. NULL: x is
     * faster if the intervals do not overlap and the difference is more than 5%. */
    bool (*faster)(const void *ctx, size_t x, size_t y, double *change);
    const void *ctx;
};

struct tp_pick {
    size_t chosen[TP_PICK_TIED];  /* indexes of the picked strategies, which are tied if several */
    size_t count;                 /* of `chosen`; 0: none is picked */
    char head[TP_PICK_WORDS];     /* "Pick arena", "Pick lru or stream-pool", "Pick: none" */
    char reason[TP_PICK_WORDS];   /* ": 6 driver calls where lru needs 264", or "" */
    bool pair;                    /* the smallest and, where it is known, the fastest, not one */
    char other[2][TP_PICK_WORDS]; /* strategies that suit another goal better; "": none */
};

void tp_pick(const struct tp_pick_question *q, struct tp_pick *out);

/* Write a Pick as lines on a page, or as one text. */
void tp_pick_print(const struct tp_pick *pick, struct tp_page *page);
void tp_pick_text(const struct tp_pick *pick, char *text, size_t size);

/* Adds its head to a table of figures (cmd/ui/table.h): "Pick" and "lru or stream-pool". */
struct tp_table;
void tp_pick_figure(const struct tp_pick *pick, struct tp_table *t);

/* The sentence of step n, counted from 0; NULL: there is no such step. Steps before number
 * TP_PICK_DECIDING, counted from 1, exclude strategies that must not be picked. From that step on
 * figures decide, on devices. */
enum { TP_PICK_DECIDING = 6 };
extern const char tp_pick_host_rule[]; /* what decides on the host instead */
const char *tp_pick_rule(size_t n);

#endif
