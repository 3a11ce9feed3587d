/* What a replay command measured, as the writers read it. Writers compute nothing that another
 * writer would compute too: derived figures live in cmd/figures.h. */
#ifndef TP_REPORT_H
#define TP_REPORT_H

#include "cmd/captured.h"
#include "cmd/spec.h"
#include "cmd/text.h"
#include "cuda/cuda_device.h"
#include "traces/trace.h"

/* How a real device is used. */
struct tp_device_use {
    const struct tp_cuda_info *driver; /* NULL: no real device */
    uint32_t *ordinals;                /* by device of the trace: the CUDA device that plays it */
    enum tp_occupy occupy;
    double scale;
    const char *unused; /* why a driver that is here is not used; NULL: it is, or there is none */
};

/* One strategy on one trace. */
struct tp_result {
    const struct tp_trace *trace;
    const struct tp_program_facts *facts;
    const struct tp_strategy_spec *spec;
    const struct tp_source_spec *source; /* not of a foreign allocator */
    const struct tp_captured *captured;
    const struct tp_device_use *use; /* not of a foreign allocator */
    enum tp_touch touch;
    uint64_t min_time_ns;
    struct tp_run *run; /* owned by whoever made the report */
};

struct tp_report {
    struct tp_result *results; /* grouped by trace */
    size_t count, planned;     /* planned: as many as there were to be; those from `count` on have
                                  trace, facts and spec alone */
    struct tp_clock clock;
    const struct tp_opt *rows; /* what was asked for, as the command line's options; NULL */
    const void *opts;
    uint64_t seed;
    bool verbose;
    bool partial; /* interrupted: some results are missing */
};

/* Screens for people. */
void tp_report_detail(const struct tp_report *r, const struct tp_result *result,
                      struct tp_page *page);
void tp_report_table(const struct tp_report *r, size_t first, size_t count, struct tp_page *page);

/* Which of those of one trace, and why (cmd/pick.h). */
struct tp_pick;
void tp_report_pick(const struct tp_result *results, size_t count, bool exact, struct tp_pick *out);

/* What -v adds to either. */
void tp_report_verbose(const struct tp_report *r, const struct tp_result *result,
                       struct tp_page *page);

/* Out of memory: the first failure of a device explained, how many there were, and for a table who
 * failed and who fits (nothing where nobody failed). */
void tp_report_failure(const struct tp_result *result, const struct tp_device_run *d, int column,
                       struct tp_page *page);
void tp_report_failure_count(const struct tp_result *result, const struct tp_device_run *d,
                             int column, struct tp_page *page);
void tp_report_oom(const struct tp_result *results, size_t count, struct tp_page *page);

/* What both screens begin with: the trace, and under `label` what it is played on and how. */
void tp_report_head(const struct tp_result *result, const char *label, struct tp_page *page);

/* On a real device: "cuda, device 0", or how many; the names of those that play; what is behind the
 * marks of the driver's pool, in place of the sum of memory; what the driver was asked for and
 * answered; the same under -v, of the run and of one device. */
void tp_device_label(const struct tp_result *r, char *text, size_t size);
void tp_device_names(const struct tp_result *r, char *text, size_t size);
void tp_device_pool(const struct tp_result *r, const struct tp_device_run *d, struct tp_page *page);
void tp_device_answers(const struct tp_result *r, const struct tp_device_run *d,
                       struct tp_page *page);
void tp_device_verbose(const struct tp_result *r, struct tp_page *page);
void tp_device_verbose_run(const struct tp_device_run *d, struct tp_page *page);

/* tapool.result/1; schema in DESIGN's words: names are fixed. */
int tp_report_json(const struct tp_report *r, FILE *out, struct tp_err *err);

#endif
