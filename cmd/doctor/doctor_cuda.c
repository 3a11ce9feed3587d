/* Checks of CUDA: the driver, and each of its devices. */
#include "cmd/doctor/doctor.h"
#include "cmd/ui/text.h"

static const char without_gpu[] = "device traces replay on --source virtual: memory and counts are "
                                  "exact, driver time is not measured";

static const char *const names[TP_DOCTOR_GPUS] = {
    "gpu0", "gpu1", "gpu2",  "gpu3",  "gpu4",  "gpu5",  "gpu6",  "gpu7",
    "gpu8", "gpu9", "gpu10", "gpu11", "gpu12", "gpu13", "gpu14", "gpu15"};

static void check_driver(struct tp_doctor *d)
{
    if (!tp_gpu_open(&d->gpu)) {
        struct tp_doctor_check *c =
            tp_doctor_add(d, "cuda", TP_VERDICT_MISSING, NULL, "%s", tp_gpu_why(&d->gpu));
        tp_doctor_advise(c, "%s%s", without_gpu,
                         tp_cuda_built() ? ""
                                         : "; with the toolkit (12.0 or newer) installed, build "
                                           "tapool again");
        return;
    }
    const struct tp_cuda_info *info = tp_gpu_info(&d->gpu);
    char connections[80] = "";
    if (info->connections)
        snprintf(connections, sizeof connections, ", %s (CUDA_DEVICE_MAX_CONNECTIONS)",
                 tp_plural(info->connections, "connection").s);
    d->cuda_devices = (uint64_t)info->device_count;
    tp_doctor_add(d, "cuda", tp_warn_if(info->simulated),
                  "this driver simulates its devices: times on them mean nothing",
                  "%s, driver %s%sfor CUDA %d.%d%s, %s", tp_plural(d->cuda_devices, "device").s,
                  info->release, info->release[0] ? " " : "", info->version / 1000,
                  info->version % 1000 / 10, connections, info->path);
}

/* Says what the device cannot do, and why. */
static void advise_device(const struct tp_cuda_device *device, struct tp_doctor_check *c)
{
    if (!device->pools && !device->vmm)
        tp_doctor_advise(c,
                         "no memory pools (cudaMallocAsync): %s; no virtual memory management: "
                         "%s",
                         device->no_pools, device->no_vmm);
    else if (!device->pools)
        tp_doctor_advise(c, "no memory pools (cudaMallocAsync): %s", device->no_pools);
    else if (!device->vmm)
        tp_doctor_advise(c, "no virtual memory management: %s", device->no_vmm);
}

static void check_device(struct tp_doctor *d, int ordinal)
{
    const struct tp_cuda_device *device = &tp_gpu_info(&d->gpu)->devices[ordinal];
    struct tp_gpu_facts *f = &d->gpus[ordinal];
    struct tp_err err;
    char clock[64] = "";
    if (device->clock_khz)
        snprintf(clock, sizeof clock, ", %s MHz", tp_count(device->clock_khz / 1000).s);
    if (tp_cuda_hold(d->gpu.cuda, ordinal, &err) ||
        tp_cuda_memory(d->gpu.cuda, ordinal, &f->free_bytes, &f->total_bytes, &err)) {
        f->free_bytes = f->total_bytes = TP_NONE;
        tp_doctor_add(d, names[ordinal], TP_VERDICT_WARNING, without_gpu,
                      "%s, which gives no memory: %s", device->name, err.text);
        return;
    }
    bool whole = device->pools && device->vmm;
    advise_device(device,
                  tp_doctor_add(d, names[ordinal], tp_warn_if(!whole), NULL,
                                "%s, %s, %s free, compute capability %d.%d%s%s%s", device->name,
                                tp_bytes(f->total_bytes, false).s, tp_bytes(f->free_bytes, false).s,
                                device->major, device->minor, clock, device->pools ? ", pools" : "",
                                device->vmm ? ", virtual memory management" : ""));
}

void tp_doctor_cuda(struct tp_doctor *d)
{
    check_driver(d);
    for (int i = 0; i < (int)d->cuda_devices && i < TP_DOCTOR_GPUS; i++)
        check_device(d, i);
}
