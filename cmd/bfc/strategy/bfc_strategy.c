/* What the recorded allocator BFC did in TensorFlow and in JAX, as the strategy bfc replays it. A
 * capture says whose it was, its limit, and the heap that it began with. */
#include "cmd/jobs/catalog.h"
#include "cmd/verify/certifier.h"

#include <string.h>

extern const struct tp_strategy tp_strategy_bfc;
extern const struct tp_recorded_strategy tp_recorded_strategy_tensorflow, tp_recorded_strategy_jax,
    tp_recorded_strategy_onnxruntime;

/* A capture says its limit, and whether its regions grew, as options of the strategy. */
static const char *said_settings(const char *said)
{
    return said && !strncmp(said, "limit:", 6) ? said : "";
}

#define OF_BFC                                                                                     \
    .strategy = &tp_strategy_bfc, .device_option = "flavour", .settings = said_settings,           \
    .fidelity = tp_fidelity_of, .format = "xplane",                                                \
    .apart = "the simulated device gives whole pages of 2 MiB, and each part of the recorded "     \
             "heap is rounded up"

const struct tp_recorded_strategy tp_recorded_strategy_tensorflow = {
    .by = "TensorFlow", .whose = "TensorFlow", OF_BFC};

const struct tp_recorded_strategy tp_recorded_strategy_jax = {.by = "JAX", .whose = "JAX", OF_BFC};

/* No profiler records it; its settings are tuned on traces of others. */
const struct tp_recorded_strategy tp_recorded_strategy_onnxruntime = {
    .by = "ONNX Runtime", .whose = "ONNX Runtime", OF_BFC};
