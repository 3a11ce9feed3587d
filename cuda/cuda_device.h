/* What cmd/ can ask about CUDA: the driver, its devices and what they can do. Compiles without the
 * CUDA Toolkit; every call then fails and says so.
 *
 * The driver is loaded at run time: libcuda.so.1, or what TAPOOL_CUDA_DRIVER names. */
#ifndef TP_CUDA_DEVICE_H
#define TP_CUDA_DEVICE_H

#include "alloc/base/err.h"
#include "cuda/release.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_CUDA_NAME = 256, TP_CUDA_WHY = 160 };

struct tp_cuda_device {
    char name[TP_CUDA_NAME];
    uint64_t total_bytes;
    uint64_t clock_khz; /* clock rate of the multiprocessors; 0: not known */
    int major, minor;   /* compute capability */
    /* stream-ordered pools (cuMemAllocAsync) work: symbols and device attribute are there */
    bool pools;
    /* virtual memory management (cuMemMap) works: symbols and device attribute are there */
    bool vmm;
    char no_pools[TP_CUDA_WHY]; /* why there are no pools; "" where there are */
    char no_vmm[TP_CUDA_WHY];
};

struct tp_cuda; /* a loaded driver */

struct tp_cuda_info {
    const char *path;              /* path of the library that was loaded */
    int version;                   /* CUDA version that the driver supports: 13000 is 13.0 */
    char release[TP_CUDA_RELEASE]; /* of the driver, such as "580.65.06"; "": not known */
    /* connections through which streams reach a device, as CUDA_DEVICE_MAX_CONNECTIONS asks for:
     * streams beyond that number share one, and wait for each other; 0: it says no number */
    uint32_t connections;
    bool simulated; /* the library says that it is no real driver */
    int device_count;
    const struct tp_cuda_device *devices;
};

/* Loads the driver and queries its devices; tp_cuda_close frees. TP_EDEVICE where tapool was built
 * without the toolkit, no library is found, the driver is too old or there is no device; the
 * sentence begins with what is missing and has no hint. */
int tp_cuda_open(struct tp_cuda **out, struct tp_err *err);
void tp_cuda_close(struct tp_cuda *c); /* NULL is fine */
const struct tp_cuda_info *tp_cuda_info(const struct tp_cuda *c);

/* Keeps the primary context of a device until tp_cuda_close. Otherwise each pass of a command,
 * having its own sources, would create it again. */
int tp_cuda_hold(struct tp_cuda *c, int device, struct tp_err *err);

/* Free and total bytes at this moment of a device that tp_cuda_hold keeps. */
int tp_cuda_memory(struct tp_cuda *c, int device, uint64_t *free_bytes, uint64_t *total_bytes,
                   struct tp_err *err);

/* Was tapool built with the CUDA Toolkit? If not, no other call here can succeed. */
bool tp_cuda_built(void);

#endif
