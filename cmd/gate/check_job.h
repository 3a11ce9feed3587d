/* A run of `tapool check`: what was asked for, its cells, what is found. Every part of it takes
 * this and adds to it:
 *
 *     check_cells     which cells, their traces prepared
 *     check_exact     class E: two replays each, against the baseline
 *     check_counted   class D: instructions, against the baseline or the base build
 *     check_noisy     class N: live pairs against the base build or strategy
 *     check_base      what the base build cannot do: gaps, not errors
 *     check_outcome   the verdict over all of it
 *     check_report    says it: files, GitHub, the screen
 *     check_update    writes the baseline instead
 *     check_plan      what a check would take
 *     check_again     how often it errs here
 */
#ifndef TP_CHECK_JOB_H
#define TP_CHECK_JOB_H

#include "alloc/base/opt.h"
#include "cmd/gate/baseline.h"
#include "cmd/gate/gate.h"
#include "cmd/measure/instructions.h"
#include "cmd/measure/rounds.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/progress.h"

struct tp_check_opts {
    struct tp_opt_list strategies, require, tolerances;
    char *baseline, *source, *reason, *bin, *base_bin, *base_strategy;
    struct tp_exports exports;
    uint32_t touch, color, inconclusive;
    uint64_t pairs, min_time, timeout, core, seed, aa;
    double effect, alpha;
    bool update, allow_missing, thorough, plan, verbose;
};

enum { TP_CHECK_WARN, TP_CHECK_FAIL }; /* --inconclusive */
enum { TP_CHECK_TOUCH_AUTO };          /* --touch; then as --touch of replay */

enum { TP_CHECK_CORE_AUTO, TP_CHECK_CORE_NONE }; /* keywords of --core */

extern const struct tp_opt tp_check_rows[];

/* A growing list; `items` owned. */
struct tp_findings {
    struct tp_finding *items;
    size_t count, room;
};
int tp_findings_add(struct tp_findings *list, const struct tp_finding *f, struct tp_err *err);

struct tp_check {
    const struct tp_check_opts *o;
    int word_count;
    char **words;                /* TRACE... */
    char file[TP_BASELINE_PATH]; /* the baseline */
    bool has_baseline;           /* and it could be read */
    struct tp_baseline baseline;
    struct tp_prepared *traces;
    size_t trace_count;
    size_t missing; /* cells of the baseline that cannot be run here */
    char missing_why[256];
    struct tp_gate gate; /* its cells are owned, with their labels */
    struct tp_findings findings;
    struct tp_moved *moved; /* with `causes`: of the gate, made by tp_check_outcome */
    struct tp_cause *causes;
    int ended; /* status of the error that ended the check early; TP_OK: none did */
    uint64_t min_time_ns;
    int core;
    struct tp_progress_line *progress; /* borrowed; NULL: none */
    char program[TP_BASELINE_PATH];    /* the path of this tapool; "": not known */
};

/* ---- which cells ---- */

/* Where the baseline is or will be, and what it holds. TP_EUSAGE: none, with the command that makes
 * one, but where one is made or none is needed. */
int tp_check_open_baseline(struct tp_check *k, struct tp_err *err);

/* Those of the baseline that were asked for; for --update, --aa and --plan others too. Prepares
 * their traces. TP_EINPUT: a trace is not there or is another program than the baseline's. */
int tp_check_select(struct tp_check *k, struct tp_err *err);
void tp_check_release(struct tp_check *k);

/* "tapool check TRACE -s STRATEGY --baseline FILE --update", quoted for a shell; without what is
 * NULL or the default. */
void tp_check_update_command(const struct tp_check *k, const char *trace, const char *strategy,
                             char *text, size_t size);

/* Parts of it: check_traces.c. */
int tp_check_prepare(struct tp_check *k, const char *path, size_t *index, struct tp_err *err);
int tp_check_hash(const struct tp_check *k, const struct tp_gate_cell *c, struct tp_err *err);

/* ---- what is checked ---- */

int tp_check_exact(struct tp_check *k, struct tp_err *err);
int tp_check_counted(struct tp_check *k, struct tp_err *err);
int tp_check_noisy(struct tp_check *k, struct tp_err *err);

/* How long one replay of a cell may take; 0: for ever. */
uint64_t tp_check_timeout(const struct tp_check *k, size_t cell);

/* Plays a cell twice for its memory, each in a process of its own; what may vary between processes
 * and must not matter does. `verified`: the second went on beside the shadow of --verify. Both of
 * `out` have one run, and are released by the caller, also after errors. */
int tp_check_play_twice(const struct tp_check *k, size_t cell, struct tp_stored out[2],
                        bool *verified, struct tp_err *err);

/* What two replays of a cell say of what the baseline holds: one finding a value, and one for each
 * option that is not as it was. Adds nothing of memory where it is not exact. */
int tp_check_compare(const struct tp_baseline *b, const struct tp_baseline_cell *held,
                     const struct tp_record *first, const struct tp_record *second,
                     const struct tp_gate_cell *cell, struct tp_findings *out);

/* Exact values of a run that the baseline neither holds nor has demoted: a line was deleted, or an
 * older tapool wrote it. They are not checked. */
size_t tp_check_unheld(const struct tp_baseline_cell *held, const struct tp_record *run);

/* Whether a value agrees with itself; else what to say about it. */
bool tp_check_agrees(const struct tp_metric *m, double a, double b, char *note, size_t size);

/* Effective options of a run, its source's as "source.NAME" and settings of the replay that change
 * memory as "replay.NAME"; sorted. tp_record_options_release. */
int tp_check_options(const struct tp_record *r, struct tp_record_options *out, struct tp_err *err);

/* Instructions per operation of a cell, of the build that is checked. */
int tp_check_count(const struct tp_check *k, const struct tp_counting *counter, size_t cell,
                   double *out, struct tp_err *err);

/* The verdict about one number of instructions. */
enum tp_verdict tp_check_judge_counts(double base, double now, double allowed);

/* A test of class N. */
struct tp_noisy_test {
    size_t cell;
    const struct tp_metric *metric;
    bool insensitive; /* no test: what was timed in this cell is mostly tapool's own share */
    struct tp_difference difference;
    unsigned sets;
};
struct tp_noisy_tests {
    struct tp_noisy_test *items; /* owned */
    size_t count, room;
    size_t tested; /* those that are not insensitive */
};

/* The tests that the rounds of a cell allow: side 0 is the base. */
int tp_noisy_collect(struct tp_noisy_tests *t, size_t cell, const struct tp_rounds *r,
                     uint64_t seed, struct tp_err *err);
/* Decides over all of them. */
int tp_noisy_decide(struct tp_noisy_tests *t, double alpha, double effect, struct tp_err *err);
bool tp_noisy_is_open(const struct tp_noisy_tests *t, size_t cell); /* has inconclusive ones */
/* Decides the inconclusive tests of a cell on a fresh set alone; others stay as they are. */
int tp_noisy_again(struct tp_noisy_tests *t, size_t cell, const struct tp_rounds *fresh,
                   uint64_t seed, const struct tp_stat_rule *rule, struct tp_err *err);

/* The smallest slowdown of ns_per_op that the rule finds with the spread of these rounds; NAN. */
double tp_noisy_sensitivity(const struct tp_rounds *r, const struct tp_stat_rule *rule);

/* The seed of a fresh set, of a cell, ...: another one for every `of`. */
uint64_t tp_check_seed(uint64_t seed, uint64_t of);

/* The fewest pairs with which so many tests can show anything; 0: no number up to the limit. */
unsigned tp_check_pairs_needed(size_t tests, double alpha);

/* At most so many tests of class N come from a cell. */
size_t tp_check_tests_max(void);

/* What two sides of the A/B are, for a cell. */
void tp_check_sides(const struct tp_check *k, size_t cell, struct tp_side sides[2]);

/* Rounds of a cell with the build that is checked alone, and how long one of them took. */
int tp_check_alone(const struct tp_check *k, size_t cell, unsigned rounds, uint64_t seed,
                   struct tp_rounds *out, double *seconds, struct tp_err *err);

/* There are pairs enough for the tests of these cells. TP_EUSAGE says how many are needed. */
int tp_check_enough(const struct tp_check *k, struct tp_err *err);

/* Cells in which a class could not be checked. One reason stands for all: that of the first cell,
 * or of the first that the base knows. */
struct tp_check_gaps {
    size_t cells, first;
    size_t unknown; /* of these: what the cell asks for is new, the base has nothing to compare */
    char reason[400];
};
void tp_check_gap(struct tp_check_gaps *gaps, size_t cell, const char *reason);

/* The base build did not play the cell: `why` is what tp_measure said. */
void tp_check_gap_base(struct tp_check_gaps *gaps, size_t cell, const struct tp_err *why);

/* The reason of a class with gaps: of one that is checked elsewhere with the first cell's name. */
void tp_check_gaps_describe(const struct tp_check *k, const struct tp_check_gaps *gaps,
                            struct tp_class_check *class);

/* What the fingerprints of two builds do not share, where they are not the same; else "". */
void tp_check_base_build(const char *base, const char *now, char *text, size_t size);

/* ---- what follows ---- */

/* --require names the class. */
bool tp_check_requires(const struct tp_check *k, enum tp_class class);

/* Counts, class lines, exit code, `again`. Returns the status that goes with the exit code, with
 * its sentence; of a check that ended early its own status, without one. */
int tp_check_outcome(struct tp_check *k, struct tp_err *err);

/* Files, what GitHub shows, and the screen or the document of --format. Every one is tried: a full
 * disk must not hide a regression; of several errors the first is told. */
int tp_check_report(struct tp_check *k, struct tp_page *page, struct tp_err *err);

/* An error ended the check: that is an answer too. Before tp_check_report or one of these: */
void tp_check_end(struct tp_check *k, int status, const struct tp_err *why);

/* The same of a check that ended before it had found anything: all but the screen, and only what
 * was asked for. What cannot be written then is not told: what ended the check is. */
void tp_check_report_end(struct tp_check *k, FILE *out);

/* Of a wrong command line GitHub alone is told: its files may be what is wrong with it. */
void tp_check_report_usage(struct tp_check *k, FILE *out);

int tp_check_update(struct tp_check *k, struct tp_page *page, struct tp_err *err);
int tp_check_plan(struct tp_check *k, struct tp_page *page, struct tp_err *err);
int tp_check_aa(struct tp_check *k, struct tp_page *page, struct tp_err *err);

/* Puts the cell before the sentence of an error; returns its status. */
int tp_check_name(const struct tp_gate_cell *c, int status, struct tp_err *err);

/* Calls `visit` for one cell after the other until it fails; the line of progress says `what`, and
 * each cell has so many steps of it. */
typedef int tp_check_visit(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err);
int tp_check_each(struct tp_check *k, const char *what, size_t steps, tp_check_visit *visit,
                  void *ctx, struct tp_err *err);

/* "web.tpt, arena", for sentences. */
void tp_check_cell_text(const struct tp_gate_cell *c, char *text, size_t size);

#endif
