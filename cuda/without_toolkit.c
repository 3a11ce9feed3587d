/* What stands in for cuda/ in a build without the CUDA Toolkit: the source is in the tables, so
 * that whoever asks for it reads why it is not there. */
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

bool tp_cuda_can_spin(void)
{
    return false;
}

/* Nothing can be asked of a source that cannot be opened; the members say what it would have. */
static int absent_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    (void)state, (void)cfg;
    return tp_hint(err, fail_not_built(err),
                   "'--source virtual' replays the same policy without a GPU");
}

static void absent_fini(void *state)
{
    (void)state;
}

static uint64_t absent_page(void *state)
{
    (void)state;
    return 512;
}

static int absent_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    (void)state, (void)size, (void)align, (void)out;
    return TP_EDEVICE;
}

static int absent_put(void *state, tp_addr addr, uint64_t size)
{
    (void)state, (void)addr, (void)size;
    return TP_EDEVICE;
}

static int absent_pool_open(void *state, const struct tp_pool_cfg *cfg, struct tp_err *err)
{
    (void)state, (void)cfg;
    return fail_not_built(err);
}

static int absent_pool_close(void *state)
{
    (void)state;
    return TP_EDEVICE;
}

static int absent_get_async(void *state, uint64_t size, uint16_t stream, tp_addr *out)
{
    (void)state, (void)size, (void)stream, (void)out;
    return TP_EDEVICE;
}

static int absent_put_async(void *state, tp_addr addr, uint16_t stream)
{
    (void)state, (void)addr, (void)stream;
    return TP_EDEVICE;
}

static int absent_pool_trim(void *state, uint64_t keep)
{
    (void)state, (void)keep;
    return TP_EDEVICE;
}

static int absent_pool_marks(void *state, struct tp_pool_marks *out)
{
    (void)state, (void)out;
    return TP_EDEVICE;
}

static int absent_memory(void *state, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)state, (void)free_bytes, (void)total_bytes;
    return TP_EDEVICE;
}

static void absent_counts(void *state, struct tp_driver_counts *out)
{
    (void)state, (void)out;
}

static int absent_fault(void *state, struct tp_err *err)
{
    (void)state;
    return fail_not_built(err);
}

const struct tp_source_ops tp_source_cuda = {
    .name = "cuda",
    .summary = "memory of a GPU, from the CUDA driver",
    .flags = TP_SRC_DEVICE,
    .opts_size = sizeof(struct cuda_opts),
    .options = cuda_rows,
    .init = absent_init,
    .fini = absent_fini,
    .page = absent_page,
    .get = absent_get,
    .put = absent_put,
    .pool_open = absent_pool_open,
    .pool_close = absent_pool_close,
    .get_async = absent_get_async,
    .put_async = absent_put_async,
    .pool_trim = absent_pool_trim,
    .pool_marks = absent_pool_marks,
    .memory = absent_memory,
    .counts = absent_counts,
    .fault = absent_fault,
};
