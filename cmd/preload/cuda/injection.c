/* The recorder of GPUs' memory: a library that the driver loads when a program initialises CUDA,
 * because the environment names it (CUDA_INJECTION64_PATH). It asks CUPTI for the calls of the
 * functions in its table, and writes what they did into the recording.
 *
 *      driver -> InitializeInjection -> CUPTI: these functions, please
 *      program -> driver -> CUPTI -> on_call, before and after -> cuda_calls.c -> writer
 *
 * It is preloaded too, so that marks work and that it is known whether the program ever came to
 * CUDA. CUPTI is loaded when it is needed: where it is missing, the program runs as it is, and the
 * recording says so.
 *
 * Known weakness: CUPTI has one subscriber; a program that is being profiled is not recorded. */
#include "cmd/preload/cuda/cuda_calls.h"
#include "cmd/preload/recorder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

TP_HOOK int InitializeInjection(void);

/* What is used of CUPTI. */
struct cupti {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);
    CUptiResult (*device_id)(CUcontext, uint32_t *);
};

static struct cupti cupti;
static CUpti_SubscriberHandle subscriber;

/* A program that never comes to CUDA is seen too: it loaded the recorder. */
__attribute__((constructor)) static void begin_at_start(void)
{
    struct tp_call call;
    struct tp_writer *w = tp_writer_enter(&call);
    if (w)
        tp_writer_leave(w, &call, NULL);
}

/* ---- calls ---- */

static uint64_t device_of(CUcontext context)
{
    uint32_t device = 0;
    return context && cupti.device_id(context, &device) == CUPTI_SUCCESS ? device : 0;
}

static void write_call(const struct tp_cuda_function *f, const CUpti_CallbackData *data)
{
    struct tp_device_call record;
    struct tp_cuda_call call = {.params = data->functionParams,
                                .result = *(const CUresult *)data->functionReturnValue,
                                .context = data->context,
                                .device_of = device_of};
    struct tp_call place;
    struct tp_writer *w = tp_writer_enter(&place);
    if (!w)
        return;
    uint64_t now = tp_cuda_function_gives_back(f) ? *data->correlationData : tp_recorder_stamp();
    if (tp_cuda_call_record(f, &call, &record))
        tp_write_device(w, &record, now);
    tp_writer_leave(w, &place, NULL);
}

static void CUPTIAPI on_call(void *nothing, CUpti_CallbackDomain domain, CUpti_CallbackId number,
                             const void *about)
{
    const CUpti_CallbackData *data = about;
    const struct tp_cuda_function *f =
        domain == CUPTI_CB_DOMAIN_DRIVER_API ? tp_cuda_function(number) : NULL;
    (void)nothing;
    if (f && data->callbackSite == CUPTI_API_ENTER)
        *data->correlationData = tp_recorder_stamp();
    else if (f)
        write_call(f, data);
}

/* ---- CUPTI ---- */

static void *open_one_of(const char *const *names, int flags)
{
    void *found = NULL;
    for (; !found && *names; names++)
        found = dlopen(*names, RTLD_NOW | RTLD_LOCAL | flags);
    return found;
}

/* One that is loaded already is taken before any other: a program may bring its own. */
static void *open_cupti(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                        TAPOOL_CUPTI_LIBRARY, NULL};
    const char *const asked[] = {getenv("TAPOOL_CUPTI"), NULL};
    if (asked[0] && asked[0][0])
        return open_one_of(asked, 0);
    void *loaded = open_one_of(names, RTLD_NOLOAD);
    return loaded ? loaded : open_one_of(names, 0);
}

static bool find(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static bool load_cupti(struct cupti *c)
{
    void *library = open_cupti();
    return library && find(library, "cuptiSubscribe", &c->subscribe) &&
           find(library, "cuptiEnableCallback", &c->enable) &&
           find(library, "cuptiGetDeviceId", &c->device_id);
}

/* A function that this CUPTI is too old for is called by no program that it is loaded into. */
static CUptiResult subscribe(void)
{
    CUptiResult result = cupti.subscribe(&subscriber, on_call, NULL);
    for (size_t i = 0; result == CUPTI_SUCCESS && i < tp_cuda_functions(); i++) {
        bool looked_at = false;
        CUpti_CallbackId number = tp_cuda_function_number(i, &looked_at);
        if (looked_at)
            (void)cupti.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, number);
    }
    return result;
}

/* The driver calls this when the program initialises CUDA. */
int InitializeInjection(void)
{
    struct tp_call call;
    struct tp_writer *w = tp_writer_enter(&call);
    if (!w)
        return 1; /* this process is not recorded */
    atomic_store(&tp_recorder.head->injected, 1);
    if (!load_cupti(&cupti))
        tp_recorder_end(TP_REC_NO_CUPTI, 0);
    else {
        CUptiResult result = subscribe();
        if (result != CUPTI_SUCCESS)
            tp_recorder_end(TP_REC_CUPTI_FAILED, (int)result);
    }
    tp_writer_leave(w, &call, NULL);
    return 1;
}
