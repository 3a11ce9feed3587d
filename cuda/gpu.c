/* Opening a device and recording its loss: see gpu.h. */
#include "cuda/gpu.h"

#include "alloc/base/str.h"
#include "cuda/device_map.h"
#include <stdio.h>
#include <string.h>

/* Was the call itself refused? Any other error may come from work that was queued earlier. */
static bool is_refusal(CUresult code)
{
    static const CUresult refusals[] = {
        CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY,     CUDA_ERROR_INVALID_CONTEXT,
        CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        CUDA_ERROR_INVALID_PTX,   CUDA_ERROR_INVALID_HANDLE,    CUDA_ERROR_NOT_FOUND,
        CUDA_ERROR_NOT_SUPPORTED};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i] == code)
            return true;
    return false;
}

int tp_cuda_lose(struct cuda_gpu *g, const char *call, CUresult code)
{
    if (g->failure.status == TP_OK) {
        tp_cuda_fail(&g->driver, call, code, &g->failure);
        if (!is_refusal(code))
            tp_append(g->failure.text, sizeof g->failure.text,
                      "; the device is lost or work that was queued before failed");
    }
    if (g->lost)
        *g->lost = TP_EDEVICE;
    return TP_EDEVICE;
}

int tp_cuda_make_current(struct cuda_gpu *g)
{
    int rc = CUDA_TRY(g, CtxSetCurrent, g->context);
    if (!rc && g->current)
        *g->current = g->context;
    return rc;
}

int tp_cuda_look_at_memory(struct cuda_gpu *g, uint64_t *free_bytes, uint64_t *total)
{
    size_t free_now = 0, all = 0;
    int rc = CUDA_LOOK(g, MemGetInfo, &free_now, &all);
    *free_bytes = rc ? 0 : free_now;
    *total = rc ? 0 : all;
    return rc;
}

static int take_context(struct cuda_gpu *g, struct tp_err *err)
{
    int rc = CUDA_ASK(&g->driver, err, DeviceGet, &g->device, g->ordinal);
    if (rc)
        return rc;
    rc = CUDA_ASK(&g->driver, err, DevicePrimaryCtxRetain, &g->context, g->device);
    if (rc)
        g->context = NULL;
    else
        rc = CUDA_ASK(&g->driver, err, CtxSetCurrent, g->context);
    if (!rc && g->current)
        *g->current = g->context;
    return rc;
}

int tp_cuda_gpu_open(struct cuda_gpu *g, int ordinal, const struct tp_source_cfg *cfg,
                     struct tp_err *err)
{
    g->ordinal = ordinal;
    g->current = cfg->current;
    tp_cuda_ask_connections();
    int rc = tp_cuda_driver_load(&g->driver, err);
    if (rc)
        return rc;
    rc = tp_cuda_check_ordinal(cfg->device, ordinal, g->driver.device_count, err);
    if (!rc)
        rc = take_context(g, err);
    if (rc)
        tp_cuda_gpu_close(g);
    return rc;
}

/* Leaves the thread without a context; the next source that is called sets its own. */
void tp_cuda_gpu_close(struct cuda_gpu *g)
{
    if (g->context) {
        g->driver.CtxSetCurrent(NULL);
        if (g->current)
            *g->current = NULL;
        CUDA_LOOK(g, DevicePrimaryCtxRelease, g->device);
    }
    g->context = NULL;
    tp_cuda_driver_unload(&g->driver);
}
