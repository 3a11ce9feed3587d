/* Names: of functions, for cuGetProcAddress, and of errors. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

/* A function by name: the newest row that is not newer than what is asked for. */
struct symbol {
    const char *name;
    int version; /* of CUDA that brought it */
    fc_function *plain, *per_thread;
};

#define PLAIN(name, version)                                                                       \
    {                                                                                              \
#name, version, (fc_function *)name, NULL                                                  \
    }
#define BOTH(name, version)                                                                        \
    {                                                                                              \
#name, version, (fc_function *)name, (fc_function *)name##_ptsz                            \
    }

static const struct symbol symbols[] = {
    PLAIN(cuGetErrorName, 6000),
    PLAIN(cuGetErrorString, 6000),
    PLAIN(cuDriverGetVersion, 2020),
    PLAIN(cuInit, 2000),
    PLAIN(cuDeviceGet, 2000),
    PLAIN(cuDeviceGetCount, 2000),
    PLAIN(cuDeviceGetName, 2000),
    PLAIN(cuDeviceTotalMem, 3020),
    PLAIN(cuDeviceGetAttribute, 2000),
    PLAIN(cuDevicePrimaryCtxRetain, 7000),
    PLAIN(cuDevicePrimaryCtxRelease, 11000),
    PLAIN(cuCtxSetCurrent, 4000),
    PLAIN(cuCtxGetCurrent, 4000),
    PLAIN(cuCtxSynchronize, 2000),
    PLAIN(cuMemGetInfo, 3020),
    PLAIN(cuMemAlloc, 3020),
    PLAIN(cuMemFree, 3020),
    BOTH(cuMemAllocAsync, 11020),
    BOTH(cuMemAllocFromPoolAsync, 11020),
    BOTH(cuMemFreeAsync, 11020),
    PLAIN(cuMemPoolCreate, 11020),
    PLAIN(cuMemPoolDestroy, 11020),
    PLAIN(cuMemPoolSetAttribute, 11020),
    PLAIN(cuMemPoolGetAttribute, 11020),
    PLAIN(cuMemPoolTrimTo, 11020),
    PLAIN(cuDeviceGetDefaultMemPool, 11020),
    PLAIN(cuDeviceGetMemPool, 11020),
    PLAIN(cuDeviceSetMemPool, 11020),
    PLAIN(cuStreamCreate, 2000),
    PLAIN(cuStreamDestroy, 4000),
    BOTH(cuStreamSynchronize, 2000),
    BOTH(cuStreamQuery, 2000),
    BOTH(cuStreamWaitEvent, 3020),
    PLAIN(cuEventCreate, 2000),
    PLAIN(cuEventDestroy, 4000),
    BOTH(cuEventRecord, 2000),
    PLAIN(cuEventQuery, 2000),
    PLAIN(cuEventSynchronize, 2000),
    BOTH(cuMemsetD8Async, 3020),
    BOTH(cuMemsetD32Async, 3020),
    PLAIN(cuModuleLoadData, 2000),
    PLAIN(cuModuleUnload, 2000),
    PLAIN(cuModuleGetFunction, 2000),
    BOTH(cuLaunchKernel, 4000),
    PLAIN(cuMemAddressReserve, 10020),
    PLAIN(cuMemAddressFree, 10020),
    PLAIN(cuMemCreate, 10020),
    PLAIN(cuMemRelease, 10020),
    PLAIN(cuMemMap, 10020),
    PLAIN(cuMemUnmap, 10020),
    PLAIN(cuMemSetAccess, 10020),
    PLAIN(cuMemGetAllocationGranularity, 10020),
    {"cuCtxSynchronize", 13000, (fc_function *)cuCtxSynchronize_v2, NULL},
    {"cuGetProcAddress", 11030, (fc_function *)fake_get_proc_address, NULL},
    {"cuGetProcAddress", 12000, (fc_function *)cuGetProcAddress_v2, NULL},
};

static bool is_missing(const char *name)
{
    for (uint32_t i = 0; i < fc.script.missing_count; i++) {
        if (strcmp(fc.script.missing[i], name) == 0)
            return true;
    }
    return false;
}

/* Of those that this driver has, the newest that `version` may have. */
static const struct symbol *symbol_named(const char *name, int version, bool *known)
{
    const struct symbol *best = NULL;
    *known = false;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        const struct symbol *s = &symbols[i];
        if (strcmp(s->name, name) != 0 || s->version > fc.script.version)
            continue;
        *known = true;
        if (s->version <= version && (!best || s->version > best->version))
            best = s;
    }
    return best;
}

static CUresult look_up(const char *symbol, void **pfn, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    bool known = false;
    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !pfn || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = NULL;
    if (is_missing("cuGetProcAddress")) /* dlsym cannot be kept from finding it */
        return CUDA_ERROR_NOT_FOUND;
    const struct symbol *s = is_missing(symbol) ? NULL : symbol_named(symbol, version, &known);
    if (s) {
        bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && s->per_thread;
        fc_function *found = fc_heard(per_thread ? s->per_thread : s->plain);
        memcpy(pfn, &found, sizeof *pfn);
        *status = CU_GET_PROC_ADDRESS_SUCCESS;
    } else if (known) {
        *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *symbolStatus)
{
    CUdriverProcAddressQueryResult status;
    CUresult rc = fc_enter(FC_cuGetProcAddress);
    if (!rc && fc.script.version < 12000)
        rc = CUDA_ERROR_NOT_FOUND;
    if (!rc)
        rc = look_up(symbol, pfn, cudaVersion, flags, &status);
    if (!rc && symbolStatus)
        *symbolStatus = status;
    return fc_leave(rc);
}

/* The older shape, by its own name: cuda.h gives that to the newer one. */
CUresult CUDAAPI fake_get_proc_address(const char *symbol, void **pfn, int cudaVersion,
                                       cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    CUresult rc = fc_enter(FC_cuGetProcAddress);
    if (!rc)
        rc = look_up(symbol, pfn, cudaVersion, flags, &status);
    if (!rc && status != CU_GET_PROC_ADDRESS_SUCCESS)
        rc = CUDA_ERROR_NOT_FOUND;
    return fc_leave(rc);
}

/* --- errors ----------------------------------------------------------------------------------- */

static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_MAP_FAILED, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {CUDA_ERROR_UNMAP_FAILED, "CUDA_ERROR_UNMAP_FAILED", "unmapping of buffer object failed"},
    {CUDA_ERROR_ALREADY_MAPPED, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_NOT_MAPPED, "CUDA_ERROR_NOT_MAPPED", "resource not mapped"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE",
     "uncorrectable ECC error encountered"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM",
     "OS call failed or operation not supported on this OS"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
     "the operation cannot be performed in the present state"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT",
     "the launch timed out and was terminated"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_EXTERNAL_DEVICE, "CUDA_ERROR_EXTERNAL_DEVICE",
     "an async error has occurred in external entity outside of CUDA"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult describe(enum fc_call call, CUresult error, const char **out)
{
    CUresult rc = fc_enter(call);
    if (!rc && !out)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc) {
        *out = NULL;
        rc = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; rc && i < sizeof errors / sizeof *errors; i++) {
            if (errors[i].code == error) {
                *out = call == FC_cuGetErrorName ? errors[i].name : errors[i].text;
                rc = CUDA_SUCCESS;
            }
        }
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr)
{
    return describe(FC_cuGetErrorName, error, pStr);
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr)
{
    return describe(FC_cuGetErrorString, error, pStr);
}
