/* The source `fault`: fails chosen calls, for tests and for trying a program's luck.
 *
 * Calls are counted from 1. A failing get is out of memory; a failing put is a refusal of the
 * system, after which the range is still held. The source below does not see a call that fails. */
#include "alloc/sources/pass.h"

struct fault_opts {
    uint64_t get_at, get_every, put_at;
};

struct fault {
    struct pass pass; /* first */
    struct fault_opts opts;
    uint64_t gets, puts; /* calls so far */
};

#define FAULT_ROW(member, text)                                                                    \
    {                                                                                              \
        .name = #member, .type = TP_OPT_UINT, .offset = offsetof(struct fault_opts, member),       \
        .def = "0", .arg = "N", .help = text                                                       \
    }

static const struct tp_opt fault_rows[] = {
    FAULT_ROW(get_at, "the N-th get is out of memory, 0 = none"),
    FAULT_ROW(get_every, "every N-th get is out of memory, 0 = none"),
    FAULT_ROW(put_at, "the N-th put is refused, 0 = none"),
    {.name = NULL}};

static int fault_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct fault *s = state;
    s->opts = *(const struct fault_opts *)cfg->opts;
    return pass_init(&s->pass, cfg, "fault", err);
}

static bool fault_get_now(struct fault *s)
{
    uint64_t n = ++s->gets;
    return n == s->opts.get_at || (s->opts.get_every && n % s->opts.get_every == 0);
}

static int fault_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    return fault_get_now(state) ? TP_EOOM : pass_get(state, size, align, out);
}

static int fault_get_async(void *state, uint64_t size, uint16_t stream, tp_addr *out)
{
    return fault_get_now(state) ? TP_EOOM : pass_get_async(state, size, stream, out);
}

static int fault_put(void *state, tp_addr addr, uint64_t size)
{
    struct fault *s = state;
    if (++s->puts == s->opts.put_at)
        return TP_EIO;
    return pass_put(s, addr, size);
}

const struct tp_source_ops tp_source_fault = {
    .name = "fault",
    .summary = "fails chosen calls",
    .flags = TP_SRC_DECORATOR,
    .state_size = sizeof(struct fault),
    .opts_size = sizeof(struct fault_opts),
    .options = fault_rows,
    .init = fault_init,
    .fini = pass_fini,
    .page = pass_page,
    .capacity = pass_capacity,
    .get = fault_get,
    .put = fault_put,
    .record = pass_record,
    .done = pass_done,
    .wait = pass_wait,
    .synced = pass_synced,
    .host = pass_host,
    .pool_open = pass_pool_open,
    .get_async = fault_get_async,
    PASS_POOL_MEMBERS,
    PASS_DEVICE_MEMBERS,
};
