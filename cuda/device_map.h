/* Which CUDA device plays which device of a trace. Compiles without the CUDA Toolkit. */
#ifndef TP_CUDA_DEVICE_MAP_H
#define TP_CUDA_DEVICE_MAP_H

#include "alloc/base/err.h"

#include <stdint.h>

/* `map` is "0=1,1=0", or NULL: every device by that of its own number. TP_EUSAGE names what cannot
 * be read in it. */
int tp_cuda_map(const char *map, uint16_t device, int *ordinal, struct tp_err *err);

/* The same for each of the trace's `devices`; TP_EUSAGE too where one is named that it has not. */
int tp_cuda_map_all(const char *map, uint16_t devices, uint32_t *ordinals, struct tp_err *err);

/* TP_EDEVICE: a machine with `count` devices has no `ordinal`, which was to play `device`. */
int tp_cuda_check_ordinal(uint16_t device, int ordinal, int count, struct tp_err *err);

#endif
