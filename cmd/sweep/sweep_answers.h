/* The answers of a sweep, made from its store.
 *
 *     store --> tp_sweep_pick --> cells, as rows of a trace with a value for each setting
 *                                      |  two passes
 *                                      v
 *                               tp_sweep_answer, one for each metric --> text JSON HTML SVG
 *
 * Rows are in a table of SQLite that lies on disk, so that memory grows with traces plus settings,
 * not with cells. Settings and traces are numbered from 0 in the order of their texts and paths. */
#ifndef TP_SWEEP_REPORT_H
#define TP_SWEEP_REPORT_H

#include "cmd/results/metrics.h"
#include "cmd/sweep/store.h"
#include "cmd/sweep/sweep.h"

#include "alloc/base/str.h"

enum {
    TP_SWEEP_METRICS = 16, /* of --metric, at most */
    TP_SWEEP_COSTS = 2,    /* what memory is weighed against */
    TP_SWEEP_FIGURES = TP_SWEEP_METRICS + TP_SWEEP_COSTS,
    TP_SWEEP_OPTIONS = 64, /* names of options, at most */
    TP_SWEEP_SETTINGS_MOST = 200000,
    TP_SWEEP_TRACES_MOST = 5000000
};

/* ---- what is in the store ---- */

struct tp_sweep_tried {
    char *text, *strategy;             /* owned */
    uint32_t given;                    /* options that the plan gave */
    uint32_t unread;                   /* failures on files that are no trace of the store */
    uint32_t values[TP_SWEEP_OPTIONS]; /* index into the values of each option; 0: not given */
};

/* An option that the plan gave to some setting. */
struct tp_sweep_option {
    char *name;    /* owned */
    char **values; /* owned; values[0] stands for the default */
    size_t count;
};

/* The best packing of a trace, or else its lower bound, which is the trace peak where nothing was
 * searched; 0: none is known. Bytes. */
struct tp_sweep_reference {
    double bytes;
    bool bound;
};

struct tp_sweep_left_out {
    int64_t tools, machines; /* cells of another tapool; timed ones of another machine */
    int64_t lost;            /* cells of no trace or setting of the store */
    int64_t older;           /* values that a newer cell of the same trace and setting has too */
    int64_t invalid;         /* values that are no number, or below 0 */
};

struct tp_sweep_picked {
    const struct tp_sql *sql;
    const struct tp_metric *metrics[TP_SWEEP_FIGURES]; /* those asked for, then the costs */
    size_t asked, metric_count;
    struct tp_sweep_tried *settings; /* owned */
    size_t setting_count;
    struct tp_sweep_reference *references; /* owned; of each trace */
    size_t trace_count;
    struct tp_sweep_option options[TP_SWEEP_OPTIONS]; /* by name */
    size_t option_count;
    char *tool, *machine;          /* owned; machine "": nothing depends on one */
    int64_t cells, expected;       /* those of this tapool; expected -1: not known */
    int64_t failures, unreadable;  /* rows of failures; of them those of a whole file */
    struct tp_sweep_left_out left; /* complete after the first pass */
    size_t folder;                 /* bytes that all paths begin with, up to a slash */
};

/* Picks the cells that count and reads settings and options. TP_EINPUT: no cells, or the tables are
 * not those of a store. tp_sweep_picked_drop afterwards in any case. */
int tp_sweep_pick(const struct tp_sweep_asking *asking, struct tp_sweep_picked *p,
                  struct tp_err *err);
void tp_sweep_picked_drop(struct tp_sweep_picked *p);

/* The condition of SQL by which cells `c` are picked; parameters 1 and 2 are tool and machine. */
extern const char tp_sweep_condition[];

/* A cell: a value for each metric of tp_sweep_picked, NAN where there is none. */
struct tp_sweep_cell {
    uint32_t setting;
    bool failed; /* an allocation failed, or the replay did */
    double values[TP_SWEEP_FIGURES];
};

/* All cells of a trace, by setting. */
struct tp_sweep_row {
    uint32_t trace;
    const struct tp_sweep_cell *cells;
    size_t count; /* 1 or more */
};
typedef void tp_sweep_row_fn(void *ctx, const struct tp_sweep_row *row);

/* Calls `fn` for each trace that has cells. */
int tp_sweep_rows(struct tp_sweep_picked *p, tp_sweep_row_fn *fn, void *ctx, struct tp_err *err);

/* The path of a trace, owned by the caller. */
int tp_sweep_path(const struct tp_sweep_picked *p, uint32_t trace, char **out, struct tp_err *err);

/* ---- answers ---- */

enum {
    TP_SWEEP_FACTORS = 7,
    TP_SWEEP_DRAWS = 1000,
    TP_SWEEP_RIVALS = 10,
    TP_SWEEP_DRAWN_LEAST = 5,    /* traces: fewer say nothing by being drawn again */
    TP_SWEEP_DRAWN_MOST = 20000, /* traces: more would take too long */
};

/* Of the profile: 1, 1.01, 1.05, 1.1, 1.25, 1.5, 2. */
extern const double tp_sweep_factors[TP_SWEEP_FACTORS];

/* What a ratio of 1 is. */
enum tp_sweep_ratio {
    TP_SWEEP_REGRET, /* the best packing, or else the lower bound */
    TP_SWEEP_VS_BEST /* the best setting of the trace */
};

/* A setting over all traces. Ratios are logarithms; 0: none. */
struct tp_sweep_score {
    double sum, worst;                    /* of the ratios; the largest one */
    double costs[TP_SWEEP_COSTS];         /* sum of calls, or of the logarithms of times */
    uint32_t cost_traces[TP_SWEEP_COSTS]; /* that have the cost */
    uint32_t worst_trace, traces;         /* with a ratio */
    uint32_t failed;                      /* traces */
    uint32_t within;                      /* traces within 1 % of the best setting there */
    uint32_t factors[TP_SWEEP_FACTORS];   /* traces within a factor of the best setting there */
    bool competes;                        /* it has all traces, and failed on none */
};

/* What an option does, with all others of the strategy fixed: over the traces on which each value
 * has a ratio, in each combination. */
struct tp_sweep_effect {
    const char *strategy, *option;
    size_t name;      /* index of the option */
    uint32_t *values; /* owned: indexes of values, the best first */
    double *means;    /* owned: mean logarithm of each value; sums before the second pass is over */
    size_t count;     /* of values, 2 or more */
    uint32_t *members; /* owned: the settings of each combination, by value in their first order */
    size_t groups;     /* combinations of the other options that have all values */
    uint64_t pairs;    /* combinations times traces that are compared */
    uint32_t traces;   /* with one of them */
    uint32_t affected; /* traces on which a combination differs by more than 1 % */
};

/* Settings that no other one beats in both, the cheapest first. */
struct tp_sweep_front {
    size_t cost;        /* index of the cost */
    uint32_t *settings; /* owned */
    size_t count;
};

/* Traces times settings: each square is of some neighbours in the order of both. */
struct tp_sweep_heat {
    uint32_t *traces, *settings; /* owned: in the order that is drawn */
    size_t trace_count, setting_count;
    uint32_t *row_of, *column_of; /* owned: of each trace and setting that is drawn */
    size_t rows, columns;
    double *sums;     /* owned, row by row */
    uint32_t *counts; /* owned */
};
enum { TP_SWEEP_ROWS = 200, TP_SWEEP_COLUMNS = 60 };

struct tp_sweep_answer {
    const struct tp_metric *metric;
    size_t figure; /* its index in tp_sweep_picked */
    enum tp_sweep_ratio ratio;
    struct tp_sweep_score *scores; /* owned; of each setting */
    uint32_t *order;               /* owned: settings that were tried, the best first */
    size_t ranked;                 /* how many */
    size_t competing;              /* the first of them */
    uint32_t traces;               /* that have a ratio */
    uint32_t bounds;               /* of them those over the lower bound */
    uint32_t without;              /* that have the metric and no ratio */
    uint64_t values;               /* cells with the metric, failed ones too */
    double *hardness;              /* owned: mean logarithm of each trace; NAN */
    /* The best setting against the second: traces on which it is better, equal, worse. */
    uint32_t better, equal, worse;
    uint32_t draws, wins;            /* of samples of the traces; 0 draws: not tried */
    struct tp_sweep_effect *effects; /* owned; those that matter most first, by strategy */
    size_t effect_count;
    struct tp_sweep_front fronts[TP_SWEEP_COSTS];
    size_t front_count;
    uint32_t *profiles; /* owned: the best setting of each strategy, best first */
    size_t profile_count;
    struct tp_sweep_heat heat;
    /* Ratios of the first settings of the ranking, trace by trace; owned. NULL: too many traces. */
    double *rivals;
    size_t rival_count, rival_traces;
};

/* All that was found; `of` of the exporters. */
struct tp_sweep_answers {
    const struct tp_sweep_asking *asking;
    struct tp_sweep_picked picked;
    struct tp_sweep_answer *list; /* owned; picked.asked of them */
    char **paths; /* owned: of the traces that are named somewhere; NULL for all others */
};

/* The path of a trace that is named, without the folder that all share. */
const char *tp_sweep_trace_name(const struct tp_sweep_answers *a, uint32_t trace);

/* Evaluates the store. TP_EINPUT: no cell has a metric that was asked for. tp_sweep_answers_drop
 * afterwards in any case. */
int tp_sweep_evaluate(const struct tp_sweep_asking *asking, struct tp_sweep_answers *a,
                      struct tp_err *err);
void tp_sweep_answers_drop(struct tp_sweep_answers *a);

double tp_sweep_mean(const struct tp_sweep_score *s); /* geometric mean of the ratios; NAN */

/* A cost of a setting: calls of all traces, or the geometric mean of times. NAN: a trace lacks it.
 */
double tp_sweep_cost(const struct tp_sweep_picked *p, const struct tp_sweep_answer *a,
                     uint32_t setting, size_t cost);

/* The cost as a metric. */
const struct tp_metric *tp_sweep_cost_metric(const struct tp_sweep_picked *p, size_t cost);

/* "regret", "over lower bound", "vs best": what the ratios of an answer are called. */
const char *tp_sweep_ratio_name(const struct tp_sweep_answer *a);

/* Geometric mean of a square of the heat map; NAN: it is empty. */
double tp_sweep_square(const struct tp_sweep_heat *h, size_t row, size_t column);

/* The first index of a row or column of `count`, of `all` in the order that is drawn. */
size_t tp_sweep_first(size_t all, size_t count, size_t at);

/* ---- parts of the evaluation ---- */

int tp_sweep_no_memory(struct tp_err *err); /* TP_ENOMEM, as all parts say it */

/* Logarithms of a row: ratio of each cell to what a ratio of 1 is, and to the best setting of the
 * trace; NAN: the cell failed or has no value. False: the trace has no ratios. */
bool tp_sweep_logs(const struct tp_sweep_picked *p, const struct tp_sweep_answer *a,
                   const struct tp_sweep_row *row, double *ratios, double *over_best);

/* Finds the combinations before the second pass, and sorts effects and values after it. */
int tp_sweep_effects_find(const struct tp_sweep_picked *p, struct tp_sweep_answer *a,
                          struct tp_err *err);
/* Counts a trace: `ratios` has a logarithm or NAN for each setting. */
void tp_sweep_effects_count(struct tp_sweep_answer *a, const double *ratios);
int tp_sweep_effects_sort(struct tp_sweep_answer *a, struct tp_err *err);
void tp_sweep_effects_drop(struct tp_sweep_answer *a);

/* Ranks the settings, and finds fronts and profiles, after the first pass. */
int tp_sweep_rank(const struct tp_sweep_picked *p, struct tp_sweep_answer *a, struct tp_err *err);

int tp_sweep_heat_begin(const struct tp_sweep_picked *p, struct tp_sweep_answer *a,
                        struct tp_err *err);
void tp_sweep_heat_add(struct tp_sweep_heat *h, const struct tp_sweep_row *row,
                       const double *ratios);
void tp_sweep_heat_drop(struct tp_sweep_heat *h);

/* Logarithms closer than this are equal. */
#define TP_SWEEP_SAME 1e-9
/* The logarithm of 1.01: what is less apart is equal but for one percent. */
#define TP_SWEEP_PERCENT 0.00995033085316808

/* ---- how it is written ---- */

/* The parts of the screen. */
void tp_sweep_head_print(const struct tp_sweep_answers *a, struct tp_page *page);
void tp_sweep_best_print(const struct tp_sweep_answers *a, size_t answer, struct tp_page *page);
void tp_sweep_ranking_print(const struct tp_sweep_answers *a, size_t answer, size_t most,
                            struct tp_page *page);
void tp_sweep_fronts_print(const struct tp_sweep_answers *a, size_t answer, size_t most,
                           struct tp_page *page);
void tp_sweep_profile_print(const struct tp_sweep_answers *a, size_t answer, struct tp_page *page);
void tp_sweep_effects_print(const struct tp_sweep_answers *a, size_t answer, struct tp_page *page);
void tp_sweep_failures_print(const struct tp_sweep_answers *a, struct tp_page *page);
void tp_sweep_screen(const struct tp_sweep_answers *a, struct tp_page *page);
extern const struct tp_exporter tp_sweep_text;
TP_SWEEP_EXPORTS(TP_EXPORT_DECLARE, tp_sweep)

/* The failures, by path and setting; `fn` is called for the first `most`. */
struct tp_sweep_failure {
    const char *path, *setting, *error;
};
typedef void tp_sweep_failure_fn(void *ctx, const struct tp_sweep_failure *f);
int tp_sweep_failures(const struct tp_sweep_picked *p, size_t most, tp_sweep_failure_fn *fn,
                      void *ctx, struct tp_err *err);

/* The tree of JSON with at most so many settings, and as much of what else grows with them. */
struct cJSON;
struct tp_json;
struct cJSON *tp_sweep_tree(struct tp_json *j, const struct tp_sweep_answers *a, size_t most);

/* A picture, `y` pixels from the top of the outer element; its height in pixels. */
struct tp_sweep_picture {
    const char *id;
    uint32_t (*height)(const struct tp_sweep_answers *a, size_t answer); /* 0: there is none */
    void (*write)(const struct tp_sweep_answers *a, size_t answer, uint32_t y, FILE *out);
};
enum { TP_SWEEP_PICTURES = 5 };
extern const struct tp_sweep_picture tp_sweep_pictures[TP_SWEEP_PICTURES];

/* How a picture begins: its element, which the caller ends, and two lines of text,
 *
 *     TITLE METRIC against AGAINST
 *     RATIO ABOUT */
struct tp_sweep_frame {
    const char *title;
    const struct tp_metric *metric;
    const char *against, *ratio; /* NULL: none */
    const char *about;
    uint32_t y, height; /* pixels */
};
void tp_sweep_frame_begin(const struct tp_sweep_frame *f, FILE *out);

/* The last one. */
uint32_t tp_sweep_heat_height(const struct tp_sweep_answers *a, size_t answer);
void tp_sweep_heat_write(const struct tp_sweep_answers *a, size_t answer, uint32_t y, FILE *out);

/* The rules of CSS for them, beside those of tp_chart_style. */
void tp_sweep_picture_style(uint32_t theme, FILE *out);

#endif
