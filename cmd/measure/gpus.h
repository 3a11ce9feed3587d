/* The GPUs of a command: the driver, loaded at most once and only when somebody asks, and which of
 * its devices plays which device of a trace. */
#ifndef TP_GPUS_H
#define TP_GPUS_H

#include "cuda/cuda_device.h"

/* Zeroed: nothing was asked yet. */
struct tp_gpu {
    struct tp_cuda *cuda; /* owned; NULL: not loaded */
    bool asked;
    struct tp_err why; /* why it could not be loaded, once asked */
};

/* Loads the driver and looks at its devices; false: `why`. */
bool tp_gpu_open(struct tp_gpu *g);
void tp_gpu_close(struct tp_gpu *g);

/* After tp_gpu_open said true. */
const struct tp_cuda_info *tp_gpu_info(const struct tp_gpu *g);

/* It is loaded, and one of its devices at least has memory pools. */
bool tp_gpu_has_pools(const struct tp_gpu *g);

/* After it said false, a few words: "libcuda.so.1 was not found". */
const char *tp_gpu_why(const struct tp_gpu *g);

/* After it said false: a driver is here all the same. */
bool tp_gpu_is_unusable(const struct tp_gpu *g);

/* "WHO needs a GPU and its driver: ..." with `instead` as its hint. TP_EDEVICE. */
int tp_gpu_fail(const struct tp_gpu *g, const char *who, const char *instead, struct tp_err *err);

/* All of these devices are there, and have pools where `pools` names who needs them. TP_EDEVICE. */
int tp_gpu_check(const struct tp_gpu *g, const uint32_t *ordinals, uint16_t devices,
                 const char *pools, struct tp_err *err);

#endif
