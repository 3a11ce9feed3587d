/* See xplane_model.h. Of the free chunks that are large enough the smallest serves, of equal ones
 * the lowest, and free neighbours merge; sizes are those of bfc_rules.h. */
#include "traces/formats/xplane/xplane_model.h"

#include <string.h>

#define NO_END (UINT64_C(1) << 63)
enum { RAISES = 256, LOOKS = 64, LEAST_STEPS = 1000000, STEPS_EACH = 12 };

uint64_t tp_xplane_steps(size_t events)
{
    uint64_t steps = (uint64_t)events * STEPS_EACH;
    return steps > LEAST_STEPS ? steps : LEAST_STEPS;
}

/* What came of an attempt to make a chunk larger. */
enum chunk_raised { NOT_RAISED, RAISED, FROM_THE_START };

static struct tp_xplane_chunk *chunk_of(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct tp_xplane_chunk, by_size, n) : NULL;
}

static bool is_smaller(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct tp_xplane_chunk *x = TP_TREE_ITEM(struct tp_xplane_chunk, by_size, a);
    const struct tp_xplane_chunk *y = TP_TREE_ITEM(struct tp_xplane_chunk, by_size, b);
    return x->size != y->size ? x->size < y->size : x->addr < y->addr;
}

/* ---- pieces ---- */

static uint64_t gap_bytes(const struct tp_xplane_model *m, size_t piece)
{
    const struct tp_xplane_piece *p = &m->pieces[piece];
    uint64_t end = piece + 1 < m->piece_count ? m->pieces[piece + 1].addr : NO_END;
    return end - p->addr - p->size;
}

bool tp_xplane_follows(const struct tp_xplane_model *m, size_t piece)
{
    return piece && !gap_bytes(m, piece - 1);
}

uint64_t tp_xplane_gap(const struct tp_xplane_model *m, size_t piece)
{
    uint64_t lead = piece + 1 < m->piece_count ? m->pieces[piece + 1].lead : 0;
    return gap_bytes(m, piece) - m->pieces[piece].tail - lead;
}

/* ---- chunks ---- */

static struct tp_xplane_chunk *new_chunk(struct tp_xplane_model *m, uint64_t addr, uint64_t size,
                                         bool free, struct tp_err *err)
{
    struct tp_xplane_chunk *c = m->spare;
    if (c)
        m->spare = c->behind;
    else
        c = &m->chunks[m->chunk_count++];
    assert(m->chunk_count <= m->chunk_room);
    *c = (struct tp_xplane_chunk){.addr = addr, .size = size, .free = free};
    if (tp_addr_map_insert(&m->at, addr, (uint64_t)(c - m->chunks)) == TP_OK)
        return c;
    tp_fail(err, TP_ENOMEM, "out of memory");
    return NULL;
}

static struct tp_xplane_chunk *chunk_at(const struct tp_xplane_model *m, uint64_t addr)
{
    const uint64_t *index = tp_addr_map_find(&m->at, addr);
    return index ? &m->chunks[*index] : NULL;
}

static void add_free(struct tp_xplane_model *m, struct tp_xplane_chunk *c)
{
    tp_tree_insert(&m->free_chunks, &c->by_size, is_smaller, NULL);
}

static void remove_free(struct tp_xplane_model *m, struct tp_xplane_chunk *c)
{
    tp_tree_remove(&m->free_chunks, &c->by_size, NULL);
}

/* The first free chunk of at least `size` bytes in the order of choice; NULL: none. */
static struct tp_xplane_chunk *fit(const struct tp_xplane_model *m, uint64_t size)
{
    struct tp_tree_node *n = m->free_chunks, *best = NULL;
    while (n) {
        bool large = chunk_of(n)->size >= size;
        best = large ? n : best;
        n = large ? n->low : n->high;
    }
    return chunk_of(best);
}

static uint64_t largest(const struct tp_xplane_model *m)
{
    const struct tp_tree_node *n = m->free_chunks;
    while (n && n->high)
        n = n->high;
    return n ? TP_TREE_ITEM(struct tp_xplane_chunk, by_size, n)->size : 0;
}

static void link_behind(struct tp_xplane_chunk *c, struct tp_xplane_chunk *next)
{
    next->before = c;
    next->behind = c->behind;
    if (c->behind)
        c->behind->before = next;
    c->behind = next;
    next->tail_of = c->tail_of;
    c->tail_of = 0;
}

/* Makes the first bytes of a free chunk live; what is left is a free chunk behind them. */
static int take_chunk(struct tp_xplane_model *m, struct tp_xplane_chunk *c, uint64_t size,
                      struct tp_err *err)
{
    remove_free(m, c);
    c->free = false;
    c->touched = true;
    if (c->size == size)
        return TP_OK;
    struct tp_xplane_chunk *rest = new_chunk(m, c->addr + size, c->size - size, true, err);
    if (!rest)
        return TP_ENOMEM;
    rest->touched = true;
    c->size = size;
    link_behind(c, rest);
    add_free(m, rest);
    return TP_OK;
}

/* Makes a chunk and the one behind it one. */
static void merge(struct tp_xplane_model *m, struct tp_xplane_chunk *c)
{
    struct tp_xplane_chunk *gone = c->behind;
    c->size += gone->size;
    c->behind = gone->behind;
    if (c->behind)
        c->behind->before = c;
    c->tail_of = gone->tail_of;
    tp_addr_map_remove(&m->at, gone->addr, NULL);
    gone->behind = m->spare;
    m->spare = gone;
}

static struct tp_xplane_chunk *release(struct tp_xplane_model *m, struct tp_xplane_chunk *c)
{
    c->free = c->touched = true;
    if (c->behind && c->behind->free) {
        remove_free(m, c->behind);
        merge(m, c);
    }
    if (c->before && c->before->free) {
        c = c->before;
        remove_free(m, c);
        merge(m, c);
        c->touched = true;
    }
    add_free(m, c);
    return c;
}

/* ---- the start ---- */

/* Adds what is known behind the chunk `last` of a row; NULL: it is the first one. Free ones become
 * one. Returns the last chunk of the row. */
static struct tp_xplane_chunk *append(struct tp_xplane_model *m, struct tp_xplane_chunk *last,
                                      uint64_t addr, uint64_t size, bool free, struct tp_err *err)
{
    if (!size)
        return last;
    if (last && last->free && free) {
        last->size += size;
        return last;
    }
    struct tp_xplane_chunk *c = new_chunk(m, addr, size, free, err);
    if (c && last)
        link_behind(last, c);
    return c;
}

/* Adds a piece with its slack. *row: the last chunk of the row that goes on; NULL: none does. */
static int add_piece(struct tp_xplane_model *m, size_t i, struct tp_xplane_chunk **row,
                     struct tp_err *err)
{
    const struct tp_xplane_piece *p = &m->pieces[i];
    bool begins = !tp_xplane_follows(m, i), joins = i && !tp_xplane_gap(m, i - 1);
    struct tp_xplane_chunk *c = begins && !joins ? NULL : *row;
    bool alone = !c;
    if (begins)
        c = append(m, c, p->addr - p->lead, p->lead, true, err);
    if (begins && p->lead && !c)
        return TP_ENOMEM;
    struct tp_xplane_chunk *lead = alone ? c : NULL;
    c = append(m, c, p->addr, p->size, !p->requested, err);
    if (!c)
        return TP_ENOMEM;
    if (alone)
        (lead ? lead : c)->lead_of = (uint32_t)i + 1;
    if (gap_bytes(m, i)) {
        c = append(m, c, p->addr + p->size, p->tail, true, err);
        if (!c)
            return TP_ENOMEM;
        c->tail_of = tp_xplane_gap(m, i) ? (uint32_t)i + 1 : 0;
    }
    *row = c;
    return TP_OK;
}

/* Forgets all chunks, and makes those of the start, without the pieces that come later. */
static int begin(struct tp_xplane_model *m, struct tp_err *err)
{
    struct tp_xplane_chunk *row = NULL;
    int rc = TP_OK;
    tp_addr_map_fini(&m->at);
    tp_addr_map_init_plain(&m->at);
    m->chunk_count = 0;
    m->spare = NULL;
    m->free_chunks = NULL;
    for (size_t i = 0; rc == TP_OK && i < m->piece_count; i++) {
        if (m->pieces[i].late)
            row = NULL;
        else
            rc = add_piece(m, i, &row, err);
    }
    for (size_t i = 0; rc == TP_OK && i < m->chunk_count; i++)
        if (m->chunks[i].free)
            add_free(m, &m->chunks[i]);
    return rc;
}

/* ---- what events show ---- */

/* Whether the piece behind the gap of this one begins with a block that is live now. */
static bool ends_at_live(struct tp_xplane_model *m, size_t piece)
{
    struct tp_xplane_chunk *c =
        piece + 1 < m->piece_count ? chunk_at(m, m->pieces[piece + 1].addr) : NULL;
    return c && !c->free;
}

/* Makes a free chunk larger by unknown bytes before it. */
static enum chunk_raised raise_before(struct tp_xplane_model *m, const struct tp_xplane_chunk *c,
                                      uint64_t by)
{
    if (c->lead_of < 2)
        return NOT_RAISED;
    size_t piece = c->lead_of - 1u;
    uint64_t gap = tp_xplane_gap(m, piece - 1);
    if (!gap || m->pieces[piece].late || m->pieces[piece - 1].late)
        return NOT_RAISED;
    m->pieces[piece].lead += by < gap ? by : gap;
    m->changed = true;
    return FROM_THE_START;
}

/* By those behind it, or, where these end at a live block and are too few, by those before it. */
static enum chunk_raised raise_chunk(struct tp_xplane_model *m, struct tp_xplane_chunk *c,
                                     uint64_t size)
{
    uint64_t by = size - c->size;
    if (!c->tail_of)
        return raise_before(m, c, by);
    size_t piece = c->tail_of - 1u;
    uint64_t gap = tp_xplane_gap(m, piece);
    if (by >= gap && c->lead_of > 1 && ends_at_live(m, piece))
        return raise_before(m, c, by);
    m->changed = true;
    m->pieces[piece].tail += by < gap ? by : gap;
    if (by >= gap)
        return FROM_THE_START;
    remove_free(m, c);
    c->size = size;
    add_free(m, c);
    return RAISED;
}

/* Adds the region of a piece that comes with this event. */
static int add_late(struct tp_xplane_model *m, uint64_t addr, uint64_t rounded, struct tp_err *err)
{
    size_t low = 0, high = m->piece_count;
    if (chunk_at(m, addr))
        return TP_OK;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->pieces[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == m->piece_count || m->pieces[low].addr != addr || !m->pieces[low].late)
        return TP_OK;
    const struct tp_xplane_piece *p = &m->pieces[low];
    m->wrong += fit(m, rounded) != NULL; /* it had room without the region */
    struct tp_xplane_chunk *c = new_chunk(m, addr, p->size + p->tail, true, err);
    if (!c)
        return TP_ENOMEM;
    c->tail_of = tp_xplane_gap(m, low) ? (uint32_t)low + 1 : 0;
    add_free(m, c);
    return TP_OK;
}

/* Whether no chunk that an event touched has room. */
static bool is_first(const struct tp_xplane_model *m, const struct tp_xplane_chunk *c,
                     uint64_t rounded)
{
    struct tp_xplane_chunk *other = fit(m, rounded);
    unsigned looks = 0;
    if (c->touched)
        return false;
    for (; other && looks < LOOKS; looks++) {
        if (other->touched)
            return false;
        other = chunk_of(tp_tree_next(&other->by_size));
    }
    return !other;
}

/* Makes the chunks larger that the rules would choose before `c`. *again: the pass is to begin
 * anew. False: they cannot be. */
static bool pass_over(struct tp_xplane_model *m, struct tp_xplane_chunk *c, uint64_t rounded,
                      bool *again)
{
    for (unsigned i = 0; i < RAISES; i++) {
        struct tp_xplane_chunk *other = fit(m, rounded);
        if (other == c)
            return true;
        uint64_t least = c->size + (other->addr < c->addr ? m->rules.grain : 0);
        if (least <= other->size)
            return false;
        enum chunk_raised how = raise_chunk(m, other, least);
        *again = how == FROM_THE_START;
        if (how != RAISED)
            return false;
    }
    return false;
}

/* Looks at the chunk that served, which lies at the event's address. *good: the rules choose it and
 * split it so. */
static bool judge(struct tp_xplane_model *m, struct tp_xplane_chunk *c,
                  const struct tp_xplane_event *ev, bool *again)
{
    uint64_t rounded = tp_bfc_rounded(&m->rules, ev->requested);
    bool good = pass_over(m, c, rounded, again);
    if (*again || c->size < ev->bytes)
        return false;
    if (ev->bytes == rounded && tp_bfc_cut(&m->rules, c->size, rounded) != rounded) {
        enum chunk_raised how = raise_chunk(m, c, 2 * rounded);
        *again = how == FROM_THE_START;
        good &= how == RAISED;
    }
    return good && tp_bfc_cut(&m->rules, c->size, rounded) == ev->bytes;
}

static int see_alloc(struct tp_xplane_model *m, const struct tp_xplane_event *ev,
                     struct tp_xplane_seen *seen, bool *again, struct tp_err *err)
{
    uint64_t rounded = tp_bfc_rounded(&m->rules, ev->requested);
    int rc = add_late(m, ev->addr, rounded, err);
    struct tp_xplane_chunk *c = chunk_at(m, ev->addr);
    m->requests++;
    if (rc != TP_OK)
        return rc;
    if (!c || !c->free) {
        m->wrong++;
        return TP_OK;
    }
    seen->first = is_first(m, c, rounded);
    bool good = judge(m, c, ev, again);
    m->agree += good;
    m->wrong += !good;
    if (*again || c->size < ev->bytes)
        return TP_OK;
    seen->size = c->size;
    seen->tail_of = c->tail_of;
    rc = take_chunk(m, c, ev->bytes, err);
    seen->largest = largest(m);
    return rc;
}

static void see_free(struct tp_xplane_model *m, const struct tp_xplane_event *ev,
                     struct tp_xplane_seen *seen)
{
    struct tp_xplane_chunk *c = chunk_at(m, ev->addr);
    if (!c || c->free || c->size != ev->bytes) {
        m->wrong++;
        return;
    }
    c = release(m, c);
    seen->size = c->size;
    seen->tail_of = c->tail_of;
    seen->largest = largest(m);
}

int tp_xplane_pass(struct tp_xplane_model *m, struct tp_err *err)
{
    bool again = false;
    int rc = begin(m, err);
    m->changed = false;
    m->requests = m->agree = m->wrong = 0;
    for (size_t i = 0; rc == TP_OK && !again && i < m->count && m->steps; i++) {
        struct tp_xplane_seen *seen = &m->seen[i];
        *seen = (struct tp_xplane_seen){.largest = TP_XPLANE_UNKNOWN};
        m->steps--;
        if (m->events[i].frees)
            see_free(m, &m->events[i], seen);
        else
            rc = see_alloc(m, &m->events[i], seen, &again, err);
    }
    return rc;
}

int tp_xplane_settle(struct tp_xplane_model *m, struct tp_err *err)
{
    int rc = TP_OK;
    do
        rc = tp_xplane_pass(m, err);
    while (rc == TP_OK && m->changed && m->steps);
    return rc;
}

/* ---- from nothing ---- */

/* What the allocator takes from the device next. */
struct region_growth {
    uint64_t next, left; /* bytes of the next region; bytes that it may still take */
};

/* Takes a region for a request; 0: it may not have so much. */
static uint64_t grow(const struct tp_bfc_rules *rules, struct region_growth *g, uint64_t rounded)
{
    bool enlarged = false;
    if (rounded > g->left)
        return 0;
    uint64_t bytes = tp_bfc_next_region(rules, &g->next, rounded, g->left, &enlarged);
    tp_bfc_region_taken(rules, &g->next, enlarged);
    g->left -= bytes;
    return bytes;
}

static int see_growing(struct tp_xplane_model *m, struct region_growth *g,
                       const struct tp_xplane_event *ev, struct tp_xplane_seen *seen,
                       struct tp_err *err)
{
    uint64_t rounded = tp_bfc_rounded(&m->rules, ev->requested);
    m->requests++;
    if (!fit(m, rounded) && !chunk_at(m, ev->addr) && (seen->grown = grow(&m->rules, g, rounded))) {
        struct tp_xplane_chunk *region = new_chunk(m, ev->addr, seen->grown, true, err);
        if (!region)
            return TP_ENOMEM;
        add_free(m, region);
    }
    struct tp_xplane_chunk *c = fit(m, rounded);
    if (!c || c->addr != ev->addr || tp_bfc_cut(&m->rules, c->size, rounded) != ev->bytes) {
        m->wrong++;
        return TP_OK;
    }
    m->agree++;
    seen->size = c->size;
    int rc = take_chunk(m, c, ev->bytes, err);
    seen->largest = largest(m);
    return rc;
}

int tp_xplane_pass_growing(struct tp_xplane_model *m, uint64_t first, uint64_t limit,
                           struct tp_err *err)
{
    struct region_growth g = {.next = first, .left = limit};
    size_t pieces = m->piece_count;
    m->piece_count = 0;
    m->requests = m->agree = m->wrong = 0;
    int rc = begin(m, err);
    for (size_t i = 0; rc == TP_OK && !m->wrong && i < m->count && m->steps; i++) {
        m->seen[i] = (struct tp_xplane_seen){.largest = TP_XPLANE_UNKNOWN};
        m->steps--;
        if (m->events[i].frees)
            see_free(m, &m->events[i], &m->seen[i]);
        else
            rc = see_growing(m, &g, &m->events[i], &m->seen[i], err);
    }
    m->piece_count = pieces;
    return rc;
}
