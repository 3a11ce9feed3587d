/* Busy streams: see occupy.h. What is queued here is apart from the calls that a policy needs, so
 * it is counted apart and never timed; the module is loaded with the first kernel, of 0 bytes where
 * somebody wants it in place before memory is looked at. */
#include "cuda/occupy.h"
#include "cuda/cuda_device.h"

enum { OCCUPY_BYTE = 0xA5 };

bool tp_cuda_can_spin(void)
{
    return tp_cuda_spin_image_size != 0;
}

static int load_kernel(struct cuda_occupy *o, struct cuda_gpu *g)
{
    if (!tp_cuda_can_spin() || g->driver.missing[CUDA_KERNEL])
        return TP_EUNSUP;
    int rc = cuda_status(g, "cuModuleLoadData",
                         g->driver.ModuleLoadData(&o->module, tp_cuda_spin_image));
    if (rc) {
        o->module = NULL;
        return rc;
    }
    return cuda_status(g, "cuModuleGetFunction",
                       g->driver.ModuleGetFunction(&o->spin, o->module, "tapool_spin"));
}

static int spin(struct cuda_occupy *o, struct cuda_gpu *g, CUstream stream, CUdeviceptr block,
                uint64_t size, uint64_t ns)
{
    unsigned long long bytes = size, busy = ns;
    void *arguments[] = {&block, &bytes, &busy};
    int rc = o->module ? TP_OK : load_kernel(o, g);
    if (rc)
        return rc;
    return cuda_status(
        g, "cuLaunchKernel",
        g->driver.LaunchKernel(o->spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

int tp_cuda_occupy(struct cuda_occupy *o, struct cuda_gpu *g, CUstream stream, CUdeviceptr block,
                   uint64_t size, uint64_t ns, enum tp_occupy how)
{
    bool nothing = how == TP_OCCUPY_NONE || (how == TP_OCCUPY_MEMSET && !size);
    int rc = nothing ? TP_OK : cuda_enter(g);
    if (rc || nothing)
        return rc;
    if (how == TP_OCCUPY_SPIN)
        rc = spin(o, g, stream, block, size, ns);
    else
        rc = cuda_status(g, "cuMemsetD8Async",
                         g->driver.MemsetD8Async(block, OCCUPY_BYTE, size, stream));
    g->counts.works += rc == TP_OK && size > 0;
    return rc;
}

void tp_cuda_occupy_close(struct cuda_occupy *o, struct cuda_gpu *g)
{
    if (o->module)
        cuda_released(g, "cuModuleUnload", g->driver.ModuleUnload(o->module));
    *o = (struct cuda_occupy){0};
}
