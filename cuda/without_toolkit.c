/* Replaces cuda/ in a build without the CUDA Toolkit: the source is listed, and its init says why
 * it is absent. */
#include "alloc/source.h"
#include "cuda/cuda_device.h"
#include "cuda/cuda_options.h"

static int fail_not_built(struct tp_err *err)
{
    return tp_fail(err, TP_EDEVICE, "this tapool was built without the CUDA Toolkit");
}

int tp_cuda_open(struct tp_cuda **out, struct tp_err *err)
{
    *out = NULL;
    return fail_not_built(err);
}

void tp_cuda_close(struct tp_cuda *c)
{
    (void)c;
}

const struct tp_cuda_info *tp_cuda_info(const struct tp_cuda *c)
{
    (void)c;
    return NULL;
}

int tp_cuda_hold(struct tp_cuda *c, int device, struct tp_err *err)
{
    (void)c, (void)device;
    return fail_not_built(err);
}

int tp_cuda_memory(struct tp_cuda *c, int device, uint64_t *free_bytes, uint64_t *total_bytes,
                   struct tp_err *err)
{
    (void)c, (void)device;
    *free_bytes = *total_bytes = 0;
    return fail_not_built(err);
}

bool tp_cuda_built(void)
{
    return false;
}

static int absent_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    (void)state, (void)cfg;
    return tp_hint(err, fail_not_built(err),
                   "'--source virtual' replays the same strategy without a GPU");
}

const struct tp_source_ops tp_source_cuda = {
    .name = "cuda",
    .summary = "memory of a GPU, from the CUDA driver",
    .flags = TP_SRC_DEVICE | TP_SRC_ABSENT,
    .opts_size = sizeof(struct cuda_opts),
    .options = cuda_rows,
    .init = absent_init,
};
