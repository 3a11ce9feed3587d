/* The GPUs of a command. The driver is loaded at most once, and only if it is asked for. Checks
 * whether the GPUs that shall replay the devices of a trace are there. */
#ifndef TP_GPUS_H
#define TP_GPUS_H

#include "cuda/cuda_device.h"

/* A zeroed struct is valid: the driver was not asked for yet. */
struct tp_gpu {
    struct tp_cuda *cuda; /* owned; NULL: not loaded */
    bool asked;
    struct tp_err why; /* why the driver could not be loaded; valid once `asked` is true */
};

/* Loads the driver and looks at its devices; false: `g->why` says why that failed. */
bool tp_gpu_open(struct tp_gpu *g);
void tp_gpu_close(struct tp_gpu *g); /* unloads the driver; a zeroed one is fine */

/* What the driver says of itself and its devices. Only valid after tp_gpu_open returned true. */
const struct tp_cuda_info *tp_gpu_info(const struct tp_gpu *g);

/* Whether the driver is loaded and at least one of its devices has memory pools. */
bool tp_gpu_has_pools(const struct tp_gpu *g);

/* Why tp_gpu_open returned false, in a few words: "libcuda.so.1 was not found". */
const char *tp_gpu_why(const struct tp_gpu *g);

/* Whether a driver is installed although tp_gpu_open returned false. */
bool tp_gpu_is_unusable(const struct tp_gpu *g);

/* Fails with TP_EDEVICE: "WHO needs a GPU and its driver: ...", and `instead` as the hint. */
int tp_gpu_fail(const struct tp_gpu *g, const char *who, const char *instead, struct tp_err *err);

/* Checks that all these CUDA devices exist, and that they have memory pools if `pools` is not NULL;
 * `pools` names what needs them, for the message. TP_EDEVICE. */
int tp_gpu_check(const struct tp_gpu *g, const uint32_t *ordinals, uint16_t devices,
                 const char *pools, struct tp_err *err);

#endif
