/* One stack frame of a snapshot, and which of an event's frames is worth showing. */
#ifndef TP_PYTORCH_FRAME_H
#define TP_PYTORCH_FRAME_H

#include "traces/format.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

enum { TP_PYTORCH_FRAME_TEXT = 256 };

struct tp_pytorch_frame {
    /* a long path keeps its end, a long function name its beginning */
    char file[TP_PYTORCH_FRAME_TEXT];
    char function[TP_PYTORCH_FRAME_TEXT];
    uint64_t line;
};

/* How much a frame says about the recorded program, in ascending order. */
enum tp_pytorch_rank {
    TP_PYTORCH_SILENT,   /* C++ outside the backward pass */
    TP_PYTORCH_ENGINE,   /* the engine that runs the backward pass */
    TP_PYTORCH_BACKWARD, /* an operation of the backward pass */
    TP_PYTORCH_LIBRARY,  /* Python of a library, or made by torch.compile */
    TP_PYTORCH_PROGRAM,  /* Python of the program itself: the best rank */
};
enum tp_pytorch_rank tp_pytorch_rank(const struct tp_pytorch_frame *f);

/* "optimizer.py:78 step", "backward BmmBackward0", "backward pass"; "" for a frame of rank
 * TP_PYTORCH_SILENT. */
void tp_pytorch_frame_text(const struct tp_pytorch_frame *f, char out[TP_PLACE_TEXT]);

/* Whose allocator a snapshot is of: CUDA's, or one that other devices made of it, and of which
 * release. The file does not say that; files and functions of stack frames name the device, and
 * members of events came with releases. */

/* "cuda", "hip", "xpu" or "npu" (meta->allocator_device), by the texts that were kept while the
 * snapshot was read, at most 65,535; NULL: they name none, or there are no frames. */
const char *tp_pytorch_allocator(const struct tp_pytorch *s);

/* The newest release of PyTorch that is known and writes such a file: "2.9", "2.11" or "2.14"
 * (meta->allocator_release). `device` is what tp_pytorch_allocator says. NULL: it cannot be told.
 */
const char *tp_pytorch_newest(const struct tp_pytorch *s, const char *device);

#endif
