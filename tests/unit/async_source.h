/* A driver's stream-ordered pool as a test double: no memory, every call written down in order, and
 * stricter than a driver.
 *
 *     clock[s][x]: how much of stream x stream s comes after
 *
 *     an allocation or work on s   clock[s][s]++, noted in the block
 *     s follows x                  clock[s] = the later of clock[s] and clock[x], entry by entry
 *     work on s                    must come after the allocation
 *     a free on s                  must come after everything that is noted in the block
 *
 * So a free that is not ordered after a use is a complaint, whatever the addresses. A freed address
 * is handed out again at once on the stream that freed it, so that whoever keeps an old entry is
 * found out. The rig asks for complaints (async_complaint). */
#ifndef TP_TEST_ASYNC_SOURCE_H
#define TP_TEST_ASYNC_SOURCE_H

#include "tests/unit/conformance.h"

#include <string.h>

#define ASYNC_STREAMS 64

enum async_op {
    ASYNC_OPEN,
    ASYNC_CLOSE,
    ASYNC_GET, /* those that succeeded */
    ASYNC_PUT,
    ASYNC_TRIM,
    ASYNC_FOLLOW,
    ASYNC_WORK
};

struct async_call {
    enum async_op op;
    uint16_t stream, after;
    tp_addr addr;
    uint64_t size; /* of a trim: what may stay */
};

struct async_double_opts {
    uint64_t align, capacity;
    uint64_t open_status, put_at, follow_at, trim_status;
};

struct async_piece {
    tp_addr addr;
    uint64_t size;
    uint64_t last[ASYNC_STREAMS]; /* clock of each stream when it last worked on it */
    uint64_t born;                /* clock of its stream when it was allocated */
    uint16_t stream;              /* that allocated or freed it */
    bool live;
};

struct async_double {
    const struct async_double_opts *opts;
    struct tp_pool_cfg cfg; /* of the last pool_open */
    bool open;
    struct async_piece *pieces;
    size_t piece_count;
    struct async_call *calls;
    size_t call_count;
    uint64_t clock[ASYNC_STREAMS][ASYNC_STREAMS];
    uint64_t live, live_bytes, puts, follows;
    tp_addr next;
    char complaint[160]; /* the first; "" */
};

#define ASYNC_ROW(member, default_text, text)                                                      \
    {                                                                                              \
        .name = #member, .type = TP_OPT_UINT,                                                      \
        .offset = offsetof(struct async_double_opts, member), .def = default_text, .arg = "N",     \
        .help = text                                                                               \
    }

static const struct tp_opt async_double_rows[] = {
    ASYNC_ROW(align, "512", "every address is a multiple of it, and of nothing larger"),
    ASYNC_ROW(capacity, "0", "bytes, 0 = no limit"),
    ASYNC_ROW(open_status, "0", "what pool_open says"),
    ASYNC_ROW(put_at, "0", "the N-th put is refused"),
    ASYNC_ROW(follow_at, "0", "the N-th follow is refused"),
    ASYNC_ROW(trim_status, "0", "what pool_trim says"),
    {.name = NULL}};

__attribute__((format(printf, 2, 3))) static inline void async_complain(struct async_double *d,
                                                                        const char *format, ...)
{
    va_list args;
    if (*d->complaint)
        return;
    va_start(args, format);
    vsnprintf(d->complaint, sizeof d->complaint, format, args);
    va_end(args);
}

static inline void async_note(struct async_double *d, struct async_call call)
{
    if ((d->call_count & (d->call_count + 1)) == 0) {
        d->calls = realloc(d->calls, (2 * d->call_count + 2) * sizeof *d->calls);
        assert_non_null(d->calls);
    }
    d->calls[d->call_count++] = call;
}

static inline struct async_piece *async_find(struct async_double *d, tp_addr addr)
{
    for (size_t i = 0; i < d->piece_count; i++)
        if (d->pieces[i].live && d->pieces[i].addr == addr)
            return &d->pieces[i];
    return NULL;
}

/* The whole block changes hands on a stream: all that was done with it must be ordered before. */
static inline void async_change_hands(struct async_double *d, struct async_piece *p,
                                      uint16_t stream, const char *what)
{
    for (unsigned x = 0; x < ASYNC_STREAMS; x++)
        if (d->clock[stream][x] < p->last[x])
            async_complain(d, "%s on stream %u is not ordered after stream %u", what, stream, x);
    p->last[stream] = ++d->clock[stream][stream];
}

static inline int async_double_init(void *state, const struct tp_source_cfg *cfg,
                                    struct tp_err *err)
{
    struct async_double *d = state;
    (void)err;
    d->opts = cfg->opts;
    d->next = UINT64_C(1) << 20;
    return TP_OK;
}

static inline void async_double_fini(void *state)
{
    struct async_double *d = state;
    free(d->pieces);
    free(d->calls);
    assert_false(d->open);
}

static inline uint64_t async_double_page(void *state)
{
    (void)state;
    return 512;
}

static inline int async_double_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    (void)size, (void)align, (void)out;
    async_complain(state, "a range was asked for");
    return TP_EOOM;
}

static inline int async_double_put(void *state, tp_addr addr, uint64_t size)
{
    (void)addr, (void)size;
    async_complain(state, "a range was given back");
    return TP_EINVAL;
}

static inline int async_double_open(void *state, const struct tp_pool_cfg *cfg, struct tp_err *err)
{
    struct async_double *d = state;
    if (d->opts->open_status)
        return tp_fail(err, (enum tp_status)d->opts->open_status, "the double has no pool");
    if (d->open)
        async_complain(d, "a second pool was opened");
    d->open = true;
    d->cfg = *cfg;
    async_note(d, (struct async_call){.op = ASYNC_OPEN});
    return TP_OK;
}

static inline int async_double_close(void *state)
{
    struct async_double *d = state;
    if (!d->open)
        async_complain(d, "a pool that is not open was closed");
    if (d->live)
        async_complain(d, "%llu blocks were left to pool_close", (unsigned long long)d->live);
    d->open = false;
    async_note(d, (struct async_call){.op = ASYNC_CLOSE});
    return TP_OK;
}

/* A freed piece of this size and stream, or a new one. */
static inline struct async_piece *async_piece_for(struct async_double *d, uint64_t size,
                                                  uint16_t stream)
{
    for (size_t i = d->piece_count; i-- > 0;)
        if (!d->pieces[i].live && d->pieces[i].size == size && d->pieces[i].stream == stream)
            return &d->pieces[i];
    if ((d->piece_count & (d->piece_count + 1)) == 0) {
        d->pieces = realloc(d->pieces, (2 * d->piece_count + 2) * sizeof *d->pieces);
        assert_non_null(d->pieces);
    }
    uint64_t align = d->opts->align;
    tp_addr addr = (d->next + 2 * align - 1) & ~(2 * align - 1);
    struct async_piece *p = &d->pieces[d->piece_count++];
    *p = (struct async_piece){.addr = addr + align, .size = size, .stream = stream};
    d->next = p->addr + size;
    return p;
}

static inline int async_double_get_async(void *state, uint64_t size, uint16_t stream, tp_addr *out)
{
    struct async_double *d = state;
    if (!d->open || !size || stream >= ASYNC_STREAMS)
        async_complain(d, "an allocation of %llu bytes on stream %u", (unsigned long long)size,
                       stream);
    uint64_t most = d->opts->capacity ? d->opts->capacity : UINT64_MAX;
    if (d->cfg.max_size && d->cfg.max_size < most)
        most = d->cfg.max_size;
    if (size > most - d->live_bytes)
        return TP_EOOM;
    struct async_piece *p = async_piece_for(d, size, stream);
    p->live = true;
    async_change_hands(d, p, stream, "an allocation");
    p->born = d->clock[stream][stream];
    d->live++;
    d->live_bytes += size;
    *out = p->addr;
    async_note(d, (struct async_call){ASYNC_GET, stream, 0, p->addr, size});
    return TP_OK;
}

static inline int async_double_put_async(void *state, tp_addr addr, uint16_t stream)
{
    struct async_double *d = state;
    struct async_piece *p = async_find(d, addr);
    if (!d->open || !p || stream >= ASYNC_STREAMS) {
        async_complain(d, "a free of what is not live on stream %u", stream);
        return TP_EINVAL;
    }
    if (++d->puts == d->opts->put_at)
        return TP_EDEVICE;
    async_change_hands(d, p, stream, "a free");
    p->live = false;
    p->stream = stream;
    d->live--;
    d->live_bytes -= p->size;
    async_note(d, (struct async_call){ASYNC_PUT, stream, 0, addr, p->size});
    return TP_OK;
}

static inline int async_double_trim(void *state, uint64_t keep)
{
    struct async_double *d = state;
    if (!d->open)
        async_complain(d, "a trim without a pool");
    async_note(d, (struct async_call){.op = ASYNC_TRIM, .size = keep});
    return (int)d->opts->trim_status;
}

static inline int async_double_marks(void *state, struct tp_pool_marks *out)
{
    const struct async_double *d = state;
    *out = (struct tp_pool_marks){.used = d->live_bytes};
    return TP_OK;
}

static inline int async_double_follow(void *state, uint16_t stream, uint16_t after)
{
    struct async_double *d = state;
    if (stream == after || stream >= ASYNC_STREAMS || after >= ASYNC_STREAMS)
        async_complain(d, "stream %u was to follow stream %u", stream, after);
    if (++d->follows == d->opts->follow_at)
        return TP_EDEVICE;
    for (unsigned x = 0; x < ASYNC_STREAMS; x++)
        if (d->clock[stream][x] < d->clock[after][x])
            d->clock[stream][x] = d->clock[after][x];
    async_note(d, (struct async_call){.op = ASYNC_FOLLOW, .stream = stream, .after = after});
    return TP_OK;
}

/* The address may lie within a block: the caller may have aligned it. */
static inline int async_double_work(void *state, uint16_t stream, tp_addr addr, uint64_t size,
                                    uint64_t ns, enum tp_occupy how)
{
    struct async_double *d = state;
    (void)ns, (void)how;
    async_note(d, (struct async_call){ASYNC_WORK, stream, 0, addr, size});
    for (size_t i = 0; i < d->piece_count; i++) {
        struct async_piece *p = &d->pieces[i];
        if (!p->live || addr < p->addr || addr + size > p->addr + p->size)
            continue;
        if (d->clock[stream][p->stream] < p->born)
            async_complain(d, "work on stream %u is not ordered after the allocation", stream);
        p->last[stream] = ++d->clock[stream][stream];
        return TP_OK;
    }
    async_complain(d, "work on what is not live on stream %u", stream);
    return TP_OK;
}

static inline const char *async_complaint(const struct rig *r)
{
    const struct async_double *d = r->depth ? r->stack[0].state : NULL;
    return d && *d->complaint ? d->complaint : NULL;
}

static const struct tp_source_ops async_double = {
    .name = "double",
    .summary = "a stream-ordered pool without memory",
    .flags = TP_SRC_VIRTUAL,
    .state_size = sizeof(struct async_double),
    .opts_size = sizeof(struct async_double_opts),
    .options = async_double_rows,
    .init = async_double_init,
    .fini = async_double_fini,
    .page = async_double_page,
    .get = async_double_get,
    .put = async_double_put,
    .pool_open = async_double_open,
    .pool_close = async_double_close,
    .get_async = async_double_get_async,
    .put_async = async_double_put_async,
    .pool_trim = async_double_trim,
    .pool_marks = async_double_marks,
    .follow = async_double_follow,
    .work = async_double_work,
};

#endif
