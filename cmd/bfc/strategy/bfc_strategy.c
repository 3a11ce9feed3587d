/* What the recorded allocator BFC did in TensorFlow and in JAX, as the strategy bfc replays it. A
 * capture says whose it was, and the heap that it began with; no settings. */
#include "cmd/jobs/catalog.h"
#include "cmd/verify/certifier.h"

extern const struct tp_strategy tp_strategy_bfc;
extern const struct tp_recorded_strategy tp_recorded_strategy_tensorflow, tp_recorded_strategy_jax,
    tp_recorded_strategy_onnxruntime;

/* A capture has the defaults as far as it tells. */
static const char *no_settings(const char *said)
{
    (void)said;
    return "";
}

#define OF_BFC                                                                                     \
    .strategy = &tp_strategy_bfc, .device_option = "flavour", .settings = no_settings,             \
    .fidelity = tp_fidelity_of, .format = "xplane"

const struct tp_recorded_strategy tp_recorded_strategy_tensorflow = {
    .by = "TensorFlow", .whose = "TensorFlow", OF_BFC};

const struct tp_recorded_strategy tp_recorded_strategy_jax = {.by = "JAX", .whose = "JAX", OF_BFC};

/* No profiler records it; its settings are tuned on traces of others. */
const struct tp_recorded_strategy tp_recorded_strategy_onnxruntime = {
    .by = "ONNX Runtime", .whose = "ONNX Runtime", OF_BFC};
