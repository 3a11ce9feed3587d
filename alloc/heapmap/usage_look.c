/* Snapshots of the usage pass: at the trace peak, at the first failure, and by phases. */
#include "alloc/heapmap/usage.h"

struct tally {
    uint64_t bytes[TP_WALK_COUNT];
    uint64_t free_blocks, largest, largest_span;
};

static void tally_piece(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct tally *t = ctx;
    (void)addr;
    t->bytes[kind] += size;
    if (kind != TP_WALK_CACHED && kind != TP_WALK_SPAN)
        return;
    t->free_blocks++;
    tp_usage_raise(&t->largest, size);
    if (kind == TP_WALK_SPAN)
        tp_usage_raise(&t->largest_span, size);
}

int tp_usage_check_books(const struct tp_usage *u, const struct tp_usage_device *d,
                         const uint64_t bytes[TP_WALK_COUNT])
{
    uint64_t sum = 0, ranges = tp_account_ranges(d->account);
    for (int k = 0; k < TP_WALK_COUNT; k++)
        sum += bytes[k];
    if (sum == ranges && bytes[TP_WALK_LIVE] == d->allocated)
        return TP_OK;
    return tp_fail(u->err, TP_EBROKEN,
                   "strategy '%s' accounts for %llu of %llu bytes of its ranges, and for %llu of "
                   "%llu allocated",
                   u->replayer->strategy->name, (unsigned long long)sum, (unsigned long long)ranges,
                   (unsigned long long)bytes[TP_WALK_LIVE], (unsigned long long)d->allocated);
}

/* Walks the strategy and fills in the members of `at` that come from the walk. Returns the size of
 * the largest span. */
static uint64_t walk_now(struct tp_usage *u, struct tp_usage_device *d, struct tp_at_peak *at)
{
    const struct tp_strategy *s = u->replayer->strategy;
    struct tally t = {0};
    if (!s->walk || u->pool ||
        s->walk(u->replayer->instances[d - u->devices].state, tally_piece, &t) != TP_OK)
        return 0;
    if (!u->status)
        u->status = tp_usage_check_books(u, d, t.bytes);
    at->free_blocks = t.free_blocks;
    at->largest = t.largest;
    at->cached = t.bytes[TP_WALK_CACHED];
    at->span = t.bytes[TP_WALK_SPAN];
    at->dead = t.bytes[TP_WALK_DEAD];
    at->internal = t.bytes[TP_WALK_INTERNAL];
    at->page_rest = at->reserved - tp_account_ranges(d->account);
    return t.largest_span;
}

static double share_missing(uint64_t part, uint64_t whole)
{
    return whole ? 1 - (double)part / (double)whole : NAN;
}

/* The current state of a device; the caller fills in `event` and `time_ns`. */
static struct tp_at_peak state_of(const struct tp_usage *u, const struct tp_usage_device *d)
{
    uint64_t reserved = tp_usage_reserved(u, d);
    struct tp_at_peak at;
    memset(&at, 0xff, sizeof at); /* sets every member to TP_NONE */
    at.event = at.time_ns = 0;
    at.requested = d->requested;
    at.allocated = d->allocated;
    at.reserved = reserved;
    at.free_bytes = reserved > d->allocated ? reserved - d->allocated : 0;
    if (u->pool)
        tp_usage_pool_state(&at);
    return at;
}

void tp_usage_sample_foreign(struct tp_usage *u, struct tp_usage_device *d)
{
    const struct tp_strategy *s = u->replayer->strategy;
    if (!u->foreign || !s->stats)
        return;
    struct tp_stats stats = {0};
    s->stats(u->replayer->instances[d - u->devices].state, &stats);
    u->silent = stats.reserved_bytes == TP_NONE;
    d->foreign_reserved = u->silent ? 0 : stats.reserved_bytes;
}

void tp_usage_snapshot(struct tp_usage *u, struct tp_usage_device *d)
{
    struct tp_at_peak *at = &d->run->at_peak;
    tp_usage_sample_foreign(u, d);
    *at = state_of(u, d);
    at->event = d->demand->event;
    at->time_ns = d->demand->time_ns;
    d->run->internal_fragmentation = share_missing(at->requested, at->allocated);
    d->run->unused_reserved = share_missing(at->allocated, at->reserved);
    uint64_t largest_span = walk_now(u, d, at);
    if (at->span && at->span != TP_NONE)
        d->run->external_fragmentation = 1 - (double)largest_span / (double)at->span;
}

/* ---- failures ---- */

const char *const tp_oom_names[TP_OOM_CLASSES] = {"demand", "fragmentation", "strategy", "unknown",
                                                  "guard"};

/* The strategy did not ask for the memory, and the device had room for it. */
static bool limits_itself(const struct tp_usage *u, const struct tp_usage_device *d, uint64_t size)
{
    uint64_t reserved = tp_usage_reserved(u, d), capacity = d->run->capacity;
    return d->account->refused_gets == d->refused_before &&
           (capacity == TP_NONE || (reserved <= capacity && size <= capacity - reserved));
}

/* Why an allocation failed, judged by the bytes that the strategy holds at that moment. After
 * earlier failures these are fewer than the program assumes. */
static enum tp_oom_class classify(const struct tp_usage *u, const struct tp_usage_device *d,
                                  const struct tp_insn *insn)
{
    const struct tp_account *a = d->account;
    if (u->foreign)
        return TP_OOM_UNKNOWN;
    if (limits_itself(u, d, insn->size))
        return TP_OOM_STRATEGY;
    if (a->guarded_gets)
        return TP_OOM_GUARD;
    if (d->run->capacity == TP_NONE)
        return TP_OOM_UNKNOWN;
    /* requested bytes without those that a realloc replaces */
    uint64_t others = d->requested - tp_usage_replaced(u, insn);
    return others + insn->size > d->run->capacity ? TP_OOM_DEMAND : TP_OOM_FRAGMENTATION;
}

void tp_usage_refusal(struct tp_usage *u, struct tp_usage_device *d, const struct tp_insn *insn)
{
    struct tp_device_run *run = d->run;
    enum tp_oom_class oom_class = classify(u, d, insn);
    run->failed_by[oom_class]++;
    run->failed_initial += !u->initial_heap_over;
    if (run->failed_allocations++)
        return;
    struct tp_first_failure *f = &run->first_failure;
    *f = (struct tp_first_failure){.at = state_of(u, d),
                                   .size = insn->size,
                                   .align = UINT64_C(1) << insn->align_log2,
                                   .replaced = tp_usage_replaced(u, insn),
                                   .capacity = run->capacity,
                                   .oom_class = oom_class,
                                   .mark = d->mark};
    walk_now(u, d, &f->at);
    tp_usage_device_failure(u, d);
}

/* ---- phases ---- */

/* Opens the first phase, which lasts until the first MARK. Without MARKs there are no phases. */
void tp_usage_phases_open(struct tp_usage_device *d, const struct tp_program_facts *facts)
{
    d->mark = UINT32_MAX;
    if (!facts->marks)
        return;
    d->run->phase_count = 1;
    d->run->phases[0] = (struct tp_phase){.mark = UINT32_MAX, .times = 1};
}

/* The index of the phase of a name, added if it is new; TP_PHASES when there is no room. */
static uint32_t find_phase(struct tp_device_run *run, uint32_t mark, uint64_t event)
{
    for (uint32_t i = 0; i < run->phase_count; i++)
        if (run->phases[i].mark == mark)
            return i;
    if (run->phase_count == TP_PHASES)
        return TP_PHASES;
    run->phases[run->phase_count] = (struct tp_phase){.mark = mark, .first_event = event};
    return run->phase_count++;
}

void tp_usage_mark(struct tp_usage *u, uint32_t mark, uint64_t event)
{
    for (uint16_t i = 0; i < u->replayer->facts->devices; i++) {
        struct tp_usage_device *d = &u->devices[i];
        const uint64_t now[] = {d->requested, d->allocated, tp_usage_reserved(u, d)};
        d->mark = mark;
        d->phase = find_phase(d->run, mark, event);
        if (d->phase < TP_PHASES)
            d->run->phases[d->phase].times++;
        tp_usage_phase_peaks(d, now);
    }
}
