/* Loading the driver: see driver.h.
 *
 * Known weakness: dlerror has no code for a library that was not found, so its text is parsed; with
 * a C library other than glibc the sentence becomes longer. */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
    const char *name;
    int version;
    enum cuda_group group;
    size_t offset; /* offset of the function pointer in struct cuda_driver */
};

static const struct symbol symbols[] = {
#define CUDA_ROW(name, version, group)                                                             \
    {"cu" #name, version, CUDA_##group, offsetof(struct cuda_driver, name)},
    CUDA_DRIVER_SYMBOLS(CUDA_ROW)
#undef CUDA_ROW
};

enum { SYMBOL_COUNT = sizeof symbols / sizeof *symbols };

/* cuGetProcAddress exists with two signatures. */
struct lookup {
    PFN_cuGetProcAddress_v11030 four;
    PFN_cuGetProcAddress_v12000 five;
};

/* Copies the bytes of the pointer, because C has no cast from an object pointer to a function
 * pointer; POSIX says that both have the same representation. */
static bool find_exported(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static int open_library(struct cuda_driver *d, struct tp_err *err)
{
    const char *asked = getenv("TAPOOL_CUDA_DRIVER");
    const char *name = asked && *asked ? asked : "libcuda.so.1";
    d->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!d->library) {
        const char *why = dlerror();
        if (!why || strstr(why, "cannot open shared object file: No such file"))
            return tp_because(err, tp_fail(err, TP_EDEVICE, "%s was not found", name),
                              TP_REASON_ABSENT);
        return tp_fail(err, TP_EDEVICE, "no CUDA driver could be loaded: %s", why);
    }
    struct link_map *map = NULL;
    if (dlinfo(d->library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
        d->path = map->l_name;
    else
        d->path = name;
    d->simulated = dlsym(d->library, "fake_cuda_simulated") != NULL;
    return TP_OK;
}

static int fail_too_old(const struct cuda_driver *d, struct tp_err *err)
{
    return tp_fail(err, TP_EDEVICE,
                   "the driver is too old: %s knows CUDA %d.%d, and %d.%d or newer is needed",
                   d->path, d->version / 1000, d->version % 1000 / 10, CUDA_OLDEST_DRIVER / 1000,
                   CUDA_OLDEST_DRIVER % 1000 / 10);
}

static int read_version(struct cuda_driver *d, struct tp_err *err)
{
    PFN_cuDriverGetVersion_v2020 get_version;
    if (!find_exported(d->library, "cuDriverGetVersion", &get_version))
        return tp_fail(err, TP_EDEVICE, "no CUDA driver: %s has no cuDriverGetVersion", d->path);
    if (get_version(&d->version) != CUDA_SUCCESS)
        return tp_fail(err, TP_EDEVICE, "no CUDA driver: %s does not tell its version", d->path);
    return d->version < CUDA_OLDEST_DRIVER ? fail_too_old(d, err) : TP_OK;
}

static void *look_up(const struct lookup *l, const struct symbol *wanted)
{
    void *found = NULL;
    CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult code =
        l->five
            ? l->five(wanted->name, &found, wanted->version, CU_GET_PROC_ADDRESS_DEFAULT, &result)
            : l->four(wanted->name, &found, wanted->version, CU_GET_PROC_ADDRESS_DEFAULT);
    return code == CUDA_SUCCESS && result == CU_GET_PROC_ADDRESS_SUCCESS ? found : NULL;
}

static int find_symbols(struct cuda_driver *d, struct tp_err *err)
{
    struct lookup l = {0};
    if (!(d->version >= 12000 && find_exported(d->library, "cuGetProcAddress_v2", &l.five)) &&
        !find_exported(d->library, "cuGetProcAddress", &l.four))
        return tp_fail(err, TP_EDEVICE, "no CUDA driver: %s has no cuGetProcAddress", d->path);
    for (int i = 0; i < SYMBOL_COUNT; i++) {
        void *found = look_up(&l, &symbols[i]);
        memcpy((char *)d + symbols[i].offset, &found, sizeof found);
        if (!found && !d->missing[symbols[i].group])
            d->missing[symbols[i].group] = symbols[i].name;
    }
    if (!d->missing[CUDA_CORE])
        return TP_OK;
    return tp_fail(err, TP_EDEVICE, "the driver has no %s: %s, which knows CUDA %d.%d",
                   d->missing[CUDA_CORE], d->path, d->version / 1000, d->version % 1000 / 10);
}

/* Calls cuInit and counts devices. A driver without a device either fails in cuInit or counts 0. */
static int start(struct cuda_driver *d, struct tp_err *err)
{
    CUresult code = d->Init(0);
    if (code == CUDA_SUCCESS) {
        code = d->DeviceGetCount(&d->device_count);
        if (code != CUDA_SUCCESS)
            return tp_cuda_fail(d, "cuDeviceGetCount", code, err);
        if (d->device_count > 0)
            return TP_OK;
        code = CUDA_ERROR_NO_DEVICE;
    }
    if (code == CUDA_ERROR_NO_DEVICE)
        return tp_fail(err, TP_EDEVICE, "no CUDA device: the driver %s sees none", d->path);
    return tp_cuda_fail(d, "cuInit", code, err);
}

void tp_cuda_ask_connections(void)
{
    char connections[16];
    snprintf(connections, sizeof connections, "%d", CUDA_CONNECTIONS);
    setenv(CUDA_CONNECTIONS_NAME, connections, 0);
}

int tp_cuda_driver_load(struct cuda_driver *d, struct tp_err *err)
{
    *d = (struct cuda_driver){0};
    int rc = open_library(d, err);
    if (!rc)
        rc = read_version(d, err);
    if (!rc)
        rc = find_symbols(d, err);
    if (!rc)
        rc = start(d, err);
    if (!rc && !d->simulated)
        tp_cuda_release_read(d->release);
    if (rc)
        tp_cuda_driver_unload(d);
    return rc;
}

void tp_cuda_driver_unload(struct cuda_driver *d)
{
    if (d->library)
        dlclose(d->library);
    *d = (struct cuda_driver){0};
}

void tp_cuda_error_text(const struct cuda_driver *d, CUresult code, char out[CUDA_ERROR_TEXT])
{
    const char *name = NULL, *text = NULL;
    if (d->GetErrorName(code, &name) != CUDA_SUCCESS || !name) {
        snprintf(out, CUDA_ERROR_TEXT, "error %d of the driver", (int)code);
        return;
    }
    if (d->GetErrorString(code, &text) != CUDA_SUCCESS || !text)
        snprintf(out, CUDA_ERROR_TEXT, "%s", name);
    else
        snprintf(out, CUDA_ERROR_TEXT, "%s (%s)", name, text);
}

int tp_cuda_fail(const struct cuda_driver *d, const char *call, CUresult code, struct tp_err *err)
{
    char text[CUDA_ERROR_TEXT];
    tp_cuda_error_text(d, code, text);
    return tp_fail(err, TP_EDEVICE, "%s failed: %s", call, text);
}

int tp_cuda_answered(const struct cuda_driver *d, const char *call, CUresult code,
                     struct tp_err *err)
{
    return code == CUDA_SUCCESS ? TP_OK : tp_cuda_fail(d, call, code, err);
}
