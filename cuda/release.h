/* The release of the driver, such as 580.65.06, which the library itself does not report: the
 * kernel module does. */
#ifndef TP_CUDA_RELEASE_H
#define TP_CUDA_RELEASE_H

#include "alloc/base/err.h"

#include <stdbool.h>

enum { TP_CUDA_RELEASE = 32 };

/* Finds the release in what a file of the kernel module says: the first word that is made of
 * numbers with dots between them. `out` is "" where there is none. */
void tp_cuda_release_parse(const char *text, char out[TP_CUDA_RELEASE]);

/* The release of the module that is loaded; "": there is none, or it does not say. */
void tp_cuda_release_read(char out[TP_CUDA_RELEASE]);

/* Refuses `reuse_allow_opportunistic` with a driver that allocates memory which is still in use:
 * TP_EDEVICE, with a hint. TP_OK with any other driver, and where the release is "". */
int tp_cuda_release_check_reuse(const char *release, struct tp_err *err);

#endif
