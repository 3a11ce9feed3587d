/* Work that keeps a stream busy with a block. */
#ifndef TP_CUDA_OCCUPY_H
#define TP_CUDA_OCCUPY_H

#include "cuda/gpu.h"

/* The kernel of spin.cu as nvcc compiled it, made by spin_kernel.cmake; size 0: there was no nvcc.
 */
extern const unsigned char tp_cuda_spin_image[];
extern const size_t tp_cuda_spin_image_size;

struct cuda_occupy {
    CUmodule module; /* NULL: not loaded yet */
    CUfunction spin;
};

/* `stream` is busy with the block, as `how` says; ns is for TP_OCCUPY_SPIN. TP_EUNSUP: this build
 * or this driver has no kernels. */
int tp_cuda_occupy(struct cuda_occupy *o, struct cuda_gpu *g, CUstream stream, CUdeviceptr block,
                   uint64_t size, uint64_t ns, enum tp_occupy how);
void tp_cuda_occupy_close(struct cuda_occupy *o, struct cuda_gpu *g);

#endif
