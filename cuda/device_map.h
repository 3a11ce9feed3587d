/* Which CUDA device replays which device of a trace. Compiles without the CUDA Toolkit. */
#ifndef TP_CUDA_DEVICE_MAP_H
#define TP_CUDA_DEVICE_MAP_H

#include "alloc/base/err.h"

#include <stdint.h>

/* Sets *ordinal to the CUDA device that replays `device`. `map` is "0=1,1=0", or NULL: equal
 * numbers. TP_EUSAGE names the part of `map` that cannot be read. */
int tp_cuda_map(const char *map, uint16_t device, int *ordinal, struct tp_err *err);

/* Like tp_cuda_map for all `devices` of the trace. TP_EUSAGE also where `map` names a device that
 * the trace lacks. */
int tp_cuda_map_all(const char *map, uint16_t devices, uint32_t *ordinals, struct tp_err *err);

/* Checks that a machine with `count` devices has `ordinal`. TP_EDEVICE with a sentence that names
 * `device`, which it was to replay. */
int tp_cuda_check_ordinal(uint16_t device, int ordinal, int count, struct tp_err *err);

#endif
