/* The strategy `bump`: one range, one offset.
 *
 * alloc aligns the offset and adds the size. free only marks the block; memory is reused after a
 * reset, which happens by itself when the last live block is freed. This is a region allocator, as
 * in compilers and inference engines: the fastest strategy, and the most wasteful for objects of
 * different lifetimes. Sizes are rounded up to a multiple of `alignment`. The rest of a range that
 * is too small for a request is dead until the reset.
 *
 * A free with a size larger than the block is refused; a smaller size is accepted, because objects
 * shrink in place.
 *
 * Known weakness: a reset clears two bits per 16 used bytes, and a free of a block longer than 64
 * units reads one bit for each of its units. */
#include "alloc/strategies/bump/bump_ranges.h"

#define BUMP_FIRST (UINT64_C(64) << 10) /* bytes of the first automatic range */
#define BUMP_CAP   (UINT64_C(1) << 30)  /* bytes; automatic ranges stop doubling at this size */

enum on_full { ON_FULL_FALLBACK, ON_FULL_GROW, ON_FULL_FAIL };

struct bump_opts {
    uint64_t size, alignment;
    uint32_t on_full; /* enum on_full */
    bool auto_reset;
};

static const char *const size_words[] = {"auto", NULL};
static const char *const full_words[] = {"fallback", "grow", "fail", NULL};

static const struct tp_opt bump_rows[] = {
    TP_SIZE_ROW(struct bump_opts, size, .def = "auto", .min = 1, .max = UINT64_C(1) << 48,
                .choices = size_words,
                .help = "size of the range\n"
                        "auto: 64 KiB for the first range; each further one doubles"),
    TP_SIZE_ROW(struct bump_opts, alignment, .def = "16", .min = 8, .max = 65536,
                .help = "alignment of every block, a power of two"),
    TP_CHOICE_ROW(struct bump_opts, on_full, .def = "fallback", .choices = full_words,
                  .arg = "WHAT",
                  .help = "action when a range of fixed size is full\n"
                          "fallback: allocate from the memory source\n"
                          "grow: add a range, at least as large\n"
                          "fail: out of memory"),
    TP_FLAG_ROW(struct bump_opts, auto_reset, .def = "yes",
                .help = "start over when the last live block is freed"),
    {.name = NULL}};

static int bump_init(void *state, const struct tp_env *env, const void *options, struct tp_err *err)
{
    struct bump *st = state;
    const struct bump_opts *opts = options;
    if (opts->alignment & (opts->alignment - 1))
        return tp_fail(err, TP_EUSAGE, "strategy 'bump': 'alignment' must be a power of two");
    st->env = env;
    st->mask = opts->alignment - 1;
    st->unit_log2 = opts->alignment >= 16 ? 4 : 3;
    st->leaf_log2 = (uint8_t)(st->unit_log2 + 12);
    st->unit_mask = (UINT64_C(1) << st->unit_log2) - 1;
    st->fixed_size = opts->size == TP_OPT_KEYWORD(0) ? 0 : opts->size;
    st->next_size = st->fixed_size ? st->fixed_size : BUMP_FIRST;
    st->on_full = st->fixed_size ? opts->on_full : ON_FULL_GROW;
    st->auto_reset = opts->auto_reset;
    meta_map_init(&st->leaves, env);
    meta_map_init(&st->fallbacks, env);
    return TP_OK;
}

/* Gives all fallback ranges back; refused ones stay in the table, marked. */
static void put_fallbacks(struct bump *st)
{
    st->carved.now -= held_put_all(st->env, &st->fallbacks);
}

/* Ranges that the source refuses are tried once more when the others are gone. */
static void bump_fini(void *state)
{
    struct bump *st = state;
    put_fallbacks(st);
    for (unsigned again = 0; again < 2; again++)
        for (struct bump_range *r = st->oldest; r; r = r->next)
            put_once(st->env->source, &r->base, r->size);
    for (struct bump_range *r = st->oldest, *next; r; r = next) {
        next = r->next;
        tp_bump_forget(st, r);
    }
    put_fallbacks(st);
    tp_addr_map_fini(&st->fallbacks);
    tp_addr_map_fini(&st->leaves);
}

/* ---- alloc ---- */

/* Serves a request with a range of its own. */
static int alloc_fallback(struct bump *st, const struct tp_req *rq, struct tp_block *out)
{
    int rc = tp_addr_map_reserve(&st->fallbacks, st->fallbacks.count + 1);
    if (rc)
        return rc;
    uint64_t size = round_up(rq->size, st->env->source->page);
    uint64_t align = rq->align > st->mask ? rq->align : st->mask + 1;
    rc = held_get(st->env, &st->fallbacks, size, align, out);
    /* unused ranges, even an empty current one, can make room */
    if (rc == TP_EOOM && tp_bump_give_back(st, 0))
        rc = held_get(st->env, &st->fallbacks, size, align, out);
    if (rc)
        return rc;
    bump_sync(st);
    carved_add(&st->carved, out->allocated);
    st->fallback_count++;
    return TP_OK;
}

/* Do `size` bytes with this alignment fit between `at` and `limit`? Sets *start to their
 * address. */
static bool fits(tp_addr at, tp_addr limit, uint64_t size, uint64_t align, tp_addr *start)
{
    *start = (at + align - 1) & ~(align - 1);
    return *start >= at && *start <= limit && size <= limit - *start;
}

/* Takes [start, start + size) of the current range. There may be a gap before `start`. */
static int take_stretch(struct bump *st, tp_addr start, uint64_t size, struct tp_block *out)
{
    struct bump_leaf *gap = NULL;
    if (start != st->at) {
        gap = leaf_make(st, st->at);
        if (!gap)
            return TP_ENOMEM;
    }
    struct bump_leaf *leaf = leaf_make(st, start);
    if (!leaf)
        return TP_ENOMEM;
    if (gap) {
        bit_set(gap->starts, leaf_bit(st, st->at));
        bit_set(gap->freed, leaf_bit(st, st->at));
    }
    bit_set(leaf->starts, leaf_bit(st, start));
    st->leaf = leaf;
    st->leaf_end = leaf->base + (UINT64_C(1) << st->leaf_log2);
    st->at = start + size;
    st->last = start;
    st->live++;
    *out = (struct tp_block){start, size};
    return TP_OK;
}

/* Gets a new range for a request of `size` bytes. */
static int add_range(struct bump *st, uint64_t size, uint64_t align)
{
    uint64_t bytes = size > st->next_size ? size : st->next_size;
    int rc = tp_bump_get_range(st, bytes, align);
    if (rc == TP_EOOM && bytes > size)
        rc = tp_bump_get_range(st, size, align);
    if (rc == TP_EOOM && tp_bump_give_back(st, 0))
        rc = tp_bump_get_range(st, size, align);
    if (!rc && !st->fixed_size && size <= st->next_size && st->next_size < BUMP_CAP)
        st->next_size *= 2;
    return rc;
}

/* Makes the first range after the current one that fits the request the current one; gets a new
 * range if none fits. On failure nothing has changed. */
static int move_on(struct bump *st, uint64_t size, uint64_t align, tp_addr *start)
{
    struct bump_range *r = st->current ? st->current->next : st->oldest;
    while (r && (align > r->align || !fits(r->base, r->base + r->size, size, align, start)))
        r = r->next;
    if (!r) {
        int rc = add_range(st, size, align);
        if (rc)
            return rc;
        r = st->newest;
    }
    bump_enter(st, r);
    *start = r->base;
    return TP_OK;
}

OUT_OF_LINE int alloc_slow(struct bump *st, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > BUMP_MAX_BYTES)
        return TP_EOOM;
    uint64_t size = (rq->size + st->mask) & ~st->mask;
    uint64_t align = rq->align > st->mask ? rq->align : st->mask + 1;
    /* the first range has the fixed size, whatever the request */
    if (!st->oldest && st->fixed_size) {
        int rc = tp_bump_get_range(st, st->fixed_size, align);
        if (rc && !(rc == TP_EOOM && st->on_full == ON_FULL_FALLBACK))
            return rc;
        bump_enter(st, st->oldest);
    }
    /* the current range was given back and others were refused, so all remaining ranges are
     * empty */
    if (!st->current && st->oldest)
        bump_enter(st, st->oldest);
    tp_addr start = 0;
    if (st->current && align <= st->align && fits(st->at, st->limit, size, align, &start))
        return take_stretch(st, start, size, out);
    if (st->on_full == ON_FULL_FALLBACK)
        return alloc_fallback(st, rq, out);
    if (st->on_full == ON_FULL_FAIL)
        return TP_EOOM;
    int rc = move_on(st, size, align, &start);
    return rc ? rc : take_stretch(st, start, size, out);
}

static inline int alloc_block(struct bump *st, const struct tp_req *rq, struct tp_block *out)
{
    uint64_t size = (rq->size + st->mask) & ~st->mask;
    tp_addr at = st->at;
    /* an alignment of 0 wraps around and is above that of every range */
    uint64_t below = rq->align - 1;
    if (LIKELY(at < st->leaf_end && size - 1 < st->limit - at && below < st->align &&
               !((at | rq->align) & below))) {
        bit_set(st->leaf->starts, leaf_bit(st, at));
        st->at = at + size;
        st->last = at;
        st->live++;
        *out = (struct tp_block){at, size};
        return TP_OK;
    }
    return alloc_slow(st, rq, out);
}

static int bump_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)thread;
    return alloc_block(state, rq, out);
}

/* ---- free, resize, reset, trim ---- */

OUT_OF_LINE int free_fallback(struct bump *st, tp_addr addr, uint64_t size)
{
    uint64_t *value = held_find(&st->fallbacks, addr);
    if (!value || size - 1 >= held_bytes(st->env, *value))
        return TP_EINVAL;
    st->carved.now -= held_put(st->env, &st->fallbacks, addr, value);
    return TP_OK;
}

/* The leaf of an address, or NULL. The leaf is remembered in `seen`. */
OUT_OF_LINE struct bump_leaf *look_up(struct bump *st, tp_addr addr)
{
    struct bump_leaf *leaf = leaf_find(st, addr);
    if (leaf)
        st->seen = leaf;
    return leaf;
}

/* Is one of the bits from `first` to `last` set? There is no branch per word, because nearly always
 * all words must be read. */
static inline bool any_bit(const uint64_t *words, unsigned first, unsigned last)
{
    uint64_t from = UINT64_MAX << first % 64, to = UINT64_MAX >> (63 - last % 64);
    if (first > last)
        return false;
    if (first / 64 == last / 64)
        return words[first / 64] & from & to;
    uint64_t any = (words[first / 64] & from) | (words[last / 64] & to);
    for (unsigned w = first / 64 + 1; w < last / 64; w++)
        any |= words[w];
    return any;
}

/* Does another block begin, or the range end, within `size` bytes from `addr`? */
OUT_OF_LINE bool reaches_too_far(const struct bump *st, const struct bump_leaf *leaf, tp_addr addr,
                                 uint64_t size)
{
    const struct bump_range *r = leaf->range;
    tp_addr end = r == st->current ? st->at : r->base + r->used;
    if (size - 1 >= end - addr)
        return true;
    tp_addr last = addr + (size - 1);
    unsigned first = leaf_bit(st, addr) + 1;
    for (; leaf && leaf->base <= last; leaf = leaf->next, first = 0) {
        bool ends_here = last >> st->leaf_log2 == leaf->base >> st->leaf_log2;
        if (any_bit(leaf->starts, first, ends_here ? leaf_bit(st, last) : BUMP_WORDS * 64 - 1))
            return true;
    }
    return false;
}

static inline int free_block(struct bump *st, tp_addr addr, const struct tp_req *rq)
{
    struct bump_leaf *leaf = st->seen;
    if (UNLIKELY(!leaf || (addr ^ leaf->base) >> st->leaf_log2))
        leaf = look_up(st, addr);
    if (UNLIKELY(!leaf || addr & st->unit_mask))
        return free_fallback(st, addr, rq->size);
    unsigned word = leaf_bit(st, addr) / 64, bit = leaf_bit(st, addr) % 64;
    uint64_t from = leaf->starts[word] >> bit, behind = from >> 1;
    if (UNLIKELY(!(from & ~(leaf->freed[word] >> bit) & 1)))
        return free_fallback(st, addr, rq->size);
    bool too_far;
    if (behind)
        too_far = (rq->size - 1) >> st->unit_log2 > (uint64_t)__builtin_ctzll(behind);
    else if (addr == st->last)
        too_far = rq->size - 1 >= st->at - addr;
    else
        too_far = reaches_too_far(st, leaf, addr, rq->size);
    if (UNLIKELY(too_far))
        return TP_EINVAL;
    /* the reset clears the bits, so the free need not set one */
    if (st->live == 1 && st->auto_reset) {
        bump_rewind(st);
        return TP_OK;
    }
    leaf->freed[word] |= UINT64_C(1) << bit;
    st->live--;
    return TP_OK;
}

static int bump_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    return free_block(state, addr, rq);
}

static uint64_t bump_usable(void *state, tp_addr addr)
{
    struct bump *st = state;
    if (bump_is_live(st, addr))
        return tp_bump_block_size(st, addr);
    return held_usable(st->env, &st->fallbacks, addr);
}

/* Resizes in place: any block within its allocated bytes, and the newest block up to the end of its
 * range. */
static int bump_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                       struct tp_block *out)
{
    (void)thread;
    struct bump *st = state;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    uint64_t allocated =
        addr == st->last && bump_is_live(st, addr) ? st->at - addr : bump_usable(st, addr);
    if (!allocated)
        return TP_EINVAL;
    if (addr & (rq->align - 1) || rq->size > BUMP_MAX_BYTES)
        return TP_EUNSUP;
    if (rq->size > allocated) {
        uint64_t size = (rq->size + st->mask) & ~st->mask;
        if (addr != st->last || size > st->limit - addr)
            return TP_EUNSUP;
        st->at = addr + size;
        allocated = size;
    }
    *out = (struct tp_block){addr, allocated};
    return TP_OK;
}

static int bump_reset(void *state)
{
    put_fallbacks(state);
    bump_rewind(state);
    return TP_OK;
}

static int bump_trim(void *state, uint64_t keep)
{
    tp_bump_give_back(state, keep);
    return TP_OK;
}

/* ---- never timed ---- */

static void bump_stats(void *state, struct tp_stats *out)
{
    struct bump *st = state;
    bump_sync(st);
    *out = (struct tp_stats){.carved_bytes = st->carved.now,
                             .peak_carved_bytes = st->carved.peak,
                             .fallbacks = st->fallback_count,
                             .start_bytes = st->fixed_size ? st->fixed_size : BUMP_FIRST};
}

const struct tp_strategy tp_strategy_bump = {
    .name = "bump",
    .summary = "one range",
    .resembles = "a region: no individual frees",
    .to_use = "a model of an arena or monotonic buffer (std::pmr::monotonic_buffer_resource) in\n"
              "the program itself",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_NOFREE,
    .state_size = sizeof(struct bump),
    .opts_size = sizeof(struct bump_opts),
    .options = bump_rows,
    .init = bump_init,
    .fini = bump_fini,
    .alloc = bump_alloc,
    .free = bump_free,
    .resize = bump_resize,
    .reset = bump_reset,
    .trim = bump_trim,
    .usable = bump_usable,
    .stats = bump_stats,
    .walk = tp_bump_walk,
    .check = tp_bump_check,
};
