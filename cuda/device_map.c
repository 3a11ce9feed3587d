/* Parses the option `map` of the source `cuda`: see device_map.h. The whole list is read for each
 * device, so that an error is found wherever it is. */
#include "cuda/device_map.h"

#include <stdbool.h>
#include <stdio.h>

enum { MAP_DEVICES = 65536 }; /* devices that a trace can have */

static bool read_number(const char **at, uint32_t *out)
{
    const char *from = *at;
    for (*out = 0; **at >= '0' && **at <= '9' && *out < MAP_DEVICES; ++*at)
        *out = *out * 10 + (uint32_t)(**at - '0');
    return *at > from && *out < MAP_DEVICES;
}

static int fail_map(const char *map, struct tp_err *err)
{
    int rc = tp_fail(err, TP_EUSAGE, "'%s' is not a list of devices", map);
    return tp_hint(
        err, rc,
        "0=1,1=0 replays device 0 of the trace on CUDA device 1, and 1 on 0; each device "
        "of the trace may be named once");
}

/* Reads the list: sets *ordinal for `device`, and *last to the highest device that the list
 * names. */
static int read_map(const char *map, uint16_t device, int *ordinal, uint32_t *last,
                    struct tp_err *err)
{
    unsigned char seen[MAP_DEVICES / 8] = {0};
    const char *at = map;
    *ordinal = device;
    *last = 0;
    while (at && *at) {
        uint32_t from, to;
        if (!read_number(&at, &from) || *at++ != '=' || !read_number(&at, &to))
            return fail_map(map, err);
        if (*at && (*at++ != ',' || !*at))
            return fail_map(map, err);
        unsigned char bit = (unsigned char)(1u << from % 8);
        if (seen[from / 8] & bit)
            return fail_map(map, err);
        seen[from / 8] |= bit;
        *last = from > *last ? from : *last;
        if (from == device)
            *ordinal = (int)to;
    }
    return TP_OK;
}

int tp_cuda_map(const char *map, uint16_t device, int *ordinal, struct tp_err *err)
{
    uint32_t last;
    return read_map(map, device, ordinal, &last, err);
}

int tp_cuda_map_all(const char *map, uint16_t devices, uint32_t *ordinals, struct tp_err *err)
{
    for (uint16_t d = 0; d < devices; d++) {
        uint32_t last;
        int ordinal, rc = read_map(map, d, &ordinal, &last, err);
        if (rc)
            return rc;
        if (last >= devices)
            return tp_fail(err, TP_EUSAGE,
                           "device %u is mapped, but the trace has %u device%s, numbered from 0",
                           last, devices, devices == 1 ? "" : "s");
        ordinals[d] = (uint32_t)ordinal;
    }
    return TP_OK;
}

int tp_cuda_check_ordinal(uint16_t device, int ordinal, int count, struct tp_err *err)
{
    if (ordinal < count)
        return TP_OK;
    char has[32];
    if (count == 1)
        snprintf(has, sizeof has, "one CUDA device");
    else
        snprintf(has, sizeof has, "%d CUDA devices", count);
    if (ordinal == device) {
        tp_fail(err, TP_EDEVICE, "the trace has a device %d, and this machine has %s", device, has);
        return tp_hint(
            err, TP_EDEVICE,
            "--map-device %d=0 replays it on device 0; --device 0 replays only that device "
            "of the trace",
            device);
    }
    tp_fail(err, TP_EDEVICE,
            "device %d of the trace maps to CUDA device %d, and this machine has %s", device,
            ordinal, has);
    return tp_hint(err, TP_EDEVICE, "the devices are numbered from 0: --map-device %d=0", device);
}
