/* What `tapool tune` and `tapool predict` know of BFC: its settings in TensorFlow, in JAX and in
 * ONNX Runtime, and how each of them says them. Without growth an allocator takes all that it may
 * have at its first request, whatever the program needs: a replay says what that is where the
 * device's size is given. */
#include "alloc/base/units.h"
#include "cmd/tune/tunable.h"

#include "cmd/jobs/spec.h"
#include "cmd/tune/grid.h"
#include "traces/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern const struct tp_tunable tp_tunable_tensorflow, tp_tunable_jax, tp_tunable_onnxruntime;
extern const struct tp_recorded_strategy tp_recorded_strategy_tensorflow, tp_recorded_strategy_jax,
    tp_recorded_strategy_onnxruntime;

static const char *const tensorflow_grids[] = {"allow_growth:yes,garbage_collection:default|no",
                                               NULL};
static const char *const jax_grids[] = {"allow_growth:yes", "mem_fraction:0.5|0.9|0.95", NULL};
static const char *const onnxruntime_grids[] = {
    "arena_extend_strategy:default|kSameAsRequested,max_dead_bytes_per_chunk:default|1MiB|16MiB",
    "initial_chunk_size_bytes:64MiB|1GiB", NULL};

/* ---- what a setting is ---- */

static int check_options(const char *setting, const char *flavour, struct tp_err *err)
{
    struct tp_strategy_spec spec = {.label = ""};
    struct tp_str text = {0}, options = {0};
    if (tp_grid_has(setting, "next_region:"))
        return tp_fail(err, TP_EUSAGE,
                       "next_region is an option of tapool, not of a library");
    tp_str_add(&options, "flavour=%s", flavour);
    tp_setting_add_options(&options, NULL, setting);
    tp_str_add(&text, "bfc:%s", tp_str_text(&options));
    int rc = tp_str_status(&text, err);
    if (rc == TP_OK)
        rc = tp_strategy_spec_parse(&spec, tp_str_text(&text), err);
    tp_strategy_spec_release(&spec);
    tp_str_drop(&options);
    tp_str_drop(&text);
    return rc;
}

static int check_tensorflow(const char *setting, const char *device, struct tp_err *err)
{
    (void)device;
    return check_options(setting, "tf", err);
}

static int check_jax(const char *setting, const char *device, struct tp_err *err)
{
    (void)device;
    return check_options(setting, "jax", err);
}

static int check_onnxruntime(const char *setting, const char *device, struct tp_err *err)
{
    (void)device;
    return check_options(setting, "ort", err);
}

static const char *needs_size(const char *setting)
{
    return tp_grid_has(setting, "mem_fraction:") ||
                   tp_grid_has(setting, "internal_fragmentation_fraction:")
               ? "it is a share of the GPU's memory, which the recording does not tell: add "
                 "--capacity SIZE"
               : NULL;
}

static const char *needs_any_size(const char *setting)
{
    return tp_grid_has(setting, "allow_growth:yes") || tp_grid_has(setting, "limit:")
               ? NULL
               : "it takes all of the GPU's memory at once, of which the recording does not tell "
                 "how much there is: add --capacity SIZE";
}

/* A heap that was taken at once has one region, one that grew has many. What else can be set
 * decides which memory is taken next, and a heap of the one may be one of the other. */
static bool makes_alike(const struct tp_meta *m, const char *one, const char *other)
{
    bool own = m->allocator_device &&
               (!strcmp(m->allocator_device, "tf") || !strcmp(m->allocator_device, "jax"));
    return own && tp_grid_has(one, "allow_growth:yes") == tp_grid_has(other, "allow_growth:yes");
}

/* The limit that a capture says holds with every setting but another share of the device. */
static void add_limit(const struct tp_meta *m, const char *setting, struct tp_str *out)
{
    const char *said = m->settings;
    bool has = said && !strncmp(said, "limit:", 6);
    if (has && !tp_grid_has(setting, "mem_fraction:") && !tp_grid_has(setting, "limit:"))
        tp_str_add(out, "%s%.*s", *setting ? "," : "", (int)strcspn(said, ","), said);
}

/* ---- how a setting is said ---- */

/* A part of a setting, and what it is called; %s: its value. */
struct bfc_order {
    const char *part, *text;
};

static const struct bfc_order tensorflow_orders[] = {
    {"allow_growth:yes", "TF_FORCE_GPU_ALLOW_GROWTH=true"},
    {"allow_growth:no", "TF_FORCE_GPU_ALLOW_GROWTH=false"},
    {"garbage_collection:no", "TF_ENABLE_GPU_GARBAGE_COLLECTION=false"},
    {"garbage_collection:yes", "TF_ENABLE_GPU_GARBAGE_COLLECTION=true"},
    {NULL, NULL}};
static const struct bfc_order jax_orders[] = {
    {"allow_growth:yes", "XLA_PYTHON_CLIENT_PREALLOCATE=false"},
    {"allow_growth:no", "XLA_PYTHON_CLIENT_PREALLOCATE=true"},
    {"mem_fraction:", "XLA_PYTHON_CLIENT_MEM_FRACTION="},
    {NULL, NULL}};

struct ordering {
    const struct bfc_order *orders;
    struct tp_str *out;
    const char *before; /* of the next part */
};

static int add_part(void *ctx, const char *part, struct tp_err *err)
{
    struct ordering *o = ctx;
    const struct bfc_order *row = o->orders;
    (void)err;
    while (row->part && strncmp(part, row->part, strlen(row->part)) != 0)
        row++;
    if (row->part)
        tp_str_add(o->out, "%s%s%s", o->before, row->text, part + strlen(row->part));
    else
        tp_str_add(o->out, "%s%s (in the program)", o->before, part);
    o->before = " ";
    return TP_OK;
}

/* "Set A=x B=y": all of a setting's variables, and growth where the recording had it. */
static void add_variables(const struct tp_meta *m, const struct bfc_order *orders,
                          const char *unset, const char *setting, struct tp_str *out)
{
    struct ordering o = {.orders = orders, .out = out, .before = "Set "};
    struct tp_err ignored;
    bool grew = m->settings && tp_grid_has(m->settings, "allow_growth:yes");
    if (!*setting) {
        tp_str_add(out, "%s", unset);
        return;
    }
    if (grew && !tp_grid_has(setting, "allow_growth:"))
        add_part(&o, "allow_growth:no", &ignored);
    tp_grid_parts(setting, add_part, &o, &ignored);
}

static void order_tensorflow(const struct tp_meta *m, const char *variable, const char *setting,
                             struct tp_str *out)
{
    (void)variable;
    add_variables(m, tensorflow_orders, "Leave TF_FORCE_GPU_ALLOW_GROWTH unset", setting, out);
}

static void order_jax(const struct tp_meta *m, const char *variable, const char *setting,
                      struct tp_str *out)
{
    (void)variable;
    add_variables(m, jax_orders, "Leave XLA_PYTHON_CLIENT_PREALLOCATE unset", setting, out);
}

/* Of these options the CUDA execution provider has the one; all are keys of an arena's own
 * configuration, whose values are integers. */
static const char provider_option[] = "arena_extend_strategy:";

static int add_option(void *ctx, const char *part, struct tp_err *err)
{
    struct ordering *o = ctx;
    const char *value = strchr(part, ':');
    uint64_t bytes = 0;
    (void)err;
    if (!value)
        return TP_OK;
    tp_str_add(o->out, "%s\"%.*s\": ", o->before, (int)(value - part), part);
    if (!strncmp(part, provider_option, strlen(provider_option)))
        tp_str_add(o->out, "%d", !strcmp(value + 1, "kSameAsRequested"));
    else
        tp_str_add(o->out, "%" PRIu64, tp_parse_size(value + 1, &bytes) ? bytes : 0);
    o->before = ", ";
    return TP_OK;
}

static void order_onnxruntime(const struct tp_meta *m, const char *variable, const char *setting,
                              struct tp_str *out)
{
    struct ordering o = {.out = out, .before = "Set OrtArenaCfg({"};
    struct tp_err ignored;
    (void)m, (void)variable;
    if (!*setting) {
        tp_str_add(out, "Leave arena_extend_strategy unset");
    } else if (tp_grid_has(setting, provider_option) && !strchr(setting, ',')) {
        tp_str_add(out, "Set CUDAExecutionProvider options {\"arena_extend_strategy\": \"%s\"}",
                   setting + strlen(provider_option));
    } else {
        tp_grid_parts(setting, add_option, &o, &ignored);
        tp_str_add(out, "})");
    }
}

/* ---- the rows ---- */

const struct tp_tunable tp_tunable_tensorflow = {.of = &tp_recorded_strategy_tensorflow,
                                                 .flavour = "tf",
                                                 .usual = tensorflow_grids,
                                                 .pool = "TF_GPU_ALLOCATOR:cuda_malloc_async",
                                                 .check = check_tensorflow,
                                                 .needs_size = needs_size,
                                                 .needs_any_size = needs_any_size,
                                                 .held = add_limit,
                                                 .makes_alike = makes_alike,
                                                 .order = order_tensorflow};

const struct tp_tunable tp_tunable_jax = {.of = &tp_recorded_strategy_jax,
                                          .flavour = "jax",
                                          .usual = jax_grids,
                                          .pool = "XLA_PYTHON_CLIENT_ALLOCATOR:cuda_async",
                                          .check = check_jax,
                                          .needs_size = needs_size,
                                          .needs_any_size = needs_any_size,
                                          .held = add_limit,
                                          .makes_alike = makes_alike,
                                          .order = order_jax};

const struct tp_tunable tp_tunable_onnxruntime = {.of = &tp_recorded_strategy_onnxruntime,
                                                  .flavour = "ort",
                                                  .usual = onnxruntime_grids,
                                                  .check = check_onnxruntime,
                                                  .makes_alike = makes_alike,
                                                  .order = order_onnxruntime};
