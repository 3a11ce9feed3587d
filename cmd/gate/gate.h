/* What `tapool check` found, as all writers read it: screen, JSON, JUnit, Markdown, GitHub.
 * Whatever more than one writer shows is computed here once, so that all of them agree. */
#ifndef TP_GATE_H
#define TP_GATE_H

#include "cmd/stats/difference.h"
#include "cmd/ui/exporter.h"
#include "cmd/ui/text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tp_baseline_cell;

/* A trace, a strategy and a source. All texts are borrowed but for those that are owned. */
struct tp_gate_cell {
    const char *trace;    /* name */
    const char *path;     /* as the command line or the baseline names the trace */
    const char *strategy; /* label, or the strategy as given */
    const char *source;
    /* Owned: the sentence on a replay of it that failed, without which the check goes on; NULL:
     * none did. */
    char *failed;

    /* Used by the check only, not by writers. */
    char *label;              /* owned; holds `strategy` if no other text does, or NULL */
    const char *spec, *touch; /* strategy without label; keyword of --touch */
    const char *more[3];      /* --touch as arguments of a replay; set by tp_check_select */
    char *base;               /* owned: the strategy with the library of --base-lib, or NULL */
    const struct tp_baseline_cell *held; /* NULL: the baseline has no such cell */
    size_t prepared;                     /* index into tp_check.traces */
};

/* A part of resident memory (tp_metric.part) that grew; medians of the pairs. */
struct tp_grown {
    const struct tp_metric *metric; /* NULL: none */
    double base, now;
};

/* The result for one metric of one cell, or for an option that changed. */
struct tp_finding {
    const struct tp_gate_cell *cell;
    const struct tp_metric *metric; /* NULL: an option changed, and `note` says which */
    uint16_t device;                /* index of the device, 0 if there is one */
    enum tp_verdict verdict;
    double base, now; /* class N: medians; NAN: no value (null in JSON) */
    double change;    /* class N: the estimate - 1; else now / base - 1; may be NAN */
    double allowed;   /* tolerance: class E an absolute amount, else a share */
    struct tp_difference difference; /* class N only */
    unsigned sets;                   /* class N: 1, or 2 after a second set */
    bool live; /* compared with what was measured in this job, so no baseline can take it in */
    struct tp_grown grown; /* beside resident memory that got worse: what of it grew most */
    char note[256]; /* "became nondeterministic: 131.4 and 131.6 MiB in two replays", or "" */
};

/* A value that got worse or better, with the family that it is grouped under. */
struct tp_moved {
    const struct tp_finding *finding;
    enum tp_family family;
};

/* Values of one cell and one family: they most likely moved for one reason. If any of them got
 * worse, the cause is a regression, and none of them counts as an improvement. */
struct tp_cause {
    enum tp_verdict verdict; /* TP_REGRESSION or TP_IMPROVED */
    enum tp_family family;
    const struct tp_finding *lead;  /* the finding of figures[0], shown in place of all figures */
    const struct tp_moved *figures; /* borrowed from tp_gate.moved */
    size_t count;
};

/* How far one class was checked, over all cells. */
struct tp_class_check {
    bool checked;  /* in at least one cell */
    bool required; /* --require names the class */
    /* Every cell without a check of this class is new to the base build, which leaves nothing to
     * compare. --require does not ask for such cells. */
    bool unknown_only;
    char against[160]; /* "vs baseline, exact", "vs main/tapool, 20 pairs" */
    char reason[512];  /* why the class was not checked, or not in every cell; or "" */
    bool named;    /* `reason` names cells: "web.tpt, lru (base/tapool: unknown strategy 'lru')" */
    char how[256]; /* what the user can do to have the class checked, or "" */
    size_t cells, values; /* number of cells and of values that were checked */
    size_t without;       /* cells in which there is nothing of this class to check */
};

/* The smallest slowdown of ns_per_op that a job finds with 90% power, over all cells that test
 * ns_per_op. */
struct tp_gate_sharpness {
    double worst, median;            /* shares, of cells that are known; NAN: none is */
    const struct tp_gate_cell *cell; /* the cell with `worst`; or NULL */
    size_t cells, untold;            /* cells that test ns_per_op; too noisy ones among these */
};

/* Bytes of the sentence of an error, which a hint may follow. */
enum { TP_GATE_ERROR = 400 };

struct tp_gate {
    char baseline[256]; /* path of the file, or "" */
    char written[160];  /* "3 traces x 2 strategies = 6 cells, written 2026-10-02, tapool 0.4.1" */
    struct tp_gate_cell *cells;
    size_t cell_count, cells_total; /* cells that were run; cells in the baseline */
    /* Arguments of the command line that select cells or move thresholds: " web.tpt -s lru"; "" */
    char chosen[512];
    size_t tolerances; /* that the baseline sets, for all cells and for those that were run */
    bool all_cells;    /* --require asks for all cells of the baseline */
    char missing[320]; /* how many requested cells could not run, and why the first could not; "" */
    struct tp_finding *findings; /* every value that was checked, in order of cells */
    size_t finding_count;
    struct tp_class_check classes[TP_CLASS_REPORT]; /* E, D, N */
    struct tp_gate_sharpness sharpness;
    double sensitivity;   /* share that --require-sensitivity asks for; 0: it does not */
    double effect, alpha; /* class N: smallest slowdown that counts, and the error rate; shares */
    unsigned pairs;       /* per set */
    uint64_t seed;
    uint64_t wall_ns;
    bool verbose;                  /* the screen shows every value that moved */
    const struct tp_moved *moved;  /* borrowed; sorted by cause */
    const struct tp_cause *causes; /* borrowed; regressions first */
    size_t moved_count, cause_count;
    size_t counts[TP_VERDICTS]; /* number of findings with each verdict */
    /* As `counts`, but values that moved are counted by their causes, and of the inconclusive ones
     * only those that could have been a regression. */
    size_t told[TP_VERDICTS];
    size_t options_changed; /* of the regressions those of options, which are no values */
    int exit_code;          /* also after an error that ended the check early; 128 + signal */
    char error[800];        /* error that ended the check or a write, with its hint; or "" */
    char again[1024];       /* command that repeats what failed, or "" */
    char update[1024];      /* command that takes what was found into the baseline, or "" */
    const char *page;       /* borrowed: name of the file of --export-html; NULL: not asked for */
    /* The command line: arguments, rows of the options, their values; all borrowed. `rows` NULL:
     * not known. */
    char *const *words;
    size_t word_count;
    const struct tp_opt *rows;
    const void *opts;
    char what[64]; /* "memory and counts, some latency only"; "" if nothing was left out */
};

/* Counts the findings and groups the values that moved into causes. The arrays `moved` and `causes`
 * have one element per finding and live as long as the gate. */
void tp_gate_group(struct tp_gate *g, struct tp_moved *moved, struct tp_cause *causes);

/* How a change reads: "+4.9%", "+0.3 points", "+12", "+5.1% paired". "paired" marks a change that
 * is the median of the ratios of the pairs where that differs from the ratio of the medians shown.
 * A time that moved by less than is shown reads "0".
 */
struct tp_text tp_finding_change(const struct tp_finding *f);
/* The change as tp_finding_change words it, never with "paired". */
struct tp_text tp_finding_plain_change(const struct tp_finding *f);
bool tp_finding_is_paired(const struct tp_finding *f);
struct tp_text tp_finding_allowed(const struct tp_finding *f); /* "0", "+5%", "0.1 points" */

/* The subject of a finding: "peak_reserved", "peak_reserved[1]" (device 1), "option arena_size". */
struct tp_text tp_finding_name(const struct tp_finding *f);

/* Prints the screen of `tapool check`, of a struct tp_gate. */
void tp_gate_print(const void *of, struct tp_page *page);

/* The style of the word of the verdict: green where everything was checked and passes. */
enum tp_style tp_gate_style(const struct tp_gate *g);

/* Parts of it: which baseline; what changed; the verdict; and what could not be told, how small a
 * slowdown could be, and what was set. */
void tp_gate_print_baseline(const struct tp_gate *g, struct tp_page *page);
void tp_gate_print_causes(const struct tp_gate *g, struct tp_page *page);
void tp_gate_print_verdict(const struct tp_gate *g, struct tp_page *page);
void tp_gate_print_remarks(const struct tp_gate *g, struct tp_page *page);

/* ---- forms of what was found ---- */

/* The exports of what was found (cmd/ui/exporter.h), of a struct tp_gate. To add one: a file
 * cmd/gate/gate_NAME.c that exports `const struct tp_exporter tp_check_NAME`, and one line here. */
#define TP_CHECK_EXPORTS(X, of)                                                                    \
    TP_EXPORTS_OF_ALL(X, of, "write the results as JSON to FILE")                                  \
    X(of, junit, of, "junit", "write JUnit XML to FILE: a test case per cell and metric", IN)      \
    X(of, markdown, of, "markdown", "write Markdown to FILE, for a pull request", IN)              \
    X(of, html, of, "html", TP_HTML_HELP, FIRST)                                                   \
    X(of, bmf, of, "bmf", "write the values to FILE, for Bencher (BMF)", LAST)                     \
    X(of, benchmarks, of, "benchmarks", "write the values to FILE, for github-action-benchmark",   \
      LAST)

TP_CHECK_EXPORTS(TP_EXPORT_DECLARE, tp_check)
extern const struct tp_exporter tp_check_text;
struct cJSON *tp_check_tree(struct tp_json *j, const void *of); /* tapool.check/2 */
extern const struct tp_exporters tp_check_exporters;
enum { TP_EXPORT_INDEXES(tp_check, TP_CHECK_EXPORTS) };

/* Whether this process runs in GitHub Actions. */
bool tp_gate_in_github(void);

/* Appends the Markdown to the file $GITHUB_STEP_SUMMARY, which may grow to 1 MiB. Sets `full` if
 * there was no room left. */
int tp_gate_summary(const struct tp_gate *g, bool *full, struct tp_err *err);

/* Writes ::error and ::warning lines, at most 10 of each kind; the last one says how many were left
 * out. `full` is what tp_gate_summary set. */
void tp_gate_annotate(const struct tp_gate *g, bool full, FILE *out);

#endif
