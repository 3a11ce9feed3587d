/* Entry points about devices and their primary contexts. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

/* The current context of this thread: the device and which of its contexts that was. */
static _Thread_local struct {
    struct fc_device *device;
    uint64_t generation;
} current;

struct fc_device *fc_device(CUdevice ordinal)
{
    if (ordinal < 0 || ordinal >= fc.script.devices)
        return NULL;
    fc.devices[ordinal].ordinal = ordinal;
    return &fc.devices[ordinal];
}

struct fc_device *fc_current(CUresult *rc)
{
    if (!current.device) {
        *rc = fc_violation(CUDA_ERROR_INVALID_CONTEXT, "a call without a current context");
        return NULL;
    }
    if (!current.device->retained || current.device->generation != current.generation) {
        *rc =
            fc_violation(CUDA_ERROR_CONTEXT_IS_DESTROYED, "a call in a context that was destroyed");
        return NULL;
    }
    return current.device;
}

/* --- objects ---------------------------------------------------------------------------------- */

static const char *const kind_names[FC_KINDS] = {"stream", "event", "pool", "module",
                                                 "physical memory"};

void fc_object_add(struct fc_device *d, struct fc_object *o, enum fc_kind kind)
{
    o->kind = kind;
    o->device = d;
    o->next = d->objects[kind];
    if (o->next)
        o->next->prev = o;
    d->objects[kind] = o;
    fc.next_handle += 16; /* the low ones are names of streams: 1 is legacy, 2 per thread */
    fc_tree_insert(&fc.objects, &o->node, fc.next_handle);
}

void fc_object_charge(struct fc_object *o)
{
    o->taken = fc.script.own;
    o->device->physical += o->taken;
}

void fc_object_remove(struct fc_object *o)
{
    o->device->physical -= o->taken;
    *(o->prev ? &o->prev->next : &o->device->objects[o->kind]) = o->next;
    if (o->next)
        o->next->prev = o->prev;
    fc_tree_remove(&fc.objects, &o->node);
    free(o); /* the first member of what it is part of */
}

void *fc_object(uint64_t handle, enum fc_kind kind, CUresult *rc)
{
    struct fc_object *o = FC_OF(fc_tree_find(&fc.objects, handle), struct fc_object, node);
    if (o && o->kind == kind)
        return o;
    *rc = fc_violation(CUDA_ERROR_INVALID_HANDLE, "0x%llx is no %s", (unsigned long long)handle,
                       kind_names[kind]);
    return NULL;
}

/* --- the primary context ---------------------------------------------------------------------- */

static void context_start(struct fc_device *d)
{
    d->generation = ++fc.next_generation;
    d->legacy = fc_stream_make(d, false);
    if (!d->small) {
        d->small = fc_zeroed(sizeof *d->small);
        fc_heap_init(d->small, d, FC_GRANULE);
    }
}

static void memory_lose(struct fc_memory *m)
{
    struct fc_device *d = m->device;
    if (m->kind == FC_MAPPED) {
        fc_unmap(m);
        return;
    }
    bool range = m->kind == FC_RANGE;
    *(range ? &fc.lost.ranges : &fc.lost.blocks) += 1;
    *(range ? &fc.books.ranges : &fc.books.blocks) -= 1;
    *(range ? &fc.lost.range_bytes : &fc.lost.block_bytes) += m->size;
    *(range ? &fc.books.range_bytes : &fc.books.block_bytes) -= m->size;
    d->physical -= m->physical;
    if (m->span) {
        fc_address_free(d, m->span);
        free(m->span);
    }
    fc_memory_drop(m);
}

static void memory_clear(struct fc_device *d)
{
    while (d->live.root)
        memory_lose(FC_OF(d->live.root, struct fc_memory, node));
    while (d->reservations) {
        fc.lost.ranges++;
        fc_reservation_free(d->reservations);
    }
    if (d->small)
        fc_heap_clear(d->small);
}

static void stream_lose(struct fc_object *o)
{
    struct fc_device *d = o->device;
    struct fc_stream *s = FC_OF(o, struct fc_stream, object);
    bool own = s == d->legacy;
    for (uint32_t i = 0; i < d->per_threads; i++)
        own = own || d->per_thread[i] == s;
    fc.lost.streams += !own;
    fc.books.streams -= !own;
    fc_stream_free(s);
}

static void event_lose(struct fc_object *o)
{
    fc.lost.events++;
    fc.books.events--;
    fc_clock_clear(&FC_OF(o, struct fc_event, object)->clock);
    fc_object_remove(o);
}

static void pool_lose(struct fc_object *o)
{
    struct fc_pool *p = FC_OF(o, struct fc_pool, object);
    bool own = p == o->device->default_pool || p->destroyed;
    fc.lost.pools += !own;
    fc.books.pools -= !own;
    fc_pool_free(p);
}

static void module_lose(struct fc_object *o)
{
    fc.lost.modules++;
    fc.books.modules--;
    fc_clock_clear(&FC_OF(o, struct fc_module, object)->used);
    fc_object_remove(o);
}

static void physical_lose(struct fc_object *o)
{
    struct fc_physical *p = FC_OF(o, struct fc_physical, object);
    fc.lost.ranges++;
    fc.lost.range_bytes += p->size;
    fc.books.ranges--;
    fc.books.range_bytes -= p->size;
    o->device->physical -= p->size;
    fc_object_remove(o);
}

/* By kind: what counts an object that was not given back, and destroys it. */
static void (*const lose[FC_KINDS])(struct fc_object *o) = {
    [FC_STREAM] = stream_lose, [FC_EVENT] = event_lose,       [FC_POOL] = pool_lose,
    [FC_MODULE] = module_lose, [FC_PHYSICAL] = physical_lose,
};

void fc_context_clear(struct fc_device *d)
{
    fc_device_finish(d);
    memory_clear(d);
    for (int kind = 0; kind < FC_KINDS; kind++) {
        while (d->objects[kind])
            lose[kind](d->objects[kind]);
    }
    free(d->per_thread);
    d->per_thread = NULL;
    d->per_threads = 0;
    d->legacy = NULL;
    d->pool = d->default_pool = NULL;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    CUresult rc = fc_enter(FC_cuDevicePrimaryCtxRetain);
    struct fc_device *d = fc_device(dev);
    if (!rc && !d)
        rc = CUDA_ERROR_INVALID_DEVICE;
    if (!rc && !pctx)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc) {
        if (d->retained++ == 0)
            context_start(d);
        fc.books.contexts++;
        *pctx = (CUcontext)d;
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev)
{
    CUresult rc;
    if (fc_enter_release(FC_cuDevicePrimaryCtxRelease, &rc)) {
        bool known = dev >= 0 && dev < FC_DEVICES; /* a new script may have fewer devices */
        struct fc_device *d = known ? &fc.devices[dev] : NULL;
        if (!d || !d->retained) {
            fc_violation(0, "release of device %d, whose context is not retained", dev);
            rc = rc ? rc : CUDA_ERROR_INVALID_CONTEXT;
        } else {
            fc.books.contexts--;
            if (--d->retained == 0)
                fc_context_clear(d);
        }
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    CUresult rc = fc_enter(FC_cuCtxSetCurrent);
    struct fc_device *d = (struct fc_device *)ctx;
    bool known = !d || (d >= fc.devices && d < fc.devices + FC_DEVICES && d->retained);
    if (!rc && !known)
        rc = fc_violation(CUDA_ERROR_INVALID_CONTEXT, "cuCtxSetCurrent of what is no context");
    if (!rc) {
        current.device = d;
        current.generation = d ? d->generation : 0;
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult rc = fc_enter(FC_cuCtxGetCurrent);
    if (!rc && !pctx)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc)
        *pctx = (CUcontext)current.device;
    return fc_leave(rc);
}

static CUresult synchronize(struct fc_device *d)
{
    fc.books.context_syncs++;
    fc_device_finish(d);
    fc_synced(d);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    CUresult rc = fc_enter(FC_cuCtxSynchronize);
    struct fc_device *d = rc ? NULL : fc_current(&rc);
    if (d)
        rc = synchronize(d);
    return fc_leave(rc);
}

/* What cuGetProcAddress gives who asks with 13.0: a call without an argument ends here with rubbish
 * in it. */
CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
    CUresult rc = fc_enter(FC_cuCtxSynchronize);
    struct fc_device *d = (struct fc_device *)ctx;
    if (!rc && !d)
        d = fc_current(&rc);
    if (!rc && (d < fc.devices || d >= fc.devices + FC_DEVICES || !d->retained))
        rc = fc_violation(CUDA_ERROR_INVALID_CONTEXT, "cuCtxSynchronize of what is no context");
    if (!rc)
        rc = synchronize(d);
    return fc_leave(rc);
}

/* --- devices ---------------------------------------------------------------------------------- */

CUcontext fc_context_now(void)
{
    return (CUcontext)current.device;
}

/* A number outside of 1 to FC_CONNECTIONS, or none, leaves it at CUDA's own. */
static uint64_t connections_now(void)
{
    const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    char *end = NULL;
    unsigned long asked = text ? strtoul(text, &end, 10) : 0;
    return asked >= 1 && asked <= FC_CONNECTIONS && !*end ? asked : 8;
}

CUresult CUDAAPI cuInit(unsigned int Flags)
{
    fc_inject();
    CUresult rc = fc_enter(FC_cuInit);
    if (!rc && Flags != 0)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && fc.script.devices == 0)
        rc = CUDA_ERROR_NO_DEVICE;
    if (!rc) {
        fc.initialised = true;
        fc.books.connections = connections_now();
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
    CUresult rc = fc_enter(FC_cuDriverGetVersion);
    if (!rc && !driverVersion)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc)
        *driverVersion = fc.script.version;
    return fc_leave(rc);
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult rc = fc_enter(FC_cuDeviceGet);
    if (!rc && !device)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && !fc_device(ordinal))
        rc = CUDA_ERROR_INVALID_DEVICE;
    if (!rc)
        *device = ordinal;
    return fc_leave(rc);
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult rc = fc_enter(FC_cuDeviceGetCount);
    if (!rc && !count)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc)
        *count = fc.script.devices;
    return fc_leave(rc);
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    CUresult rc = fc_enter(FC_cuDeviceGetName);
    if (!rc && (!name || len <= 0))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && !fc_device(dev))
        rc = CUDA_ERROR_INVALID_DEVICE;
    if (!rc)
        snprintf(name, (size_t)len, "Simulated GPU");
    return fc_leave(rc);
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
    CUresult rc = fc_enter(FC_cuDeviceTotalMem);
    if (!rc && !bytes)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && !fc_device(dev))
        rc = CUDA_ERROR_INVALID_DEVICE;
    if (!rc)
        *bytes = fc.script.memory;
    return fc_leave(rc);
}

static const struct {
    CUdevice_attribute attribute;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1500000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2000000},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
};

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    CUresult rc = fc_enter(FC_cuDeviceGetAttribute);
    if (!rc && !pi)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && !fc_device(dev))
        rc = CUDA_ERROR_INVALID_DEVICE;
    if (!rc) {
        *pi = 0; /* an attribute that nobody asked for so far */
        for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
            if (attributes[i].attribute == attrib)
                *pi = attributes[i].value;
        }
        if (attrib == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
            *pi = fc.script.pools;
        if (attrib == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
            *pi = fc.script.vmm;
    }
    return fc_leave(rc);
}
