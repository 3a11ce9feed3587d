/* What the command line may know of CUDA: whether there is a driver, which devices, what they can
 * do. Compiles without the CUDA Toolkit; without it every call says so.
 *
 * The driver is loaded at run time: libcuda.so.1, or what TAPOOL_CUDA_DRIVER names. */
#ifndef TP_CUDA_DEVICE_H
#define TP_CUDA_DEVICE_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_CUDA_NAME = 256, TP_CUDA_WHY = 160 };

struct tp_cuda_device {
    char name[TP_CUDA_NAME];
    uint64_t total_bytes;
    uint64_t clock_khz;         /* of its processors; 0: it does not say */
    int major, minor;           /* compute capability */
    bool pools;                 /* cuMemAllocAsync and its kin: symbols and attribute */
    bool vmm;                   /* cuMemAddressReserve, cuMemMap and their kin: likewise */
    char no_pools[TP_CUDA_WHY]; /* why not; "" where it has them */
    char no_vmm[TP_CUDA_WHY];
};

struct tp_cuda; /* a loaded driver */

struct tp_cuda_info {
    const char *path; /* of the library that was loaded */
    int version;      /* of CUDA that the driver knows: 13000 is 13.0 */
    char release[32]; /* of the driver itself, "580.65.06"; "": not known */
    bool simulated;   /* the library says that it is no real driver */
    int device_count;
    const struct tp_cuda_device *devices;
};

/* Loads the driver and looks at its devices; tp_cuda_close frees. TP_EDEVICE: built without the
 * toolkit, no library, too old, no device: one sentence that begins with what is missing, without a
 * hint. */
int tp_cuda_open(struct tp_cuda **out, struct tp_err *err);
void tp_cuda_close(struct tp_cuda *c); /* NULL is fine */
const struct tp_cuda_info *tp_cuda_info(const struct tp_cuda *c);

/* Keeps the primary context of a device until tp_cuda_close, so that the passes of a command, each
 * with sources of its own, do not make it anew. */
int tp_cuda_hold(struct tp_cuda *c, int device, struct tp_err *err);

/* Free and all bytes of a held device at this moment. */
int tp_cuda_memory(struct tp_cuda *c, int device, uint64_t *free_bytes, uint64_t *total_bytes,
                   struct tp_err *err);

/* Whether this build has the toolkit's types: false means that nothing else here can succeed. */
bool tp_cuda_built(void);

/* Whether this build has the kernel of TP_OCCUPY_SPIN: it takes nvcc. Without it the source's
 * `work` says TP_EUNSUP. */
bool tp_cuda_can_spin(void);

#endif
