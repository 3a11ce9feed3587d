/* Physical memory in chunks, and the pieces that pools cut from them.
 *
 *     chunk   | live | freed by A:4 | live | idle |     neighbours that are idle are one piece
 *
 * A freed piece lies in the bins of the stream that freed it: that stream takes it at once, others
 * when a rule of the pool allows it. When the host learns that the free is complete it becomes
 * idle, which all may take, and a chunk that is idle as a whole can go back to the device. Bins
 * hold sizes by binary logarithm, the oldest free first.
 *
 * Known weakness: pieces of other streams are looked at LOOK_AT deep in each bin. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

enum { LOOK_AT = 64 };

static uint32_t bin_of(uint64_t size)
{
    return 63u - (uint32_t)__builtin_clzll(size);
}

static uint64_t round_up(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

/* --- bins ------------------------------------------------------------------------------------- */

static void bin_add(struct fc_bins *b, struct fc_piece *p)
{
    uint32_t i = bin_of(p->size);
    p->bins = b;
    p->behind = NULL;
    p->before = b->last[i];
    *(p->before ? &p->before->behind : &b->first[i]) = p;
    b->last[i] = p;
    b->mask |= 1ull << i;
}

static void bin_remove(struct fc_piece *p)
{
    struct fc_bins *b = p->bins;
    uint32_t i = bin_of(p->size);
    *(p->before ? &p->before->behind : &b->first[i]) = p->behind;
    *(p->behind ? &p->behind->before : &b->last[i]) = p->before;
    if (!b->first[i])
        b->mask &= ~(1ull << i);
    p->bins = NULL;
}

static void age_add(struct fc_bins *b, struct fc_piece *p, struct fc_piece *older)
{
    p->older = older;
    p->newer = older ? older->newer : b->oldest;
    *(p->older ? &p->older->newer : &b->oldest) = p;
    *(p->newer ? &p->newer->older : &b->newest) = p;
}

static void age_remove(struct fc_bins *b, struct fc_piece *p)
{
    *(p->older ? &p->older->newer : &b->oldest) = p->newer;
    *(p->newer ? &p->newer->older : &b->newest) = p->older;
    p->older = p->newer = NULL;
}

static struct fc_bins *slot_bins(struct fc_heap *h, uint32_t slot)
{
    if (slot >= h->slots) {
        h->bins = fc_grow(h->bins, (slot + 1) * sizeof *h->bins);
        memset(h->bins + h->slots, 0, (slot + 1 - h->slots) * sizeof *h->bins);
        h->slots = slot + 1;
    }
    if (!h->bins[slot])
        h->bins[slot] = fc_zeroed(sizeof **h->bins);
    return h->bins[slot];
}

/* Out of its bins, idle or not. */
static void piece_unlink(struct fc_heap *h, struct fc_piece *p)
{
    struct fc_bins *b = p->bins;
    bin_remove(p);
    if (b != &h->idle)
        age_remove(b, p);
}

/* --- pieces ----------------------------------------------------------------------------------- */

/* Takes the neighbour behind p into p; both are in no bin. */
static void piece_join(struct fc_piece *p)
{
    struct fc_piece *gone = p->next;
    p->size += gone->size;
    p->next = gone->next;
    if (p->next)
        p->next->prev = p;
    free(gone);
}

static void piece_idle(struct fc_heap *h, struct fc_piece *p)
{
    if (p->next && p->next->bins == &h->idle) {
        bin_remove(p->next);
        piece_join(p);
    }
    if (p->prev && p->prev->bins == &h->idle) {
        p = p->prev;
        bin_remove(p);
        piece_join(p);
    }
    p->freed = (struct fc_point){0};
    bin_add(&h->idle, p);
}

/* Hands out the front of a free piece; the rest stays what it was. */
static struct fc_piece *piece_cut(struct fc_heap *h, struct fc_piece *p, uint64_t size)
{
    struct fc_bins *b = p->bins;
    if (p->size == size) {
        piece_unlink(h, p);
        return p;
    }
    struct fc_piece *front = fc_zeroed(sizeof *front);
    bin_remove(p);
    front->addr = p->addr;
    front->size = size;
    front->chunk = p->chunk;
    front->freed = p->freed;
    front->prev = p->prev;
    front->next = p;
    *(p->prev ? &p->prev->next : &p->chunk->first) = front;
    p->prev = front;
    p->addr += size;
    p->size -= size;
    bin_add(b, p);
    return front;
}

/* Frees that the host knows to be complete are idle. */
static void promote(struct fc_heap *h)
{
    if (h->host_version == fc.host.version)
        return;
    h->host_version = fc.host.version;
    for (uint32_t i = 0; i < h->slots; i++) {
        struct fc_bins *b = h->bins[i];
        while (b && b->oldest && fc_before(&b->oldest->freed, &fc.host)) {
            struct fc_piece *p = b->oldest;
            piece_unlink(h, p);
            piece_idle(h, p);
        }
    }
}

/* --- chunks ----------------------------------------------------------------------------------- */

static bool chunk_idle(const struct fc_chunk *c)
{
    return !c->first->next && c->first->bins == &c->heap->idle;
}

static void chunk_release(struct fc_chunk *c)
{
    struct fc_heap *h = c->heap;
    *(c->prev ? &c->prev->next : &h->chunks) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    h->reserved -= c->span.size;
    h->device->physical -= c->span.size;
    fc_address_free(h->device, &c->span);
    free(c);
}

void fc_chunk_trim(struct fc_chunk *c)
{
    if (!chunk_idle(c))
        return;
    bin_remove(c->first);
    free(c->first);
    chunk_release(c);
}

void fc_heap_trim(struct fc_heap *h, uint64_t keep)
{
    promote(h);
    for (struct fc_chunk *c = h->chunks, *next; c && h->reserved > keep; c = next) {
        next = c->next;
        fc_chunk_trim(c);
    }
}

/* A new chunk, as one idle piece; NULL: not that much. */
static struct fc_piece *grow(struct fc_heap *h, uint64_t size)
{
    struct fc_device *d = h->device;
    if (d->physical > fc.script.memory || size > fc.script.memory - d->physical)
        return NULL;
    if (h->max_size > 0 && (h->reserved > h->max_size || size > h->max_size - h->reserved))
        return NULL;
    struct fc_chunk *c = fc_zeroed(sizeof *c);
    struct fc_piece *p = fc_zeroed(sizeof *p);
    p->addr = fc_address(d, &c->span, size, FC_GRANULE);
    if (!p->addr) {
        free(c);
        free(p);
        return NULL;
    }
    p->size = size;
    p->chunk = c;
    c->heap = h;
    c->first = p;
    c->next = h->chunks;
    if (c->next)
        c->next->prev = c;
    h->chunks = c;
    d->physical += size;
    h->reserved += size;
    if (h->reserved > h->reserved_high)
        h->reserved_high = h->reserved;
    bin_add(&h->idle, p);
    return p;
}

/* --- reuse ------------------------------------------------------------------------------------ */

/* The first piece of the bins that is large enough: any, without a test. */
static struct fc_piece *find_any(const struct fc_bins *b, uint64_t size)
{
    uint64_t bins = b ? b->mask >> bin_of(size) << bin_of(size) : 0;
    for (; bins; bins &= bins - 1) {
        for (struct fc_piece *p = b->first[__builtin_ctzll(bins)]; p; p = p->behind) {
            if (p->size >= size)
                return p;
        }
    }
    return NULL;
}

enum rule { FOLLOW, OPPORTUNISTIC, WAIT };

static bool allowed(const struct fc_piece *p, const struct fc_stream *s, enum rule rule)
{
    switch (rule) {
    case FOLLOW:
        return fc_before(&p->freed, &s->clock);
    case OPPORTUNISTIC:
        return p->freed.end <= fc.now;
    default:
        return true;
    }
}

static struct fc_piece *find_in(const struct fc_bins *b, const struct fc_stream *s, uint64_t size,
                                enum rule rule)
{
    if (!b || !b->oldest || !allowed(b->oldest, s, rule))
        return NULL;
    uint64_t bins = b->mask >> bin_of(size) << bin_of(size);
    for (; bins; bins &= bins - 1) {
        uint32_t looked = 0;
        for (struct fc_piece *p = b->first[__builtin_ctzll(bins)]; p && looked < LOOK_AT;
             p = p->behind, looked++) {
            if (p->size >= size && allowed(p, s, rule))
                return p;
        }
    }
    return NULL;
}

/* A piece that another stream freed. */
static struct fc_piece *find_other(struct fc_heap *h, const struct fc_stream *s, uint64_t size,
                                   enum rule rule)
{
    struct fc_piece *best = NULL;
    for (uint32_t i = 0; i < h->slots; i++) {
        struct fc_piece *p = i == s->slot ? NULL : find_in(h->bins[i], s, size, rule);
        if (p && (!best || p->freed.end < best->freed.end))
            best = p;
    }
    return best;
}

/* Makes one piece of neighbours that this stream may take at once, idle ones included. */
static void coalesce(struct fc_heap *h, uint32_t slot)
{
    struct fc_bins *own = slot < h->slots ? h->bins[slot] : NULL;
    if (!own || !own->oldest)
        return;
    for (struct fc_chunk *c = h->chunks; c; c = c->next) {
        for (struct fc_piece *p = c->first; p && p->next;) {
            struct fc_piece *q = p->next;
            bool both = (p->bins == own || p->bins == &h->idle) &&
                        (q->bins == own || q->bins == &h->idle) && p->bins;
            if (!both) {
                p = q;
                continue;
            }
            /* the later free counts, and its place in the order of frees */
            struct fc_piece *later = q->freed.seq > p->freed.seq ? q : p;
            struct fc_piece *older = later->older;
            struct fc_point freed = later->freed;
            if (older == p || older == q)
                older = older->older;
            piece_unlink(h, p);
            piece_unlink(h, q);
            piece_join(p);
            p->freed = freed;
            bin_add(own, p);
            age_add(own, p, older);
        }
    }
}

/* What is there, without growing. */
static struct fc_piece *find(struct fc_heap *h, const struct fc_stream *s, uint64_t size)
{
    struct fc_piece *p = NULL;
    if (s && s->slot < h->slots)
        p = find_any(h->bins[s->slot], size);
    if (!p)
        p = find_any(&h->idle, size);
    if (!p && s && h->follow)
        p = find_other(h, s, size, FOLLOW);
    if (!p && s && h->opportunistic)
        p = find_other(h, s, size, OPPORTUNISTIC);
    return p;
}

static struct fc_piece *find_or_grow(struct fc_heap *h, struct fc_stream *s, uint64_t size,
                                     uint64_t *wait)
{
    struct fc_piece *p = find(h, s, size);
    if (!p && s) {
        coalesce(h, s->slot);
        p = find_any(s->slot < h->slots ? h->bins[s->slot] : NULL, size);
    }
    uint64_t exact = round_up(size, FC_GRANULE);
    if (!p)
        p = grow(h, exact > h->chunk_size ? exact : h->chunk_size);
    if (!p) {
        fc_heap_trim(h, 0);
        p = grow(h, exact);
    }
    if (!p && s && h->internal) {
        p = find_other(h, s, size, WAIT);
        *wait = p ? p->freed.end : 0;
    }
    return p;
}

/* What is in use counts as it was asked for, without what the pool rounds up. */
static struct fc_piece *hand_out(struct fc_heap *h, struct fc_piece *p, uint64_t asked)
{
    if (!p)
        return NULL;
    h->used += asked;
    if (h->used > h->used_high)
        h->used_high = h->used;
    p = piece_cut(h, p, round_up(asked, FC_UNIT));
    p->asked = asked;
    return p;
}

struct fc_piece *fc_heap_take(struct fc_heap *h, struct fc_stream *s, uint64_t size, uint64_t *wait)
{
    *wait = 0;
    promote(h);
    return hand_out(h, find_or_grow(h, s, round_up(size, FC_UNIT), wait), size);
}

/* The lowest number that no chunk has. */
static uint32_t free_number(const struct fc_heap *h, const struct fc_chunk *but)
{
    for (uint32_t number = 0;; number++) {
        const struct fc_chunk *c = h->chunks;
        while (c && (c == but || c->number != number))
            c = c->next;
        if (!c)
            return number;
    }
}

struct fc_piece *fc_heap_take_first(struct fc_heap *h, uint64_t asked)
{
    struct fc_piece *first = NULL;
    const uint64_t size = round_up(asked, FC_UNIT);
    for (struct fc_chunk *c = h->chunks; c; c = c->next) {
        struct fc_piece *p = first && first->chunk->number < c->number ? NULL : c->first;
        while (p && (p->bins != &h->idle || p->size < size))
            p = p->next;
        first = p ? p : first;
    }
    if (!first) {
        first = grow(h, h->chunk_size);
        if (first)
            first->chunk->number = free_number(h, first->chunk);
    }
    return hand_out(h, first, asked);
}

void fc_heap_put(struct fc_heap *h, struct fc_piece *p, const struct fc_point *freed)
{
    h->used -= p->asked;
    if (!freed || fc_before(freed, &fc.host)) {
        piece_idle(h, p);
        return;
    }
    struct fc_bins *b = slot_bins(h, freed->slot);
    p->freed = *freed;
    bin_add(b, p);
    age_add(b, p, b->newest);
}

bool fc_heap_pending(struct fc_heap *h)
{
    promote(h);
    for (uint32_t i = 0; i < h->slots; i++) {
        if (h->bins[i] && h->bins[i]->oldest)
            return true;
    }
    return false;
}

void fc_heap_init(struct fc_heap *h, struct fc_device *d, uint64_t chunk_size)
{
    *h = (struct fc_heap){.device = d, .chunk_size = chunk_size};
}

void fc_heap_clear(struct fc_heap *h)
{
    while (h->chunks) {
        for (struct fc_piece *p = h->chunks->first, *next; p; p = next) {
            next = p->next;
            free(p);
        }
        chunk_release(h->chunks);
    }
    for (uint32_t i = 0; i < h->slots; i++)
        free(h->bins[i]);
    free(h->bins);
    fc_heap_init(h, h->device, h->chunk_size);
}
