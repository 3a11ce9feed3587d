/* Calls of the CUDA driver, as CUPTI reports them, become records. Nothing here has a state or
 * calls the driver, so tests need no GPU.
 *
 *      CUPTI's number of a function + its parameters + its result --> struct tp_device_call */
#ifndef TP_CUDA_CALLS_H
#define TP_CUDA_CALLS_H

#include "traces/record/device_call.h"

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>

/* What is known of a call when it has returned. */
struct tp_cuda_call {
    const void *params; /* as generated_cuda_meta.h has them for the function */
    CUresult result;
    CUcontext context; /* of the thread */
    bool per_thread;   /* stream 0 is the thread's own: set by tp_cuda_call_record */
    /* the device of a context; NULL as the context is that of the thread */
    uint64_t (*device_of)(CUcontext context);
};

struct tp_cuda_function;

/* The function of a number; NULL: it says nothing about memory. */
const struct tp_cuda_function *tp_cuda_function(CUpti_CallbackId number);

/* Whether what the function does is done when it begins: what it gives back may be given out again
 * before it returns. */
bool tp_cuda_function_gives_back(const struct tp_cuda_function *f);

/* Makes the record of a call. false: there is none, for the call failed. */
bool tp_cuda_call_record(const struct tp_cuda_function *f, struct tp_cuda_call *call,
                         struct tp_device_call *out);

/* Every function that the table names: its CUPTI number, and whether calls of it are looked at. The
 * others are there because a reader would miss them. */
size_t tp_cuda_functions(void);
CUpti_CallbackId tp_cuda_function_number(size_t i, bool *looked_at);

#endif
