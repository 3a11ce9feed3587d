/* Profile `llm-decode`: a server that generates text with a transformer on a device.
 *
 *     weights     stay
 *     requests    arrive at random and wait until fewer than `live` sequences run
 *     keys and    of a running sequence grow with it, by one token in a pass; dropped at its end:
 *     values        paged        a block of 16 tokens is added:   [16][16][16][16] ...
 *                   contiguous   one block, replaced by another of twice the size when it is full
 *     buffers     of a pass: their sizes depend on its tokens; dropped after it
 *
 * A pass is the prompt of one request, or the next token of every running sequence.
 *
 * Known weakness: no sequence is ever preempted to make room, and prompts share no prefix. */
#include "traces/profiles/common/emit.h"

#include <stdlib.h>

struct decode_opts {
    uint64_t count, live, layers, hidden;
    uint32_t kv;
};

enum kv { PAGED, CONTIGUOUS };

enum {
    MAX_REQUESTS = 100000000,
    MAX_RUNNING = 65536,
    MAX_LAYERS = 1024,
    MIN_HIDDEN = 64,
    MAX_HIDDEN = 65536,
    VOCABULARY = 128256,
    BLOCK_TOKENS = 16,
    PAD = 8,           /* tokens; a pass of next tokens is padded to a multiple */
    LEAST_PROMPT = 32, /* tokens; prompts are bell-shaped over 7 doublings, so below 4,096 */
    LEAST_ANSWER = 16, /* tokens; answers are below 2,048 */
    SPREAD = 6,
    MEAN_ANSWER = 273,
    EVENT_NS = 5000,
    PASS_NS = 8000000, /* shortest pass, ns */
    LONGEST_PASS_NS = 12000000,
    TOKEN_NS = 20000, /* ns that each further token of a prompt adds */
    WAIT_UNIT = 65536 /* units of arrival times in one pass */
};

static const char *const kv_words[] = {"paged", "contiguous", NULL};
static const struct tp_opt rows[] = {
    TP_PROFILE_COUNT_ROW(struct decode_opts, count, "700", MAX_REQUESTS, "number of requests"),
    TP_PROFILE_COUNT_ROW(struct decode_opts, live, "64", MAX_RUNNING,
                         "max number of running sequences; three quarters of it on average"),
    TP_PROFILE_COUNT_ROW(struct decode_opts, layers, "32", MAX_LAYERS,
                         "number of layers of the model"),
    TP_UINT_ROW(struct decode_opts, hidden, .def = "4096", .min = MIN_HIDDEN, .max = MAX_HIDDEN,
                .help = "width of the model; the KV cache takes layers * hidden bytes per token"),
    TP_CHOICE_ROW(
        struct decode_opts, kv, .def = "paged", .choices = kv_words, .arg = "HOW",
        .help = "KV cache: paged, a block per 16 tokens, or contiguous, a block that doubles when "
                "full"),
    {.name = NULL}};

/* ---- the model ---- */

enum decode_measure {
    WIDTH,       /* hidden */
    SQUARE,      /* hidden * hidden */
    TABLE,       /* vocabulary * hidden */
    TOKENS,      /* tokens of the pass */
    TOKEN_WIDTH, /* tokens * hidden */
    SEQUENCES,   /* sequences of the pass */
    HEAD_WIDTH,  /* sequences * hidden */
    WORDS,       /* sequences * vocabulary */
    POINTERS,    /* sequences * highest number of key and value blocks of a sequence */
    MEASURES
};

struct decode_extent {
    uint32_t measure, factor;
};

/* Weights of the two tables and of each layer, in bytes. A value has 2 bytes. Four heads share keys
 * and values, so each of these has a quarter of the width. */
static const struct decode_extent tables[] = {{TABLE, 2}, {TABLE, 2}};
static const struct decode_extent layer[] = {{WIDTH, 2}, {SQUARE, 3},  {SQUARE, 2},
                                             {WIDTH, 2}, {SQUARE, 14}, {SQUARE, 7}};

/* Buffers of a pass. All layers use the same ones. */
enum buffer {
    IDS,
    POSITIONS,
    PLACES,
    STATE,
    NORM,
    QKV,
    PARTIALS,
    ATTENTION,
    WIDE,
    ACTIVE,
    LOGITS,
    CHANCES,
    PICKED,
    BUFFERS
};

static const struct decode_extent buffers[BUFFERS] = {
    [IDS] = {TOKENS, 8},           [POSITIONS] = {TOKENS, 8},      [PLACES] = {POINTERS, 8},
    [STATE] = {TOKEN_WIDTH, 2},    [NORM] = {TOKEN_WIDTH, 2},      [QKV] = {TOKEN_WIDTH, 3},
    [PARTIALS] = {HEAD_WIDTH, 32}, [ATTENTION] = {TOKEN_WIDTH, 2}, [WIDE] = {TOKEN_WIDTH, 14},
    [ACTIVE] = {TOKEN_WIDTH, 7},   [LOGITS] = {WORDS, 4},          [CHANCES] = {WORDS, 4},
    [PICKED] = {SEQUENCES, 8},
};

/* Ids: first buffers, then weights, then the keys and values of each slot. */
enum { FIRST_WEIGHT = 16, FIRST_KV = 8192, SLOT_IDS = 512 };
static_assert(FIRST_WEIGHT + sizeof layer / sizeof *layer * MAX_LAYERS + 2 <= FIRST_KV, "own ids");
static_assert(((LEAST_PROMPT + LEAST_ANSWER) << (SPREAD + 1)) / BLOCK_TOKENS <= SLOT_IDS,
              "own ids");

struct sequence {
    uint32_t slot;
    uint32_t tokens, end;    /* tokens now; tokens at its end */
    uint32_t blocks, copies; /* blocks allocated; replacements of a contiguous block */
};

struct server {
    struct tp_emit emit;
    const struct decode_opts *o;
    uint64_t block; /* bytes of BLOCK_TOKENS tokens */
    struct sequence *sequences;
    uint64_t running;                 /* sequences that run: the first ones of the list */
    uint64_t arrived, waiting, ended; /* numbers of requests */
    uint64_t now, arrival; /* time of this pass and of the next request, in WAIT_UNITs of a pass */
};

static void make(struct server *s, uint64_t id, uint64_t size)
{
    tp_emit_alloc(&s->emit, 0, (int64_t)id, size);
}

static void drop(struct server *s, uint64_t id)
{
    tp_emit_free(&s->emit, 0, (int64_t)id);
}

static void make_weights(struct server *s)
{
    uint64_t hidden = s->o->hidden, id = FIRST_WEIGHT;
    const uint64_t measures[MEASURES] = {
        [WIDTH] = hidden, [SQUARE] = hidden * hidden, [TABLE] = hidden * VOCABULARY};
    tp_emit_mark(&s->emit, "weights");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        make(s, id++, measures[tables[i].measure] * tables[i].factor);
    for (uint64_t n = 0; n < s->o->layers && s->emit.status == TP_OK; n++)
        for (size_t i = 0; i < sizeof layer / sizeof *layer; i++)
            make(s, id++, measures[layer[i].measure] * layer[i].factor);
}

/* ---- keys and values ---- */

static uint64_t kv_id(const struct sequence *q, uint64_t place)
{
    return FIRST_KV + (uint64_t)q->slot * SLOT_IDS + place;
}

static void grow_paged(struct server *s, struct sequence *q, uint32_t needed)
{
    for (; q->blocks < needed; q->blocks++)
        make(s, kv_id(q, q->blocks), s->block);
}

/* Replaces a contiguous block by a larger one. The old block is copied, so both are live for a
 * moment. */
static void grow_contiguous(struct server *s, struct sequence *q, uint32_t needed)
{
    uint32_t old = q->blocks;
    if (old >= needed)
        return;
    for (q->blocks = old ? old : 1; q->blocks < needed;)
        q->blocks *= 2;
    q->copies++;
    make(s, kv_id(q, q->copies % 2), q->blocks * s->block);
    if (old)
        drop(s, kv_id(q, (q->copies + 1) % 2));
}

static void grow(struct server *s, struct sequence *q)
{
    uint32_t needed = (q->tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
    if (s->o->kv == PAGED)
        grow_paged(s, q, needed);
    else
        grow_contiguous(s, q, needed);
}

static void drop_kv(struct server *s, const struct sequence *q)
{
    if (s->o->kv == CONTIGUOUS)
        drop(s, kv_id(q, q->copies % 2));
    for (uint32_t i = 0; s->o->kv == PAGED && i < q->blocks; i++)
        drop(s, kv_id(q, i));
}

/* ---- passes ---- */

/* The buffers that a pass makes and drops, in order. The picked tokens are dropped last. */
#define DROP(buffer) (-1 - (buffer))
static const int8_t script[] = {
    IDS,          POSITIONS,      PLACES,          STATE,           NORM,    QKV,    PARTIALS,
    ATTENTION,    DROP(PARTIALS), DROP(QKV),       DROP(ATTENTION), WIDE,    ACTIVE, DROP(WIDE),
    DROP(ACTIVE), DROP(NORM),     LOGITS,          DROP(STATE),     CHANCES, PICKED, DROP(CHANCES),
    DROP(LOGITS), DROP(PLACES),   DROP(POSITIONS), DROP(IDS)};

/* Emits a pass. `blocks` is the highest number of blocks of a sequence. */
static void pass(struct server *s, uint64_t tokens, uint64_t sequences, uint64_t blocks)
{
    uint64_t hidden = s->o->hidden;
    const uint64_t measures[MEASURES] = {[TOKENS] = tokens,
                                         [TOKEN_WIDTH] = tokens * hidden,
                                         [SEQUENCES] = sequences,
                                         [HEAD_WIDTH] = sequences * hidden,
                                         [WORDS] = sequences * VOCABULARY,
                                         [POINTERS] = sequences * blocks};
    for (size_t i = 0; i < sizeof script && s->emit.status == TP_OK; i++) {
        const struct decode_extent *e = &buffers[script[i] < 0 ? DROP(script[i]) : script[i]];
        if (script[i] < 0)
            drop(s, (uint64_t)DROP(script[i]));
        else
            make(s, (uint64_t)script[i], measures[e->measure] * e->factor);
    }
    s->emit.now_ns += tp_random_from(&s->emit.random, PASS_NS, LONGEST_PASS_NS);
    s->emit.now_ns += (tokens - sequences) * TOKEN_NS;
    tp_emit(&s->emit, (struct tp_event){.op = TP_EV_SYNC, .has_stream = true});
    drop(s, PICKED);
}

/* Number of pointers to the keys and values of a sequence. */
static uint64_t pointers(const struct server *s, const struct sequence *q)
{
    return s->o->kv == PAGED ? q->blocks : 1;
}

/* Begins the next request. Its whole prompt is one pass. */
static void begin(struct server *s)
{
    struct tp_random *random = &s->emit.random;
    struct sequence *q = &s->sequences[s->running++];
    uint32_t prompt = (uint32_t)tp_random_bell(random, LEAST_PROMPT, SPREAD);
    uint32_t answer = (uint32_t)tp_random_bell(random, LEAST_ANSWER, SPREAD);
    *q = (struct sequence){.slot = q->slot, .tokens = prompt, .end = prompt + answer};
    s->waiting--;
    grow(s, q);
    pass(s, prompt, 1, pointers(s, q));
}

/* Ends a sequence. The last one of the list takes its place. */
static void end(struct server *s, uint64_t i)
{
    struct sequence ended = s->sequences[i];
    drop_kv(s, &ended);
    s->sequences[i] = s->sequences[--s->running];
    s->sequences[s->running] = ended;
    s->ended++;
}

/* Emits the pass that gives every running sequence its next token. */
static void decode(struct server *s)
{
    uint64_t padded = (s->running + PAD - 1) / PAD * PAD, most = 0;
    for (uint64_t i = 0; i < s->running && s->emit.status == TP_OK; i++) {
        struct sequence *q = &s->sequences[i];
        q->tokens++;
        grow(s, q);
        most = pointers(s, q) > most ? pointers(s, q) : most;
    }
    pass(s, padded, padded, most);
    for (uint64_t i = 0; i < s->running && s->emit.status == TP_OK;) {
        if (s->sequences[i].tokens == s->sequences[i].end)
            end(s, i);
        else
            i++;
    }
    s->now += WAIT_UNIT;
}

/* ---- requests ---- */

/* Lets requests arrive, at a rate at which three quarters of the sequences run on average. */
static void arrive(struct server *s)
{
    uint64_t mean = (uint64_t)WAIT_UNIT * MEAN_ANSWER * 4 / 3 / s->o->live;
    for (; s->arrived < s->o->count && s->arrival <= s->now; s->arrived++, s->waiting++) {
        s->arrival += tp_random_wait(&s->emit.random, mean);
        if (s->arrived + 1 == s->o->count)
            tp_emit_mark(&s->emit, "last request");
    }
}

/* Waits for the next request when nothing runs. */
static void idle(struct server *s)
{
    s->emit.now_ns += (s->arrival - s->now) / WAIT_UNIT * PASS_NS;
    s->now = s->arrival;
}

static void serve(struct server *s)
{
    tp_emit_mark(&s->emit, "requests");
    while (s->ended < s->o->count && s->emit.status == TP_OK) {
        arrive(s);
        while (s->waiting && s->running < s->o->live && s->emit.status == TP_OK)
            begin(s);
        if (s->running)
            decode(s);
        else
            idle(s);
    }
}

static int generate(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err)
{
    const struct decode_opts *o = opts;
    struct server s = {.emit = tp_emit_begin(sink, seed, EVENT_NS, err),
                       .o = o,
                       .block = BLOCK_TOKENS * o->layers * o->hidden};
    s.sequences = calloc(o->live, sizeof *s.sequences);
    if (!s.sequences)
        return tp_fail(err, TP_ENOMEM, "out of memory for %" PRIu64 " sequences", o->live);
    for (uint64_t i = 0; i < o->live; i++)
        s.sequences[i].slot = (uint32_t)i;
    make_weights(&s);
    serve(&s);
    free(s.sequences);
    return s.emit.status;
}

static uint64_t stream_count(const void *opts)
{
    (void)opts;
    return 1;
}

const struct tp_profile tp_profile_llm_decode = {
    .name = "llm-decode",
    .sample = "llm-decode",
    .summary = "GPU: LLM inference with a KV cache that grows token by token",
    .about =
        "A device trace: a server generates text with a transformer with a vocabulary of 128,256. "
        "The weights, 2 bytes per parameter, stay allocated. 'count' requests arrive at random, "
        "at a rate that keeps three quarters of 'live' sequences running on average; they wait "
        "while 'live' sequences run. A prompt has 32 to 4,095 tokens, mostly 128 to 1,024; an "
        "answer 16 to 2,047, mostly 64 to 512. The prompt is one pass; each further pass adds one "
        "token to every running sequence. The KV cache takes layers * hidden bytes per token. "
        "With kv=paged a sequence allocates a block for every 16 tokens. With kv=contiguous it "
        "has one block, for 16 tokens times a power of two, replaced by one of twice the size "
        "when it is full; both are live for a moment. A sequence frees its blocks at its end. A "
        "pass allocates 13 buffers, shared by all layers, and frees them; their size follows the "
        "prompt, or the number of running sequences rounded up to 8. The stream syncs after each "
        "pass. The weights are live at the end. The marks are weights, requests, and last request "
        "when it arrives. An event takes 5 us on average, a pass 8 to 12 ms, plus 20 us per "
        "further token of a prompt.",
    .kind = TP_KIND_DEVICE,
    .opts_size = sizeof(struct decode_opts),
    .options = rows,
    .streams = stream_count,
    .generate = generate,
};
