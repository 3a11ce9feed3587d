/* Why the memory of a device was full: what lay where at one event of a recording, who held it, and
 * what would have made room for the request that failed. What depends on the recorded allocator is
 * asked of its explainer (explainer.h).
 *
 *     recording --> the event (why_moment.h)
 *               --> replayed up to it by the rules --> layout and sum (why_layout.h)
 *               --> its blocks by who asked for them (why_held.h, traces/places/sites.h)
 *               --> the verdict, the fewest blocks in the way (why_verdict.h) */
#ifndef TP_WHY_H
#define TP_WHY_H

#include "alloc/base/err.h"
#include "alloc/base/opt.h"
#include "cmd/report/memory_sum.h"
#include "cmd/results/captured.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"
#include "cmd/why/explainer.h"
#include "cmd/why/why_answer.h"
#include "cmd/why/why_held.h"

#include <stdint.h>
#include <stdio.h>

struct tp_why_cfg {
    enum tp_why_when when;
    uint64_t at; /* event, for TP_WHY_AT */
    struct tp_sites_cfg sites;
    uint32_t pictures; /* that one page has; 0: none is wanted */
    uint64_t limit;    /* bytes that a limit of the process allows at most; 0: there is none */
    int (*stop)(struct tp_err *err);
    bool replayed;       /* nobody recorded it: it stands in for a trace (tp_stand_in) */
    const char *remarks; /* of what it was made from; borrowed by the answer; NULL: none */
};

/* The rules are those that were set. `out` must be released in every case. TP_EUSAGE: there is no
 * such event. TP_EINPUT: the rules do not cover the file. */
int tp_why(const struct tp_explained *x, uint32_t device, const struct tp_why_cfg *cfg,
           struct tp_why_places *places, struct tp_why *out, struct tp_err *err);
void tp_why_release(struct tp_why *w);

/* What `tapool why --json` writes: tapool.why/2 (why.schema.json). */

/* The document as a tree, which the caller owns. */
cJSON *tp_why_tree(struct tp_json *j, const struct tp_why *list, size_t count, const char *file);

/* The page of `tapool why`: an article for each device. */

struct tp_why_page {
    const struct tp_why *list; /* at least one, each with a picture */
    size_t count;
    const char *file; /* the recording as it was named, clean */
    bool exact;       /* sizes are shown in bytes */
    const struct tp_opt *rows;
    const void *opts; /* of the command line */
};

/* Writes the page. TP_ENOMEM: a part is missing. */
int tp_why_page(const struct tp_why_page *p, FILE *out, struct tp_err *err);

/* A recording as a trace: what it tells of the device, and what other settings would do
 * (why_answer.h). */

struct tp_why_trace {
    struct tp_trace trace;
    struct tp_captured captured;
    bool open; /* it could be read; not from a pipe, which the recording itself came through */
};

/* Must be closed in every case. TP_ENOMEM; what cannot be read is no error. */
int tp_why_trace_open(struct tp_why_trace *t, const char *path, uint32_t device,
                      uint64_t max_memory, struct tp_err *err);
void tp_why_trace_close(struct tp_why_trace *t);

/* `exact` as of tp_bytes. */
struct tp_why_recording tp_why_recording_of(const struct tp_why_trace *t, bool exact);

/* Finds live memory by site over time. What cannot be read gives none, which is no error. */
void tp_why_find_site_curve(struct tp_why_trace *t, struct tp_why *out);

/* What `tapool why` prints. */

enum { TP_WHY_PARTS = 5 };

/* The rows of the sum; `exact` as of tp_bytes. */
void tp_why_parts(const struct tp_why *w, bool exact, struct tp_sum_part out[TP_WHY_PARTS]);

/* Parts of the screen: what happened, the sum of the memory, the verdict, what would have made
 * room, what other settings would do, and what all rests on. Where there is nothing to say, nothing
 * is printed. */
void tp_why_head_print(const struct tp_why *w, struct tp_page *page);
void tp_why_sum_print(const struct tp_why *w, struct tp_page *page);
void tp_why_verdict_print(const struct tp_why *w, struct tp_page *page);
void tp_why_way_print(const struct tp_why *w, struct tp_page *page);
void tp_why_tries_print(const struct tp_why *w, struct tp_page *page);
void tp_why_ground_print(const struct tp_why *w, struct tp_page *page);

/* The verdict in a word or two: "Fragmented". */
extern const char *const tp_why_verdict_words[];

/* Whether the rules did what the recorded allocator did, up to the event: else no setting is tried.
 */
bool tp_why_is_faithful(const struct tp_why *w);

/* Whether settings of segments changed while the program ran, so that a replay with one setting is
 * another run. */
bool tp_why_has_switched(const struct tp_why *w);

/* Prints the screen of one device. `several`: there are more. */
void tp_why_text(const struct tp_why *w, bool several, struct tp_page *page);

#endif
