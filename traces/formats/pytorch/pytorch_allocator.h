/* Whose allocator a snapshot is of: CUDA's, or one that other devices made of it, and of which
 * release. The file does not say that; files and functions of stack frames name the device, and
 * members of events came with releases. */
#ifndef TP_PYTORCH_ALLOCATOR_H
#define TP_PYTORCH_ALLOCATOR_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* "cuda", "hip", "xpu" or "npu" (meta->allocator_device), by the texts that were kept while the
 * snapshot was read, at most 65,535; NULL: they name none, or there are no frames. */
const char *tp_pytorch_allocator(const struct tp_pytorch *s);

/* The newest release of PyTorch that is known and writes such a file: "2.9", "2.11" or "2.14"
 * (meta->allocator_release). `device` is what tp_pytorch_allocator says. NULL: it cannot be told.
 */
const char *tp_pytorch_newest(const struct tp_pytorch *s, const char *device);

#endif
