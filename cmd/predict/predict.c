/* See predict.h. */
#include "cmd/predict/predict.h"

#include "alloc/base/ascending.h"

#include "cmd/predict/align.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"
#include "traces/lower/unlower.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the prediction");
}

/* ---- requests by call stack and size ---- */

struct sized_request {
    uint64_t key, size;
    size_t index;
};

static int by_key_and_size(const void *a, const void *b)
{
    const struct sized_request *x = a, *y = b;
    return x->key != y->key ? tp_order(x->key, y->key) : tp_order(x->size, y->size);
}

static int by_all(const void *a, const void *b)
{
    const struct sized_request *x = a, *y = b;
    int order = by_key_and_size(a, b);
    return order ? order : tp_order(x->index, y->index);
}

/* ---- the initial heap: what is live in no order ---- */

static struct sized_request *list_blocks(const struct tp_sample_run *r)
{
    struct sized_request *list = calloc(r->initial + 1, sizeof *list);
    for (size_t i = 0; list && i < r->initial; i++)
        list[i] = (struct sized_request){r->requests[i].key, r->requests[i].size, i};
    if (list)
        qsort(list, r->initial, sizeof *list, by_all);
    return list;
}

/* Pairs blocks of one key: those of equal sizes first, the rest by their order, if both sides have
 * as many of them. */
static void pair_group(struct sized_request *a, size_t count, struct sized_request *b, size_t other,
                       size_t *pairs)
{
    size_t left = 0, right = 0;
    for (size_t i = 0, k = 0; i < count || k < other;) {
        if (i < count && k < other && a[i].size == b[k].size)
            pairs[a[i++].index] = b[k++].index;
        else if (k == other || (i < count && a[i].size < b[k].size))
            a[left++] = a[i++];
        else
            b[right++] = b[k++];
    }
    for (size_t i = 0; left == right && i < left; i++)
        pairs[a[i].index] = b[i].index;
}

static size_t end_of_group(const struct sized_request *list, size_t from, size_t count)
{
    size_t end = from;
    while (end < count && list[end].key == list[from].key)
        end++;
    return end;
}

static int pair_initial(const struct tp_sample_run *base, const struct tp_sample_run *other,
                        size_t *pairs, struct tp_err *err)
{
    struct sized_request *a = list_blocks(base), *b = list_blocks(other);
    int rc = a && b ? TP_OK : no_memory(err);
    for (size_t i = 0; i < base->initial; i++)
        pairs[i] = TP_UNPAIRED;
    for (size_t i = 0, k = 0; rc == TP_OK && i < base->initial && k < other->initial;) {
        size_t end = end_of_group(a, i, base->initial), last = end_of_group(b, k, other->initial);
        bool same = a[i].key == b[k].key, before = a[i].key < b[k].key;
        if (same)
            pair_group(a + i, end - i, b + k, last - k, pairs);
        i = same || before ? end : i;
        k = same || !before ? last : k;
    }
    free(a);
    free(b);
    return rc;
}

/* ---- alignment ---- */

static uint64_t *list_keys(const struct tp_sample_run *r)
{
    uint64_t *keys = calloc(r->count + 1, sizeof *keys);
    for (size_t i = r->initial; keys && i < r->count; i++)
        keys[i - r->initial] = r->requests[i].key;
    return keys;
}

int tp_predict_pairs(const struct tp_sample_run *base, const struct tp_sample_run *other,
                     size_t *pairs, struct tp_err *err)
{
    uint64_t *first = list_keys(base), *second = list_keys(other);
    size_t events = base->count - base->initial;
    int rc = first && second ? pair_initial(base, other, pairs, err) : no_memory(err);
    if (rc == TP_OK)
        rc = tp_align(first, events, second, other->count - other->initial, pairs + base->initial,
                      err);
    for (size_t i = base->initial; rc == TP_OK && i < base->count; i++)
        if (pairs[i] != TP_UNPAIRED)
            pairs[i] += other->initial;
    free(first);
    free(second);
    return rc;
}

static uint64_t bytes_of(const struct tp_sample_run *r)
{
    uint64_t bytes = r->bytes;
    for (size_t i = 0; i < r->initial; i++)
        bytes += r->requests[i].size;
    return bytes;
}

static void set_share(struct tp_predict_gap *gap, const struct tp_sample_run *of)
{
    uint64_t all = bytes_of(of);
    gap->share = all ? (double)gap->bytes / (double)all : 0;
}

/* What the other recording has and the base lacks. */
static struct tp_predict_gap missing_in(const struct tp_sample_run *base,
                                        const struct tp_sample_run *other, const size_t *pairs)
{
    struct tp_predict_gap gap = {bytes_of(other), other->count, 0};
    for (size_t i = 0; i < base->count; i++)
        if (pairs[i] != TP_UNPAIRED) {
            gap.bytes -= other->requests[pairs[i]].size;
            gap.requests--;
        }
    set_share(&gap, other);
    return gap;
}

/* ---- laws ---- */

/* The recorded sizes of one request of the base. */
struct points {
    struct tp_axis_values *at;
    uint64_t *size;
    size_t *order; /* of the recordings, the nearest to the value first */
    size_t *pairs; /* by recording, then by request; those of the base are not set */
};

/* Any two points lie on a + k n, and many on a law with n rounded up. And blocks of the recorded
 * heap are matched by their sizes: which of two is the one that grew is not known where that makes
 * it a square. */
static bool is_guessed(const struct tp_law *law, size_t points, bool initial)
{
    return points == 2 && (law->kind == TP_LAW_SHIFTED || law->kind == TP_LAW_PADDED ||
                           (initial && law->kind == TP_LAW_POWER && law->power > 1));
}

static void find_law(struct tp_prediction *p, const struct points *at, size_t i)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    size_t count = 0, used;
    for (size_t place = 0; place < p->count; place++) {
        size_t k = at->order[place];
        size_t pair = k == p->base ? i : at->pairs[k * base->count + i];
        if (pair == TP_UNPAIRED)
            continue;
        at->at[count] = p->recordings[k]->at;
        at->size[count++] = p->recordings[k]->requests[pair].size;
    }
    struct tp_predicted *of = &p->requests[i];
    *of = (struct tp_predicted){tp_law_of_settings(at->at, at->size, count), (uint32_t)count, false,
                                false};
    for (used = count; of->law.kind == TP_LAW_NONE && !of->law.ambiguous && used > 2;)
        of->law = tp_law_of_settings(at->at, at->size, --used);
    of->narrowed = of->law.kind != TP_LAW_NONE && used < count;
    p->narrowed += of->narrowed;
    bool guessed = is_guessed(&of->law, used, i < base->initial);
    p->ambiguous += of->law.or_shifted > 0;
    struct tp_predict_gap *gap = count < 2 ? &p->alone : &p->lawless;
    p->aligned += count >= 2;
    p->kinds[of->law.kind] += count >= 2;
    if (count >= 2 && of->law.kind != TP_LAW_NONE && !guessed)
        return;
    of->doubtful = true;
    if (guessed && of->law.kind == TP_LAW_POWER)
        of->law = (struct tp_law){.kind = TP_LAW_NONE};
    gap->bytes += base->requests[i].size;
    gap->requests++;
}

/* ---- twins ---- */

static bool is_same_law(const struct tp_law *a, const struct tp_law *b)
{
    return a->kind == b->kind && a->power == b->power && a->multiple == b->multiple &&
           a->or_shifted == b->or_shifted && a->size[1] == b->size[1] && a->padded == b->padded &&
           !memcmp(a->powers, b->powers, sizeof a->powers) &&
           !memcmp(a->parts, b->parts, sizeof a->parts);
}

/* Of requests of one call stack and size the first stands for all; it has no index where their laws
 * differ. */
static size_t join_twins(const struct tp_prediction *p, struct sized_request *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct sized_request *last = kept ? &list[kept - 1] : NULL;
        if (!last || by_key_and_size(last, &list[i]) != 0)
            list[kept++] = list[i];
        else if (last->index != SIZE_MAX &&
                 !is_same_law(&p->requests[last->index].law, &p->requests[list[i].index].law))
            last->index = SIZE_MAX;
    }
    return kept;
}

static struct sized_request *list_twins(const struct tp_prediction *p, size_t *count)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    struct sized_request *list = calloc(base->count + 1, sizeof *list);
    size_t all = 0;
    for (size_t i = base->initial; list && i < base->count; i++)
        if (p->requests[i].points > 1 && p->requests[i].law.kind != TP_LAW_NONE)
            list[all++] = (struct sized_request){base->requests[i].key, base->requests[i].size, i};
    if (list)
        qsort(list, all, sizeof *list, by_all);
    *count = list ? join_twins(p, list, all) : 0;
    return list;
}

/* The law that all twins of a request have; NULL: there is none, or they differ. */
static const struct tp_law *law_of_twins(const struct tp_prediction *p,
                                         const struct sized_request *list, size_t count,
                                         const struct tp_request *of)
{
    const struct sized_request key = {of->key, of->size, 0};
    const struct sized_request *at = bsearch(&key, list, count, sizeof *list, by_key_and_size);
    return at && at->index != SIZE_MAX ? &p->requests[at->index].law : NULL;
}

static void move_gap(struct tp_predict_gap *from, struct tp_predict_gap *to, uint64_t bytes)
{
    from->bytes -= bytes;
    from->requests--;
    to->bytes += bytes;
    to->requests++;
}

/* The call stacks of the recording that is most like the base. */
static uint64_t *known_stacks(const struct tp_prediction *p)
{
    const struct tp_sample_run *r = p->recordings[p->alike];
    uint64_t *keys = list_keys(r);
    if (keys)
        qsort(keys, r->count - r->initial, sizeof *keys, tp_by_number);
    return keys;
}

static void settle(struct tp_prediction *p, size_t i, const struct tp_law *law, bool known)
{
    struct tp_predicted *of = &p->requests[i];
    uint64_t size = p->recordings[p->base]->requests[i].size;
    if (law) {
        of->law = *law;
        move_gap(&p->alone, &p->twins, size);
    } else if (known) {
        of->law = (struct tp_law){.kind = TP_LAW_NONE};
        move_gap(&p->alone, &p->doubtful, size);
    }
}

static int find_twins(struct tp_prediction *p, struct tp_err *err)
{
    const struct tp_sample_run *base = p->recordings[p->base], *alike = p->recordings[p->alike];
    size_t count = 0;
    if (!p->alone.requests)
        return TP_OK;
    struct sized_request *list = list_twins(p, &count);
    uint64_t *keys = known_stacks(p);
    for (size_t i = base->initial; list && keys && i < base->count; i++) {
        const struct tp_request *q = &base->requests[i];
        if (p->requests[i].points < 2)
            settle(p, i, law_of_twins(p, list, count, q),
                   alike->placed && bsearch(&q->key, keys, alike->count - alike->initial,
                                            sizeof *keys, tp_by_number));
    }
    bool done = list && keys;
    free(list);
    free(keys);
    return done ? TP_OK : no_memory(err);
}

/* ---- all recordings ---- */

static int take_alike(struct tp_prediction *p, size_t k, const struct tp_predict_gap *gap,
                      const size_t *pairs, struct tp_err *err)
{
    free(p->shared);
    p->missing = *gap;
    p->alike = k;
    p->shared = calloc(p->recordings[k]->count + 1, sizeof *p->shared);
    for (size_t i = 0; p->shared && i < p->recordings[p->base]->count; i++)
        if (pairs[i] != TP_UNPAIRED)
            p->shared[pairs[i]] = true;
    return p->shared ? TP_OK : no_memory(err);
}

static int align_all(struct tp_prediction *p, const struct points *at, struct tp_err *err)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    bool first = true;
    int rc = TP_OK;
    for (size_t k = 0; rc == TP_OK && k < p->count; k++) {
        size_t *pairs = at->pairs + k * base->count;
        if (k == p->base)
            continue;
        rc = tp_predict_pairs(base, p->recordings[k], pairs, err);
        if (rc != TP_OK)
            break;
        struct tp_predict_gap gap = missing_in(base, p->recordings[k], pairs);
        if (first || gap.share < p->missing.share)
            rc = take_alike(p, k, &gap, pairs, err);
        first = false;
        if (rc == TP_OK)
            rc = tp_stop_asked(err);
    }
    return rc;
}

/* From 0 to 1, the nearest. */
static double nearness(const struct tp_sample_run *r, const struct tp_axis_values *target)
{
    double all = 1;
    for (size_t i = 0; i < target->count; i++) {
        double ratio = (double)r->at.values[i] / (double)target->values[i];
        all *= ratio > 1 ? 1 / ratio : ratio;
    }
    return all;
}

/* Of two that are as near by their ratio, the larger first. */
static void order_by_nearness(const struct tp_prediction *p, size_t *order)
{
    for (size_t i = 0; i < p->count; i++) {
        size_t to = i;
        for (; to && nearness(p->recordings[order[to - 1]], &p->target) <=
                         nearness(p->recordings[i], &p->target);
             to--)
            order[to] = order[to - 1];
        order[to] = i;
    }
}

size_t tp_predict_nearest(const struct tp_sample_run *const *recordings, size_t count,
                          const struct tp_axis_values *target)
{
    size_t at = 0;
    for (size_t i = 1; i < count; i++)
        if (nearness(recordings[i], target) >= nearness(recordings[at], target))
            at = i;
    return at;
}

int tp_predict_make(const struct tp_sample_run *const *recordings, size_t count,
                    const struct tp_axis_values *target, size_t axis, struct tp_prediction *out,
                    struct tp_err *err)
{
    *out = (struct tp_prediction){
        .recordings = recordings, .count = count, .target = *target, .axis = axis};
    size_t *order = calloc(count, sizeof *order);
    if (!order)
        return no_memory(err);
    order_by_nearness(out, order);
    out->base = order[0];
    const struct tp_sample_run *base = recordings[out->base];
    struct points at = {.at = calloc(count, sizeof *at.at),
                        .order = order,
                        .size = calloc(count, sizeof *at.size),
                        .pairs = calloc(count * base->count + 1, sizeof *at.pairs)};
    out->requests = calloc(base->count + 1, sizeof *out->requests);
    int rc =
        at.at && at.size && at.pairs && out->requests ? align_all(out, &at, err) : no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < base->count; i++)
        find_law(out, &at, i);
    if (rc == TP_OK)
        rc = find_twins(out, err);
    set_share(&out->twins, base);
    set_share(&out->doubtful, base);
    set_share(&out->alone, base);
    set_share(&out->lawless, base);
    free(at.at);
    free(at.order);
    free(at.size);
    free(at.pairs);
    return rc;
}

void tp_predict_release(struct tp_prediction *p)
{
    free(p->requests);
    free(p->shared);
    p->requests = NULL;
    p->shared = NULL;
}

bool tp_predict_decides(const struct tp_sample_run *const *recordings, size_t count)
{
    struct tp_axis_values at[TP_LAW_POINTS];
    for (size_t i = 0; i < count && i < TP_LAW_POINTS; i++)
        at[i] = recordings[i]->at;
    return count && tp_law_decides(at, count < TP_LAW_POINTS ? count : TP_LAW_POINTS);
}

bool tp_predict_has_doubts(const struct tp_prediction *p)
{
    return p->doubtful.requests || p->lawless.requests || p->alone.requests || p->twins.requests ||
           p->ambiguous;
}

bool tp_predict_is_apart(const struct tp_prediction *p, bool of_base, size_t request)
{
    return of_base ? p->requests[request].points < 2 : !p->shared[request];
}

bool tp_predict_is_sound(const struct tp_prediction *p)
{
    return p->alone.share <= TP_PREDICT_DOUBT && p->missing.share <= TP_PREDICT_DOUBT;
}

/* ---- the program ---- */

struct changing {
    const struct tp_sample_run *base;
    const uint64_t *sizes;
    struct tp_lower *lo;
    size_t next; /* request of the next event */
    bool with_heap;
};

static bool is_of_segment(const struct tp_event *ev)
{
    return ev->op == TP_EV_NOTE && ev->note >= TP_NOTE_SEGMENT_ALLOC &&
           ev->note <= TP_NOTE_SEGMENT_UNMAP;
}

static bool is_sized(const struct tp_event *ev)
{
    return ev->op == TP_EV_NOTE ? ev->note == TP_NOTE_OOM
                                : tp_op_is((uint8_t)tp_event_asks(ev->op), TP_ASKS);
}

/* Requests have the events of the base, so an event is found by its number. */
static int change(void *ctx, const struct tp_event *was, struct tp_err *err)
{
    struct changing *c = ctx;
    struct tp_event ev = *was;
    if (ev.op == TP_EV_INITIAL) {
        ev.size = c->sizes[ev.id];
        ev.has_at &= c->with_heap;
    } else if (is_of_segment(&ev)) {
        ev.op = TP_EV_SKIP;
        return ev.uncounted ? TP_OK : tp_lower_read_event(c->lo, &ev, err);
    } else if (is_sized(&ev)) {
        while (c->next < c->base->count && c->base->requests[c->next].event < ev.number)
            c->next++;
        if (c->next < c->base->count && c->base->requests[c->next].event == ev.number)
            ev.size = c->sizes[c->next++];
    }
    return tp_lower_read_event(c->lo, &ev, err);
}

static int skip(void *ctx, uint64_t count, struct tp_err *err)
{
    struct changing *c = ctx;
    return tp_lower_skip_many(c->lo, count, err);
}

/* Blocks that grow do not fit where they lay. */
static bool keeps_heap(const struct tp_sample_run *base, const uint64_t *sizes)
{
    bool same = tp_program_heap(base->trace.program) != NULL;
    for (size_t i = 0; i < base->initial; i++)
        same &= sizes[i] == base->requests[i].size;
    return same;
}

int tp_predict_program(const struct tp_prediction *p, const uint64_t *sizes,
                       struct tp_program **out, struct tp_err *err)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    struct changing c = {
        .base = base, .sizes = sizes, .next = base->initial, .with_heap = keeps_heap(base, sizes)};
    const struct tp_unlower_cfg cfg = {.numbers = true, .skip = skip};
    const struct tp_event_sink sink = {change, &c};
    uint64_t repairs[TP_REPAIR_COUNT];
    int rc = tp_lower_new(
        &(struct tp_lower_cfg){.path = base->trace.file, .strict = true, .stop = tp_stop_asked},
        &c.lo, err);
    if (rc == TP_OK)
        rc = tp_relower_begin(base->trace.program, c.with_heap, c.lo, err);
    if (rc == TP_OK)
        rc = tp_unlower(base->trace.program, &cfg, &sink, err);
    if (rc == TP_OK)
        rc = tp_lower_finish(c.lo, out, repairs, err);
    tp_lower_free(c.lo);
    return rc;
}

/* ---- the peak ---- */

struct peak_walk {
    const struct tp_sample_run *base;
    const uint64_t *sizes;
    uint64_t bytes, was; /* live, as predicted and as recorded */
    struct tp_predict_peak *peak;
    uint64_t peak_insn;
};

static void change_live(void *ctx, size_t request, bool begins)
{
    struct peak_walk *k = ctx;
    uint64_t is = k->sizes[request], was = k->base->requests[request].size;
    k->bytes += begins ? is : -is;
    k->was += begins ? was : -was;
}

static void look(void *ctx, uint64_t insn, uint64_t event)
{
    struct peak_walk *k = ctx;
    if (k->bytes <= k->peak->bytes)
        return;
    k->peak->bytes = k->bytes;
    k->peak->event = event;
    k->peak->was = k->was;
    k->peak_insn = insn;
}

static int by_change(const void *a, const void *b)
{
    const struct tp_predict_site *x = a, *y = b;
    uint64_t c = tp_predict_change(x->was, x->is), d = tp_predict_change(y->was, y->is);
    if (c != d)
        return c > d ? -1 : 1;
    return tp_order(y->is, x->is);
}

/* Sums what is live by place; the last site is that of requests without one. */
static int list_sites(const struct tp_prediction *p, const struct peak_walk *k, const size_t *live,
                      struct tp_err *err)
{
    const struct tp_sample_run *base = k->base;
    size_t slots = tp_program_facts(base->trace.program)->slots;
    size_t places = base->stacks ? tp_place_table_texts(base->stacks) : 0;
    struct tp_predict_site *sites = calloc(places + 1, sizeof *sites);
    uint64_t *most = calloc(places + 1, sizeof *most);
    k->peak->sites = sites;
    for (size_t slot = 0; sites && most && slot < slots; slot++) {
        if (!live[slot])
            continue;
        size_t i = live[slot] - 1;
        const struct tp_request *q = &base->requests[i];
        size_t at = q->place == TP_NO_PLACE ? places : q->place;
        uint64_t change = tp_predict_change(q->size, k->sizes[i]);
        if (!sites[at].is || change > most[at]) {
            most[at] = change;
            sites[at].law = p->requests[i].law;
        }
        sites[at].place = tp_request_place(base, q);
        sites[at].was += q->size;
        sites[at].is += k->sizes[i];
        k->peak->alone += p->requests[i].points < 2 ? k->sizes[i] : 0;
        k->peak->narrowed += p->requests[i].narrowed ? k->sizes[i] : 0;
    }
    bool done = sites && most;
    free(most);
    if (!done)
        return no_memory(err);
    qsort(sites, places + 1, sizeof *sites, by_change);
    for (size_t i = 0; i <= places; i++)
        k->peak->count += sites[i].is > 0;
    return TP_OK;
}

int tp_predict_peak(const struct tp_prediction *p, const uint64_t *sizes,
                    struct tp_predict_peak *out, struct tp_err *err)
{
    const struct tp_sample_run *base = p->recordings[p->base];
    *out = (struct tp_predict_peak){.bytes = 0};
    struct peak_walk k = {.base = base, .sizes = sizes, .peak = out};
    struct tp_live_replay how = {.change = change_live,
                                 .after = look,
                                 .ctx = &k,
                                 .last_event = UINT64_MAX,
                                 .last_insn = UINT64_MAX};
    size_t *live = NULL;
    int rc = tp_sample_run_replay(base, &how, &live, err);
    free(live);
    live = NULL;
    how.after = NULL;
    how.last_insn = k.peak_insn;
    if (rc == TP_OK)
        rc = tp_sample_run_replay(base, &how, &live, err);
    if (rc == TP_OK)
        rc = list_sites(p, &k, live, err);
    free(live);
    return rc;
}

void tp_predict_peak_release(struct tp_predict_peak *peak)
{
    free(peak->sites);
    *peak = (struct tp_predict_peak){.bytes = 0};
}

void tp_predict_sources(const struct tp_predict_asking *q, struct tp_str *out)
{
    for (size_t i = 0; i < q->count; i++)
        tp_str_item(out, ", ", "%s at %s", q->recordings[i]->trace.file,
                    tp_axis_text(&q->recordings[i]->at, q->recordings[i]->axes).s);
}
