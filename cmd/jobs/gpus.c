/* See gpus.h. */
#include "cmd/jobs/gpus.h"
#include "cmd/ui/text.h"

#include <string.h>

bool tp_gpu_open(struct tp_gpu *g)
{
    if (!g->asked && tp_cuda_open(&g->cuda, &g->why))
        g->cuda = NULL;
    g->asked = true;
    return g->cuda != NULL;
}

void tp_gpu_close(struct tp_gpu *g)
{
    tp_cuda_close(g->cuda);
    *g = (struct tp_gpu){0};
}

const struct tp_cuda_info *tp_gpu_info(const struct tp_gpu *g)
{
    return tp_cuda_info(g->cuda);
}

bool tp_gpu_has_pools(const struct tp_gpu *g)
{
    const struct tp_cuda_info *info = g->cuda ? tp_gpu_info(g) : NULL;
    for (int i = 0; info && i < info->device_count; i++)
        if (info->devices[i].pools)
            return true;
    return false;
}

const char *tp_gpu_why(const struct tp_gpu *g)
{
    return tp_cuda_built() ? g->why.text : "built without the CUDA Toolkit";
}

bool tp_gpu_is_unusable(const struct tp_gpu *g)
{
    return tp_cuda_built() && g->why.reason != TP_REASON_ABSENT;
}

int tp_gpu_fail(const struct tp_gpu *g, const char *who, const char *instead, struct tp_err *err)
{
    int status = tp_fail(err, TP_EDEVICE, "%s needs a GPU and its driver: %s", who, g->why.text);
    return tp_hint(err, status, "%s", instead);
}

int tp_gpu_check(const struct tp_gpu *g, const uint32_t *ordinals, uint16_t devices,
                 const char *pools, struct tp_err *err)
{
    const struct tp_cuda_info *info = tp_gpu_info(g);
    int count = info->device_count;
    for (uint16_t d = 0; d < devices; d++) {
        if (ordinals[d] >= (uint32_t)count)
            return tp_hint(err,
                           tp_fail(err, TP_EDEVICE,
                                   "device %u of the trace needs CUDA device %u, and this machine "
                                   "has %s",
                                   d, ordinals[d], tp_plural((uint64_t)count, "CUDA device").s),
                           "--map-device %u=0 replays it on CUDA device 0; '--source virtual' "
                           "replays any number of devices without a GPU",
                           d);
        const struct tp_cuda_device *device = &info->devices[ordinals[d]];
        if (pools && !device->pools)
            return tp_hint(err,
                           tp_fail(err, TP_EDEVICE,
                                   "%s needs memory pools, which CUDA device %u (%s) lacks: %s",
                                   pools, ordinals[d], device->name, device->no_pools),
                           "'-s stream-pool' replays a software pool with the same interface");
    }
    return TP_OK;
}
