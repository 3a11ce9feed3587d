/* The CUDA driver, loaded at run time: libcuda.so.1, or what TAPOOL_CUDA_DRIVER names.
 *
 *   dlopen --> cuDriverGetVersion --> cuGetProcAddress --> each name of driver_symbols.h --> cuInit
 *
 * Each name is asked for with the version whose type it has here, so that a newer driver hands out
 * the function of that version. A library stays loaded until the process ends: a driver has threads
 * of its own, which must not lose their code. */
#ifndef TP_CUDA_DRIVER_H
#define TP_CUDA_DRIVER_H

#include "alloc/base/err.h"
#include "cuda/driver_symbols.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdbool.h>

enum cuda_group { CUDA_CORE, CUDA_POOLS, CUDA_VMM, CUDA_KERNEL, CUDA_GROUPS };

enum {
    CUDA_OLDEST_DRIVER = 11030, /* the first with cuGetProcAddress */
    CUDA_ERROR_TEXT = 160
};

struct cuda_driver {
    void *library;                    /* of dlopen; NULL: not loaded */
    const char *path;                 /* of the library, as the loader found it */
    int version;                      /* of CUDA that it knows: 13000 is 13.0 */
    bool simulated;                   /* the library says that it is no real driver */
    int device_count;                 /* >= 1 */
    const char *missing[CUDA_GROUPS]; /* the first name of the group that is not there, or NULL */
#define CUDA_MEMBER(name, version, group) PFN_cu##name##_v##version name;
    CUDA_DRIVER_SYMBOLS(CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* Loads it, finds every name and calls cuInit. TP_EDEVICE: one sentence that begins with what is
 * missing, no hint; nothing is left open. */
int tp_cuda_driver_load(struct cuda_driver *d, struct tp_err *err);
void tp_cuda_driver_unload(struct cuda_driver *d); /* a zeroed one is fine */

/* "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", or the number where the driver does not know it. */
void tp_cuda_error_text(const struct cuda_driver *d, CUresult code, char out[CUDA_ERROR_TEXT]);

/* Writes "CALL failed: CUDA_ERROR_X (text)". TP_EDEVICE. */
int tp_cuda_fail(const struct cuda_driver *d, const char *call, CUresult code, struct tp_err *err);

/* The same, and TP_OK where the call succeeded. */
int tp_cuda_answered(const struct cuda_driver *d, const char *call, CUresult code,
                     struct tp_err *err);

/* A call while something is opened: TP_OK, or TP_EDEVICE and its sentence. */
#define CUDA_ASK(d, err, name, ...) tp_cuda_answered((d), "cu" #name, (d)->name(__VA_ARGS__), (err))

#endif
