/* A CUDA driver without a GPU: libcuda.so.1 as a shared library that keeps books in host memory. It
 * is stricter than the real one, says what it is (device "Simulated GPU", symbol
 * fake_cuda_simulated), and can be told to misbehave. TAPOOL_CUDA_DRIVER=.../fake_libcuda.so loads
 * it; tests that dlopen the same file reach these controls in the same instance.
 *
 * Time is simulated: `step` ns pass with each call into the driver, and queued work takes as long
 * as it says; it is complete when the time has come, or when a synchronisation moved the time
 * there.
 *
 * Who asks ten thousand times in a row whether one thing is complete, and makes no other call, has
 * waited for it: the time is then there.
 *
 * With `clock=real` the time is that of the machine, and who waits sleeps.
 *
 * A stream's queue is finite (`queue=N`): what does not fit waits on the host until the oldest
 * thing in it is complete, which tells the host nothing about what else is. Drivers have room for
 * about a thousand.
 *
 * Streams reach the device through connections: 8, or as many as CUDA_DEVICE_MAX_CONNECTIONS says
 * at cuInit, from 1 to 32 (CUDA C++ Programming Guide, "CUDA Environment Variables"). Streams
 * beyond that number share one, and what is queued there begins in the order of the queueing, which
 * orders nothing: whoever relies on it is a violation all the same.
 *
 * Of a pool CU_MEMPOOL_ATTR_USED_MEM_* count what was requested, to the byte: cuda.h says "memory
 * from the pool that is currently in use by the application", and on real drivers it has been seen
 * to be that, so it tells nothing of what the pool rounds up. RESERVED_MEM_* count "backing
 * memory", which comes in chunks of 32 MiB or more as long as there is room for them. A block lies
 * in one chunk, so a pool can be out of memory while its chunks have more left, in pieces, than is
 * asked for.
 *
 * A request for more than the device has is answered with CUDA_ERROR_INVALID_VALUE: cuda.h lists it
 * beside CUDA_ERROR_OUT_OF_MEMORY for cuMemAlloc, cuMemAllocFromPoolAsync and cuMemCreate, and does
 * not say which of them such a size gets.
 *
 * What would be undefined on a real device is a violation here: it is counted, written to stderr as
 * `fake_cuda: violation: ...`, and fails nothing by itself:
 *   - work on bytes that are in no live range or block when it is queued or when it runs;
 *   - work on a stream-ordered block that is not ordered after its allocation or before its free;
 *   - work on bytes that other work, not ordered before it, may still be using (a race), even where
 *     the simulated time says that it is complete: that is luck;
 *   - destroying what has pending work, freeing what was not given, a wrong or missing context.
 *     Pending is what the host does not know to be complete.
 * In a fork of the process that called cuInit every call answers CUDA_ERROR_NOT_INITIALIZED, cuInit
 * too, as drivers do: cuInit is to be called "in the current process".
 *
 * Order is what streams, events (record, then wait or synchronise, or a query that said "done") and
 * synchronisations of the host make; known to the books as vector clocks. All work is taken to
 * write all of its bytes.
 *
 * At exit `fake_cuda: leak: ...` lists streams, events, pools, retained contexts, ranges, blocks
 * and modules that are left, and `fake_cuda: books balance` or `fake_cuda: N violations, N leaks`
 * ends it: on stderr, or in the file TAPOOL_FAKE_CUDA_REPORT names (appended).
 *
 * The script: TAPOOL_FAKE_CUDA="key=value;key=value", read at the first call and again at cuInit
 * when it has changed; sizes as 1073741824 or 1GiB. What is not understood is a violation.
 *   devices=N        default 1, at most 16; 0: cuInit says no device
 *   memory=SIZE      of each device (default 8GiB); granularity of physical memory is 2 MiB
 *   own=SIZE         of the device that each stream and each module takes (default 0): nothing in
 *                    cuda.h says that they are free of charge, and cuModuleLoadData may answer
 *                    CUDA_ERROR_OUT_OF_MEMORY
 *   launch=NS        that a stream takes for each kernel beside what the kernel does (default 0):
 *                    some microseconds on real devices
 *   version=13000    of CUDA that cuDriverGetVersion tells; functions that are newer are not found
 *   missing=NAME     that symbol is not found (may be repeated)
 *   pools=0 vmm=0    the device attribute says no
 *   fail=NAME:N:CODE the N-th call of NAME (as cuGetProcAddress spells it, from 1) returns the
 *                    CUresult CODE and does nothing; N `*`: every call (may be repeated)
 *   async=N:CODE     the N-th queued work fails with CODE, seen by the first call after it is due;
 *                    sticky: from then on every call returns it, but for the names of errors,
 *                    cuDriverGetVersion and cuGetProcAddress; those that give something back do so
 *                    in the books all the same, and nothing is a violation any more
 *   lost=N           from the N-th driver call on every call returns CUDA_ERROR_DEVICE_UNAVAILABLE,
 *                    sticky as above
 *   clock=real       not simulated; `step` then counts for nothing
 *   queue=N          things that a stream takes before the host waits (default 1024, at least 1)
 *   step=NS          default 1000; 0: nothing completes but by synchronisation or fake_cuda_advance
 *   threshold=SIZE   release threshold that the default pool begins with (default 0)
 */
#ifndef TP_FAKE_LIBCUDA_H
#define TP_FAKE_LIBCUDA_H

#include <stdint.h>

/* The books, at any time. */
struct fake_cuda_books {
    uint64_t violations;
    /* Not given back yet, or destroyed with their context before they were. Contexts are counted as
     * often as they are retained; ranges are also reserved addresses and physical memory. */
    uint64_t streams, events, pools, contexts, ranges, blocks, modules;
    uint64_t range_bytes, block_bytes;
    uint64_t calls;                /* into the driver, queries of facts included */
    uint64_t works, works_pending; /* memsets and kernels */
    uint64_t event_records, event_queries, event_waits, event_syncs, stream_syncs, context_syncs;
    uint64_t event_creates;
    uint64_t connections; /* of each device, as the last cuInit found them */
};

void fake_cuda_books(struct fake_cuda_books *out);
const char *fake_cuda_last_violation(void); /* "" when there was none */

/* Forgets violations, counts, a broken device and the script in force, applies this one. What is
 * still held stays held. NULL: none, and the environment counts again at cuInit. */
void fake_cuda_script(const char *script);

void fake_cuda_advance(uint64_t ns); /* the simulated time */

extern const int fake_cuda_simulated; /* 1: how tapool knows that it is no real driver */

#endif
