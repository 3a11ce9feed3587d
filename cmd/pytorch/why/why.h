/* Why the memory of a device was full: what lay where at one event of a PyTorch snapshot, who held
 * it, and what would have made room for the request that failed.
 *
 *     snapshot --> the event (why_moment.h)
 *              --> replayed up to it by the rules (cmd/pytorch/verify/verify.h) --> layout and sum
 *                                                                         (why_layout.h)
 *              --> its blocks by who asked for them (why_held.h, traces/places/sites.h)
 *              --> the verdict, the fewest blocks in the way (why_room.h) */
#ifndef TP_WHY_H
#define TP_WHY_H

#include "alloc/base/err.h"
#include "alloc/base/opt.h"
#include "cmd/pytorch/why/why_answer.h"
#include "cmd/pytorch/why/why_held.h"
#include "cmd/report/memory_sum.h"
#include "cmd/results/captured.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"

#include <stdint.h>
#include <stdio.h>

struct tp_why_cfg {
    const struct tp_torch_rules *rules;
    enum tp_why_when when;
    uint64_t at; /* event, for TP_WHY_AT */
    struct tp_sites_cfg sites;
    uint32_t pictures; /* that one page has; 0: none is wanted */
    uint64_t limit;    /* bytes that a limit of the process allows at most; 0: there is none */
    int (*stop)(struct tp_err *err);
    bool replayed;       /* nobody recorded the snapshot: see below */
    const char *remarks; /* of what it was made from; borrowed by the answer; NULL: none */
};

/* `out` must be released in every case. TP_EUSAGE: there is no such event. TP_EINPUT: the rules do
 * not cover the file. */
int tp_why(struct tp_pytorch *s, uint32_t device, const struct tp_why_cfg *cfg,
           struct tp_why_places *places, struct tp_why *out, struct tp_err *err);
void tp_why_release(struct tp_why *w);

/* What `tapool why --json` writes: tapool.why/2 (why.schema.json). */

/* The document as a tree, which the caller owns. */
cJSON *tp_why_tree(struct tp_json *j, const struct tp_why *list, size_t count, const char *file);

/* The page of `tapool why`: an article for each device. */

struct tp_why_page {
    const struct tp_why *list; /* at least one, each with a picture */
    size_t count;
    const char *file; /* the snapshot as it was named, clean */
    bool exact;       /* sizes are shown in bytes */
    const struct tp_opt *rows;
    const void *opts; /* of the command line */
};

/* Writes the page. TP_ENOMEM: a part is missing. */
int tp_why_page(const struct tp_why_page *p, FILE *out, struct tp_err *err);

/* A snapshot as a trace: what it tells of the device, and what other settings would do
 * (why_answer.h).
 */

struct tp_why_trace {
    struct tp_trace trace;
    struct tp_captured captured;
    char *conf;   /* owned: what it is replayed with as recorded */
    char *shared; /* owned: the same with the share of the device that the program had set */
    bool given;   /* other settings stand for the recorded ones */
    bool open;    /* it could be read; not from a pipe, which the snapshot itself came through */
};

/* Must be closed in every case. `given`: the settings in place of the recorded ones, or NULL.
 * TP_ENOMEM; what cannot be read is no error. */
int tp_why_trace_open(struct tp_why_trace *t, const char *path, uint32_t device, const char *given,
                      uint64_t max_memory, struct tp_err *err);
void tp_why_trace_close(struct tp_why_trace *t);

/* `exact` as of tp_bytes. */
struct tp_why_recording tp_why_recording_of(const struct tp_why_trace *t, bool exact);

/* Finds live memory by site over time. What cannot be read gives none, which is no error. */
void tp_why_find_site_curve(struct tp_why_trace *t, struct tp_why *out);

/* `capacity`: bytes of the device; 0: no limit. Settings that the strategy refuses, and those that
 * were recorded, are left out. TP_ESTOP, TP_ENOMEM. */
int tp_why_try(const struct tp_why_trace *t, uint64_t capacity, uint64_t memory,
               struct tp_why_tries *out, struct tp_err *err);

/* A trace of PyTorch's requests as a snapshot: what lay where is not recorded in it, as in one that
 * tapool predicted, and follows from a replay by the rules of PyTorch's allocator. */

struct tp_why_replayed {
    int fd;        /* of an unlinked file with the snapshot; -1: none */
    char path[32]; /* by which it is opened */
    char *remarks; /* owned: of the trace, such as that it was predicted; NULL: none */
};

/* Replays the trace of `path` under the recorded settings, or `conf` if that is not NULL, on a
 * device of `capacity` bytes; 0: no limit; UINT64_MAX: what the recorded program could have. To be
 * closed in every case. TP_EINPUT: it is no trace of PyTorch's requests. */
int tp_why_replay(const char *path, const char *conf, uint64_t capacity, uint64_t max_memory,
                  struct tp_why_replayed *out, struct tp_err *err);
void tp_why_replayed_close(struct tp_why_replayed *r);

/* What `tapool why` prints. */

enum { TP_WHY_PARTS = 5 };

/* The rows of the sum; `exact` as of tp_bytes. */
void tp_why_parts(const struct tp_why_sum *s, bool exact, struct tp_sum_part out[TP_WHY_PARTS]);

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

/* Whether expandable_segments changed while the program ran, so that a replay with one setting is
 * another run. */
bool tp_why_has_switched(const struct tp_why *w);

/* Prints the screen of one device. `several`: there are more. */
void tp_why_text(const struct tp_why *w, bool several, struct tp_page *page);

#endif
