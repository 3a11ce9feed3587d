/* The functions of the driver that are used: name, ABI version as the toolkit numbers it, and
 * group.
 *
 *   X(MemAlloc, 3020, CORE)   cuMemAlloc of CUDA 3.2, which cuda.h calls cuMemAlloc_v2;
 *                             its type is the toolkit's PFN_cuMemAlloc_v3020
 *
 * CORE is required. Any other group may be missing, and features that need it then fail with a
 * sentence. */
#ifndef TP_CUDA_DRIVER_SYMBOLS_H
#define TP_CUDA_DRIVER_SYMBOLS_H

#define CUDA_DRIVER_SYMBOLS(X)                                                                     \
    X(Init, 2000, CORE)                                                                            \
    X(DriverGetVersion, 2020, CORE)                                                                \
    X(GetErrorName, 6000, CORE)                                                                    \
    X(GetErrorString, 6000, CORE)                                                                  \
    X(DeviceGet, 2000, CORE)                                                                       \
    X(DeviceGetCount, 2000, CORE)                                                                  \
    X(DeviceGetName, 2000, CORE)                                                                   \
    X(DeviceTotalMem, 3020, CORE)                                                                  \
    X(DeviceGetAttribute, 2000, CORE)                                                              \
    X(DevicePrimaryCtxRetain, 7000, CORE)                                                          \
    X(DevicePrimaryCtxRelease, 11000, CORE)                                                        \
    X(CtxGetCurrent, 4000, CORE)                                                                   \
    X(CtxSetCurrent, 4000, CORE)                                                                   \
    X(CtxSynchronize, 2000, CORE)                                                                  \
    X(MemGetInfo, 3020, CORE)                                                                      \
    X(MemAlloc, 3020, CORE)                                                                        \
    X(MemFree, 3020, CORE)                                                                         \
    X(MemsetD8Async, 3020, CORE)                                                                   \
    X(StreamCreate, 2000, CORE)                                                                    \
    X(StreamDestroy, 4000, CORE)                                                                   \
    X(StreamSynchronize, 2000, CORE)                                                               \
    X(StreamQuery, 2000, CORE)                                                                     \
    X(StreamWaitEvent, 3020, CORE)                                                                 \
    X(EventCreate, 2000, CORE)                                                                     \
    X(EventDestroy, 4000, CORE)                                                                    \
    X(EventRecord, 2000, CORE)                                                                     \
    X(EventQuery, 2000, CORE)                                                                      \
    X(EventSynchronize, 2000, CORE)                                                                \
    X(DeviceGetDefaultMemPool, 11020, POOLS)                                                       \
    X(MemPoolCreate, 11020, POOLS)                                                                 \
    X(MemPoolDestroy, 11020, POOLS)                                                                \
    X(MemPoolSetAttribute, 11020, POOLS)                                                           \
    X(MemPoolGetAttribute, 11020, POOLS)                                                           \
    X(MemPoolTrimTo, 11020, POOLS)                                                                 \
    X(MemAllocFromPoolAsync, 11020, POOLS)                                                         \
    X(MemFreeAsync, 11020, POOLS)                                                                  \
    X(MemAddressReserve, 10020, VMM)                                                               \
    X(MemAddressFree, 10020, VMM)                                                                  \
    X(MemCreate, 10020, VMM)                                                                       \
    X(MemRelease, 10020, VMM)                                                                      \
    X(MemMap, 10020, VMM)                                                                          \
    X(MemUnmap, 10020, VMM)                                                                        \
    X(MemSetAccess, 10020, VMM)                                                                    \
    X(MemGetAllocationGranularity, 10020, VMM)                                                     \
    X(ModuleLoadData, 2000, KERNEL)                                                                \
    X(ModuleUnload, 2000, KERNEL)                                                                  \
    X(ModuleGetFunction, 2000, KERNEL)                                                             \
    X(LaunchKernel, 4000, KERNEL)

#endif
