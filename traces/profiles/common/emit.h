/* Emits the events of profiles, with a clock that advances by random steps and one call per kind of
 * event.
 *
 * After the first failure nothing more is emitted and the status is kept, so a profile needs to
 * check it only once per round of its loop. */
#ifndef TP_PROFILE_EMIT_H
#define TP_PROFILE_EMIT_H

#include "traces/profile.h"
#include "traces/profiles/common/distributions.h"

#include <inttypes.h>

#define TP_PROFILE_MAX_COUNT UINT64_C(1000000000)
#define TP_PROFILE_MAX_LIVE  (UINT64_C(1) << 24)
#define TP_PROFILE_MAX_SIZE  (UINT64_C(1) << 40)

struct tp_emit {
    const struct tp_event_sink *sink;
    struct tp_err *err;
    struct tp_random random;
    uint64_t now_ns, gap_ns; /* time of the next event; mean gap between two events */
    int status;
};

static inline struct tp_emit tp_emit_begin(const struct tp_event_sink *sink, uint64_t seed,
                                           uint64_t gap_ns, struct tp_err *err)
{
    struct tp_emit e = {.sink = sink, .err = err, .gap_ns = gap_ns, .status = TP_OK};
    tp_random_seed(&e.random, seed);
    return e;
}

/* Emits an event and advances the clock by 0.5 to 1.5 times the mean gap. */
static inline void tp_emit(struct tp_emit *e, struct tp_event ev)
{
    if (e->status != TP_OK)
        return;
    ev.has_time = true;
    ev.time_ns = e->now_ns;
    e->now_ns += tp_random_from(&e->random, e->gap_ns / 2, e->gap_ns + e->gap_ns / 2);
    e->status = e->sink->event(e->sink->ctx, &ev, e->err);
}

static inline void tp_emit_alloc(struct tp_emit *e, uint64_t thread, int64_t id, uint64_t size)
{
    tp_emit(e, (struct tp_event){
                   .op = TP_EV_ALLOC, .thread = thread, .id = id, .has_size = true, .size = size});
}

static inline void tp_emit_realloc(struct tp_emit *e, uint64_t thread, int64_t id, uint64_t size)
{
    tp_emit(e,
            (struct tp_event){
                .op = TP_EV_REALLOC, .thread = thread, .id = id, .has_size = true, .size = size});
}

static inline void tp_emit_free(struct tp_emit *e, uint64_t thread, int64_t id)
{
    tp_emit(e, (struct tp_event){.op = TP_EV_FREE, .thread = thread, .id = id});
}

static inline void tp_emit_mark(struct tp_emit *e, const char *name)
{
    tp_emit(e, (struct tp_event){.op = TP_EV_MARK, .name = name});
}

/* ---- options that several profiles have ---- */

/* A number from 1 to `most`. */
#define TP_PROFILE_COUNT_ROW(opts, member, usual, most, what)                                      \
    TP_UINT_ROW(opts, member, .def = (usual), .min = 1, .max = (most), .help = (what))

#define TP_PROFILE_SIZE_ROW(opts, usual, what)                                                     \
    TP_SIZE_ROW(opts, size, .def = (usual), .min = 1, .max = TP_PROFILE_MAX_SIZE, .help = (what))

#define TP_PROFILE_MAX_SIZE_ROW(opts, what)                                                        \
    {                                                                                              \
        .name = "max-size", .type = TP_OPT_SIZE, .offset = offsetof(opts, max_size),               \
        .def = "auto", .min = 1, .max = TP_PROFILE_MAX_SIZE,                                       \
        .choices = (const char *const[]){"auto", NULL}, .arg = "SIZE", .help = (what)              \
    }

/* Checks the limit of a program on live bytes, so that it fails before a file is half written. */
static inline int tp_profile_fits(uint64_t live, uint64_t size, struct tp_err *err)
{
    if (size <= TP_MAX_LIVE_BYTES / live)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE,
                   "%" PRIu64 " objects of %" PRIu64 " bytes are more than 2^61 bytes at once",
                   live, size);
}

/* Sets the default of *max_size, 256 times `size`, and checks that `live` objects of it fit. */
static inline int tp_profile_sizes(uint64_t size, uint64_t *max_size, uint64_t live,
                                   struct tp_err *err)
{
    if (*max_size == TP_OPT_KEYWORD(0))
        *max_size = size < TP_PROFILE_MAX_SIZE / 256 ? size * 256 : TP_PROFILE_MAX_SIZE;
    if (*max_size >= size)
        return tp_profile_fits(live, *max_size, err);
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "max-size is below size"),
                   "objects have between size and max-size bytes");
}

#endif
