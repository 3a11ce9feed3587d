/* The CUDA driver, loaded at run time: libcuda.so.1, or what TAPOOL_CUDA_DRIVER names.
 *
 *   dlopen --> cuDriverGetVersion --> cuGetProcAddress --> each name of driver_symbols.h --> cuInit
 *
 * Streams reach a device through a few connections, 8 unless CUDA_DEVICE_MAX_CONNECTIONS says
 * another number before cuInit, and those that share one may wait for each other although the
 * program orders nothing. So it is set to CUDA_CONNECTIONS, the most there can be, for this process
 * and those that it starts, unless the user has set it.
 *
 * Each function is requested with the version whose type is declared here, so that a newer driver
 * returns the function of that version. The library stays loaded until the process ends, because
 * the driver has threads that run its code. */
#ifndef TP_CUDA_DRIVER_H
#define TP_CUDA_DRIVER_H

#include "alloc/base/err.h"
#include "cuda/driver_symbols.h"
#include "cuda/release.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdbool.h>

enum cuda_group { CUDA_CORE, CUDA_POOLS, CUDA_VMM, CUDA_KERNEL, CUDA_GROUPS };

enum {
    CUDA_OLDEST_DRIVER = 11030, /* the first with cuGetProcAddress */
    CUDA_CONNECTIONS = 32,
    CUDA_ERROR_TEXT = 160
};

#define CUDA_CONNECTIONS_NAME "CUDA_DEVICE_MAX_CONNECTIONS"

struct cuda_driver {
    void *library;                 /* handle from dlopen; NULL: not loaded */
    const char *path;              /* path of the library, as the loader found it */
    int version;                   /* CUDA version that the driver supports: 13000 is 13.0 */
    bool simulated;                /* the library says that it is no real driver */
    int device_count;              /* >= 1 */
    char release[TP_CUDA_RELEASE]; /* "": not known, as that of a simulated driver */
    /* first function of the group that the driver lacks, or NULL */
    const char *missing[CUDA_GROUPS];
#define CUDA_MEMBER(name, version, group) PFN_cu##name##_v##version name;
    CUDA_DRIVER_SYMBOLS(CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* Sets CUDA_CONNECTIONS_NAME for this process unless it is set. Call it first: cuInit reads it. */
void tp_cuda_ask_connections(void);

/* Loads the driver, finds every function and calls cuInit. TP_EDEVICE: the sentence begins with
 * what is missing and has no hint; nothing is left open. */
int tp_cuda_driver_load(struct cuda_driver *d, struct tp_err *err);
void tp_cuda_driver_unload(struct cuda_driver *d); /* a zeroed struct is fine */

/* "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", or the number where the driver does not know it. */
void tp_cuda_error_text(const struct cuda_driver *d, CUresult code, char out[CUDA_ERROR_TEXT]);

/* Writes "CALL failed: CUDA_ERROR_X (text)". TP_EDEVICE. */
int tp_cuda_fail(const struct cuda_driver *d, const char *call, CUresult code, struct tp_err *err);

/* TP_OK where the call succeeded, else as tp_cuda_fail. */
int tp_cuda_answered(const struct cuda_driver *d, const char *call, CUresult code,
                     struct tp_err *err);

/* Makes a driver call while something is opened: TP_OK, or TP_EDEVICE with a sentence. */
#define CUDA_ASK(d, err, name, ...) tp_cuda_answered((d), "cu" #name, (d)->name(__VA_ARGS__), (err))

#endif
