/* The machine's driver and devices, as cmd/ shows them: see cuda_device.h. */
#include "cuda/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct held {
    CUcontext context; /* NULL: the device is not held */
    CUdevice device;
};

struct tp_cuda {
    struct cuda_driver driver;
    struct tp_cuda_info info;
    struct tp_cuda_device *devices;
    struct held *held; /* one entry per device */
};

/* ---- facts ---- */

static bool has(const struct cuda_driver *d, CUdevice device, enum cuda_group group,
                CUdevice_attribute attribute, char why[TP_CUDA_WHY])
{
    int value = 0;
    why[0] = '\0';
    if (d->missing[group]) {
        snprintf(why, TP_CUDA_WHY, "the driver has no %s", d->missing[group]);
        return false;
    }
    CUresult code = d->DeviceGetAttribute(&value, attribute, device);
    if (code != CUDA_SUCCESS) {
        char text[CUDA_ERROR_TEXT];
        tp_cuda_error_text(d, code, text);
        snprintf(why, TP_CUDA_WHY, "cuDeviceGetAttribute failed: %.100s", text);
    } else if (!value) {
        snprintf(why, TP_CUDA_WHY, "the device does not support them");
    }
    return code == CUDA_SUCCESS && value;
}

bool tp_cuda_has_pools(const struct cuda_driver *d, CUdevice device, char why[TP_CUDA_WHY])
{
    return has(d, device, CUDA_POOLS, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, why);
}

bool tp_cuda_has_vmm(const struct cuda_driver *d, CUdevice device, char why[TP_CUDA_WHY])
{
    bool can =
        has(d, device, CUDA_VMM, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, why);
    if (!can && strstr(why, "support them"))
        snprintf(why, TP_CUDA_WHY, "the device does not support it");
    return can;
}

void tp_cuda_name(const struct cuda_driver *d, CUdevice device, char name[TP_CUDA_NAME])
{
    if (d->DeviceGetName(name, TP_CUDA_NAME, device) != CUDA_SUCCESS)
        snprintf(name, TP_CUDA_NAME, "a device");
    name[TP_CUDA_NAME - 1] = '\0';
}

/* A device attribute; 0 where the driver does not report it. */
static int attribute(const struct cuda_driver *d, CUdevice device, CUdevice_attribute name)
{
    int value = 0;
    return d->DeviceGetAttribute(&value, name, device) == CUDA_SUCCESS ? value : 0;
}

static int look_at(const struct cuda_driver *d, int ordinal, struct tp_cuda_device *out,
                   struct tp_err *err)
{
    CUdevice device;
    size_t total = 0;
    int rc = CUDA_ASK(d, err, DeviceGet, &device, ordinal);
    if (!rc)
        rc = CUDA_ASK(d, err, DeviceTotalMem, &total, device);
    if (rc)
        return rc;
    tp_cuda_name(d, device, out->name);
    int clock_khz = attribute(d, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    out->total_bytes = total;
    out->clock_khz = clock_khz > 0 ? (uint64_t)clock_khz : 0;
    out->major = attribute(d, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    out->minor = attribute(d, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    out->pools = tp_cuda_has_pools(d, device, out->no_pools);
    out->vmm = tp_cuda_has_vmm(d, device, out->no_vmm);
    return TP_OK;
}

/* The number of connections that CUDA_DEVICE_MAX_CONNECTIONS asks for; 0: what it says is none. */
static uint32_t connections_asked(void)
{
    const char *text = getenv(CUDA_CONNECTIONS_NAME);
    char *end = NULL;
    unsigned long asked = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    return end && !*end && asked <= INT32_MAX ? (uint32_t)asked : 0;
}

/* ---- the handle ---- */

int tp_cuda_open(struct tp_cuda **out, struct tp_err *err)
{
    *out = NULL;
    struct tp_cuda *c = calloc(1, sizeof *c);
    if (!c)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    tp_cuda_ask_connections();
    int rc = tp_cuda_driver_load(&c->driver, err);
    if (rc)
        goto done;
    int count = c->driver.device_count;
    c->devices = calloc((size_t)count, sizeof *c->devices);
    c->held = calloc((size_t)count, sizeof *c->held);
    if (!c->devices || !c->held) {
        rc = tp_fail(err, TP_ENOMEM, "out of memory");
        goto done;
    }
    for (int i = 0; !rc && i < count; i++)
        rc = look_at(&c->driver, i, &c->devices[i], err);
    c->info = (struct tp_cuda_info){.path = c->driver.path,
                                    .version = c->driver.version,
                                    .connections = connections_asked(),
                                    .simulated = c->driver.simulated,
                                    .device_count = count,
                                    .devices = c->devices};
    memcpy(c->info.release, c->driver.release, sizeof c->info.release);
done:
    if (rc)
        tp_cuda_close(c);
    else
        *out = c;
    return rc;
}

void tp_cuda_close(struct tp_cuda *c)
{
    if (!c)
        return;
    for (int i = 0; c->held && i < c->driver.device_count; i++)
        if (c->held[i].context)
            c->driver.DevicePrimaryCtxRelease(c->held[i].device);
    tp_cuda_driver_unload(&c->driver);
    free(c->devices);
    free(c->held);
    free(c);
}

const struct tp_cuda_info *tp_cuda_info(const struct tp_cuda *c)
{
    return &c->info;
}

int tp_cuda_hold(struct tp_cuda *c, int device, struct tp_err *err)
{
    if (device < 0 || device >= c->info.device_count)
        return tp_fail(err, TP_EDEVICE, "there is no CUDA device %d: this machine has %d", device,
                       c->info.device_count);
    struct held *h = &c->held[device];
    if (h->context)
        return TP_OK;
    int rc = CUDA_ASK(&c->driver, err, DeviceGet, &h->device, device);
    if (!rc)
        rc = CUDA_ASK(&c->driver, err, DevicePrimaryCtxRetain, &h->context, h->device);
    if (rc)
        h->context = NULL;
    return rc;
}

/* Restores the thread's context afterwards, because an open source relies on its own context. */
int tp_cuda_memory(struct tp_cuda *c, int device, uint64_t *free_bytes, uint64_t *total_bytes,
                   struct tp_err *err)
{
    size_t free_now = 0, total = 0;
    CUcontext before = NULL;
    *free_bytes = *total_bytes = 0;
    if (device < 0 || device >= c->info.device_count || !c->held[device].context)
        return tp_fail(err, TP_EINVAL, "CUDA device %d is not held", device);
    int rc = CUDA_ASK(&c->driver, err, CtxGetCurrent, &before);
    if (!rc)
        rc = CUDA_ASK(&c->driver, err, CtxSetCurrent, c->held[device].context);
    if (rc)
        return rc;
    rc = CUDA_ASK(&c->driver, err, MemGetInfo, &free_now, &total);
    c->driver.CtxSetCurrent(before);
    *free_bytes = rc ? 0 : free_now;
    *total_bytes = rc ? 0 : total;
    return rc;
}

bool tp_cuda_built(void)
{
    return true;
}
