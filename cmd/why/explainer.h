/* What `tapool why` asks of a recording with addresses, whoever's allocator was recorded: its
 * events one by one, the heap at one of them, and what is known of the blocks in it.
 *
 *     file --> certifier of its format (cmd/verify/certifier.h) --> its explainer
 *              walk:  events --> which one is explained (why_moment.h), memory over time
 *              heap:  segments and blocks at that event (why_layout.h)
 *              held:  who allocated the live ones (why_held.h)
 *              room:  why a request failed there (why_verdict.h)
 *              try_settings, stand_in: other settings; a trace without addresses
 *
 * To add one, export a `const struct tp_explainer` and add a line to cmd/registry.c. */
#ifndef TP_EXPLAINER_H
#define TP_EXPLAINER_H

#include "cmd/verify/certifier.h"

struct tp_why_event;
struct tp_why_held;
struct tp_why_layout;
struct tp_why_moment;
struct tp_why_places;
struct tp_why_request;
struct tp_why_room;
struct tp_why_trace;
struct tp_why_tries;

/* Called for an event; a status other than TP_OK ends the walk and is returned. */
typedef int tp_why_each_fn(void *ctx, const struct tp_why_event *ev, struct tp_err *err);

/* What a trace without addresses is replayed with. */
struct tp_stand_in_ask {
    const char *path, *conf; /* conf: in place of the recorded settings; NULL: those */
    uint64_t capacity;       /* bytes; 0: no limit; UINT64_MAX: what the program could have */
    uint64_t max_memory;     /* bytes, for reading it */
};

struct tp_why_replayed {
    int fd;        /* of an unlinked file with the recording; -1: none */
    char path[32]; /* by which it is opened */
    char *remarks; /* owned: of the trace, such as that it was predicted; NULL: none */
};
void tp_why_replayed_close(struct tp_why_replayed *r);

/* `state` is that of the certifier's open file. What is NULL is not known of such recordings. */
struct tp_explainer {
    const struct tp_certifier *certifier;

    /* Words and sentences, where they differ from those of others. */
    const char *capture;  /* kind of file: "PyTorch memory snapshot" */
    const char *release;  /* the call that returns unused segments; NULL: there is none */
    const char *untold;   /* why blocks in the way are not looked for */
    const char *switched; /* beginning of a sentence: settings changed while the program ran */
    const char *had_room; /* what follows where a free block serves a request that failed */
    const char *terms;    /* HTML: the words of the page */
    const char *const *meanings; /* [TP_WHY_VERDICTS], sentences; NULL in it: as of others */

    /* Whether memory may have been short, so that the file is read as a trace, too. */
    bool (*is_pressed)(const void *state);
    const char *(*silence)(const void *state); /* why there are no events; NULL: there are */

    uint64_t (*events)(const void *state, uint32_t device); /* their number */
    /* Calls `each` for the first `last` events of a device, in their order. */
    int (*walk)(const void *state, uint32_t device, uint64_t last, tp_why_each_fn *each, void *ctx,
                struct tp_err *err);
    /* ns between two times of events, in their unit; 0: it is not later. */
    uint64_t (*ns_between)(int64_t from, int64_t to);

    /* Opens the places of blocks (why_held.h); closed in every case. */
    int (*open_places)(void *state, struct tp_why_places *out, struct tp_err *err);
    /* Replays up to a moment by the rules that were set: fills `out`, which is zeroed but for
     * `reading` and released in every case, and what was compared on the way. */
    int (*heap)(void *state, uint32_t device, const struct tp_why_moment *m,
                struct tp_verified *verified, struct tp_why_layout *out, struct tp_err *err);
    /* Lists the live blocks of that heap with what is known of them. `out` is zeroed, and released
     * in every case; it uses the state and the places. */
    int (*held)(void *state, uint32_t device, const struct tp_why_moment *m,
                const struct tp_why_layout *l, struct tp_why_places *places,
                struct tp_why_held *out, struct tp_err *err);

    /* Why a request failed, and what would have made room. NULL: failed requests are not judged. */
    int (*room)(const void *state, const struct tp_why_layout *l, const struct tp_why_request *rq,
                struct tp_why_room *out, struct tp_err *err);
    /* Replays the file as a trace with other settings; `given` stands for the recorded ones if it
     * is not NULL. May be NULL. */
    int (*try_settings)(const struct tp_why_trace *t, const char *given, uint64_t capacity,
                        uint64_t memory, struct tp_why_tries *out, struct tp_err *err);
    /* Writes a recording of a trace's replay. TP_EINPUT: it is no such trace. May be NULL. */
    int (*stand_in)(const struct tp_stand_in_ask *ask, struct tp_why_replayed *out,
                    struct tp_err *err);
};

extern const struct tp_explainer *const tp_explainers[]; /* NULL-terminated */

/* An open recording. It must not move. */
struct tp_explained {
    struct tp_recorded_file file;
    const struct tp_explainer *by;
};

/* As tp_recorded_open. TP_EUNSUP: recordings of this allocator are not explained. */
int tp_explained_open(struct tp_explained *x, const char *path, uint64_t max_memory,
                      struct tp_err *err);
void tp_explained_close(struct tp_explained *x);

/* Writes a recording in place of the trace that `ask` names, by whoever knows such traces. `out` is
 * closed in every case. TP_EINPUT: nobody does. */
int tp_stand_in(const struct tp_stand_in_ask *ask, struct tp_why_replayed *out, struct tp_err *err);

/* Whether a device is looked at: it has memory, and it is `wanted`, or all are. */
bool tp_explained_has(const struct tp_explained *x, uint32_t device, bool all, uint32_t wanted);

/* TP_EINPUT: no device has memory, or the one that is wanted has none. */
int tp_explained_fail(const struct tp_explained *x, bool all, uint32_t wanted, const char *file,
                      struct tp_err *err);

#endif
