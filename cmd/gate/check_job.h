/* A run of `tapool check`: the request, the selected cells and the findings. Every part of a check
 * takes this struct and adds to it:
 *
 *     check_cells     selects the cells and prepares their traces
 *     check_exact     class E: two replays each, against the baseline
 *     check_library   memory of malloc libraries, against those of --base-lib; resident_tests
 *     check_counted   class D: instructions, against the baseline or the base build
 *     check_noisy     class N: live pairs against the base build or strategy
 *     check_base      what the base build cannot do: gaps, not errors
 *     check_outcome   the verdict over all findings
 *     check_report    tells the verdict: files, GitHub, the screen
 *     check_update    --update: writes the baseline instead
 *     check_plan      --plan: how long a check would take
 *     check_again     --aa: how often a check raises a false alarm here
 */
#ifndef TP_CHECK_JOB_H
#define TP_CHECK_JOB_H

#include "alloc/base/opt.h"
#include "cmd/baseline/baseline.h"
#include "cmd/gate/gate.h"
#include "cmd/stats/instructions.h"
#include "cmd/stats/rounds.h"
#include "cmd/ui/progress.h"

struct tp_check_opts {
    struct tp_opt_list strategies, require, tolerances;
    char *baseline, *source, *reason, *bin, *base_bin, *base_strategy, *base_lib;
    struct tp_exports exports;
    uint32_t touch, inconclusive;
    uint64_t pairs, min_time, timeout, core, seed, aa, threads;
    double effect, alpha, sensitivity;
    bool update, allow_missing, thorough, plan, verbose;
};

enum { TP_CHECK_WARN, TP_CHECK_FAIL }; /* keywords of --inconclusive */
enum { TP_CHECK_TOUCH_AUTO }; /* first keyword of --touch; the others are those of replay */

enum { TP_CHECK_CORE_AUTO, TP_CHECK_CORE_NONE }; /* keywords of --core */

enum { TP_CHECK_LOOKS = 2 }; /* decisions on a test: after its first set of pairs, and after both */

extern const struct tp_opt tp_check_rows[];

/* Whether real threads replay for the times of cells. */
static inline bool tp_check_by_threads(const struct tp_check_opts *o)
{
    return o->threads != 1;
}

/* Whether there is a base to compare times with. */
static inline bool tp_check_is_live(const struct tp_check_opts *o)
{
    return o->base_bin || o->base_strategy || o->base_lib;
}

/* A growing list that owns `items`. */
struct tp_findings {
    struct tp_finding *items;
    size_t count, room;
};
int tp_findings_add(struct tp_findings *list, const struct tp_finding *f, struct tp_err *err);

struct tp_check {
    const struct tp_check_opts *o;
    int word_count;
    char **words;                /* TRACE arguments of the command line */
    char file[TP_BASELINE_PATH]; /* path of the baseline */
    bool has_baseline;           /* the file exists and could be read */
    struct tp_baseline baseline;
    struct tp_prepared *traces;
    size_t trace_count;
    size_t missing;        /* cells of the baseline that cannot be run here */
    char missing_why[256]; /* the first missing cell and why it cannot be run */
    struct tp_gate gate;   /* tp_check owns its cells and their labels */
    struct tp_findings findings;
    struct tp_moved *moved;  /* owned; the gate borrows it; made by tp_check_outcome */
    struct tp_cause *causes; /* owned; the gate borrows it; made by tp_check_outcome */
    int ended;               /* status of the error that ended the check early, or TP_OK */
    /* A library or a plug-in that fails is the failure of its cell, and the others are checked. */
    bool goes_on;
    size_t failed_cells;
    struct tp_err failed; /* of the first such cell */
    uint64_t min_time_ns;
    int core;
    struct tp_progress_line *progress; /* borrowed; NULL: none */
    char program[TP_BASELINE_PATH];    /* path of this tapool; "": not known */
};

/* ---- which cells ---- */

/* Finds the baseline and reads it. A missing baseline is no error if the command line names TRACE
 * and -s for --update, --aa, --plan or --base-lib. TP_EUSAGE: there is no baseline; the hint is the
 * command that makes one. */
int tp_check_open_baseline(struct tp_check *k, struct tp_err *err);

/* Selects the cells to check and prepares their traces. --update, and --aa, --plan and --base-lib
 * without a baseline, may define new cells. TP_EINPUT: a trace is missing, or it is not the program
 * that the baseline was made with. */
int tp_check_select(struct tp_check *k, struct tp_err *err);

/* With --base-lib: names for each cell the same strategy with the other library. TP_EUSAGE: a cell
 * replays none. */
int tp_check_base_libraries(struct tp_check *k, struct tp_err *err);
void tp_check_release(struct tp_check *k);

/* Writes "tapool check TRACE -s STRATEGY --baseline FILE --update", quoted for a shell. `trace` and
 * `strategy` may be NULL; parts that are NULL or the default are left out. */
void tp_check_update_command(const struct tp_check *k, const char *trace, const char *strategy,
                             char *text, size_t size);

/* Adds "-s LABEL=SPEC", or "-s SPEC" where the strategy has no label, quoted for a shell. */
void tp_check_add_definition(struct tp_str *s, const char *strategy, const char *spec);

/* Reads and prepares the trace at `path` unless that was done before; `index` is its place in
 * k->traces. */
int tp_check_prepare(struct tp_check *k, const char *path, size_t *index, struct tp_err *err);

/* TP_EINPUT: the trace of the cell is not the program that the baseline was made with. */
int tp_check_hash(const struct tp_check *k, const struct tp_gate_cell *c, struct tp_err *err);

/* ---- what is checked ---- */

/* Class E: the exact values of the cells; with those of malloc libraries against --base-lib, too.
 */
int tp_check_exact(struct tp_check *k, struct tp_err *err);
int tp_check_all_exact(struct tp_check *k, struct tp_err *err);
int tp_check_counted(struct tp_check *k, struct tp_err *err);
int tp_check_noisy(struct tp_check *k, struct tp_err *err);

/* How long one replay of a cell may take, in nanoseconds; 0: no limit. */
uint64_t tp_check_timeout(const struct tp_check *k, size_t cell);

/* A replay of a cell, with the build and the strategy of a side. The caller sets `passes` and what
 * else is its own. */
struct tp_measure tp_check_measure(const struct tp_check *k, size_t cell,
                                   const struct tp_side *side);

/* Measures the memory of a cell twice, each time in a new process. The addresses of stack and heap
 * differ between the two, because exact values must not depend on them. Sets `verified` if the
 * second replay ran with the checks of --verify. Each element of `out` has one run; the caller
 * releases both, also after errors. */
int tp_check_replay_twice(const struct tp_check *k, size_t cell, struct tp_stored out[2],
                          bool *verified, struct tp_err *err);

/* Compares two replays of a cell with the baseline. Adds one finding for each value held and one
 * for each option that changed. If memory is no longer exact, one finding says so for all values.
 */
int tp_check_compare(const struct tp_baseline *b, const struct tp_baseline_cell *held,
                     const struct tp_record *first, const struct tp_record *second,
                     const struct tp_gate_cell *cell, struct tp_findings *out);

/* The number of exact values of a run that the baseline neither holds nor lists as
 * nondeterministic, because a line was deleted or an older tapool wrote the file. Such values are
 * not checked. */
size_t tp_check_unheld(const struct tp_baseline_cell *held, const struct tp_record *run);

/* The verdict on a value of class E or R; `allowed` is an amount. */
enum tp_verdict tp_check_judge(const struct tp_metric *m, double base, double now, double allowed);

/* Whether two replays gave the same value. If they did not, writes a sentence about it to `note`.
 */
bool tp_check_agrees(const struct tp_metric *m, double a, double b, char *note, size_t size);

/* The effective options of a run, sorted by name. Options of the source are named "source.NAME",
 * settings of the replay that change memory "replay.NAME". The caller releases `out` with
 * tp_record_options_release. */
int tp_check_options(const struct tp_record *r, struct tp_record_options *out, struct tp_err *err);

/* Whether instructions are counted in the cell: not in one of a malloc library. */
bool tp_check_has_counts(const struct tp_gate_cell *c);

/* Counts the instructions per operation of a cell with the build that is checked. */
int tp_check_count(const struct tp_check *k, const struct tp_counting *counter, size_t cell,
                   double *out, struct tp_err *err);

/* The verdict on two numbers of instructions. `allowed` is a share of `base`. */
enum tp_verdict tp_check_judge_counts(double base, double now, double allowed);

/* One metric of one cell, tested for a difference in time (class N). */
struct tp_noisy_test {
    size_t cell;
    const struct tp_metric *metric;
    bool insensitive; /* not tested: the time is mostly tapool's own share in this cell */
    struct tp_difference difference;
    struct tp_grown grown; /* of resident memory: the part of it that grew most */
    unsigned sets;         /* 1, or 2 if a second set was replayed and both together decided */
};
struct tp_noisy_tests {
    struct tp_noisy_test *items; /* owned */
    size_t count, room;
    size_t tested; /* items that are not insensitive */
};

/* Adds the tests that the rounds of a cell allow. Side 0 of the rounds is the base. */
int tp_noisy_collect(struct tp_noisy_tests *t, size_t cell, const struct tp_rounds *r,
                     uint64_t seed, struct tp_err *err);
int tp_noisy_add(struct tp_noisy_tests *t, const struct tp_noisy_test *test, struct tp_err *err);

/* Adds the finding of a test that is decided. */
int tp_check_add_tested(struct tp_check *k, const struct tp_noisy_test *t, struct tp_err *err);

/* Sets the verdicts of all tests; the p values are adjusted over all cells together. */
int tp_noisy_decide(struct tp_noisy_tests *t, const struct tp_stat_rule *rule, struct tp_err *err);
/* Whether a test of the cell is inconclusive. */
bool tp_noisy_is_open(const struct tp_noisy_tests *t, size_t cell);
/* Decides the inconclusive tests of a cell again, on the rounds of both sets. Other tests keep
 * their verdicts. */
int tp_noisy_again(struct tp_noisy_tests *t, size_t cell, const struct tp_rounds *both,
                   uint64_t seed, const struct tp_stat_rule *rule, struct tp_err *err);

/* Measures the metric of a test, resident memory or a part of it, in the rounds of a cell; false:
 * no pair has both values. */
bool tp_resident_measure(const struct tp_rounds *r, uint64_t seed, struct tp_noisy_test *test);
/* Sets by how many bytes the value may be worse, at least the least change that counts. */
void tp_resident_allow(struct tp_noisy_test *test, double bytes);
/* As tp_noisy_decide; but a part that grew as its whole shrank is the same. */
int tp_resident_decide(struct tp_noisy_tests *t, const struct tp_stat_rule *rule,
                       struct tp_err *err);

/* The smallest slowdown of ns_per_op, as a share, that the rule finds with 90% power given the
 * spread of the first `rounds` of these; NAN: they are too noisy to tell. */
double tp_noisy_sensitivity(const struct tp_rounds *r, unsigned rounds,
                            const struct tp_stat_rule *rule);

/* Derives a seed for the cell or the set number `of`. */
uint64_t tp_check_seed(uint64_t seed, uint64_t of);

/* The smallest number of pairs with which one of `tests` tests can be significant; 0: no number up
 * to TP_ROUNDS_MAX is enough. */
unsigned tp_check_pairs_needed(size_t tests, double alpha);

/* The largest number of class N tests that one cell can have, replayed by one thread or `several`.
 */
size_t tp_check_tests_max(bool several);

/* The two sides of the comparison of times for a cell: 0 is the base, 1 the build that is checked.
 */
void tp_check_sides(const struct tp_check *k, size_t cell, struct tp_side sides[2]);

/* Replays rounds of a cell with the build that is checked, without a base. `seconds` is the mean
 * duration of a round. */
int tp_check_alone(const struct tp_check *k, size_t cell, unsigned rounds, uint64_t seed,
                   struct tp_rounds *out, double *seconds, struct tp_err *err);

/* TP_EUSAGE: --pairs is too small for the tests of the selected cells; the hint says how many pairs
 * are needed. */
int tp_check_enough(const struct tp_check *k, struct tp_err *err);

/* Cells in which a class could not be checked. Only one reason is kept: that of the first cell
 * that the base build knows, or of the first cell if it knows none of them. */
struct tp_check_gaps {
    size_t cells, first; /* number of gaps; cell that `reason` is about */
    size_t unknown;      /* gaps with something new to the base build: nothing to compare with */
    char reason[400];
};
void tp_check_gap(struct tp_check_gaps *gaps, size_t cell, const char *reason);

/* Adds a cell that the base build did not replay; `why` is the error of tp_measure. */
void tp_check_gap_base(struct tp_check_gaps *gaps, size_t cell, const struct tp_err *why);

/* Writes the reason for the gaps to `class`. It begins with the name of a cell if the class was
 * checked in other cells. */
void tp_check_gaps_describe(const struct tp_check *k, const struct tp_check_gaps *gaps,
                            struct tp_class_check *metric_class);

/* Says in what the fingerprints of two builds differ; "" if they are the same. */
void tp_check_base_build(const char *base, const char *now, char *text, size_t size);

/* ---- what follows ---- */

/* Whether --require names the class, or TP_REQUIRE_CELLS. */
bool tp_check_requires(const struct tp_check *k, enum tp_class metric_class);

/* Fills in the counts, the class lines, the exit code and `again`. Returns the status that belongs
 * to the exit code and writes its sentence to `err`. After an early end it returns k->ended and
 * leaves `err` alone. */
int tp_check_outcome(struct tp_check *k, struct tp_err *err);

/* Writes the exported files, what GitHub shows, and the screen or the document of --format. All of
 * them are tried even after an error, so that a full disk does not hide a regression. Returns the
 * first error. */
int tp_check_report(struct tp_check *k, FILE *out, struct tp_err *err);

/* Notes that an error ended the check early, so that the reports show it. Call this before any
 * tp_check_report*(). */
void tp_check_end(struct tp_check *k, int status, const struct tp_err *why);

/* Reports a check that ended before it had any findings: like tp_check_report, but without the
 * screen. Errors of writing are not reported, because the caller tells what ended the check. */
void tp_check_report_end(struct tp_check *k, FILE *out);

/* Reports a wrong command line to GitHub only: the names of the export files may be what is wrong.
 */
void tp_check_report_usage(struct tp_check *k, FILE *out);

int tp_check_update(struct tp_check *k, struct tp_page *page, struct tp_err *err);
int tp_check_plan(struct tp_check *k, struct tp_page *page, struct tp_err *err);
int tp_check_aa(struct tp_check *k, struct tp_page *page, struct tp_err *err);

/* Puts the name of the cell in front of the sentence in `err`; returns `status`. */
int tp_check_name(const struct tp_gate_cell *c, int status, struct tp_err *err);

/* The strategy of a cell; NULL: a plug-in, or one that only another build knows. */
const struct tp_strategy *tp_check_strategy(const struct tp_gate_cell *c);

/* Calls `visit` for one cell after the other until a call fails and the check does not go on
 * without that cell. The line of progress shows `what`
 * and counts `steps` steps for each cell. */
typedef int tp_check_visit(struct tp_check *k, size_t cell, void *ctx, struct tp_err *err);
int tp_check_each(struct tp_check *k, const char *what, size_t steps, tp_check_visit *visit,
                  void *ctx, struct tp_err *err);

/* The name of a cell for sentences: "web.tpt, arena". */
void tp_check_cell_text(const struct tp_gate_cell *c, char *text, size_t size);

#endif
