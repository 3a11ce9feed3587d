/* The source `shuffle`: randomises the order of addresses.
 *
 * A strategy's decisions must not depend on addresses; the conformance suite runs each strategy
 * with and without this source and compares. Over real memory it gets several ranges of the same
 * size, keeps one of them at random and gives the others back. It makes do with fewer where the
 * source below refuses some, so that it never fails where that source would not. On a device whose
 * ranges share pages, the kept range can cost one page more than `cost` predicted. Over `virtual`,
 * whose addresses only rise, it invents addresses below 2^61 and translates them.
 *
 *     strategy's address --> | 0x1b3..0000 | --> virtual's address
 *     (table `ranges`, tag = below) */
#include "alloc/base/random.h"
#include "alloc/base/range_table.h"
#include "alloc/source.h"

#define SHUFFLE_DECOYS 3u
#define SHUFFLE_BITS   61

struct shuffle_opts {
    uint64_t seed;
};

struct shuffle {
    struct tp_source *inner;
    uint64_t random;
    bool translates;
    /* used only over `virtual`, where addresses are translated */
    struct tp_range_table ranges, spaces;
};

static const struct tp_opt shuffle_rows[] = {
    TP_UINT_ROW(struct shuffle_opts, seed, .def = "1", .help = "seed of the random order"),
    {.name = NULL}};

static int shuffle_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    (void)err;
    struct shuffle *s = state;
    s->inner = cfg->inner;
    s->random = ((const struct shuffle_opts *)cfg->opts)->seed ^ cfg->seed;
    s->translates = (s->inner->flags & TP_SRC_VIRTUAL) != 0;
    return TP_OK;
}

/* Ranges and spaces that are still held are given back by the fini of the source below; here only
 * the translations go. */
static void shuffle_fini(void *state)
{
    struct shuffle *s = state;
    for (const struct tp_address_range *r; (r = tp_ranges_any(&s->ranges)) != NULL;) {
        tp_src_put(s->inner, r->tag_addr, r->size);
        tp_ranges_remove(&s->ranges, r);
    }
    tp_ranges_fini(&s->ranges);
    tp_ranges_fini(&s->spaces);
}

/* Puts what lies at `below` at an invented address, in one of the tables. */
static int translate(struct shuffle *s, struct tp_range_table *table, tp_addr below, uint64_t size,
                     uint64_t align, tp_addr *out)
{
    uint64_t page = s->inner->page;
    uint64_t mask = (align > page ? align : page) - 1;
    for (int tries = 0; tries < 64; tries++) {
        tp_addr addr = (tp_random_split(&s->random) >> (64 - SHUFFLE_BITS)) & ~mask;
        if (addr && !tp_ranges_overlap(&s->ranges, addr, size) &&
            !tp_ranges_overlap(&s->spaces, addr, size)) {
            tp_ranges_insert(table, (struct tp_address_range){addr, size, below, size});
            *out = addr;
            return TP_OK;
        }
    }
    return TP_EOOM;
}

static int get_translated(struct shuffle *s, uint64_t size, uint64_t align, tp_addr *out)
{
    if (tp_ranges_reserve(&s->ranges))
        return TP_ENOMEM;
    tp_addr below = 0;
    int rc = tp_src_get(s->inner, size, align, &below);
    if (rc)
        return rc;
    rc = translate(s, &s->ranges, below, size, align, out);
    if (rc)
        tp_src_put(s->inner, below, size);
    return rc;
}

static int get_among_decoys(struct shuffle *s, uint64_t size, uint64_t align, tp_addr *out)
{
    tp_addr got[SHUFFLE_DECOYS + 1];
    int rc = tp_src_get(s->inner, size, align, &got[0]);
    if (rc)
        return rc;
    uint64_t count = 1, wanted = 1 + tp_random_split(&s->random) % SHUFFLE_DECOYS;
    while (count <= wanted && !tp_src_get(s->inner, size, align, &got[count]))
        count++;
    uint64_t chosen = tp_random_split(&s->random) % count;
    *out = got[chosen];
    for (uint64_t i = 0; i < count; i++)
        if (i != chosen)
            tp_src_put(s->inner, got[i], size);
    return TP_OK;
}

static int shuffle_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct shuffle *s = state;
    return s->translates ? get_translated(s, size, align, out)
                         : get_among_decoys(s, size, align, out);
}

static int shuffle_put(void *state, tp_addr addr, uint64_t size)
{
    struct shuffle *s = state;
    if (!s->translates)
        return tp_src_put(s->inner, addr, size);
    const struct tp_address_range *r = tp_ranges_exact(&s->ranges, addr, size);
    if (!r)
        return TP_EINVAL;
    int rc = tp_src_put(s->inner, r->tag_addr, size);
    if (!rc)
        tp_ranges_remove(&s->ranges, r);
    return rc;
}

/* ---- spaces: over real memory their addresses are the kernel's choice as they are ---- */

static int shuffle_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out)
{
    struct shuffle *s = state;
    if (tp_ranges_reserve(&s->spaces))
        return TP_ENOMEM;
    int rc = tp_src_space_get(s->inner, size, unit, out);
    if (rc || !s->translates)
        return rc;
    tp_addr below = *out;
    rc = translate(s, &s->spaces, below, size, tp_src_map_page(s->inner), out);
    if (rc)
        tp_src_space_put(s->inner, below, size);
    return rc;
}

/* Where the space at `base` lies below; 0: there is none. */
static tp_addr space_below(const struct shuffle *s, tp_addr base)
{
    const struct tp_address_range *r = s->translates ? tp_ranges_find(&s->spaces, base) : NULL;
    if (!s->translates)
        return base;
    return r && r->addr == base ? r->tag_addr : 0;
}

static int shuffle_space_put(void *state, tp_addr base, uint64_t size)
{
    struct shuffle *s = state;
    int rc = tp_src_space_put(s->inner, space_below(s, base), size);
    if (!rc && s->translates)
        tp_ranges_remove(&s->spaces, tp_ranges_exact(&s->spaces, base, size));
    return rc;
}

static int shuffle_map(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct shuffle *s = state;
    return tp_src_map(s->inner, space_below(s, base), from, size);
}

static int shuffle_unmap(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct shuffle *s = state;
    return tp_src_unmap(s->inner, space_below(s, base), from, size);
}

static int shuffle_alias(void *state, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    struct shuffle *s = state;
    const struct tp_address_range *r = s->translates ? tp_ranges_find(&s->spaces, of) : NULL;
    return tp_src_alias(s->inner, space_below(s, base), from, size,
                        r ? r->tag_addr + (of - r->addr) : of);
}

static int shuffle_unalias(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct shuffle *s = state;
    return tp_src_unalias(s->inner, space_below(s, base), from, size);
}

const struct tp_source_ops tp_source_shuffle = {
    .name = "shuffle",
    .summary = "randomizes the order of addresses",
    .flags = TP_SRC_WRAPPER,
    .state_size = sizeof(struct shuffle),
    .opts_size = sizeof(struct shuffle_opts),
    .options = shuffle_rows,
    .init = shuffle_init,
    .fini = shuffle_fini,
    .get = shuffle_get,
    .put = shuffle_put,
    .space_get = shuffle_space_get,
    .space_put = shuffle_space_put,
    .map = shuffle_map,
    .unmap = shuffle_unmap,
    .alias = shuffle_alias,
    .unalias = shuffle_unalias,
};
