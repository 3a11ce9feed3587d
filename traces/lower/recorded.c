/* Ground truth as a struct and as JSON. One table of members serves both directions. */
#include "traces/lower/recorded.h"

#include "alloc/base/clean.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define BY_MAX    100 /* bytes kept of the allocator's name */
#define EXACT_MAX ((UINT64_C(1) << 53) - 1)

static const struct recorded_member {
    const char *name;
    size_t offset; /* offset in struct tp_recorded_device of a 64-bit member */
} members[] = {
    {"device", offsetof(struct tp_recorded_device, number)},
    {"start_reserved_bytes", offsetof(struct tp_recorded_device, start_reserved)},
    {"start_segments", offsetof(struct tp_recorded_device, start_segments)},
    {"end_reserved_bytes", offsetof(struct tp_recorded_device, end_reserved)},
    {"end_segments", offsetof(struct tp_recorded_device, end_segments)},
    {"end_large_segments", offsetof(struct tp_recorded_device, end_large)},
    {"end_small_segments", offsetof(struct tp_recorded_device, end_small)},
    {"end_free_bytes", offsetof(struct tp_recorded_device, end_free)},
    {"end_free_blocks", offsetof(struct tp_recorded_device, end_free_blocks)},
    {"end_largest_bytes", offsetof(struct tp_recorded_device, end_largest)},
    {"end_returnable_bytes", offsetof(struct tp_recorded_device, end_returnable)},
    {"demand_event", offsetof(struct tp_recorded_device, demand_event)},
    {"demand_largest_bytes", offsetof(struct tp_recorded_device, demand_largest)},
};
enum { MEMBERS = sizeof members / sizeof *members };

void tp_recorded_release(struct tp_recorded *r)
{
    free(r->by);
    free(r->devices);
    *r = (struct tp_recorded){0};
}

int tp_recorded_init(struct tp_recorded *r, const char *by, uint32_t count, struct tp_err *err)
{
    tp_recorded_release(r);
    r->by = tp_clean_copy(by, BY_MAX);
    r->devices = calloc(count ? count : 1, sizeof *r->devices);
    if (!r->by || !r->devices) {
        tp_recorded_release(r);
        return tp_fail(err, TP_ENOMEM, "out of memory for what was recorded");
    }
    r->count = count;
    for (uint32_t i = 0; i < count; i++)
        r->devices[i].demand_event = r->devices[i].demand_largest = TP_RECORDED_UNKNOWN;
    return TP_OK;
}

void tp_recorded_forget_end(struct tp_recorded *r)
{
    r->has_end = false;
    for (uint32_t i = 0; i < r->count; i++) {
        struct tp_recorded_device *d = &r->devices[i];
        *d = (struct tp_recorded_device){.number = d->number,
                                         .start_reserved = d->start_reserved,
                                         .start_segments = d->start_segments,
                                         .demand_event = TP_RECORDED_UNKNOWN,
                                         .demand_largest = TP_RECORDED_UNKNOWN};
    }
}

/* A number above EXACT_MAX becomes a text, because a double cannot hold it. */
static cJSON *new_number(uint64_t value)
{
    char text[24];
    if (value <= EXACT_MAX)
        return cJSON_CreateNumber((double)value);
    snprintf(text, sizeof text, "%" PRIu64, value);
    return cJSON_CreateString(text);
}

static bool add_device(cJSON *list, const struct tp_recorded_device *d)
{
    cJSON *object = cJSON_CreateObject();
    if (!object || !cJSON_AddItemToArray(list, object)) {
        cJSON_Delete(object);
        return false;
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        uint64_t value = *(const uint64_t *)(const void *)((const char *)d + members[i].offset);
        if (value == TP_RECORDED_UNKNOWN)
            continue;
        if (!cJSON_AddItemToObject(object, members[i].name, new_number(value)))
            return false;
    }
    return true;
}

cJSON *tp_recorded_to_json(const struct tp_recorded *r)
{
    cJSON *object = cJSON_CreateObject();
    bool done = object && cJSON_AddStringToObject(object, "by", r->by ? r->by : "") &&
                cJSON_AddBoolToObject(object, "has_end", r->has_end);
    cJSON *list = done ? cJSON_AddArrayToObject(object, "devices") : NULL;
    done = list != NULL;
    for (uint32_t i = 0; done && i < r->count; i++)
        done = add_device(list, &r->devices[i]);
    if (done)
        return object;
    cJSON_Delete(object);
    return NULL;
}

static bool read_number(const cJSON *item, uint64_t *out)
{
    char *end = NULL;
    if (cJSON_IsString(item) && item->valuestring[0] >= '0' && item->valuestring[0] <= '9') {
        *out = strtoull(item->valuestring, &end, 10);
        return *end == '\0';
    }
    if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > (double)EXACT_MAX ||
        floor(item->valuedouble) < item->valuedouble)
        return false;
    *out = (uint64_t)item->valuedouble;
    return true;
}

static int read_device(struct tp_recorded_device *d, const cJSON *item, struct tp_err *err)
{
    if (!cJSON_IsObject(item))
        return tp_fail(err, TP_EINPUT, "'devices' holds something that is not an object");
    for (size_t i = 0; i < MEMBERS; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, members[i].name);
        uint64_t bits = 0;
        if (!value) /* absent: keeps the 0 or unknown of tp_recorded_init */
            continue;
        if (!read_number(value, &bits))
            return tp_fail(err, TP_EINPUT, "'%s' is not a whole number", members[i].name);
        memcpy((char *)d + members[i].offset, &bits, sizeof bits);
        if (bits > TP_MAX_LIVE_BYTES)
            return tp_fail(err, TP_EINPUT, "'%s' is too large", members[i].name);
    }
    return TP_OK;
}

int tp_recorded_from_json(struct tp_recorded *r, const cJSON *json, struct tp_err *err)
{
    const cJSON *by = cJSON_GetObjectItemCaseSensitive(json, "by");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "devices");
    if (!cJSON_IsString(by) || !cJSON_IsArray(list))
        return tp_fail(err, TP_EINPUT, "'by' (a text) or 'devices' (a list) is missing");
    int count = cJSON_GetArraySize(list);
    if (count > (int)TP_MAX_DEVICES)
        return tp_fail(err, TP_EINPUT, "there are more than %u devices", TP_MAX_DEVICES);
    int rc = tp_recorded_init(r, by->valuestring, (uint32_t)count, err);
    r->has_end = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "has_end"));
    uint32_t i = 0;
    for (const cJSON *item = list->child; item && rc == TP_OK; item = item->next)
        rc = read_device(&r->devices[i++], item, err);
    return rc;
}
