/* CUPTI for this driver: the subscriber hears of the calls of those functions that it asked for,
 * before and after, with the parameters as CUPTI has them. The driver loads the library that
 * CUDA_INJECTION64_PATH names when it is initialised, as a real one does; TAPOOL_CUPTI=.../
 * fake_libcuda.so makes tapool's recorder find it here. Only what cuGetProcAddress gives is heard
 * of, and only where that is set.
 *
 * TAPOOL_FAKE_CUPTI=N: cuptiSubscribe refuses with the CUptiResult N. TAPOOL_FAKE_CUPTI_LATE=1: of
 * a free is told half a millisecond after it was done, so that others have its memory by then. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

#if __has_include(<cupti.h>)
#include <cupti.h>
#include <dlfcn.h>
#include <time.h>

#pragma GCC visibility push(default)
CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                                    void *userdata);
CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *deviceId);
#pragma GCC visibility pop

static CUpti_CallbackFunc subscriber;
static void *subscribers_data;
static bool enabled[CUPTI_DRIVER_TRACE_CBID_SIZE];

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                                    void *userdata)
{
    const char *refuse = getenv("TAPOOL_FAKE_CUPTI");
    if (refuse)
        return (CUptiResult)strtol(refuse, NULL, 10);
    if (subscriber)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    subscriber = callback;
    subscribers_data = userdata;
    *out = (CUpti_SubscriberHandle)&enabled;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle of,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (of != (CUpti_SubscriberHandle)&enabled || domain != CUPTI_CB_DOMAIN_DRIVER_API ||
        cbid >= CUPTI_DRIVER_TRACE_CBID_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    enabled[cbid] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
    if (!context)
        return CUPTI_ERROR_INVALID_CONTEXT;
    *deviceId = (uint32_t)((const struct fc_device *)(const void *)context)->ordinal;
    return CUPTI_SUCCESS;
}

void fc_inject(void)
{
    static bool injected;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path && !injected ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *found = library ? dlsym(library, "InitializeInjection") : NULL;
    int (*initialize)(void) = NULL;
    injected = true;
    memcpy(&initialize, &found, sizeof initialize);
    if (initialize)
        initialize();
}

/* ---- calls ---- */

struct heard {
    CUpti_CallbackId number;
    CUpti_CallbackData data;
    uint64_t shared;
};

static void tell(struct heard *h, CUpti_ApiCallbackSite site)
{
    if (!subscriber || !enabled[h->number])
        return;
    h->data.callbackSite = site;
    h->data.context = fc_context_now();
    h->data.correlationData = &h->shared;
    subscriber(subscribers_data, CUPTI_CB_DOMAIN_DRIVER_API, h->number, &h->data);
}

static struct heard before(CUpti_CallbackId number, const void *params)
{
    struct heard h = {.number = number, .data.functionParams = params};
    tell(&h, CUPTI_API_ENTER);
    return h;
}

static CUresult after(struct heard *h, CUresult result)
{
    const struct timespec while_others_run = {.tv_nsec = 500000};
    bool frees = h->number == CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2 ||
                 h->number == CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync;
    if (frees && subscriber && getenv("TAPOOL_FAKE_CUPTI_LATE"))
        nanosleep(&while_others_run, NULL);
    h->data.functionReturnValue = &result;
    tell(h, CUPTI_API_EXIT);
    return result;
}

/* A function NAME, CUPTI's name for it, its parameters as declared, as passed on, as the members of
 * a struct. */
#define HEARD(name, id, declared, passed, ...)                                                     \
    static CUresult CUDAAPI heard_##name declared                                                  \
    {                                                                                              \
        const id##_params params = {__VA_ARGS__};                                                  \
        struct heard h = before(CUPTI_DRIVER_TRACE_CBID_##id, &params);                            \
        return after(&h, name passed);                                                             \
    }
/* with its variant for programs whose stream 0 is the thread's own */
#define HEARD_TWICE(name, declared, passed, ...)                                                   \
    HEARD(name, name, declared, passed, __VA_ARGS__)                                               \
    HEARD(name##_ptsz, name##_ptsz, declared, passed, __VA_ARGS__)

#undef cuMemAlloc
#undef cuMemFree
#undef cuStreamDestroy
#undef cuEventDestroy

HEARD(cuMemAlloc_v2, cuMemAlloc_v2, (CUdeviceptr * p, size_t bytes), (p, bytes), p, bytes)
HEARD(cuMemFree_v2, cuMemFree_v2, (CUdeviceptr p), (p), p)
HEARD_TWICE(cuMemAllocAsync, (CUdeviceptr * p, size_t bytes, CUstream s), (p, bytes, s), p, bytes,
            s)
HEARD_TWICE(cuMemAllocFromPoolAsync, (CUdeviceptr * p, size_t bytes, CUmemoryPool pool, CUstream s),
            (p, bytes, pool, s), p, bytes, pool, s)
HEARD_TWICE(cuMemFreeAsync, (CUdeviceptr p, CUstream s), (p, s), p, s)
HEARD(cuMemPoolCreate, cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *props),
      (pool, props), pool, props)
HEARD(cuMemPoolDestroy, cuMemPoolDestroy, (CUmemoryPool pool), (pool), pool)
HEARD(cuMemPoolTrimTo, cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep), (pool, keep), pool, keep)
HEARD(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device),
      (pool, device), pool, device)
HEARD(cuDeviceGetMemPool, cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device),
      (pool, device), pool, device)
HEARD(cuMemCreate, cuMemCreate,
      (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,
       unsigned long long flags),
      (handle, size, prop, flags), handle, size, prop, flags)
HEARD(cuStreamCreate, cuStreamCreate, (CUstream * s, unsigned int flags), (s, flags), s, flags)
HEARD(cuStreamDestroy_v2, cuStreamDestroy_v2, (CUstream s), (s), s)
HEARD_TWICE(cuStreamSynchronize, (CUstream s), (s), s)
HEARD_TWICE(cuStreamQuery, (CUstream s), (s), s)
HEARD_TWICE(cuStreamWaitEvent, (CUstream s, CUevent e, unsigned int flags), (s, e, flags), s, e,
            flags)
HEARD(cuEventDestroy_v2, cuEventDestroy_v2, (CUevent e), (e), e)
HEARD_TWICE(cuEventRecord, (CUevent e, CUstream s), (e, s), e, s)
HEARD(cuEventQuery, cuEventQuery, (CUevent e), (e), e)
HEARD(cuEventSynchronize, cuEventSynchronize, (CUevent e), (e), e)

static CUresult CUDAAPI heard_cuCtxSynchronize(void)
{
    struct heard h = before(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, NULL);
    return after(&h, cuCtxSynchronize());
}

#define ROW(name)                                                                                  \
    {                                                                                              \
        (fc_function *)name, (fc_function *)heard_##name                                           \
    }
#define ROWS(name) ROW(name), ROW(name##_ptsz)

fc_function *fc_heard(fc_function *plain)
{
    static const struct {
        fc_function *plain, *heard;
    } rows[] = {
        ROW(cuMemAlloc_v2),      ROW(cuMemFree_v2),
        ROWS(cuMemAllocAsync),   ROWS(cuMemAllocFromPoolAsync),
        ROWS(cuMemFreeAsync),    ROW(cuMemPoolCreate),
        ROW(cuMemPoolDestroy),   ROW(cuMemPoolTrimTo),
        ROW(cuMemCreate),        ROW(cuDeviceGetDefaultMemPool),
        ROW(cuDeviceGetMemPool), ROW(cuStreamCreate),
        ROW(cuStreamDestroy_v2), ROWS(cuStreamSynchronize),
        ROWS(cuStreamQuery),     ROWS(cuStreamWaitEvent),
        ROW(cuEventDestroy_v2),  ROWS(cuEventRecord),
        ROW(cuEventQuery),       ROW(cuEventSynchronize),
        ROW(cuCtxSynchronize),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows && getenv("CUDA_INJECTION64_PATH"); i++)
        if (rows[i].plain == plain)
            return rows[i].heard;
    return plain;
}

#else /* without CUPTI there is nobody to hear */

void fc_inject(void) {}

fc_function *fc_heard(fc_function *plain)
{
    return plain;
}
#endif
