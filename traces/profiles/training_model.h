/* The model that the profile `training-step` trains: its tensors, and when they are made and
 * dropped.
 *
 * A stage is the embedding, a layer or the head. A script lists the tensors that a stage makes and
 * drops, in order. A size is a factor times a measure of the model. Order and sizes are part of the
 * profile: a change here changes the trace of a seed. */
#ifndef TP_PROFILE_TRAINING_MODEL_H
#define TP_PROFILE_TRAINING_MODEL_H

#include <assert.h>
#include <stdint.h>

/* ---- tensors ---- */

enum measure {
    ONE,
    WIDTH,       /* hidden */
    SQUARE,      /* hidden * hidden */
    TABLE,       /* vocabulary * hidden */
    POSITIONS,   /* LENGTH * hidden */
    TOKENS,      /* tokens of the step */
    TOKEN_HEADS, /* tokens * heads */
    TOKEN_WIDTH, /* tokens * hidden */
    TOKEN_WORDS, /* tokens * vocabulary */
    MEASURES
};

struct extent {
    uint32_t measure, factor;
};

/* Tensors that are not parameters. Activations are kept from forward to backward; the others are
 * dropped soon. */
enum role {
    NORM1, /* activations */
    MEAN1,
    SCALE1,
    QKV,
    ATTENTION,
    ATTENTION_LOG,
    DROPOUT_SEED,
    DROPOUT_OFFSET,
    MASK1,
    SUM1,
    NORM2,
    MEAN2,
    SCALE2,
    WIDE,
    ACTIVE,
    MASK2,
    OUTPUT,
    LOGITS, /* activations of the head from here */
    LOGARITHMS,
    LOSS,
    IDS, /* inputs of the embedding from here */
    TARGETS,
    POSITION_IDS,
    WORKSPACE,
    PRODUCT,
    D_OUTPUT, /* gradients of activations */
    D_PRODUCT,
    D_ACTIVE,
    D_WIDE,
    D_NORM2,
    D_SUM1,
    D_ATTENTION,
    D_QUERY,
    D_ROWS,
    D_QKV,
    D_NORM1,
    D_LOGARITHMS,
    D_LOGITS,
    D_TABLE,
    NORMS, /* norms of all gradients: one value per gradient */
    NORM,
    BUCKET, /* gradients of a stage while they are exchanged: as large as the gradients together */
    ROLES
};

/* Sizes in bytes. A value has 2 bytes unless its factor says otherwise. */
static const struct extent extents[ROLES] = {
    [NORM1] = {TOKEN_WIDTH, 2},
    [MEAN1] = {TOKENS, 4},
    [SCALE1] = {TOKENS, 4},
    [QKV] = {TOKEN_WIDTH, 6},
    [ATTENTION] = {TOKEN_WIDTH, 2},
    [ATTENTION_LOG] = {TOKEN_HEADS, 4},
    [DROPOUT_SEED] = {ONE, 8},
    [DROPOUT_OFFSET] = {ONE, 8},
    [MASK1] = {TOKEN_WIDTH, 1},
    [SUM1] = {TOKEN_WIDTH, 2},
    [NORM2] = {TOKEN_WIDTH, 2},
    [MEAN2] = {TOKENS, 4},
    [SCALE2] = {TOKENS, 4},
    [WIDE] = {TOKEN_WIDTH, 8},
    [ACTIVE] = {TOKEN_WIDTH, 8},
    [MASK2] = {TOKEN_WIDTH, 1},
    [OUTPUT] = {TOKEN_WIDTH, 2},
    [LOGITS] = {TOKEN_WORDS, 2},
    [LOGARITHMS] = {TOKEN_WORDS, 4},
    [LOSS] = {ONE, 4},
    [IDS] = {TOKENS, 8},
    [TARGETS] = {TOKENS, 8},
    [POSITION_IDS] = {TOKENS, 8},
    [WORKSPACE] = {ONE, 1 << 20},
    [PRODUCT] = {TOKEN_WIDTH, 2},
    [D_OUTPUT] = {TOKEN_WIDTH, 2},
    [D_PRODUCT] = {TOKEN_WIDTH, 2},
    [D_ACTIVE] = {TOKEN_WIDTH, 8},
    [D_WIDE] = {TOKEN_WIDTH, 8},
    [D_NORM2] = {TOKEN_WIDTH, 2},
    [D_SUM1] = {TOKEN_WIDTH, 2},
    [D_ATTENTION] = {TOKEN_WIDTH, 2},
    [D_QUERY] = {TOKEN_WIDTH, 4},
    [D_ROWS] = {TOKEN_HEADS, 4},
    [D_QKV] = {TOKEN_WIDTH, 6},
    [D_NORM1] = {TOKEN_WIDTH, 2},
    [D_LOGARITHMS] = {TOKEN_WORDS, 4},
    [D_LOGITS] = {TOKEN_WORDS, 2},
    [D_TABLE] = {TABLE, 2},
    [NORM] = {ONE, 4},
};

/* Parameters of a stage, in values, and the parts that belong to each parameter. */
enum { PARAMETERS = 16 };
enum layer_parameter {
    NORM1_W,
    NORM1_B,
    QKV_W,
    QKV_B,
    PROJECTION_W,
    PROJECTION_B,
    NORM2_W,
    NORM2_B,
    UP_W,
    UP_B,
    DOWN_W,
    DOWN_B
};
enum head_parameter { NORM_W, NORM_B, WORDS };
enum embedding_parameter { PLACES };
enum training_part { WEIGHT, GRADIENT, MASTER, MOMENT1, MOMENT2, STEP_COUNT, NORM_OF, FULL, ROOT };

struct parameters {
    uint32_t count;
    struct extent values[PARAMETERS];
};

static const struct parameters of_layer = {12,
                                           {[NORM1_W] = {WIDTH, 1},
                                            [NORM1_B] = {WIDTH, 1},
                                            [QKV_W] = {SQUARE, 3},
                                            [QKV_B] = {WIDTH, 3},
                                            [PROJECTION_W] = {SQUARE, 1},
                                            [PROJECTION_B] = {WIDTH, 1},
                                            [NORM2_W] = {WIDTH, 1},
                                            [NORM2_B] = {WIDTH, 1},
                                            [UP_W] = {SQUARE, 4},
                                            [UP_B] = {WIDTH, 4},
                                            [DOWN_W] = {SQUARE, 4},
                                            [DOWN_B] = {WIDTH, 1}}};
static const struct parameters of_head = {
    3, {[NORM_W] = {WIDTH, 1}, [NORM_B] = {WIDTH, 1}, [WORDS] = {TABLE, 1}}};
static const struct parameters of_embedding = {1, {[PLACES] = {POSITIONS, 1}}};

/* Bytes per value of each part; 0: the part is a scalar. */
static const uint8_t bytes_of_value[] = {
    [WEIGHT] = 2,     [GRADIENT] = 2, [MASTER] = 4, [MOMENT1] = 4, [MOMENT2] = 4,
    [STEP_COUNT] = 0, [NORM_OF] = 0,  [FULL] = 4,   [ROOT] = 4};

/* Ids within a stage: first the roles, then the parts of the parameters. */
enum { FIRST_PART = 64, STAGE_IDS = FIRST_PART + PARAMETERS * (ROOT + 1) };
static_assert((int)ROLES <= FIRST_PART, "roles and parts of parameters have their own ids");

/* ---- scripts ---- */

enum verb {
    END,
    MAKE,
    DROP,
    WORK,       /* make and drop a workspace, as one kernel does */
    GRAD,       /* make the gradient of a parameter */
    MAKE_BELOW, /* make a tensor of the stage below */
    DROP_BELOW,
    VERBS
};

struct move {
    uint8_t verb, what; /* `what` is a role; for GRAD a parameter */
};

static const struct move embedding_forward[] = {
    {MAKE, POSITION_IDS}, {MAKE, OUTPUT}, {DROP, POSITION_IDS}, {END, 0}};

static const struct move layer_forward[] = {
    {MAKE, NORM1},          {MAKE, MEAN1},     {MAKE, SCALE1},        {MAKE, QKV},
    {WORK, WORKSPACE},      {MAKE, ATTENTION}, {MAKE, ATTENTION_LOG}, {MAKE, DROPOUT_SEED},
    {MAKE, DROPOUT_OFFSET}, {MAKE, PRODUCT},   {WORK, WORKSPACE},     {MAKE, MASK1},
    {MAKE, SUM1},           {DROP, PRODUCT},   {MAKE, NORM2},         {MAKE, MEAN2},
    {MAKE, SCALE2},         {MAKE, WIDE},      {WORK, WORKSPACE},     {MAKE, ACTIVE},
    {MAKE, PRODUCT},        {WORK, WORKSPACE}, {MAKE, MASK2},         {MAKE, OUTPUT},
    {DROP, PRODUCT},        {END, 0}};

static const struct move head_forward[] = {{MAKE, NORM1},  {MAKE, MEAN1},     {MAKE, SCALE1},
                                           {MAKE, LOGITS}, {WORK, WORKSPACE}, {MAKE, LOGARITHMS},
                                           {MAKE, LOSS},   {END, 0}};

static const struct move head_backward[] = {
    {MAKE, D_LOGARITHMS}, {DROP, LOGARITHMS},   {MAKE, D_LOGITS},  {DROP, D_LOGARITHMS},
    {DROP, LOGITS},       {MAKE, D_NORM1},      {WORK, WORKSPACE}, {GRAD, WORDS},
    {WORK, WORKSPACE},    {DROP, D_LOGITS},     {DROP, NORM1},     {MAKE_BELOW, D_OUTPUT},
    {GRAD, NORM_W},       {GRAD, NORM_B},       {DROP, D_NORM1},   {DROP, SCALE1},
    {DROP, MEAN1},        {DROP_BELOW, OUTPUT}, {END, 0}};

static const struct move layer_backward[] = {
    /* second half: two matrices, and the norm before them */
    {MAKE, D_PRODUCT},
    {DROP, MASK2},
    {MAKE, D_ACTIVE},
    {WORK, WORKSPACE},
    {GRAD, DOWN_W},
    {WORK, WORKSPACE},
    {GRAD, DOWN_B},
    {DROP, D_PRODUCT},
    {DROP, ACTIVE},
    {MAKE, D_WIDE},
    {DROP, D_ACTIVE},
    {DROP, WIDE},
    {MAKE, D_NORM2},
    {WORK, WORKSPACE},
    {GRAD, UP_W},
    {WORK, WORKSPACE},
    {GRAD, UP_B},
    {DROP, D_WIDE},
    {DROP, NORM2},
    {MAKE, D_SUM1},
    {GRAD, NORM2_W},
    {GRAD, NORM2_B},
    {DROP, D_NORM2},
    {DROP, SCALE2},
    {DROP, MEAN2},
    {DROP, SUM1},
    {DROP, D_OUTPUT},
    /* first half: attention, and the norm before it */
    {MAKE, D_PRODUCT},
    {DROP, MASK1},
    {MAKE, D_ATTENTION},
    {WORK, WORKSPACE},
    {GRAD, PROJECTION_W},
    {WORK, WORKSPACE},
    {GRAD, PROJECTION_B},
    {DROP, D_PRODUCT},
    {MAKE, D_QKV},
    {MAKE, D_QUERY},
    {MAKE, D_ROWS},
    {DROP, D_ROWS},
    {DROP, D_QUERY},
    {DROP, D_ATTENTION},
    {DROP, DROPOUT_OFFSET},
    {DROP, DROPOUT_SEED},
    {DROP, ATTENTION_LOG},
    {DROP, ATTENTION},
    {DROP, QKV},
    {MAKE, D_NORM1},
    {WORK, WORKSPACE},
    {GRAD, QKV_W},
    {WORK, WORKSPACE},
    {GRAD, QKV_B},
    {DROP, D_QKV},
    {DROP, NORM1},
    {MAKE_BELOW, D_OUTPUT},
    {GRAD, NORM1_W},
    {GRAD, NORM1_B},
    {DROP, D_NORM1},
    {DROP, D_SUM1},
    {DROP, SCALE1},
    {DROP, MEAN1},
    {DROP_BELOW, OUTPUT},
    {END, 0}};

static const struct move embedding_backward[] = {
    {MAKE, D_TABLE}, {DROP, D_TABLE}, {GRAD, PLACES}, {DROP, D_OUTPUT}, {END, 0}};

struct stage {
    const struct parameters *parameters;
    const struct move *forward, *backward;
};

static const struct stage embedding = {&of_embedding, embedding_forward, embedding_backward};
static const struct stage layer = {&of_layer, layer_forward, layer_backward};
static const struct stage head = {&of_head, head_forward, head_backward};

#endif
