/* What `tapool compare` found, as its writers (screen, Markdown, CSV, JSON) read it. A writer
 * computes nothing that another writer needs too.
 *
 *     comparison --- tables (one a trace) --- rows (a strategy, or a strategy of a file)
 *                \-- means (one a strategy, over the traces)      \-- cells (one a metric)
 *
 * There are two ways to fill it: compare_live.c measures in rounds, compare_stored.c reads stored
 * results. */
#ifndef TP_COMPARE_H
#define TP_COMPARE_H

#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/results/condition.h"
#include "cmd/results/record.h"
#include "cmd/stats/rounds.h"
#include "cmd/ui/table.h"

enum { TP_COMPARE_SIDES = 32 }; /* strategies of a live table, at most */

#define TP_COMPARE_ALPHA  0.01
#define TP_COMPARE_EFFECT 0.05

/* What a value says compared with that of the base. */
enum tp_compare_mark {
    TP_MARK_NONE,     /* nothing: a value is not known, or the two do not compare */
    TP_MARK_BASE,     /* the value is the base's own */
    TP_MARK_EXACT,    /* exact values: any difference is real */
    TP_MARK_REPORTED, /* reported by a real allocator or a real device: nearly exact */
    TP_MARK_SHOWN,    /* a test has shown a difference */
    TP_MARK_SAME,     /* a test has shown no difference */
    TP_MARK_UNTESTED, /* not tested: a difference may be chance */
    TP_MARKS
};
extern const char *const tp_mark_names[TP_MARKS]; /* as in JSON and CSV */
extern const char *const tp_mark_words[TP_MARKS]; /* for people */

/* One metric of one row. */
struct tp_compare_cell {
    double value;                   /* median over the rounds for live times; NAN: not known */
    double low, high;               /* 95% interval of the value; NAN: none */
    double change;                  /* now / base - 1, or the median of the pairs' changes; NAN */
    double change_low, change_high; /* 95% interval of the change; NAN: none */
    double p;                       /* two-sided p value after Holm over the table; NAN: no test */
    size_t count;                   /* number of measured values that `value` is made of */
    enum tp_compare_mark mark;
};

struct tp_compare_row {
    char *label;                    /* owned */
    const char *file;               /* path of the file; NULL: live, or there is only one file */
    const char *short_file;         /* `file` without the folders that all files share */
    const struct tp_stored *from;   /* borrowed; memory and counts, and the times if stored */
    const struct tp_record *run;    /* the run in `from` */
    const struct tp_rounds *rounds; /* borrowed; times measured live; NULL: stored */
    size_t side;                    /* index of its side in `rounds` */
    size_t base;                    /* index of the row it is compared with; a base has its own */
    bool cold;                      /* each time is that of a single replay, not of many */
    struct tp_compare_cell cells[TP_METRIC_MAX]; /* by index in tp_metrics */
};

struct tp_compare_table {
    const char *name, *hash;     /* of the trace; borrowed */
    const struct tp_record *run; /* one of the runs, for what all of them have in common */
    struct tp_compare_row *rows; /* owned */
    size_t count;
    struct tp_result head; /* for the lines above a live table; stored: `trace` is NULL */
    struct tp_run *no_run; /* empty run of `head`, owned */
    uint64_t wall_ns;      /* how long measuring took; live only */
    size_t tests;          /* number of tests in the table, which Holm adjusts over */
    size_t rounds_needed;  /* rounds that a test needs to show anything; 0: there are enough */
    double least_p;        /* smallest p value that a test can reach in these rounds */
    const struct tp_compare_table *whole; /* the table with all rows; NULL: it has all itself */
};

/* A name as a value, like struct tp_text. A long name ends in "...". */
struct tp_compare_label {
    char s[160];
};

/* One strategy over several traces, by metric. */
struct tp_compare_mean {
    struct tp_compare_label name;
    size_t number;                /* of its first row, through all tables */
    double ratio[TP_METRIC_MAX];  /* geometric mean of the ratios to the base; NAN: no ratio */
    size_t traces[TP_METRIC_MAX]; /* number of traces in the mean: both values are above 0 */
    bool untested[TP_METRIC_MAX]; /* some of the ratios were not tested */
};

enum { TP_COMPARE_NOTES = 24, TP_COMPARE_NOTE = 320 };

struct tp_compare {
    bool live;
    unsigned rounds;
    uint32_t goal; /* enum tp_goal */
    uint64_t seed, min_time_ns;
    int core;
    const struct tp_stored *files; /* borrowed; stored results only */
    size_t file_count;
    size_t common; /* length in bytes of the folders that all paths of the files begin with */
    const struct tp_metric *columns[TP_METRIC_MAX]; /* in the order in which they are shown */
    size_t column_count;
    bool asked;                      /* the columns were named by --metric */
    bool all;                        /* all other metrics follow as columns without tests */
    bool tested[TP_METRIC_MAX];      /* metrics of columns and conditions, which are tested */
    bool used[TP_METRIC_MAX];        /* metrics that columns, conditions or the Pick need */
    struct tp_compare_table *tables; /* owned */
    size_t count;
    struct tp_compare_mean *means; /* owned; empty if there is one trace */
    size_t mean_count;
    char (*notes)[TP_COMPARE_NOTE]; /* owned; sentences below the tables */
    struct tp_err failed;           /* the first row that could not be measured; TP_OK: all could */
    size_t note_count, notes_left;  /* `notes_left` counts notes beyond TP_COMPARE_NOTES */
};

/* Who answers the calls to the source: "system" or "driver". */
const char *tp_compare_callee(const struct tp_record *run);

/* ---- compare_table.c ---- */

int tp_compare_init(struct tp_compare *c, struct tp_err *err);
void tp_compare_release(struct tp_compare *c);

/* Add a table to the comparison, and a row to the end of a table. NULL: out of memory. The pointers
 * that earlier calls returned are not valid any more. */
struct tp_compare_table *tp_compare_add_table(struct tp_compare *c);
struct tp_compare_row *tp_compare_add_row(struct tp_compare_table *t, const char *label);

/* Adds a note, unless the same note is there already. */
void tp_compare_note(struct tp_compare *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Chooses the columns: the metrics in `names`, or else the usual ones that have values. With `all`
 * and no names every other metric that has a value follows. TP_EUSAGE: unknown metric. */
int tp_compare_columns(struct tp_compare *c, const struct tp_opt_list *names, bool all,
                       struct tp_err *err);

/* Computes values, changes, tests and means. To be called after tp_compare_columns. TP_ENOMEM. */
int tp_compare_decide(struct tp_compare *c, struct tp_err *err);

/* Sorts the rows by a metric (best first) or by "name"; NULL leaves their order. TP_EUSAGE. */
int tp_compare_sort(struct tp_compare *c, const char *by, struct tp_err *err);

/* Checks the conditions on all cells. TP_EFOUND names the condition that holds and its first cell;
 * TP_EUSAGE: no cell has a value for a condition, so it could never hold. */
int tp_compare_check(const struct tp_compare *c, const struct tp_condition *list, size_t count,
                     struct tp_err *err);

/* Whether the memory of the rows compares by what is resident, as in a table of results
 * (tp_results_by_resident). */
bool tp_compare_by_resident(const struct tp_compare_table *t);

/* Whether the times of a row look better than the strategy is: its source is virtual, so its calls
 * cost nothing, and most allocations need one. */
bool tp_compare_flattered(const struct tp_compare_row *r);

/* Whether nothing is left of the time after tapool's own share is taken off. Such a time is below
 * all known times, but has no value. */
bool tp_compare_drowned(const struct tp_compare_row *r, const struct tp_metric *m);

/* The name of a row: its label, "system". If there are several files, the name of its file follows,
 * without the folders that all files share: "system (b.json)". */
struct tp_compare_label tp_compare_name(const struct tp_compare_row *r);

/* ---- compare_words.c: for all writers that are read by people ---- */

/* The text of a value ("14.2 [14.1, 14.4]", "131.4 MiB", "<=10") and of its change ("-33.6%", "~",
 * "base", "(+3.0%)"). */
struct tp_text tp_compare_value_text(const struct tp_compare_row *r, const struct tp_metric *m,
                                     bool exact);
struct tp_text tp_compare_change_text(const struct tp_compare_row *r, const struct tp_metric *m);

/* The change where it is known, whatever it says: "-33.6%"; else as tp_compare_change_text. */
struct tp_text tp_compare_estimate_text(const struct tp_compare_row *r, const struct tp_metric *m);
/* The 95% interval of the change, "[-35.1, -32.0] %"; "-" if there is none. */
struct tp_text tp_compare_interval_text(const struct tp_compare_row *r, const struct tp_metric *m);

/* The head of a metric's column in two lines: "peak" "reserved", or "" "ns/op". */
struct tp_column tp_compare_heading(const struct tp_metric *m, const struct tp_compare_table *t);

/* Fills `out` with the rows of a trace: the name of each row, and value and change for each column.
 */
void tp_compare_fill(const struct tp_compare *c, const struct tp_compare_table *t, bool exact,
                     struct tp_table *out);

/* Fills `out` with the means of the strategies. "(N)" is the number of traces in a mean; it is
 * shown if traces are left out, or always with `all`. */
void tp_compare_fill_means(const struct tp_compare *c, bool all, struct tp_table *out);

/* The meanings of the marks that occur in the first `columns` columns; NULL after the last. */
enum { TP_COMPARE_LEGEND = 14 };
void tp_compare_legend(const struct tp_compare *c, const struct tp_compare_table *t, size_t columns,
                       const char *lines[TP_COMPARE_LEGEND + 1]);

/* ---- compare_room.c: what a page shows where it has no room for all rows ---- */

/* A comparison with some of the rows of another one. Zeroed it is empty. */
struct tp_compare_shown {
    struct tp_compare c; /* all in it is borrowed but for the lists below */
    struct tp_compare_table *tables;
    struct tp_compare_row *rows; /* of all tables */
    struct tp_compare_mean *means;
    struct tp_stored *files;
    size_t traces_left; /* tables of which no row is shown: `c` has none of them */
};

/* All rows of a comparison. */
size_t tp_compare_rows(const struct tp_compare *c);

/* Replaces `out`, which borrows from `c`, by at most `most` rows: those that are picked, then those
 * that are worse than their base, then better ones, then changes that may be chance, then the
 * others; the largest change first. A row is there only with its base. Means and files are those of
 * the rows. TP_ENOMEM: `out` is empty. */
int tp_compare_show(const struct tp_compare *c, size_t most, struct tp_compare_shown *out,
                    struct tp_err *err);
void tp_compare_shown_release(struct tp_compare_shown *s);

/* ---- compare_live.c and compare_stored.c ---- */

struct tp_compare_opts; /* compare_opts.h */

/* Measures all traces of `words` live. The contents of `c` borrow from `*live`, which the caller
 * releases last. */
struct tp_compare_live;
int tp_compare_measure(const struct tp_compare_opts *o, char *const *words, size_t count,
                       struct tp_compare *c, struct tp_compare_live **live, struct tp_err *err);
void tp_compare_live_release(struct tp_compare_live *live);

/* Reads the stored results that `words` name. The contents of `c` borrow from `*files`, which the
 * caller releases last. */
int tp_compare_read(const struct tp_compare_opts *o, char *const *words, size_t count,
                    struct tp_compare *c, struct tp_stored **files, struct tp_err *err);
void tp_compare_files_release(struct tp_stored *files, size_t count);

/* ---- parts of the screen, which the page has too ---- */

/* The files of stored results, and what measured them. */
void tp_compare_print_files(const struct tp_compare *c, struct tp_page *page);

/* The lines above a table; the table with its legend and remarks, `verbose` with all its columns on
 * a screen too; the Pick, nothing where there is none. */
void tp_compare_print_head(const struct tp_compare *c, const struct tp_compare_table *t,
                           struct tp_page *page);
void tp_compare_print_table(const struct tp_compare *c, const struct tp_compare_table *t,
                            bool verbose, struct tp_page *page);
void tp_compare_print_pick(const struct tp_compare *c, const struct tp_compare_table *t,
                           struct tp_page *page);

/* The geometric means of the ratios to the base. */
void tp_compare_print_means(const struct tp_compare *c, bool verbose, struct tp_page *page);

/* Warnings and notes. */
void tp_compare_print_remarks(const struct tp_compare *c, struct tp_page *page);

/* ---- writers ---- */

void tp_compare_print(const struct tp_compare *c, bool verbose, struct tp_page *page);

/* Which strategy to choose, and why: the last line of a table; without a head if there is nothing
 * to choose. Returns the row; NULL: none, or a tie. */
enum { TP_COMPARE_PICK = 512 }; /* bytes of its text */
const struct tp_compare_row *tp_compare_pick(const struct tp_compare *c,
                                             const struct tp_compare_table *t, struct tp_pick *out);

/* Adds the Pick to a table of figures, and how it differs from its base; where the base is picked,
 * or none is, how the first other row differs. */
void tp_compare_figures(const struct tp_compare *c, const struct tp_compare_table *t,
                        struct tp_table *out);

#endif
