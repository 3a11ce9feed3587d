/* What the driver says of a device, without a context. */
#ifndef TP_CUDA_FACTS_H
#define TP_CUDA_FACTS_H

#include "cuda/cuda_device.h"
#include "cuda/driver.h"

/* Stream-ordered pools and virtual memory management: all symbols, and the device's attribute.
 * `why` says what is not there, "" where it has them. */
bool tp_cuda_has_pools(const struct cuda_driver *d, CUdevice device, char why[TP_CUDA_WHY]);
bool tp_cuda_has_vmm(const struct cuda_driver *d, CUdevice device, char why[TP_CUDA_WHY]);

/* "a device" where the driver does not tell. */
void tp_cuda_name(const struct cuda_driver *d, CUdevice device, char name[TP_CUDA_NAME]);

#endif
