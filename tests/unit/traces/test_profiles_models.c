/* The profiles of models on a device: what lives when, as their pages say. Sizes are worked out
 * here once more, from the model, so that a tensor that is missing or too large shows. */
#include "tests/unit/trace_fixture.h"
#include "traces/lower/lower.h"
#include "traces/profile.h"

extern const struct tp_profile tp_profile_training_step, tp_profile_llm_decode;

enum {
    IDS = 1 << 16,
    MARKS = 64,
    SLOTS = 64,
    FIRST_KV = 8192,
    SLOT_IDS = 512,
    TOKEN_IDS = 0,
    PICKED = 12
};

struct phase {
    char name[32];
    uint64_t live, event; /* when it begins */
    uint64_t hash;        /* of what happens in it, without the times */
    uint64_t time_ns;
};

/* A sequence as its keys and values show it. */
struct slot {
    uint64_t blocks, passes; /* since the last one was added */
    bool grown;              /* a block was added since the prompt: the next one when it is full */
    bool prompt;             /* not yet a pass since it began */
};

struct watch {
    uint64_t events, ops[TP_EV_COUNT];
    uint64_t live, objects, peak, peak_event;
    uint64_t size_of[IDS], order_of[IDS]; /* order: the number of its allocation; 0: not live */
    struct phase phases[MARKS];
    size_t phase_count;
    uint64_t time_ns;
    /* training */
    uint64_t far_frees;      /* of activations, while much newer ones live */
    uint64_t falls, deepest; /* during forward, below the highest so far */
    uint64_t high;
    uint64_t uses[8], syncs[8];
    /* decoding */
    bool contiguous;
    struct slot slots[SLOTS], *last; /* last: it was given a block last */
    uint64_t running, most_running, begun, ended, passes, running_sum, bad_growth, block;
    uint64_t first_blocks, most_blocks;
};

static const char *phase(const struct watch *w)
{
    return w->phase_count ? w->phases[w->phase_count - 1].name : "";
}

static void add_hash(struct watch *w, const struct tp_event *ev)
{
    uint64_t *hash = &w->phases[w->phase_count ? w->phase_count - 1 : 0].hash;
    const uint64_t members[] = {ev->op, (uint64_t)ev->id, ev->size, (uint64_t)ev->stream};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        *hash = (*hash ^ members[i]) * UINT64_C(0x9e3779b97f4a7c15), *hash ^= *hash >> 29;
}

static void see_mark(struct watch *w, const struct tp_event *ev)
{
    assert_true(w->phase_count < MARKS);
    struct phase *p = &w->phases[w->phase_count++];
    snprintf(p->name, sizeof p->name, "%s", ev->name);
    p->live = w->live;
    p->event = w->events;
    p->time_ns = ev->time_ns;
    w->high = w->live;
}

/* ---- decoding ---- */

static void see_kv_alloc(struct watch *w, const struct tp_event *ev)
{
    struct slot *s = &w->slots[((uint64_t)ev->id - FIRST_KV) / SLOT_IDS];
    uint64_t blocks = ev->size / w->block;
    w->last = s;
    assert_int_equal(ev->size % w->block, 0);
    if (!s->blocks) {
        s->prompt = true;
        w->begun++;
        w->running++;
        w->most_running = w->running > w->most_running ? w->running : w->most_running;
    }
    if (w->contiguous) {
        w->bad_growth += (blocks & (blocks - 1)) != 0 || (s->blocks && blocks != 2 * s->blocks);
        w->bad_growth += s->blocks > 1 && s->passes > 16 * s->blocks;
    } else if (!s->prompt) {
        w->bad_growth += blocks != 1 || s->passes > 16 || (s->grown && s->passes != 16);
        s->grown = true;
    }
    s->blocks = w->contiguous ? blocks : s->blocks + blocks;
    s->passes = 0;
    w->most_blocks = s->blocks > w->most_blocks ? s->blocks : w->most_blocks;
}

/* Paged: all of a sequence. Contiguous: all, or the half that was copied. */
static void see_kv_free(struct watch *w, const struct tp_event *ev)
{
    struct slot *s = &w->slots[((uint64_t)ev->id - FIRST_KV) / SLOT_IDS];
    uint64_t blocks = w->size_of[ev->id] / w->block;
    if (w->contiguous && s->blocks == 2 * blocks && s->passes == 0)
        return;
    assert_true(s->blocks >= blocks);
    s->blocks -= blocks;
    if (s->blocks)
        return;
    *s = (struct slot){0};
    w->running--;
    w->ended++;
}

/* The sequence that has just begun has the blocks that its prompt needs, and no more. */
static void see_prompt(const struct watch *w)
{
    uint64_t blocks = (w->size_of[TOKEN_IDS] / 8 + 15) / 16, power = 1;
    while (w->contiguous && power < blocks)
        power *= 2;
    assert_int_equal(w->last->blocks, w->contiguous ? power : blocks);
}

/* After a prompt one token is picked, after other passes eight or more. */
static void see_pass(struct watch *w)
{
    assert_true(w->order_of[PICKED] > 0);
    if (w->size_of[PICKED] == 8) {
        see_prompt(w);
        return;
    }
    assert_int_equal(w->size_of[PICKED], (w->running + 7) / 8 * 64);
    w->passes++;
    w->running_sum += w->running;
    for (size_t i = 0; i < SLOTS; i++) {
        w->slots[i].passes++;
        w->slots[i].prompt = false;
    }
}

/* ---- all ---- */

static void see_alloc(struct watch *w, const struct tp_event *ev)
{
    assert_int_equal(w->order_of[ev->id], 0);
    w->order_of[ev->id] = w->events;
    w->size_of[ev->id] = ev->size;
    w->objects++;
    w->live += ev->size;
    if (w->live > w->peak) {
        w->peak = w->live;
        w->peak_event = w->events;
    }
    w->high = w->live > w->high ? w->live : w->high;
    if (w->block && ev->id >= FIRST_KV)
        see_kv_alloc(w, ev);
}

/* Backward frees what forward made in the opposite order: hardly more than a layer apart. */
static void see_activation_free(struct watch *w, const struct tp_event *ev)
{
    const struct phase *forward = &w->phases[w->phase_count - 2], *now = forward + 1;
    uint64_t order = w->order_of[ev->id], newest = 0;
    if (order < forward->event || order > now->event)
        return;
    for (size_t i = 0; i < 2048; i++)
        if (w->order_of[i] > newest && w->order_of[i] < now->event && w->size_of[i] > 4)
            newest = w->order_of[i];
    w->far_frees += newest - order > 40;
}

static void see_free(struct watch *w, const struct tp_event *ev)
{
    assert_true(w->order_of[ev->id] > 0);
    if (!strcmp(phase(w), "backward"))
        see_activation_free(w, ev);
    if (w->block && ev->id >= FIRST_KV)
        see_kv_free(w, ev);
    w->order_of[ev->id] = 0;
    w->objects--;
    w->live -= w->size_of[ev->id];
    if (!strcmp(phase(w), "forward") && w->high - w->live > w->deepest)
        w->deepest = w->high - w->live;
}

static int see(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct watch *w = ctx;
    (void)err;
    w->events++;
    w->ops[ev->op]++;
    assert_true(ev->has_time && ev->time_ns >= w->time_ns && ev->id < IDS);
    w->time_ns = ev->time_ns;
    if (ev->op == TP_EV_MARK)
        see_mark(w, ev);
    else
        add_hash(w, ev);
    if (ev->op == TP_EV_ALLOC)
        see_alloc(w, ev);
    else if (ev->op == TP_EV_FREE)
        see_free(w, ev);
    else if (ev->op == TP_EV_USE)
        w->uses[ev->stream]++;
    else if (ev->op == TP_EV_SYNC)
        w->syncs[ev->stream]++;
    if (ev->op == TP_EV_SYNC && w->block)
        see_pass(w);
    return TP_OK;
}

static void *options(const struct tp_profile *p, const char *text)
{
    void *opts = NULL;
    struct tp_err err = {0};
    if (tp_profile_opts_new(p, &opts, &err) || tp_opts_parse(p->options, opts, text, p->name, &err))
        fail_msg("%s %s: %s", p->name, text, err.text);
    return opts;
}

/* To be freed. `block`: bytes of a block of keys and values; 0 in training. */
static struct watch *watch(const struct tp_profile *p, const char *text, uint64_t seed,
                           uint64_t block)
{
    struct watch *w = calloc(1, sizeof *w);
    assert_non_null(w);
    const struct tp_event_sink sink = {see, w};
    void *opts = options(p, text);
    w->block = block;
    w->contiguous = strstr(text, "contiguous") != NULL;
    assert_int_equal(p->generate(opts, seed, &sink, NULL), TP_OK);
    tp_profile_opts_free(p, opts);
    return w;
}

static const struct phase *phase_named(const struct watch *w, const char *name, int nth)
{
    for (size_t i = 0; i < w->phase_count; i++)
        if (!strcmp(w->phases[i].name, name) && nth-- == 0)
            return &w->phases[i];
    fail_msg("no mark '%s'", name);
    return NULL;
}

/* ---- training ---- */

struct model {
    uint64_t layers, hidden, batch;
};

static uint64_t values(struct model m)
{
    return m.layers * (12 * m.hidden * m.hidden + 13 * m.hidden) + 2 * m.hidden +
           (50257 + 1024) * m.hidden;
}

static uint64_t tensors(struct model m)
{
    return 12 * m.layers + 4;
}

/* What forward leaves of the embedding, the layers, and the head: inputs were there before. */
static uint64_t activations(struct model m, uint64_t length)
{
    uint64_t t = m.batch * length, heads = m.hidden / 64;
    uint64_t of_layer = t * m.hidden * 34 + t * 16 + t * heads * 4 + 16;
    uint64_t of_head = t * m.hidden * 2 + t * 8 + t * 50257 * 6 + 4;
    return t * m.hidden * 2 + m.layers * of_layer + of_head;
}

static const struct model small = {3, 256, 2};
static const char small_text[] = "count=4,layers=3,hidden=256,batch=2";

TEST(test_training_live)
{
    struct watch *w = watch(&tp_profile_training_step, small_text, 1, 0);
    uint64_t weights = 2 * values(small), kept = 12 * values(small) + 4 * tensors(small);
    uint64_t inputs = small.batch * 1024 * 2 * 8;
    assert_int_equal(w->phase_count, 1 + 4 * 4);
    for (int step = 0; step < 4; step++) {
        uint64_t base = step ? weights + kept : weights;
        const struct phase *forward = phase_named(w, "forward", step);
        const struct phase *backward = phase_named(w, "backward", step);
        const struct phase *optimizer = phase_named(w, "optimizer", step);
        assert_int_equal(forward[-1].live, base); /* 'step N' */
        assert_int_equal(forward->live, base + inputs);
        assert_int_equal(backward->live, forward->live + activations(small, 1024));
        assert_int_equal(optimizer->live, base + inputs + 2 * values(small) + 4);
        assert_true(optimizer->live < backward->live);
    }
    assert_fields(*w, live, weights + kept, objects, 5 * tensors(small));
    free(w);
}

TEST(test_training_order)
{
    struct watch *w = watch(&tp_profile_training_step, small_text, 1, 0);
    assert_int_equal(w->far_frees, 0);
    assert_true(w->deepest > 0); /* workspaces and products go, and nothing else */
    assert_true(w->deepest <= (1 << 20) + 2 * small.batch * 1024 * small.hidden);
    const struct phase *backward = phase_named(w, "backward", 1);
    assert_in_range(w->peak_event, backward->event + 1, backward->event + 3);
    assert_int_equal(w->peak, backward->live + small.batch * 1024 * 50257 * 4);
    free(w);
}

TEST(test_training_steps_are_alike)
{
    static const char *const names[] = {"forward", "backward", "optimizer"};
    struct watch *w = watch(&tp_profile_training_step, small_text, 1, 0);
    for (int i = 0; i < 3; i++) {
        const struct phase *second = phase_named(w, names[i], 1);
        for (int step = 2; step < 4; step++)
            assert_int_equal(phase_named(w, names[i], step)->hash, second->hash);
        assert_true((phase_named(w, names[i], 0)->hash == second->hash) == (i < 2));
    }
    uint64_t took = phase_named(w, "step 4", 0)->time_ns - phase_named(w, "step 3", 0)->time_ns;
    assert_in_range(took, 4000000, 12000000); /* 600 events of 5 us, and 2 to 6 ms */
    free(w);
}

TEST(test_training_lengths)
{
    static const char text[] = "count=12,layers=3,hidden=256,batch=2,lengths=mixed";
    struct watch *w = watch(&tp_profile_training_step, text, 1, 0);
    uint64_t seen[12], distinct = 0;
    for (int step = 0; step < 12; step++) {
        uint64_t made =
            phase_named(w, "backward", step)->live - phase_named(w, "forward", step)->live;
        uint64_t length = 128;
        while (length < 1024 && activations(small, length) != made)
            length += 8;
        assert_int_equal(activations(small, length), made);
        seen[step] = length;
        bool known = false;
        for (int i = 0; i < step; i++)
            known |= seen[i] == length;
        distinct += !known;
    }
    assert_true(distinct >= 9);
    assert_int_equal(w->live, 14 * values(small) + 4 * tensors(small));
    free(w);
}

TEST(test_training_streams)
{
    struct watch *w =
        watch(&tp_profile_training_step, "count=4,layers=3,hidden=256,batch=2,streams=3", 1, 0);
    assert_int_equal(w->ops[TP_EV_USE], 4 * 5); /* embedding, three layers, head */
    assert_fields(*w, uses[0], 0, uses[1], 4 * 3, uses[2], 4 * 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(w->syncs[i], 4);
    assert_int_equal(w->live, 14 * values(small) + 4 * tensors(small));
    free(w);
    w = watch(&tp_profile_training_step, small_text, 1, 0);
    assert_fields(*w, ops[TP_EV_USE], 0, ops[TP_EV_SYNC], 4);
    free(w);
}

/* ---- decoding ---- */

static uint64_t weights_of(uint64_t layers, uint64_t hidden)
{
    return hidden * 128256 * 2 * 2 + layers * (26 * hidden * hidden + 4 * hidden);
}

static void test_decode(const char *text, uint64_t requests)
{
    uint64_t block = UINT64_C(16) * 3 * 256;
    struct watch *w = watch(&tp_profile_llm_decode, text, 1, block);
    assert_int_equal(w->phase_count, 3);
    assert_int_equal(phase_named(w, "requests", 0)->live, weights_of(3, 256));
    assert_int_equal(w->live, weights_of(3, 256)); /* all of the requests is freed */
    assert_fields(*w, objects, 2 + 6 * 3, begun, requests, ended, requests, bad_growth, 0);
    assert_int_equal(w->ops[TP_EV_SYNC], w->passes + requests); /* each prompt is a pass */
    assert_int_equal(w->most_running, 16);
    assert_in_range(w->running_sum * 100 / w->passes, 16 * 62, 16 * 88); /* three quarters */
    assert_in_range(w->most_blocks, 150, 512);
    assert_in_range(w->time_ns / (w->passes + requests), 9000000, 13000000);
    free(w);
}

TEST(test_decode_paged)
{
    test_decode("count=1000,live=16,layers=3,hidden=256", 1000);
}

TEST(test_decode_contiguous)
{
    test_decode("count=1000,live=16,layers=3,hidden=256,kv=contiguous", 1000);
}

/* One at a time, with quiet in between. */
TEST(test_decode_alone)
{
    struct watch *w = watch(&tp_profile_llm_decode, "count=50,live=1,layers=1,hidden=64", 3, 1024);
    assert_fields(*w, most_running, 1, ended, 50, running_sum, w->passes);
    free(w);
}

/* ---- both ---- */

static void hash_of(const struct tp_profile *p, const char *text, uint64_t seed, char *out)
{
    struct tp_lower *lo = NULL;
    struct tp_program *program = NULL;
    struct tp_err err = {0};
    uint64_t repairs[TP_REPAIR_COUNT];
    void *opts = options(p, text);
    const struct tp_lower_cfg cfg = {.path = p->name, .strict = true};
    if (tp_lower_new(&cfg, &lo, &err) || tp_profile_lower(p, opts, seed, lo, &err) ||
        tp_lower_finish(lo, &program, repairs, &err))
        fail_msg("%s %s: %s", p->name, text, err.text);
    for (int i = 0; i < 8; i++)
        snprintf(&out[2 * i], 3, "%02x", tp_program_facts(program)->hash[i]);
    tp_program_release(program);
    tp_lower_free(lo);
    tp_profile_opts_free(p, opts);
}

/* The same options and seed are the same program in every version and on every machine. */
TEST(test_pinned)
{
    static const struct {
        const struct tp_profile *profile;
        const char *text;
        uint64_t seed;
        const char *hash;
    } rows[] = {
        {&tp_profile_training_step, "", 1, "47da71112dc78bb7"},
        {&tp_profile_training_step, "count=3,layers=2,hidden=100,batch=3,lengths=mixed,streams=3",
         9, "16df2c21e62a004b"},
        {&tp_profile_llm_decode, "", 1, "3628a5e1ae452883"},
        {&tp_profile_llm_decode, "count=90,live=7,layers=2,hidden=100,kv=contiguous", 9,
         "3d509cd2186c726d"},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char hash[32];
        hash_of(rows[i].profile, rows[i].text, rows[i].seed, hash);
        if (strcmp(hash, rows[i].hash) != 0)
            wrong += fprintf(stderr, "%s %s: %s\n", rows[i].profile->name, rows[i].text, hash) > 0;
    }
    assert_int_equal(wrong, 0);
}

/* The largest models are programs, too: nothing overflows, no limit of a program is met. */
TEST(test_largest)
{
    char hash[32];
    hash_of(&tp_profile_training_step, "count=2,layers=1024,hidden=65536,batch=1024,streams=16", 1,
            hash);
    hash_of(&tp_profile_training_step, "count=2,layers=1,hidden=64,batch=1", 1, hash);
    hash_of(&tp_profile_llm_decode, "count=300,live=65536,layers=1024,hidden=65536", 1, hash);
    hash_of(&tp_profile_llm_decode, "count=300,layers=1024,hidden=65536,kv=contiguous", 1, hash);
    hash_of(&tp_profile_llm_decode, "count=3,live=1,layers=1,hidden=64", UINT64_MAX, hash);
}

/* A thousand steps have names, then one in a thousand: programs take 65,536 names. */
static int count_marks(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    uint64_t *named = ctx;
    (void)err;
    *named += ev->op == TP_EV_MARK && !strncmp(ev->name, "step ", 5);
    return TP_OK;
}

TEST(test_step_names)
{
    uint64_t named = 0;
    const struct tp_event_sink sink = {count_marks, &named};
    void *opts = options(&tp_profile_training_step, "count=3100,layers=1,hidden=64,batch=1");
    assert_int_equal(tp_profile_training_step.generate(opts, 1, &sink, NULL), TP_OK);
    assert_int_equal(named, 1000 + 2);
    tp_profile_opts_free(&tp_profile_training_step, opts);
}
