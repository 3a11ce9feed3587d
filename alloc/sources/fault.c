/* The source `fault`: fails chosen calls, for tests and experiments.
 *
 * Calls are counted from 1, mapping and unmapping among gets and puts. A failing get returns out of
 * memory. A failing put returns an error as if the system had refused it, and the range stays held.
 * The source below does not see a failing call. */
#include "alloc/source.h"

struct fault_opts {
    uint64_t get_at, get_every, put_at;
};

struct fault {
    struct tp_source *inner;
    struct fault_opts opts;
    uint64_t gets, puts; /* calls so far */
};

static const struct tp_opt fault_rows[] = {
    TP_UINT_ROW(struct fault_opts, get_at, .def = "0",
                .help = "fail the N-th get with out of memory; 0: none"),
    TP_UINT_ROW(struct fault_opts, get_every, .def = "0",
                .help = "fail every N-th get with out of memory; 0: none"),
    TP_UINT_ROW(struct fault_opts, put_at, .def = "0", .help = "refuse the N-th put; 0: none"),
    {.name = NULL}};

static int fault_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    (void)err;
    struct fault *s = state;
    s->opts = *(const struct fault_opts *)cfg->opts;
    s->inner = cfg->inner;
    return TP_OK;
}

static bool fault_get_now(struct fault *s)
{
    uint64_t n = ++s->gets;
    return n == s->opts.get_at || (s->opts.get_every && n % s->opts.get_every == 0);
}

static int fault_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct fault *s = state;
    return fault_get_now(s) ? TP_EOOM : tp_src_get(s->inner, size, align, out);
}

static int fault_get_async(void *state, uint64_t size, uint16_t stream, tp_addr *out)
{
    struct fault *s = state;
    return fault_get_now(s) ? TP_EOOM : tp_src_get_async(s->inner, size, stream, out);
}

static bool fault_put_now(struct fault *s)
{
    return ++s->puts == s->opts.put_at;
}

static int fault_put(void *state, tp_addr addr, uint64_t size)
{
    struct fault *s = state;
    return fault_put_now(s) ? TP_EIO : tp_src_put(s->inner, addr, size);
}

static int fault_map(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct fault *s = state;
    return fault_get_now(s) ? TP_EOOM : tp_src_map(s->inner, base, from, size);
}

static int fault_unmap(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct fault *s = state;
    return fault_put_now(s) ? TP_EIO : tp_src_unmap(s->inner, base, from, size);
}

static int fault_alias(void *state, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    struct fault *s = state;
    return fault_get_now(s) ? TP_EOOM : tp_src_alias(s->inner, base, from, size, of);
}

static int fault_unalias(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct fault *s = state;
    return fault_put_now(s) ? TP_EIO : tp_src_unalias(s->inner, base, from, size);
}

const struct tp_source_ops tp_source_fault = {
    .name = "fault",
    .summary = "fails chosen calls",
    .flags = TP_SRC_WRAPPER,
    .state_size = sizeof(struct fault),
    .opts_size = sizeof(struct fault_opts),
    .options = fault_rows,
    .init = fault_init,
    .get = fault_get,
    .put = fault_put,
    .map = fault_map,
    .unmap = fault_unmap,
    .alias = fault_alias,
    .unalias = fault_unalias,
    .get_async = fault_get_async,
};
