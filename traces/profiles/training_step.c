/* Profile `training-step`: trains a transformer on a device, step after step.
 *
 *     live |             /\                    activations: made by forward, layer after layer,
 *          |          /     \                  dropped by backward in the opposite order
 *          |       /          \ ___            gradients: appear during backward,
 *          |    /                  |           dropped at its end
 *          | /                     |____       optimizer state: made by the first step, stays
 *          |______________________________     weights
 *            forward     backward   optimizer
 *
 * Stages are the embedding (0), the layers and the head, with scripts in training_model.h. The id
 * of a tensor is made of its stage and its role, so the generator keeps no state for it.
 *
 * Known weakness: kernels take no time, so another stream is never far behind. */
#include "traces/profiles/common/emit.h"
#include "traces/profiles/training_model.h"

#include <stdio.h>
#include <string.h>

struct training_opts {
    uint64_t count, layers, hidden, batch, streams;
    uint32_t lengths;
};

enum lengths { FIXED, MIXED };

enum {
    MAX_STEPS = 10000000,
    MAX_LAYERS = 1024,
    MIN_HIDDEN = 64,
    MAX_HIDDEN = 65536,
    MAX_BATCH = 1024,
    MAX_STREAMS = 16,
    LENGTH = 1024,      /* tokens of a sequence */
    LENGTH_UNIT = 8,    /* tokens; mixed lengths are multiples of it */
    SHORTEST = 16,      /* shortest mixed length, in LENGTH_UNITs */
    VOCABULARY = 50257, /* an odd number, as is usual for vocabularies */
    HEAD_WIDTH = 64,
    EVENT_NS = 5000,
    /* shortest wait, ns, for the device at the end of a step; the longest is three times that */
    WAIT_NS = 2000000,
    STEPS_NAMED = 1000, /* steps with a mark of their own; after them one step in as many */
    SCALAR = 4
};

static const char *const lengths_words[] = {"fixed", "mixed", NULL};
static const struct tp_opt rows[] = {
    TP_PROFILE_COUNT_ROW(struct training_opts, count, "100", MAX_STEPS,
                         "number of steps, about 180 events per layer each"),
    TP_PROFILE_COUNT_ROW(struct training_opts, layers, "12", MAX_LAYERS,
                         "number of layers of the model"),
    TP_UINT_ROW(struct training_opts, hidden, .def = "768", .min = MIN_HIDDEN, .max = MAX_HIDDEN,
                .help = "width of the model"),
    TP_PROFILE_COUNT_ROW(struct training_opts, batch, "8", MAX_BATCH,
                         "number of sequences in a step"),
    TP_CHOICE_ROW(
        struct training_opts, lengths, .def = "fixed", .choices = lengths_words, .arg = "HOW",
        .help = "tokens per sequence: fixed at 1,024, or mixed, 128 to 1,024 in each step"),
    TP_PROFILE_COUNT_ROW(struct training_opts, streams, "1", MAX_STREAMS,
                         "number of streams; all but the first send gradients to other devices"),
    {.name = NULL}};

/* ---- a step ---- */

struct training {
    struct tp_emit emit;
    const struct training_opts *o;
    uint64_t stages;
    uint64_t measures[MEASURES];
    uint64_t sizes[ROLES]; /* bytes of each role in this step */
};

static const struct stage *stage_of(const struct training *t, uint64_t stage)
{
    if (stage == 0)
        return &embedding;
    return stage < t->stages - 1 ? &layer : &head;
}

static int64_t id_of(uint64_t stage, uint64_t role)
{
    return (int64_t)(stage * STAGE_IDS + role);
}

static int64_t id_of_part(uint64_t stage, uint64_t parameter, enum training_part part)
{
    return id_of(stage, FIRST_PART + part * PARAMETERS + parameter);
}

static uint64_t values_of(const struct training *t, struct extent e)
{
    return t->measures[e.measure] * e.factor;
}

static void make_part(struct training *t, uint64_t stage, uint64_t parameter,
                      enum training_part part)
{
    uint64_t values = values_of(t, stage_of(t, stage)->parameters->values[parameter]);
    uint64_t each = bytes_of_value[part];
    tp_emit_alloc(&t->emit, 0, id_of_part(stage, parameter, part), each ? each * values : SCALAR);
}

static void drop_part(struct training *t, uint64_t stage, uint64_t parameter,
                      enum training_part part)
{
    tp_emit_free(&t->emit, 0, id_of_part(stage, parameter, part));
}

/* ---- verbs ---- */

typedef void verb_fn(struct training *t, uint64_t stage, uint64_t what);

static void make(struct training *t, uint64_t stage, uint64_t role)
{
    tp_emit_alloc(&t->emit, 0, id_of(stage, role), t->sizes[role]);
}

static void drop(struct training *t, uint64_t stage, uint64_t role)
{
    tp_emit_free(&t->emit, 0, id_of(stage, role));
}

static void work(struct training *t, uint64_t stage, uint64_t role)
{
    make(t, stage, role);
    drop(t, stage, role);
}

static void make_gradient(struct training *t, uint64_t stage, uint64_t parameter)
{
    make_part(t, stage, parameter, GRADIENT);
}

static void make_below(struct training *t, uint64_t stage, uint64_t role)
{
    make(t, stage - 1, role);
}

static void drop_below(struct training *t, uint64_t stage, uint64_t role)
{
    drop(t, stage - 1, role);
}

static verb_fn *const verbs[VERBS] = {[MAKE] = make,
                                      [DROP] = drop,
                                      [WORK] = work,
                                      [GRAD] = make_gradient,
                                      [MAKE_BELOW] = make_below,
                                      [DROP_BELOW] = drop_below};

static void replay(struct training *t, uint64_t stage, const struct move *script)
{
    for (; script->verb != END && t->emit.status == TP_OK; script++)
        verbs[script->verb](t, stage, script->what);
}

/* ---- parameters ---- */

static void for_all(struct training *t, verb_fn *fn)
{
    for (uint64_t stage = 0; stage < t->stages && t->emit.status == TP_OK; stage++)
        for (uint64_t i = 0; i < stage_of(t, stage)->parameters->count; i++)
            fn(t, stage, i);
}

static void make_weight(struct training *t, uint64_t stage, uint64_t parameter)
{
    make_part(t, stage, parameter, WEIGHT);
}

static void make_norm(struct training *t, uint64_t stage, uint64_t parameter)
{
    make_part(t, stage, parameter, NORM_OF);
}

static void drop_norm(struct training *t, uint64_t stage, uint64_t parameter)
{
    drop_part(t, stage, parameter, NORM_OF);
}

static void make_state(struct training *t, uint64_t stage, uint64_t parameter)
{
    for (enum training_part part = MASTER; part <= STEP_COUNT; part++)
        make_part(t, stage, parameter, part);
}

static void update(struct training *t, uint64_t stage, uint64_t parameter)
{
    make_part(t, stage, parameter, FULL);
    make_part(t, stage, parameter, ROOT);
    drop_part(t, stage, parameter, ROOT);
    drop_part(t, stage, parameter, FULL);
}

static void drop_gradient(struct training *t, uint64_t stage, uint64_t parameter)
{
    drop_part(t, stage, parameter, GRADIENT);
}

/* ---- streams ---- */

static void on_stream(struct training *t, enum tp_event_op op, int64_t id, uint64_t stream)
{
    tp_emit(&t->emit,
            (struct tp_event){.op = op, .id = id, .has_stream = true, .stream = (int64_t)stream});
}

/* Copies the gradients of a stage into one buffer, which another stream still sends when the first
 * stream drops it. */
static void send_gradients(struct training *t, uint64_t stage)
{
    const struct parameters *all = stage_of(t, stage)->parameters;
    uint64_t others = t->o->streams - 1;
    if (!others)
        return;
    t->sizes[BUCKET] = 0;
    for (uint64_t i = 0; i < all->count; i++)
        t->sizes[BUCKET] += values_of(t, all->values[i]) * bytes_of_value[GRADIENT];
    make(t, stage, BUCKET);
    on_stream(t, TP_EV_USE, id_of(stage, BUCKET), 1 + stage % others);
    drop(t, stage, BUCKET);
}

static void synchronise(struct training *t, uint64_t first, uint64_t end)
{
    for (uint64_t stream = first; stream < end; stream++)
        on_stream(t, TP_EV_SYNC, 0, stream);
}

/* ---- steps ---- */

static void measure(struct training *t, uint64_t length)
{
    const struct training_opts *o = t->o;
    uint64_t tokens = o->batch * length, parameters = 0;
    const uint64_t measures[MEASURES] = {[ONE] = 1,
                                         [WIDTH] = o->hidden,
                                         [SQUARE] = o->hidden * o->hidden,
                                         [TABLE] = o->hidden * VOCABULARY,
                                         [POSITIONS] = o->hidden * LENGTH,
                                         [TOKENS] = tokens,
                                         [TOKEN_HEADS] = tokens * (o->hidden / HEAD_WIDTH),
                                         [TOKEN_WIDTH] = tokens * o->hidden,
                                         [TOKEN_WORDS] = tokens * VOCABULARY};
    memcpy(t->measures, measures, sizeof measures);
    for (int role = 0; role < ROLES; role++)
        t->sizes[role] = values_of(t, extents[role]);
    for (uint64_t stage = 0; stage < t->stages; stage++)
        parameters += stage_of(t, stage)->parameters->count;
    t->sizes[NORMS] = parameters * SCALAR;
}

static void begin_step(struct training *t, uint64_t step)
{
    char name[32];
    if (t->o->lengths == MIXED)
        measure(t, LENGTH_UNIT * tp_random_from(&t->emit.random, SHORTEST, LENGTH / LENGTH_UNIT));
    if (step <= STEPS_NAMED || step % STEPS_NAMED == 0) {
        snprintf(name, sizeof name, "step %" PRIu64, step);
        tp_emit_mark(&t->emit, name);
    }
    make(t, 0, IDS);
    make(t, 0, TARGETS);
}

static void forward(struct training *t)
{
    tp_emit_mark(&t->emit, "forward");
    for (uint64_t stage = 0; stage < t->stages; stage++)
        replay(t, stage, stage_of(t, stage)->forward);
}

static void backward(struct training *t)
{
    tp_emit_mark(&t->emit, "backward");
    for (uint64_t stage = t->stages; stage-- > 0 && t->emit.status == TP_OK;) {
        replay(t, stage, stage_of(t, stage)->backward);
        send_gradients(t, stage);
    }
    synchronise(t, 1, t->o->streams);
}

static void optimize(struct training *t, bool first)
{
    tp_emit_mark(&t->emit, "optimizer");
    for_all(t, make_norm);
    make(t, 0, NORMS);
    make(t, 0, NORM);
    for_all(t, drop_norm);
    drop(t, 0, NORMS);
    if (first)
        for_all(t, make_state);
    for_all(t, update);
    drop(t, 0, NORM);
    for_all(t, drop_gradient);
}

/* Ends a step: reading the loss waits until the device is done. */
static void end_step(struct training *t)
{
    synchronise(t, 0, 1);
    drop(t, t->stages - 1, LOSS);
    drop(t, 0, TARGETS);
    drop(t, 0, IDS);
    t->emit.now_ns += tp_random_from(&t->emit.random, WAIT_NS, 3 * WAIT_NS);
}

static int generate(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err)
{
    const struct training_opts *o = opts;
    struct training t = {
        .emit = tp_emit_begin(sink, seed, EVENT_NS, err), .o = o, .stages = o->layers + 2};
    measure(&t, LENGTH);
    tp_emit_mark(&t.emit, "weights");
    for_all(&t, make_weight);
    for (uint64_t step = 1; step <= o->count && t.emit.status == TP_OK; step++) {
        begin_step(&t, step);
        forward(&t);
        backward(&t);
        optimize(&t, step == 1);
        end_step(&t);
    }
    return t.emit.status;
}

static uint64_t stream_count(const void *opts)
{
    return ((const struct training_opts *)opts)->streams;
}

const struct tp_profile tp_profile_training_step = {
    .name = "training-step",
    .sample = "training-step",
    .summary = "GPU: training steps of a transformer, forward and backward",
    .about =
        "A device trace: 'count' training steps of a transformer with a vocabulary of 50,257, on "
        "'batch' sequences of 1,024 tokens. The weights, 2 bytes per parameter, stay allocated. "
        "Forward allocates activations layer by layer, about 34 bytes * tokens * hidden per "
        "layer, and 6 bytes per token and vocabulary entry at the end. Backward frees them in "
        "reverse order and allocates the gradients, which are freed at the end of the step. In "
        "the first step the optimizer allocates its state, 12 bytes per parameter and a scalar "
        "per tensor; in every step it allocates two temporaries per tensor. Matrix products have "
        "a workspace of 1 MiB; norms, masks, means and input gradients are short-lived. All steps "
        "are alike except for 'lengths'. Weights and optimizer state are live at the end. If "
        "activations outweigh gradients, as by default, the peak is at the start of backward. "
        "With more streams, the gradients of each layer are copied to a buffer that one of them "
        "uses and that is freed at once; those streams sync before the optimizer, the first one "
        "at the end of a step. The marks are weights, then forward, backward and optimizer of "
        "every step, and 'step N' of the first 1,000 and every thousandth. An event takes 5 us on "
        "average, the wait at the end of a step 2 to 6 ms. The seed affects the times and mixed "
        "lengths, which are 128 to 1,024 tokens in steps of 8.",
    .kind = TP_KIND_DEVICE,
    .opts_size = sizeof(struct training_opts),
    .options = rows,
    .streams = stream_count,
    .generate = generate,
};
