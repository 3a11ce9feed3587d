/* What `tapool check` found, as its writers read it: screen, JSON, JUnit, Markdown, GitHub. They
 * compute nothing that another would compute too. */
#ifndef TP_GATE_H
#define TP_GATE_H

#include "cmd/measure/difference.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tp_baseline_cell;

/* A trace, a strategy, a source. Texts borrowed. */
struct tp_gate_cell {
    const char *trace;    /* name */
    const char *path;     /* as given or as the baseline has it */
    const char *strategy; /* label or text as given */
    const char *source;

    /* For the check itself: */
    char *label;                         /* owned, of `strategy` where nothing else has it; NULL */
    const char *spec, *touch;            /* what is played, and how */
    const struct tp_baseline_cell *held; /* NULL: the baseline has no such cell */
    size_t prepared;                     /* index in its traces */
};

/* One metric of one cell, checked. */
struct tp_finding {
    const struct tp_gate_cell *cell;
    const struct tp_metric *metric; /* NULL: an option that changed, see `note` */
    uint16_t device;                /* of several; 0 with one */
    enum tp_verdict verdict;
    double base, now;                /* class N: medians; NAN: null there */
    double change;                   /* now / base - 1; NAN */
    double allowed;                  /* see tp_metric.allowed */
    struct tp_difference difference; /* class N only */
    unsigned sets;                   /* class N: 1, or 2 after a fresh set */
    char note[256]; /* "became nondeterministic: 131.4 and 131.6 MiB in two replays", or "" */
};

/* A value that got worse or better, and what moves with it. */
struct tp_moved {
    const struct tp_finding *finding;
    enum tp_family family;
};

/* Values of one cell that most likely moved for one reason. Those of one family do; with anything
 * worse among them what got better is no improvement. */
struct tp_cause {
    enum tp_verdict verdict; /* TP_REGRESSION or TP_IMPROVED */
    enum tp_family family;
    const struct tp_finding *lead; /* stands for all: figures[0] */
    const struct tp_moved *figures;
    size_t count;
};

/* One class, over all cells. */
struct tp_class_check {
    bool checked;
    bool required;     /* --require */
    bool unknown_only; /* not in cells that are new to the base build, and in these alone: there is
                          nothing to compare, and --require asks for nothing */
    char against[160]; /* "vs baseline, exact", "vs main/tapool, 20 live pairs" */
    char reason[512];  /* not checked, or not in every cell: why */
    bool named; /* `reason` names the cells: "web.tpt, lru (base/tapool: unknown strategy 'lru')" */
    char how[256]; /* and how to have it checked; "" */
    size_t cells, values;
};

/* The smallest slowdown of ns_per_op that is found with 90 % power, over the cells in which it was
 * a test; shares, NAN where no cell tells. */
struct tp_gate_sharpness {
    double worst, median;
    const struct tp_gate_cell *cell; /* the worst; NULL */
    size_t cells, untold;            /* in which it was a test; of these too noisy to tell */
};

struct tp_gate {
    char baseline[256]; /* file; "" */
    char written[160];  /* "3 traces x 2 strategies = 6 cells, written 2026-10-02, tapool 0.4.1" */
    struct tp_gate_cell *cells;
    size_t cell_count, cells_total; /* run; in the baseline */
    char missing[320]; /* cells that were asked for and could not be run, with the first one's
                          reason; "" */
    struct tp_finding *findings; /* every value that was checked, in order of cells */
    size_t finding_count;
    struct tp_class_check classes[TP_CLASS_REPORT]; /* E, D, N */
    struct tp_gate_sharpness sharpness;
    double effect, alpha; /* of the rule for class N */
    unsigned pairs;
    uint64_t seed;
    uint64_t wall_ns;
    bool verbose;                  /* the screen shows every value that moved */
    const struct tp_moved *moved;  /* borrowed; by cause */
    const struct tp_cause *causes; /* borrowed; regressions first */
    size_t moved_count, cause_count;
    size_t counts[TP_VERDICTS]; /* values */
    size_t told[TP_VERDICTS];   /* as the verdict tells it: causes of what moved, and inconclusive
                                   what   could have gated */
    int exit_code;              /* also of an error that ended the check early; 128 + signal */
    char error[800];  /* the sentence of the error that ended the check, or of what could not be
                         written, and its hint; "" */
    char again[1024]; /* command that repeats what failed; "" */
    char what[64];    /* "memory and counts only", "memory and counts, some latency only"; "" when
                         all classes were checked in every cell */
};

/* Counts the findings and finds the causes of what moved. `moved` and `causes` have room for as
 * many as there are findings, and live as long as the gate. */
void tp_gate_group(struct tp_gate *g, struct tp_moved *moved, struct tp_cause *causes);

/* How a change reads: "+4.9 %", "+0.3 points", "+12"; "+5.1 % paired" where it is not the ratio of
 * both values, which are medians, but the median of the pairs' ratios. */
struct tp_text tp_finding_change(const struct tp_finding *f);
struct tp_text tp_finding_plain_change(const struct tp_finding *f); /* without that word */
bool tp_finding_is_paired(const struct tp_finding *f);
struct tp_text tp_finding_allowed(const struct tp_finding *f); /* "0", "+5 %", "0.1 points" */

/* "peak_reserved", "peak_reserved[1]" of the second of several devices, "option arena_size". */
struct tp_text tp_finding_name(const struct tp_finding *f);

/* Screen H. */
void tp_gate_print(const struct tp_gate *g, struct tp_page *page);

/* ---- forms of what was found ---- */

/* To add one: a file cmd/gate/gate_NAME.c that exports `const struct tp_gate_writer
 * tp_gate_writer_NAME`, and one line in TP_GATE_WRITERS. The options --format NAME and
 * --export-NAME, their help and the table in cmd/registry.c are made from that line. */
struct tp_gate_writer {
    const char *name; /* "junit" of --export-junit */
    int (*write)(const struct tp_gate *g, FILE *out, struct tp_err *err);
};

/* X(of, NAME, help of its option). */
#define TP_GATE_WRITERS(X, of)                                                                     \
    X(of, json, "write what was found to FILE as well")                                            \
    X(of, junit, "the same as JUnit XML: a test case for each cell and metric")                    \
    X(of, markdown, "the same as Markdown")

#define TP_GATE_INDEX(of, id, words) TP_GATE_##id,
enum { TP_GATE_WRITERS(TP_GATE_INDEX, ) TP_GATE_WRITER_COUNT };

extern const struct tp_gate_writer *const tp_gate_writers[]; /* as in that list; then NULL */

extern const char *const tp_gate_format_words[]; /* of --format */

/* The rows of these options, for a table of a struct that has a tp_exports as `exports`. */
#define TP_GATE_WRITER_ROW(opts, id, words) TP_EXPORT_ROW(opts, TP_GATE_##id, #id, words),
#define TP_GATE_WRITER_ROWS(opts)                                                                  \
    TP_FORMAT_ROW(opts, tp_gate_format_words, "what is printed"),                                  \
        TP_GATE_WRITERS(TP_GATE_WRITER_ROW, opts) TP_FORCE_ROW(offsetof(opts, exports.force))

/* Whether GitHub Actions runs this; then it is told by these. */
bool tp_gate_in_github(void);

/* The Markdown at the end of $GITHUB_STEP_SUMMARY, 1 MiB at most; `full`: it did not fit. */
int tp_gate_summary(const struct tp_gate *g, bool *full, struct tp_err *err);

/* ::error and ::warning lines, 10 of a kind at most, the last one says how many more; `full` as
 * tp_gate_summary gave it. */
void tp_gate_annotate(const struct tp_gate *g, bool full, FILE *out);

#endif
