/* See xplane_start.h. First the pieces that the events show, then the pool and where it grew, then
 * passes over the events until the pieces explain them (xplane_model.h). Where the fragmentation
 * says that the chunk that served was larger than what is known of it, it was. */
#include "traces/formats/xplane/xplane_start.h"

#include "alloc/base/ascending.h"
#include "alloc/base/range_table.h"
#include "traces/formats/xplane/xplane_model.h"
#include "traces/formats/xplane/xplane_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAILS = 40, TRIED_PLACES = 16 };

struct start_search {
    const struct tp_reading *reading;
    const struct tp_xplane_allocator *of;
    struct tp_xplane_row row;
    struct tp_xplane_model model;
    size_t piece_room;
    size_t *places; /* events where the pool may have grown, which ascend */
    size_t place_count, place_room;
    struct tp_xplane_pool pool;
    uint64_t elsewhere;  /* see struct tp_xplane_start */
    uint64_t said;       /* events whose fragmentation is as recorded */
    const char *assumed; /* see struct tp_xplane_start */
    bool cut;            /* see there */
};

static int no_memory(const struct start_search *s, struct tp_err *err)
{
    return tp_input_no_memory(s->reading->in, err);
}

/* ---- pieces ---- */

struct shown_bytes {
    struct start_search *s;
    struct tp_range_table seen, free;
    struct tp_addr_map live; /* what events allocated -> 1 */
};

static int add_range(struct tp_range_table *t, uint64_t addr, uint64_t size)
{
    int rc = tp_ranges_reserve(t);
    if (rc == TP_OK)
        tp_ranges_widen(t, addr, size, 1);
    return rc;
}

/* Adds the bytes that no event has shown before; those of an allocation were free. */
static int show(struct shown_bytes *w, uint64_t addr, uint64_t end, bool were_free)
{
    int rc = TP_OK;
    while (rc == TP_OK && addr < end) {
        const struct tp_address_range *r = tp_ranges_find(&w->seen, addr);
        if (r) {
            addr = r->addr + r->size;
            continue;
        }
        r = tp_ranges_from(&w->seen, addr);
        uint64_t to = r && r->addr < end ? r->addr : end;
        if (were_free)
            rc = add_range(&w->free, addr, to - addr);
        if (rc == TP_OK)
            rc = add_range(&w->seen, addr, to - addr);
        addr = to;
    }
    return rc;
}

static int add_piece(struct start_search *s, uint64_t addr, uint64_t size, uint64_t requested,
                     struct tp_err *err)
{
    struct tp_xplane_model *m = &s->model;
    int rc = TP_READ_GROW(s->reading, &m->pieces, &s->piece_room, m->piece_count + 1,
                          "blocks from before the capture", err);
    if (rc == TP_OK)
        m->pieces[m->piece_count++] =
            (struct tp_xplane_piece){.addr = addr, .size = size, .requested = requested};
    return rc;
}

static int show_event(struct shown_bytes *w, const struct tp_xplane_event *ev, struct tp_err *err)
{
    uint64_t *live = tp_addr_map_find(&w->live, ev->addr);
    int rc = TP_OK;
    if (ev->frees && live) {
        tp_addr_map_remove(&w->live, ev->addr, NULL);
        return TP_OK;
    }
    bool unseen = !tp_ranges_overlap(&w->seen, ev->addr, ev->bytes);
    if (ev->frees && unseen)
        rc = add_piece(w->s, ev->addr, ev->bytes, ev->requested, err);
    if (rc == TP_OK && !ev->frees && !live)
        rc = tp_addr_map_insert(&w->live, ev->addr, 1);
    if (rc == TP_OK && (unseen || !ev->frees))
        rc = show(w, ev->addr, ev->addr + ev->bytes, !ev->frees);
    return rc == TP_ENOMEM ? no_memory(w->s, err) : rc;
}

static int by_addr(const void *a, const void *b)
{
    const struct tp_xplane_piece *x = a, *y = b;
    return tp_order(x->addr, y->addr);
}

static int find_pieces(struct start_search *s, struct tp_err *err)
{
    struct shown_bytes w = {.s = s};
    int rc = TP_OK;
    tp_addr_map_init_plain(&w.live);
    for (size_t i = 0; rc == TP_OK && i < s->row.count; i++)
        if (s->row.events[i].addr)
            rc = show_event(&w, &s->row.events[i], err);
    const struct tp_address_range *r = NULL;
    for (uint64_t at = 0; rc == TP_OK && (r = tp_ranges_from(&w.free, at)); at = r->addr + r->size)
        rc = add_piece(s, r->addr, r->size, 0, err);
    if (s->model.piece_count)
        qsort(s->model.pieces, s->model.piece_count, sizeof *s->model.pieces, by_addr);
    tp_addr_map_fini(&w.live);
    tp_ranges_fini(&w.seen);
    tp_ranges_fini(&w.free);
    return rc;
}

/* ---- the model ---- */

static int open_model(struct start_search *s, struct tp_err *err)
{
    struct tp_xplane_model *m = &s->model;
    size_t n = s->row.count;
    m->events = s->row.events;
    m->count = n;
    m->steps = tp_xplane_steps(n);
    m->chunk_room = 3 * m->piece_count + 2 * n + 1;
    m->chunks = calloc(m->chunk_room, sizeof *m->chunks);
    m->seen = calloc(n + 1, sizeof *m->seen);
    return m->chunks && m->seen ? TP_OK : no_memory(s, err);
}

static void close_model(struct start_search *s)
{
    struct tp_xplane_model *m = &s->model;
    tp_addr_map_fini(&m->at);
    free(m->chunks);
    free(m->seen);
    TP_GROW_END(&m->pieces, &s->piece_room, .budget = s->reading->budget);
}

/* The piece that begins at an address; SIZE_MAX: none does. */
static size_t piece_at(const struct tp_xplane_model *m, uint64_t addr)
{
    const struct tp_xplane_piece key = {.addr = addr};
    const struct tp_xplane_piece *p =
        m->piece_count ? bsearch(&key, m->pieces, m->piece_count, sizeof key, by_addr) : NULL;
    return p ? (size_t)(p - m->pieces) : SIZE_MAX;
}

/* Whether a free piece begins there that nothing known lies right before. */
static bool begins_region(const struct start_search *s, uint64_t addr)
{
    size_t i = piece_at(&s->model, addr);
    return i != SIZE_MAX && !s->model.pieces[i].requested && !tp_xplane_follows(&s->model, i);
}

/* The pool may have grown where a request found no room in what events had shown, and began a
 * piece. */
static int find_places(struct start_search *s, struct tp_err *err)
{
    int rc = tp_xplane_pass(&s->model, err);
    for (size_t i = 1; rc == TP_OK && i < s->row.count; i++) {
        if (!s->model.seen[i].first || !begins_region(s, s->row.events[i].addr))
            continue;
        rc = TP_READ_GROW(s->reading, &s->places, &s->place_room, s->place_count + 1, "regions",
                          err);
        if (rc == TP_OK)
            s->places[s->place_count++] = i;
    }
    return rc;
}

/* ---- a pool, tried ---- */

/* Forgets what was inferred, and lets the regions of the pool's steps come with their events. */
static void prepare(struct start_search *s)
{
    struct tp_xplane_model *m = &s->model;
    for (size_t i = 0; i < m->piece_count; i++) {
        m->pieces[i].tail = m->pieces[i].lead = 0;
        m->pieces[i].late = false;
    }
    for (size_t i = 0; i < s->pool.step_count; i++) {
        const struct tp_xplane_step *step = &s->pool.steps[i];
        size_t at = piece_at(m, s->row.events[step->event].addr);
        struct tp_xplane_piece *p = &m->pieces[at];
        uint64_t gap = tp_xplane_gap(m, at), rest = step->by > p->size ? step->by - p->size : 0;
        p->late = true;
        p->tail = rest < gap ? rest : gap;
    }
}

/* Bytes that the chunk of an event had more than is known of it, by the fragmentation; 0: none, or
 * it is not known. *within: how exactly. */
static double missing(const struct start_search *s, size_t i, double *within)
{
    const struct tp_xplane_event *ev = &s->row.events[i];
    const struct tp_xplane_seen *seen = &s->model.seen[i];
    uint64_t pool = tp_xplane_pool_at(&s->pool, i), was = tp_xplane_pool_at(&s->pool, i - 1);
    double now = 0, before = 0, about = 0, about_before = 0;
    if (!seen->tail_of || pool != was || !tp_xplane_largest(ev, pool, &now, &about) ||
        !tp_xplane_largest(ev - 1, pool, &before, &about_before))
        return 0;
    double doubt = about + about_before, size = (double)seen->size;
    *within = ev->frees ? about : about_before;
    if (ev->frees)
        return now > before + doubt && now > size + about + 128 ? now - size : 0;
    double taken = (double)ev->bytes;
    bool of_largest = fabs(before - now - taken) <= doubt && taken > 2 * doubt;
    return of_largest && before > size + about_before + 128 ? before - size : 0;
}

/* Makes what is known of a piece larger by about so many bytes. Regions are multiples of 2 MiB,
 * chunks of 256 bytes. */
static bool lengthen(struct start_search *s, size_t piece, double by, double within)
{
    struct tp_xplane_piece *p = &s->model.pieces[piece];
    const uint64_t grain = s->model.rules.grain;
    uint64_t end = p->addr + p->size + p->tail, to = end + (uint64_t)by;
    uint64_t region = (to + TP_XPLANE_UNIT / 2) / TP_XPLANE_UNIT * TP_XPLANE_UNIT;
    uint64_t off = region > to ? region - to : to - region;
    if (s->pool.whole || (double)off > within + (double)grain)
        region = (to + grain / 2) / grain * grain;
    if (region <= end || region - end > tp_xplane_gap(&s->model, piece))
        return false;
    p->tail += region - end;
    return true;
}

static bool lengthen_one(struct start_search *s)
{
    for (size_t i = 1; i < s->row.count; i++) {
        double within = 0, by = missing(s, i, &within);
        if (by > 0 && lengthen(s, s->model.seen[i].tail_of - 1u, by, within))
            return true;
    }
    return false;
}

/* ---- free chunks that served nothing ---- */

static uint64_t count_said(const struct start_search *s, uint64_t elsewhere)
{
    uint64_t said = 0;
    for (size_t i = 0; i < s->row.count; i++) {
        uint64_t l = s->model.seen[i].largest;
        if (l != TP_XPLANE_UNKNOWN)
            said += tp_xplane_says(&s->row.events[i], tp_xplane_pool_at(&s->pool, i),
                                   l > elsewhere ? l : elsewhere);
    }
    return said;
}

/* The largest chunks that events say and that are not among the known ones, in grains.
 * Returns their number. */
static size_t unknown_chunks(const struct start_search *s, uint64_t *out)
{
    size_t count = 0;
    for (size_t i = 0; i < s->row.count; i++) {
        uint64_t known = s->model.seen[i].largest;
        double l = 0, within = 0;
        if (known != TP_XPLANE_UNKNOWN &&
            tp_xplane_largest(&s->row.events[i], tp_xplane_pool_at(&s->pool, i), &l, &within) &&
            l > (double)known + within + 128)
            out[count++] = (uint64_t)(l / TP_XPLANE_GRAIN + 0.5);
    }
    if (count)
        qsort(out, count, sizeof *out, tp_by_number);
    return count;
}

/* Tries the one that most events say. */
static int find_elsewhere(struct start_search *s, struct tp_err *err)
{
    uint64_t *sizes = calloc(s->row.count + 1, sizeof *sizes);
    if (!sizes)
        return no_memory(s, err);
    size_t count = unknown_chunks(s, sizes), most = 0, best = 0;
    for (size_t i = 0, end = 0; i < count; i = end) {
        for (end = i + 1; end < count && sizes[end] == sizes[i]; end++)
            continue;
        if (end - i > most) {
            most = end - i;
            best = i;
        }
    }
    s->said = count_said(s, 0);
    s->elsewhere = 0;
    uint64_t chunk = count ? sizes[best] * TP_XPLANE_GRAIN : 0,
             with = chunk ? count_said(s, chunk) : 0;
    if (with > s->said) {
        s->said = with;
        s->elsewhere = chunk;
    }
    free(sizes);
    return TP_OK;
}

static int try_pool(struct start_search *s, struct tp_err *err)
{
    prepare(s);
    int rc = tp_xplane_settle(&s->model, err);
    for (unsigned i = 0; rc == TP_OK && i < TAILS && s->model.steps && lengthen_one(s); i++)
        rc = tp_xplane_settle(&s->model, err);
    return rc == TP_OK ? find_elsewhere(s, err) : rc;
}

/* The same for what was found before, also where trying others took all steps. */
static int try_again(struct start_search *s, struct tp_err *err)
{
    s->cut |= !s->model.steps;
    if (!s->model.steps)
        s->model.steps = tp_xplane_steps(s->row.count);
    return try_pool(s, err);
}

/* ---- growth that no two events show ---- */

/* How well a pool explains the events. */
struct start_worth {
    uint64_t wrong, said;
};

static struct start_worth worth_of(const struct start_search *s)
{
    return (struct start_worth){s->model.wrong, s->said};
}

/* Makes what was tried the best if it is better. Where it was cut short nothing is known of it. */
static bool take_better(const struct start_search *s, struct start_worth *best)
{
    const struct start_worth now = worth_of(s);
    bool better = now.wrong != best->wrong ? now.wrong < best->wrong : now.said > best->said;
    if (!better || !s->model.steps)
        return false;
    *best = now;
    return true;
}

/* Whether a region of `by` bytes before an event leaves no room for its request without it. */
static bool could_grow(const struct start_search *s, size_t event, uint64_t by)
{
    const struct tp_xplane_event *ev = &s->row.events[event];
    uint64_t rounded = tp_bfc_rounded(&s->model.rules, ev->requested);
    uint64_t pool = tp_xplane_pool_at(&s->pool, event - 1);
    double l = 0, within = 0;
    return by >= rounded && by < pool && tp_xplane_largest(ev - 1, pool - by, &l, &within) &&
           l < (double)rounded + within;
}

/* Puts a step before all others, for which there is room, or takes it away. */
static void put_first(struct tp_xplane_pool *p, size_t event, uint64_t by)
{
    memmove(p->steps + 1, p->steps, p->step_count * sizeof *p->steps);
    p->steps[0] = (struct tp_xplane_step){event, by};
    p->step_count++;
}

static void drop_first(struct tp_xplane_pool *p)
{
    p->step_count--;
    memmove(p->steps, p->steps + 1, p->step_count * sizeof *p->steps);
}

static int try_region(struct start_search *s, size_t event, uint64_t by, struct start_worth *best,
                      uint64_t *kept, struct tp_err *err)
{
    if (!could_grow(s, event, by) || !s->model.steps)
        return TP_OK;
    put_first(&s->pool, event, by);
    int rc = try_pool(s, err);
    if (rc == TP_OK && take_better(s, best))
        *kept = by;
    drop_first(&s->pool);
    return rc;
}

/* The region of an event that was not split, or that has the largest chunk behind it; the last one
 * has what the limit left. */
static uint64_t shown_region(const struct start_search *s, size_t event, bool split)
{
    const struct tp_xplane_event *ev = &s->row.events[event];
    uint64_t pool = tp_xplane_pool_at(&s->pool, event);
    double rest = 0, within = 0;
    if (!split)
        return ev->bytes;
    if (!tp_xplane_largest(ev, pool, &rest, &within))
        return 0;
    return ev->bytes + (uint64_t)(rest / TP_XPLANE_GRAIN + 0.5) * TP_XPLANE_GRAIN;
}

/* Tries regions before an event that is before all steps, and keeps the best, if any. */
static int try_place(struct start_search *s, size_t event, struct start_worth *best,
                     struct tp_err *err)
{
    uint64_t kept = 0;
    int rc = TP_READ_GROW(s->reading, &s->pool.steps, &s->pool.step_room, s->pool.step_count + 1,
                          "regions", err);
    for (uint64_t by = TP_XPLANE_UNIT; rc == TP_OK && by < s->pool.end; by *= 2)
        rc = try_region(s, event, by, best, &kept, err);
    for (int split = 0; rc == TP_OK && split < 2; split++)
        rc = try_region(s, event, shown_region(s, event, split), best, &kept, err);
    if (rc == TP_OK && kept)
        put_first(&s->pool, event, kept);
    return rc;
}

static int try_places(struct start_search *s, struct tp_err *err)
{
    struct start_worth best = worth_of(s);
    unsigned tried = 0;
    int rc = TP_OK;
    for (size_t i = s->place_count; rc == TP_OK && i-- > 0 && tried < TRIED_PLACES;) {
        if (s->pool.step_count && s->places[i] >= s->pool.steps[0].event)
            continue;
        rc = try_place(s, s->places[i], &best, err);
        tried++;
    }
    return rc == TP_OK && tried ? try_again(s, err) : rc;
}

/* ---- growth at another event ---- */

/* Tries the places between the steps before and behind one for it, and keeps the best. */
static int move_step(struct start_search *s, size_t step, struct tp_err *err)
{
    struct tp_xplane_step *steps = s->pool.steps;
    struct start_worth best = worth_of(s);
    size_t kept = steps[step].event, from = step ? steps[step - 1].event : 0;
    size_t end = step + 1 < s->pool.step_count ? steps[step + 1].event : s->row.count;
    unsigned tried = 0;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < s->place_count && tried < TRIED_PLACES; i++) {
        size_t place = s->places[i];
        if (place <= from || place >= end || place == kept || !s->model.steps)
            continue;
        steps[step].event = place;
        rc = try_pool(s, err);
        tried++;
        if (rc == TP_OK && take_better(s, &best))
            kept = place;
    }
    bool last = steps[step].event == kept;
    steps[step].event = kept;
    return rc == TP_OK && !last ? try_again(s, err) : rc;
}

static int move_steps(struct start_search *s, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && s->model.wrong && !s->cut && i < s->pool.step_count; i++)
        rc = move_step(s, i, err);
    return rc;
}

/* ---- the beginning ---- */

static bool never_fragmented(const struct start_search *s)
{
    for (size_t i = 0; i < s->row.count; i++)
        if (!(s->row.events[i].fragmentation <= 0))
            return false;
    return true;
}

/* Bytes in use before the first event; 0 where they are not recorded. */
static uint64_t in_use_before(const struct start_search *s)
{
    const struct tp_xplane_event *ev = s->row.events;
    if (ev->in_use == TP_XPLANE_UNKNOWN)
        return 0;
    if (ev->frees)
        return ev->in_use + ev->bytes;
    return ev->in_use > ev->bytes ? ev->in_use - ev->bytes : 0;
}

/* The pool before the first event; 0: not known. */
static uint64_t pool_before(const struct start_search *s)
{
    uint64_t pool = s->pool.end ? tp_xplane_pool_at(&s->pool, 0) : 0, by = 0;
    if (s->pool.step_count && !s->pool.steps[0].event)
        by = s->pool.steps[0].by;
    return by < pool ? pool - by : 0;
}

/* ---- from nothing ---- */

/* Makes a step of each region that was taken, and counts the events that say it. */
static int take_steps(struct start_search *s, struct tp_err *err)
{
    struct tp_xplane_pool *p = &s->pool;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < s->row.count; i++) {
        uint64_t by = s->model.seen[i].grown;
        if (!by)
            continue;
        rc = TP_READ_GROW(s->reading, &p->steps, &p->step_room, p->step_count + 1, "regions", err);
        if (rc == TP_OK)
            p->steps[p->step_count++] = (struct tp_xplane_step){i, by};
        p->end += by;
    }
    s->said = count_said(s, 0);
    return rc;
}

/* Whether it began without memory and took all that it may have at once, or as it needed it. */
static int explain(struct start_search *s, bool whole, bool *good, struct tp_err *err)
{
    tp_xplane_pool_release(s->reading, &s->pool);
    s->pool.whole = whole;
    int rc =
        tp_xplane_pass_growing(&s->model, whole ? s->row.limit : TP_XPLANE_UNIT, s->row.limit, err);
    if (rc == TP_OK && !s->model.wrong)
        rc = take_steps(s, err);
    *good = rc == TP_OK && !s->model.wrong && s->said >= s->row.count - s->row.count / 100;
    return rc;
}

/* Whether the capture began before the allocator had any memory. By default one of a GPU takes all
 * that it may have at once, and one of the host grows: that is believed where both explain it. */
static int try_nothing(struct start_search *s, bool *good, struct tp_err *err)
{
    const struct tp_xplane_event *ev = s->row.events;
    bool whole = !tp_xplane_is_host(s->of), other = false;
    *good = false;
    if (!s->row.limit || ev->frees || ev->in_use != ev->bytes)
        return TP_OK;
    int rc = explain(s, !whole, &other, err);
    if (rc == TP_OK)
        rc = explain(s, whole, good, err);
    if (*good && other)
        s->assumed = whole ? "all at once" : "on demand";
    if (rc == TP_OK && !*good && other)
        rc = explain(s, !whole, good, err);
    if (!*good)
        tp_xplane_pool_release(s->reading, &s->pool);
    return rc;
}

/* ---- the whole ---- */

enum { LOOKED_AT = 2000 }; /* events of another allocator */

/* Whether another allocator with the same limit has all of it: one kind of them begins so. */
static int look_beside(const struct tp_xplane *x, struct start_search *s, struct tp_err *err)
{
    unsigned looked = 0;
    int rc = TP_OK;
    for (size_t i = 0;
         rc == TP_OK && !s->pool.whole && looked < TRIED_PLACES && i < x->allocator_count; i++) {
        const struct tp_xplane_allocator *a = &x->allocators[i];
        const struct tp_xplane_row row = {
            &x->events[a->first], a->count < LOOKED_AT ? a->count : LOOKED_AT, s->row.limit};
        struct tp_xplane_pool pool;
        if (a == s->of || a->limit != s->of->limit || a->plane != s->of->plane)
            continue;
        looked++;
        rc = tp_xplane_find_pool(s->reading, &row, NULL, 0, &pool, err);
        s->pool.whole = pool.whole;
        tp_xplane_pool_release(s->reading, &pool);
    }
    s->pool.end = s->pool.whole ? s->row.limit : 0;
    return rc;
}

/* All that is free is one chunk: the pool's rest is behind the last piece. */
static void take_whole(struct start_search *s)
{
    struct tp_xplane_model *m = &s->model;
    uint64_t known = in_use_before(s);
    for (size_t i = 0; i < m->piece_count; i++)
        known += m->pieces[i].requested ? 0 : m->pieces[i].size + m->pieces[i].tail;
    size_t last = m->piece_count - 1;
    if (m->piece_count && known < s->pool.end && s->pool.end - known <= tp_xplane_gap(m, last))
        m->pieces[last].tail += s->pool.end - known;
}

/* A pool that is not the limit and by which most events say something else is none. */
static int drop_pool(struct start_search *s, struct tp_err *err)
{
    tp_xplane_pool_release(s->reading, &s->pool);
    return try_again(s, err);
}

static int infer(const struct tp_xplane *x, struct start_search *s, struct tp_err *err)
{
    int rc = find_places(s, err);
    if (rc == TP_OK)
        rc = tp_xplane_find_pool(s->reading, &s->row, s->places, s->place_count, &s->pool, err);
    if (rc == TP_OK)
        rc = try_pool(s, err);
    if (rc == TP_OK)
        rc = move_steps(s, err);
    if (rc == TP_OK && !s->cut && s->pool.end && (!s->pool.whole || s->said < s->row.count))
        rc = try_places(s, err);
    if (rc == TP_OK && s->pool.end && !s->pool.whole && s->said < s->row.count / 2)
        rc = drop_pool(s, err);
    s->pool.whole &= !s->pool.step_count;
    if (rc == TP_OK && !s->pool.end && s->row.limit && never_fragmented(s)) {
        rc = look_beside(x, s, err);
        if (rc == TP_OK && s->pool.whole)
            take_whole(s);
    }
    return rc;
}

static void add_range_of(const struct start_search *s, size_t first, size_t end,
                         struct tp_xplane_start *out)
{
    const struct tp_xplane_piece *p = s->model.pieces;
    uint64_t base = p[first].addr - p[first].lead;
    struct tp_xplane_range *r = &out->ranges[out->range_count++];
    *r =
        (struct tp_xplane_range){.base = base,
                                 .size = p[end - 1].addr + p[end - 1].size + p[end - 1].tail - base,
                                 .first = out->block_count};
    for (size_t i = first; i < end; i++)
        if (p[i].requested)
            out->blocks[out->block_count++] =
                (struct tp_xplane_block){p[i].addr, p[i].size, p[i].requested};
    r->blocks = out->block_count - r->first;
}

/* Pieces side by side, with what is known of the gaps between them, are one range. */
static void give_ranges(const struct start_search *s, struct tp_xplane_start *out)
{
    const struct tp_xplane_model *m = &s->model;
    for (size_t i = 0, end = 0; i < m->piece_count; i = end) {
        for (end = i + 1; end < m->piece_count && !tp_xplane_gap(m, end - 1); end++)
            continue;
        if (!m->pieces[i].late)
            add_range_of(s, i, end, out);
    }
}

static void give_growths(const struct start_search *s, struct tp_xplane_start *out)
{
    for (size_t i = 0; i < s->pool.step_count; i++) {
        const struct tp_xplane_step *step = &s->pool.steps[i];
        out->growths[out->growth_count++] =
            (struct tp_xplane_growth){step->event, s->row.events[step->event].addr, step->by};
    }
}

/* Whether a free chunk that served no event would serve one: a request that took a larger one, or a
 * region. */
static bool would_serve(const struct start_search *s, uint64_t bytes)
{
    const struct tp_xplane_model *m = &s->model;
    size_t step = 0;
    for (size_t i = 0; i < s->row.count; i++) {
        const struct tp_xplane_event *ev = &s->row.events[i];
        bool grew = step < s->pool.step_count && s->pool.steps[step].event == i;
        uint64_t rounded = tp_bfc_rounded(&m->rules, ev->requested);
        step += grew;
        if (!ev->frees && bytes >= rounded && (grew || m->seen[i].size > bytes))
            return true;
    }
    return false;
}

/* What is in use and free beside the ranges. */
static void give_sums(const struct start_search *s, struct tp_xplane_start *out)
{
    uint64_t live = 0, known = 0, in_use = in_use_before(s);
    for (size_t i = 0; i < out->block_count; i++)
        live += out->blocks[i].bytes;
    for (size_t i = 0; i < out->range_count; i++)
        known += out->ranges[i].size;
    out->pool_known = s->pool.end > 0;
    out->pool = pool_before(s);
    out->unseen = in_use > live ? in_use - live : 0;
    uint64_t least = known + out->unseen;
    out->pool = out->pool > least ? out->pool : least;
    if (s->row.limit && out->pool > s->row.limit)
        out->pool = s->row.limit;
    out->unseen_free = out->pool > least ? out->pool - least : 0;
    out->elsewhere = s->elsewhere;
    out->whole = s->pool.whole;
    out->assumed = s->assumed;
    out->requests = s->model.requests;
    out->agree = s->model.agree;
    out->cut = s->cut || !s->model.steps;
}

static enum tp_xplane_known known_as(const struct start_search *s,
                                     const struct tp_xplane_start *out)
{
    if (!in_use_before(s))
        return out->pool ? TP_XPLANE_NOTHING_LIVE : TP_XPLANE_NOTHING_THERE;
    bool one = out->range_count == 1 && !out->ranges[0].blocks && !out->unseen_free;
    return one ? TP_XPLANE_ONE_CHUNK : TP_XPLANE_INFERRED;
}

/* What was inferred of a gap to some digits may be more than the pool has. */
static void trim(struct start_search *s)
{
    struct tp_xplane_model *m = &s->model;
    uint64_t pool = pool_before(s), known = in_use_before(s);
    struct tp_xplane_piece *longest = NULL;
    for (size_t i = 0; i < m->piece_count; i++) {
        struct tp_xplane_piece *p = &m->pieces[i];
        if (p->late)
            continue;
        known += p->tail + p->lead + (p->requested ? 0 : p->size);
        longest = !longest || p->tail > longest->tail ? p : longest;
    }
    if (pool && known > pool && longest && longest->tail >= known - pool)
        longest->tail -= known - pool;
}

static int give(struct start_search *s, struct tp_xplane_start *out, struct tp_err *err)
{
    size_t most = s->model.piece_count + 1;
    out->ranges = calloc(most, sizeof *out->ranges);
    out->blocks = calloc(most, sizeof *out->blocks);
    out->growths = calloc(s->pool.step_count + 1, sizeof *out->growths);
    if (!out->ranges || !out->blocks || !out->growths)
        return no_memory(s, err);
    trim(s);
    give_ranges(s, out);
    give_growths(s, out);
    give_sums(s, out);
    out->known = known_as(s, out);
    const struct tp_xplane_unseen u = tp_xplane_unseen(out);
    out->would_serve = !u.before && (would_serve(s, u.region - u.bytes) || would_serve(s, u.chunk));
    return TP_OK;
}

/* Of an allocator with rules that are not known, the blocks that are freed later are all that its
 * events show. */
static int end_foreign(struct start_search *s, struct tp_xplane_start *out, struct tp_err *err)
{
    int rc = give(s, out, err);
    out->known = TP_XPLANE_INFERRED;
    out->range_count = out->growth_count = 0;
    out->pool = out->unseen_free = 0;
    close_model(s);
    return rc;
}

int tp_xplane_start(const struct tp_xplane *x, uint32_t allocator, struct tp_xplane_start *out,
                    struct tp_err *err)
{
    const struct tp_xplane_allocator *a = &x->allocators[allocator];
    const struct tp_bfc_rules rules = tp_bfc_rules_for(x->tensorflow ? TP_BFC_TF : TP_BFC_JAX);
    struct start_search s = {
        .reading = x->reading,
        .of = a,
        .model = {.rules = rules},
        .row = {&x->events[a->first], a->count, a->limit / rules.grain * rules.grain}};
    bool nothing = false;
    *out = (struct tp_xplane_start){.ranges = NULL};
    if (!a->count)
        return TP_OK;
    int rc = find_pieces(&s, err);
    if (rc == TP_OK && !a->bfc)
        return end_foreign(&s, out, err);
    if (rc == TP_OK)
        rc = open_model(&s, err);
    if (rc == TP_OK)
        rc = try_nothing(&s, &nothing, err);
    if (rc == TP_OK && !nothing)
        rc = infer(x, &s, err);
    if (rc == TP_OK && nothing)
        s.model.piece_count = 0;
    if (rc == TP_OK)
        rc = give(&s, out, err);
    close_model(&s);
    tp_xplane_pool_release(s.reading, &s.pool);
    TP_GROW_END(&s.places, &s.place_room, .budget = s.reading->budget);
    return rc;
}

void tp_xplane_start_release(struct tp_xplane_start *s)
{
    free(s->ranges);
    free(s->blocks);
    free(s->growths);
    *s = (struct tp_xplane_start){.ranges = NULL};
}
