/* What the driver reports about a device without a context. */
#ifndef TP_CUDA_FACTS_H
#define TP_CUDA_FACTS_H

#include "cuda/cuda_device.h"
#include "cuda/driver.h"

/* Does the device have stream-ordered pools, or virtual memory management? True when the driver has
 * all symbols of the group and the device its attribute. `why` says what is missing, or is "". */
bool tp_cuda_has_pools(const struct cuda_driver *d, CUdevice device, char why[TP_CUDA_WHY]);
bool tp_cuda_has_vmm(const struct cuda_driver *d, CUdevice device, char why[TP_CUDA_WHY]);

/* The name of a device; "a device" where the driver does not report it. */
void tp_cuda_name(const struct cuda_driver *d, CUdevice device, char name[TP_CUDA_NAME]);

#endif
