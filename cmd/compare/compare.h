/* What `tapool compare` found, as its writers read it: screen, Markdown, CSV, JSON. They compute
 * nothing that another would compute too.
 *
 *     comparison --- tables (one a trace) --- rows (a strategy, or a strategy of a file)
 *                \-- means (one a strategy, over the traces)      \-- cells (one a metric)
 *
 * Two makers fill it: compare_live.c measures in turn, compare_stored.c reads results. */
#ifndef TP_COMPARE_H
#define TP_COMPARE_H

#include "cmd/measure/condition.h"
#include "cmd/measure/record.h"
#include "cmd/measure/rounds.h"
#include "cmd/report/report.h"
#include "cmd/ui/table.h"

#define TP_COMPARE_ALPHA  0.01
#define TP_COMPARE_EFFECT 0.05

/* What can be said of a value beside the base's. */
enum tp_compare_mark {
    TP_MARK_NONE,     /* nothing: one of them is not known, or they do not compare */
    TP_MARK_BASE,     /* it is the base */
    TP_MARK_EXACT,    /* a fact, whatever its size */
    TP_MARK_REPORTED, /* by a real allocator's or a real device's own account: nearly one */
    TP_MARK_SHOWN,    /* tested, and a difference */
    TP_MARK_SAME,     /* tested, and none shown */
    TP_MARK_UNTESTED, /* there is a difference; nobody knows whether it means anything */
    TP_MARKS
};
extern const char *const tp_mark_names[TP_MARKS]; /* as in JSON and CSV */

/* One metric of one row. */
struct tp_compare_cell {
    double value;                   /* live times: median over the rounds; NAN: not known */
    double low, high;               /* its 95 % interval; NAN: none */
    double change;                  /* now / base - 1: live times the median over the pairs; NAN */
    double change_low, change_high; /* its 95 % interval; NAN: none */
    double p;                       /* two-sided, after Holm over the table; NAN: no test */
    size_t count;                   /* values behind it */
    enum tp_compare_mark mark;
};

struct tp_compare_row {
    char *label;                    /* owned */
    const char *file;               /* NULL: measured here, or the only file */
    const char *short_file;         /* the same without the folders that all files are in */
    const struct tp_stored *from;   /* borrowed; memory and counts, and where stored times */
    const struct tp_record *run;    /* of `from` */
    const struct tp_rounds *rounds; /* borrowed; NULL: stored */
    size_t side;                    /* of `rounds` */
    size_t base;                    /* row that it is compared with; its own: it is a base */
    bool cold;                      /* its times are those of a single replay each */
    struct tp_compare_cell cells[TP_METRIC_MAX]; /* by metric */
};

struct tp_compare_table {
    const char *name, *hash;     /* of the trace; borrowed */
    const struct tp_record *run; /* any of them, for what is the same for all */
    struct tp_compare_row *rows; /* owned */
    size_t count;
    struct tp_result head; /* live: for the lines above the table; `trace` NULL: stored */
    struct tp_run *no_run; /* of `head`, owned */
    uint64_t wall_ns;      /* live */
    size_t tests;          /* that Holm adjusted over */
    size_t rounds_needed;  /* 0: there are enough for a test to show anything */
    double least_p;        /* that so few rounds can give, after Holm */
};

/* A name by value, as struct tp_text; a long one ends in "...". */
struct tp_compare_label {
    char s[160];
};

/* One strategy over several traces: ratios of the metric to the base's. */
struct tp_compare_mean {
    struct tp_compare_label name;
    double ratio[TP_METRIC_MAX];  /* NAN: none above 0 */
    size_t traces[TP_METRIC_MAX]; /* over so many */
    bool untested[TP_METRIC_MAX]; /* some of the changes in it were not tested */
};

enum { TP_COMPARE_NOTES = 24, TP_COMPARE_NOTE = 320 };

struct tp_compare {
    bool live;
    unsigned rounds;
    uint64_t seed, min_time_ns;
    int core;
    const struct tp_stored *files; /* stored: borrowed */
    size_t file_count;
    size_t common; /* bytes of the folders that all their paths begin with */
    const struct tp_metric *columns[TP_METRIC_MAX]; /* shown, in this order */
    size_t column_count;
    bool asked;                      /* the columns were named by --metric */
    bool all;                        /* behind the usual columns stand all others, not tested */
    bool tested[TP_METRIC_MAX];      /* columns and conditions: the tests that Holm adjusts over */
    bool used[TP_METRIC_MAX];        /* columns, and what conditions and Pick need */
    struct tp_compare_table *tables; /* owned */
    size_t count;
    struct tp_compare_mean *means; /* owned; none with one trace */
    size_t mean_count;
    char (*notes)[TP_COMPARE_NOTE]; /* owned; what else is to be said */
    size_t note_count, notes_left;  /* left: those that found no room */
};

/* Who answers the source's calls: "system" or "driver". */
const char *tp_compare_callee(const struct tp_record *run);

/* ---- compare_table.c ---- */

int tp_compare_init(struct tp_compare *c, struct tp_err *err);
void tp_compare_release(struct tp_compare *c);

/* A new table, a new row at its end; NULL: out of memory. */
struct tp_compare_table *tp_compare_add_table(struct tp_compare *c);
struct tp_compare_row *tp_compare_add_row(struct tp_compare_table *t, const char *label);

/* Notes are said once each. */
void tp_compare_note(struct tp_compare *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Chooses the columns: those of `names`, else the usual ones of what there is, and where `all` is
 * set whatever else has a value behind them. TP_EUSAGE. */
int tp_compare_columns(struct tp_compare *c, const struct tp_opt_list *names, bool all,
                       struct tp_err *err);

/* Values, changes, tests, means; then sorts by a metric's name or "name", NULL: as given. */
int tp_compare_decide(struct tp_compare *c, struct tp_err *err);
int tp_compare_sort(struct tp_compare *c, const char *by, struct tp_err *err);

/* TP_EFOUND names the cell and the condition that it meets; TP_EUSAGE where one never could. */
int tp_compare_check(const struct tp_compare *c, const struct tp_condition *list, size_t count,
                     struct tp_err *err);

/* A strategy's time that is hardly its own: on a virtual device most of its allocations go to the
 * driver, which costs nothing there. */
bool tp_compare_flattered(const struct tp_compare_row *r);

/* Nothing is left of the time when tapool's own share is taken off: it is below all others, but no
 * number. */
bool tp_compare_drowned(const struct tp_compare_row *r, const struct tp_metric *m);

/* Names of the base rows' label: "system"; of several files the file's as well, without the
 * folders that they share. */
struct tp_compare_label tp_compare_name(const struct tp_compare_row *r);

/* ---- compare_words.c: for all writers that are read by people ---- */

/* "14.2 [14.1, 14.4]", "131.4 MiB", "<=10"; "-33.6 %", "~", "base", "(+3.0 %)". */
struct tp_text tp_compare_value_text(const struct tp_compare_row *r, const struct tp_metric *m,
                                     bool exact);
struct tp_text tp_compare_change_text(const struct tp_compare_row *r, const struct tp_metric *m);

/* Rows of a trace: what each is called, and of each column its value and its change. */
void tp_compare_fill(const struct tp_compare *c, const struct tp_compare_table *t, bool exact,
                     struct tp_table *out);
/* Strategies over the traces, in (N) how many: `all`, not only where some are left out. */
void tp_compare_fill_means(const struct tp_compare *c, bool all, struct tp_table *out);

/* The marks that occur in the first `columns`, each with its meaning; NULL after the last. */
enum { TP_COMPARE_LEGEND = 12 };
void tp_compare_legend(const struct tp_compare *c, const struct tp_compare_table *t, size_t columns,
                       const char *lines[TP_COMPARE_LEGEND + 1]);

/* ---- makers ---- */

struct tp_compare_opts; /* compare_opts.h */

/* Live: measures all traces of `words`. What it returns in `c` borrows from `live`. */
struct tp_compare_live;
int tp_compare_measure(const struct tp_compare_opts *o, char *const *words, size_t count,
                       struct tp_compare *c, struct tp_compare_live **live, struct tp_err *err);
void tp_compare_live_release(struct tp_compare_live *live);

/* Stored: reads the files; `c` borrows from `*files`. */
int tp_compare_read(const struct tp_compare_opts *o, char *const *words, size_t count,
                    struct tp_compare *c, struct tp_stored **files, struct tp_err *err);
void tp_compare_files_release(struct tp_stored *files, size_t count);

/* ---- writers ---- */

void tp_compare_print(const struct tp_compare *c, bool verbose, struct tp_page *page);
int tp_compare_markdown(const struct tp_compare *c, FILE *out, struct tp_err *err);
int tp_compare_csv(const struct tp_compare *c, FILE *out, struct tp_err *err);
int tp_compare_json(const struct tp_compare *c, FILE *out, struct tp_err *err);

/* Which one, and why. `text` gets the last line of a table: "Pick lru: ...", "Pick: no difference
 * that matters here", "" where there is nothing to choose. Returns the row; NULL: none, or several
 * that are tied. */
enum { TP_COMPARE_PICK = 512 };
const struct tp_compare_row *tp_compare_pick(const struct tp_compare *c,
                                             const struct tp_compare_table *t, char *text,
                                             size_t size);

#endif
