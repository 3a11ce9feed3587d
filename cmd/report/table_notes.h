/* The table of several results of one trace: what its cells and the notes below it share. */
#ifndef TP_TABLE_NOTES_H
#define TP_TABLE_NOTES_H

#include "cmd/report/report.h"

/* Marks that cells of a column may have, and figures that need a note. */
enum {
    SEE_TIME = 1,
    SEE_INTERVAL = 2,
    SEE_P99 = 4,
    SEE_FREE = 8,
    SEE_SPACE = 16,
    SEE_WAITED = 32,
    SEE_BLOCKED = 64,
    SEE_WALL = 128,
    SEE_SPEEDUP = 256,
    SEE_CAPACITY = 512
};

/* Free bytes of all devices, and the largest block of them; TP_NONE: not known. */
struct tp_free_sum {
    uint64_t bytes, largest;
};

/* What the recorded allocator did, summed over the devices. */
struct tp_recorded_row {
    uint64_t peak, takes, gives, allocations;
    struct tp_free_sum free; /* at the trace peak */
    bool ran_out;            /* the recorded program ran out of memory at the trace peak */
};

struct tp_recorded_row tp_recorded_row_of(const struct tp_result *r);

/* Whether the recorded allocator can be compared. It cannot if the blocks that were live before are
 * dropped, because it had reserved memory for them. */
bool tp_has_recorded_row(const struct tp_result *r);

/* The mark of a result without a time, whose meaning a note says; NULL: it has one. */
const char *tp_no_time(const struct tp_result *r);

bool tp_any_on_host(const struct tp_result *results, size_t count);
bool tp_any_preloaded(const struct tp_result *results, size_t count);
bool tp_any_by_threads(const struct tp_result *results, size_t count);

/* The p99 of all calls, "-" where there is none, "(a)" where it is not one of a whole call. Adds
 * what its marks are to `marks`. */
struct tp_text tp_p99_text(const struct tp_report *rep, const struct tp_result *r,
                           struct tp_clock_marks *marks);

/* Prints the meanings of the marks in the cells, whose bits are in `see`. */
void tp_table_notes(const struct tp_report *rep, const struct tp_result *results, size_t count,
                    unsigned see, struct tp_page *page);

#endif
