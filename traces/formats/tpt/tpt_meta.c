/* Writes and reads META as JSON, with the keys of "meta" and "recorded" in the JSON form. */
#include "traces/formats/tpt/tpt_facts.h"

#include "traces/formats/tpt/tpt_layout.h"

#include <cjson/cJSON.h>

enum { REMARKS_MAX = 256 /* remarks that are read */ };

/* ---- writing ---- */

static bool add_remarks(cJSON *to, const char *remarks)
{
    cJSON *list = cJSON_AddArrayToObject(to, "remarks");
    for (const char *at = remarks; list && *at;) {
        size_t length = strcspn(at, "\n");
        char *line = strndup(at, length);
        cJSON *text = line ? cJSON_CreateString(line) : NULL;
        free(line);
        if (!text || !cJSON_AddItemToArray(list, text)) {
            cJSON_Delete(text);
            return false;
        }
        at += length;
        at += *at == '\n';
    }
    return list != NULL;
}

static bool add_meta(cJSON *root, const struct tp_meta *meta)
{
    cJSON *to = cJSON_AddObjectToObject(root, "meta");
    bool done = to != NULL;
    struct tp_meta copy = *meta; /* tp_meta_text needs a struct that is not const */
    for (size_t i = 0; done && i < TP_META_TEXTS; i++) {
        const char *text = *tp_meta_text(&copy, i);
        done = !text || cJSON_AddStringToObject(to, tp_meta_text_names[i], text);
    }
    if (done)
        done = cJSON_AddStringToObject(to, "kind",
                                       meta->kind == TP_KIND_DEVICE ? "device" : "host") != NULL;
    if (done && meta->loop)
        done = cJSON_AddBoolToObject(to, "loop", true) != NULL;
    if (done && meta->wrapped)
        done = cJSON_AddBoolToObject(to, "wrapped", true) != NULL;
    for (size_t i = 0; done && i < TP_META_NUMBERS; i++) {
        double number = (double)tp_meta_number(meta, i);
        done = number <= 0 || cJSON_AddNumberToObject(to, tp_meta_number_names[i], number);
    }
    return done && (!meta->remarks || add_remarks(to, meta->remarks));
}

static bool add_recorded(cJSON *root, const struct tp_recorded *recorded)
{
    cJSON *json = tp_recorded_to_json(recorded);
    if (json && cJSON_AddItemToObject(root, "recorded", json))
        return true;
    cJSON_Delete(json);
    return false;
}

int tp_tpt_meta_put(const struct tp_meta *meta, const struct tp_recorded *recorded, char **json,
                    struct tp_err *err)
{
    cJSON *root = cJSON_CreateObject();
    bool done = root && (!meta || add_meta(root, meta)) &&
                (!recorded || !recorded->by || add_recorded(root, recorded));
    *json = done ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    if (!*json)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing what a trace says of itself");
    if (strlen(*json) <= TP_TPT_META_MAX)
        return TP_OK;
    tp_tpt_meta_free(*json);
    *json = NULL;
    return tp_fail(err, TP_EINPUT, "the metadata of the trace is longer than 1 MiB");
}

void tp_tpt_meta_free(char *json)
{
    cJSON_free(json);
}

/* ---- reading ---- */

static void get_meta(const cJSON *from, struct tp_meta *meta)
{
    for (size_t i = 0; i < TP_META_TEXTS; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, tp_meta_text_names[i]);
        if (cJSON_IsString(item))
            tp_meta_set(meta, tp_meta_text(meta, i), "%s", item->valuestring);
    }
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(from, "remarks");
    const cJSON *item = cJSON_IsArray(list) ? list->child : NULL;
    for (int i = 0; i < REMARKS_MAX && item; i++, item = item->next)
        if (cJSON_IsString(item))
            tp_meta_remark(meta, "%s", item->valuestring);
    meta->loop = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(from, "loop"));
    meta->wrapped = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(from, "wrapped"));
    for (size_t i = 0; i < TP_META_NUMBERS; i++) {
        item = cJSON_GetObjectItemCaseSensitive(from, tp_meta_number_names[i]);
        tp_meta_set_number(meta, i, cJSON_IsNumber(item) ? item->valuedouble : 0);
    }
}

int tp_tpt_meta_get(const char *json, size_t size, struct tp_meta *meta,
                    struct tp_recorded *recorded, struct tp_err *err)
{
    cJSON *root = cJSON_ParseWithLength(json, size);
    if (!cJSON_IsObject(root)) {
        cJSON_Delete(root);
        return tp_fail(err, TP_EINPUT, "it is not a JSON object");
    }
    int rc = TP_OK;
    get_meta(cJSON_GetObjectItemCaseSensitive(root, "meta"), meta);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "recorded");
    if (rc == TP_OK && item)
        rc = tp_recorded_from_json(recorded, item, err);
    cJSON_Delete(root);
    return rc;
}
