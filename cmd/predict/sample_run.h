/* One recording of a program at a known value of a setting: its requests in order, each with a key
 * that says by what code it was made.
 *
 *     trace --> requests of the initial heap | requests of events */
#ifndef TP_PREDICT_SAMPLE_RUN_H
#define TP_PREDICT_SAMPLE_RUN_H

#include "cmd/predict/law.h"
#include "traces/places/place_table.h"
#include "traces/trace.h"

/* A request for memory: a block of the initial heap, an ALLOC, an ADOPT or a REALLOC. */
struct tp_request {
    uint64_t key;   /* of operation, device and call stack; equal stacks have equal keys */
    uint64_t size;  /* bytes */
    uint64_t event; /* 0: of the initial heap */
    uint32_t place; /* text of struct tp_place_table; TP_NO_PLACE: not known */
};

struct tp_sample_run {
    char *path; /* without the value */
    struct tp_axis_values at;
    uint64_t n;          /* of `at`, the value of the setting that is looked along */
    char *axes[TP_AXES]; /* names of the settings, "batch"; NULL: the only one has none */
    bool open;           /* the trace is */
    struct tp_trace trace;
    struct tp_place_table *stacks;
    struct tp_request *requests;
    size_t initial, count, room; /* requests of the initial heap, and all of them */
    uint64_t bytes;              /* of all requests of events */
    uint64_t before;             /* peak requested in the warm-up, once a piece is cut out, bytes */
    bool placed;                 /* some have a call stack */
    int (*stop)(struct tp_err *err); /* while it is listed: TP_ESTOP once the user ends it */
};

/* Cuts "FILE@256", "FILE@batch=2" or "FILE@batch=2,len=512". TP_EUSAGE: it has no value, or none
 * from 1 to TP_LAW_N_MOST. To be released in every case. */
int tp_sample_run_name(struct tp_sample_run *r, const char *word, struct tp_err *err);

/* Reads "256", "batch=2" or "batch=2,len=512". The names are the caller's to free in every case. */
int tp_axis_read(const char *text, struct tp_axis_values *at, char *axes[TP_AXES],
                 struct tp_err *err);

/* "1,024", or "batch = 2, len = 512" where there are several. */
struct tp_axis_words {
    char s[TP_AXES * 48];
};
struct tp_axis_words tp_axis_text(const struct tp_axis_values *at, char *const axes[TP_AXES]);

/* Lists the requests of the trace, which the caller has opened; `stop` is set, too. TP_EINPUT: it
 * is of several devices. */
int tp_sample_run_list(struct tp_sample_run *r, struct tp_err *err);
void tp_sample_run_close(struct tp_sample_run *r); /* a zeroed one is fine */

/* Replays the requests of a recording: which of them are live. What a reset costs depends only on
 * what it ends. */
struct tp_live_replay {
    void (*change)(void *ctx, size_t request, bool begins);  /* a request begins or ends to live */
    void (*after)(void *ctx, uint64_t insn, uint64_t event); /* each instruction; NULL: nothing */
    void *ctx;
    uint64_t last_event, last_insn; /* of those that are replayed; instructions count from 0 */
};

/* *live becomes what is live at the end, by slot: request + 1, 0 where there is none. The caller
 * frees it in every case. */
int tp_sample_run_replay(const struct tp_sample_run *r, const struct tp_live_replay *how,
                         size_t **live, struct tp_err *err);

/* Closes the trace and forgets its requests, so that it can be opened and listed again. */
void tp_sample_run_forget(struct tp_sample_run *r);

/* A piece of a recording, in events. */
struct tp_run_piece {
    uint64_t after, last; /* it is what is behind `after`, up to `last` */
    uint64_t warm_up;     /* up to here the program warms up; 0: it was not recorded */
};

/* Keeps only that piece, with tp_trace_cut (save_trace.h); lists the requests again. */
struct tp_unlower_cfg;
typedef int tp_cut_trace(struct tp_trace *, const struct tp_unlower_cfg *, struct tp_err *);
int tp_sample_run_cut(struct tp_sample_run *r, const struct tp_run_piece *piece, tp_cut_trace *cut,
                      struct tp_err *err);

/* The request of an event; NULL: it makes none. */
const struct tp_request *tp_request_at(const struct tp_sample_run *r, uint64_t event);

/* The place of a request; NULL: not known. */
const char *tp_request_place(const struct tp_sample_run *r, const struct tp_request *q);

#endif
