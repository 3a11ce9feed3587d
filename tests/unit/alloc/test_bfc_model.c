/* `bfc` and a model of it that looks at every chunk of a row: random programs get the same chunks
 * from both, and each rule that can be broken makes a difference somewhere. */
#include "tests/unit/bfc_rig.h"

enum { REGIONS = 1024, CHUNKS = 512, LIVE = 200, STEPS = 900, SEEDS = 12, STREAMS = 3 };

#define NO_STREAM 99u

struct model_chunk {
    uint64_t at, size; /* behind the beginning of its region; bytes */
    unsigned stream;
    bool free;
};

struct model_region {
    struct model_chunk chunks[CHUNKS];
    unsigned count;
    uint64_t size;
    tp_addr base; /* of the strategy's; 0: not known yet */
    bool gone, first;
};

/* A library as a user sets it up. */
struct setting {
    const char *options;
    uint64_t limit, next; /* bytes */
    uint64_t largest;     /* request in MiB */
    bool collects, by_stream, exact;
};

static const struct setting settings[] = {
    {"flavour=tf,limit=8MiB,allow_growth", 8 * MIB, 2 * MIB, 7, true, false, false},
    {"flavour=jax,limit=1TiB,allow_growth", UINT64_C(1) << 40, 2 * MIB, 500, false, false, false},
    {"flavour=jax,limit=64MiB", 64 * MIB, 64 * MIB, 20, false, false, false},
    {"flavour=ort,limit=48MiB", 48 * MIB, MIB, 8, false, true, false},
    {"flavour=ort,limit=32MiB,arena_extend_strategy=kSameAsRequested", 32 * MIB, MIB, 8, false,
     true, true},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

struct model {
    const struct setting *is;
    struct model_region regions[REGIONS];
    unsigned region_count;
    uint64_t pool, next;
};

/* Where a request is served. */
struct found {
    unsigned region, chunk;
    bool any;
};

static bool may_serve(const struct model *m, const struct model_chunk *c, uint64_t size,
                      unsigned stream)
{
    return c->free && c->size >= size &&
           (!m->is->by_stream || c->stream == NO_STREAM || c->stream == stream);
}

static struct found model_find(const struct model *m, uint64_t size, unsigned stream)
{
    struct found best = {.any = false};
    uint64_t best_size = UINT64_MAX;
    for (unsigned i = 0; i < m->region_count; i++)
        for (unsigned k = 0; !m->regions[i].gone && k < m->regions[i].count; k++) {
            const struct model_chunk *c = &m->regions[i].chunks[k];
            if (may_serve(m, c, size, stream) && c->size < best_size) {
                best = (struct found){i, k, true};
                best_size = c->size;
            }
        }
    return best;
}

static bool model_extend(struct model *m, uint64_t size)
{
    uint64_t left = m->is->limit - m->pool;
    bool first = true, enlarged = false;
    if (size > left)
        return false;
    for (; m->next < size && !m->is->exact; enlarged = true)
        m->next *= 2;
    uint64_t bytes = m->next < left ? m->next : left;
    bytes = m->is->exact ? size : bytes;
    m->next *= enlarged || m->is->exact ? 1 : 2;
    for (unsigned i = 0; i < m->region_count; i++)
        first &= m->regions[i].gone;
    assert_true(m->region_count < REGIONS);
    struct model_region *r = &m->regions[m->region_count++];
    *r = (struct model_region){.count = 1, .size = bytes, .first = first};
    r->chunks[0] = (struct model_chunk){0, bytes, NO_STREAM, true};
    m->pool += bytes;
    return true;
}

static bool is_unused(const struct model_region *r)
{
    bool unused = !r->gone;
    for (unsigned k = 0; k < r->count; k++)
        unused &= r->chunks[k].free;
    return unused;
}

static void model_drop(struct model *m, bool first_too)
{
    for (unsigned i = 0; i < m->region_count; i++) {
        struct model_region *r = &m->regions[i];
        if (!is_unused(r) || (r->first && !first_too))
            continue;
        r->gone = true;
        m->pool -= r->size;
    }
}

static bool model_collect(struct model *m, uint64_t size)
{
    uint64_t unused = 0;
    for (unsigned i = 0; i < m->region_count; i++)
        unused += is_unused(&m->regions[i]) ? m->regions[i].size : 0;
    if (!m->is->collects || !unused || size > m->is->limit - m->pool + unused)
        return false;
    model_drop(m, true);
    return model_extend(m, size);
}

static void model_split(struct model_region *r, unsigned k, uint64_t size)
{
    struct model_chunk *c = &r->chunks[k];
    assert_true(r->count < CHUNKS);
    memmove(c + 2, c + 1, (r->count - k - 1) * sizeof *c);
    r->count++;
    c[1] = (struct model_chunk){c->at + size, c->size - size, c->stream, true};
    c->size = size;
}

/* NULL: out of memory. */
static struct model_chunk *model_alloc(struct model *m, uint64_t asked, unsigned stream,
                                       struct found *at)
{
    uint64_t size = (asked + 255) / 256 * 256;
    *at = model_find(m, size, stream);
    if (!at->any) {
        if (!model_extend(m, size) && !model_collect(m, size))
            return NULL;
        *at = model_find(m, size, stream);
    }
    struct model_region *r = &m->regions[at->region];
    struct model_chunk *c = &r->chunks[at->chunk];
    if (c->size >= 2 * size || c->size - size >= 128 * MIB)
        model_split(r, at->chunk, size);
    c->free = false;
    if (m->is->by_stream && c->stream == NO_STREAM)
        c->stream = stream;
    return c;
}

static void model_merge(struct model_region *r, unsigned k)
{
    struct model_chunk *c = &r->chunks[k];
    if (k + 1 >= r->count || !c->free || !c[1].free || c->stream != c[1].stream)
        return;
    c->size += c[1].size;
    memmove(c + 1, c + 2, (r->count - k - 2) * sizeof *c);
    r->count--;
}

static void model_free(struct model *m, unsigned region, uint64_t at)
{
    struct model_region *r = &m->regions[region];
    unsigned k = 0;
    while (r->chunks[k].at != at)
        k++;
    r->chunks[k].free = true;
    model_merge(r, k);
    if (k)
        model_merge(r, k - 1);
}

/* ---- both ---- */

struct pair {
    struct rig *r;
    struct model *m;
    struct pair_object {
        tp_addr addr;
        uint64_t asked, at;
        unsigned region, stream;
    } live[LIVE];
};

static uint64_t any_size(struct rig *r, uint64_t largest)
{
    uint64_t kind = tp_rig_random(r) % 20;
    if (kind < 12)
        return 1 + tp_rig_random(r) % 5000;
    if (kind < 18)
        return (1 + tp_rig_random(r) % 8) * 64 * KIB;
    return 1 + tp_rig_random(r) % (largest * MIB);
}

/* Does the strategy do what the model does? The first chunk of a region says where that lies. */
static bool same_alloc(struct pair *p, struct pair_object *o, unsigned stream)
{
    const uint64_t asked = any_size(p->r, p->m->is->largest);
    const struct tp_req rq = {.size = asked, .align = 1, .stream = (uint16_t)stream};
    struct tp_block b = {0};
    struct found at;
    const struct model_chunk *c = model_alloc(p->m, asked, stream, &at);
    int rc = p->r->s->alloc(p->r->st, p->r->threads[0], &rq, &b);
    if (!c || rc)
        return !c && rc == TP_EOOM;
    struct model_region *r = &p->m->regions[at.region];
    r->base = r->base ? r->base : b.addr - c->at;
    *o = (struct pair_object){b.addr, asked, c->at, at.region, stream};
    return b.addr == r->base + c->at && b.allocated == c->size;
}

static void both_free(struct pair *p, struct pair_object *o)
{
    const struct tp_req rq = {.size = o->asked, .align = 1, .stream = (uint16_t)o->stream};
    assert_int_equal(p->r->s->free(p->r->st, p->r->threads[0], o->addr, &rq), TP_OK);
    model_free(p->m, o->region, o->at);
    o->addr = 0;
}

static void both_shrink(struct pair *p)
{
    assert_int_equal(p->r->s->trim(p->r->st, 0), TP_OK);
    model_drop(p->m, p->m->is->exact);
    p->m->next = 2 * MIB;
}

static bool same_step(struct pair *p, unsigned i)
{
    struct pair_object *o = &p->live[tp_rig_random(p->r) % LIVE];
    bool same = true;
    if (p->m->is->by_stream && i % 211 == 210)
        both_shrink(p);
    else if (o->addr)
        both_free(p, o);
    else
        same = same_alloc(p, o, (unsigned)(tp_rig_random(p->r) % STREAMS));
    if (i % 50 == 0)
        rig_check(p->r);
    return same && tp_bfc_bytes_of(p->r->st).pool == p->m->pool;
}

/* Nearly all is freed, or all, so that regions become unused. */
static bool same_drain(struct pair *p)
{
    const uint64_t kept = tp_rig_random(p->r) % 2;
    for (unsigned i = 0; i < LIVE; i++)
        if (p->live[i].addr && tp_rig_random(p->r) % 16 >= kept)
            both_free(p, &p->live[i]);
    return tp_bfc_bytes_of(p->r->st).pool == p->m->pool;
}

/* Whether a program is served alike, with the strategy's rule of this name broken; NULL: none. */
static bool is_alike(const struct setting *is, uint64_t seed, const char *broken)
{
    struct pair p = {.r = open_bfc(is->options), .m = calloc(1, sizeof(struct model))};
    struct tp_err err;
    bool same = true;
    assert_non_null(p.m);
    p.m->is = is;
    p.m->next = is->next;
    p.r->random = seed;
    if (broken)
        assert_int_equal(tp_mutate(tp_bfc_rules_of(p.r->st), tp_bfc_mutations, broken, &err),
                         TP_OK);
    for (unsigned i = 0; same && i < STEPS; i++)
        same = i % 300 == 299 ? same_drain(&p) : same_step(&p, i);
    free(p.m);
    rig_end(p.r);
    return same;
}

TEST(random_programs_get_the_same_chunks_from_a_model)
{
    for (unsigned s = 0; s < SETTINGS; s++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            if (!is_alike(&settings[s], seed, NULL))
                fail_msg("%s, seed %" PRIu64 ": not as the model", settings[s].options, seed);
}

static bool is_noticed(const char *broken)
{
    for (unsigned s = 0; s < SETTINGS; s++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            if (!is_alike(&settings[s], seed, broken))
                return true;
    return false;
}

TEST(each_broken_rule_makes_a_difference)
{
    unsigned count = 0;
    for (const struct tp_mutation *m = tp_bfc_mutations; m->name; m++, count++)
        if (!is_noticed(m->name))
            fail_msg("nothing depends on the rule of '%s'", m->name);
    assert_in_range(count, 12, 100);
}

TEST(a_rule_that_there_is_not_is_an_error)
{
    struct tp_bfc_rules rules = tp_bfc_rules_for(TP_BFC_TF);
    struct tp_err err;
    assert_int_equal(tp_mutate(&rules, tp_bfc_mutations, "first-fits", &err), TP_EUSAGE);
    assert_non_null(strstr(err.hint, "first-fit"));
}
