/* Reads an event, and asks cJSON, which is a reader of its own: what the one takes is JSON to the
 * other, with the same numbers and texts, and what the one calls no JSON is none to the other
 * either, but for what cJSON is known to let through. Shared by the unit test and the fuzz target.
 */
#ifndef TP_JSON_EVENT_RIG_H
#define TP_JSON_EVENT_RIG_H

#include "traces/formats/json/json_event.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* What cJSON lets through, or cannot hold: \u with digits that are none, NULs in texts, numbers as
 * strtod has them, white space of other kinds. */
static inline bool cjson_is_lax(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == '\\' || text[i] == '.' || text[i] == '0')
            return true;
    return false;
}

static inline bool same_member(const struct tp_event *ev, const cJSON *item)
{
    for (size_t i = 0; i < TP_JSON_KEYS; i++) {
        const struct tp_json_key_row *row = &tp_json_keys[i];
        uint64_t bits = 0;
        if (row->range.max == 0 || strcmp(row->word.name, item->string) != 0)
            continue;
        memcpy(&bits, (const char *)ev + row->offset, sizeof bits);
        if (cJSON_IsNumber(item))
            return item->valuedouble ==
                   (row->range.may_be_negative ? (double)(int64_t)bits : (double)bits);
        return cJSON_IsString(item) &&
               bits == (*item->valuestring == '-' ? (uint64_t)strtoll(item->valuestring, NULL, 10)
                                                  : strtoull(item->valuestring, NULL, 10));
    }
    if (strcmp(item->string, "name") == 0)
        return cJSON_IsString(item) && ev->name && strcmp(item->valuestring, ev->name) == 0;
    if (strcmp(item->string, "place") == 0)
        return cJSON_IsString(item) && strlen(item->valuestring) == ev->place_bytes &&
               memcmp(item->valuestring, ev->place, ev->place_bytes) == 0;
    return true;
}

/* NULL: cJSON says the same of the `size` bytes that were taken for an event. */
static inline const char *differs_from_cjson(const char *text, size_t size, int rc,
                                             const struct tp_event *ev, const struct tp_err *err)
{
    const char *what = NULL;
    const char *end = NULL;
    cJSON *tree = cJSON_ParseWithLengthOpts(text, size, &end, 0);
    if (tree && end != text + size) {
        cJSON_Delete(tree);
        tree = NULL;
    }
    static const char words[] = " is not valid JSON"; /* an error may cite them from the text */
    bool refused =
        rc == TP_EINPUT && strstr(err->text, words) && !memmem(text, size, words, sizeof words - 1);
    if (rc == TP_OK && !cJSON_IsObject(tree))
        what = "is no JSON to cJSON";
    else if (refused && tree && !cjson_is_lax(text, size))
        what = "is JSON to cJSON";
    for (const cJSON *item = tree && rc == TP_OK ? tree->child : NULL; item && !what;
         item = item->next)
        if (!same_member(ev, item))
            what = "has another value in cJSON";
    cJSON_Delete(tree);
    return what;
}

/* Reads an event; its texts are those of `scan`, which must be released. `text` is not empty. */
static inline int read_event_of(const void *text, size_t size, struct tp_json_scan *scan,
                                struct tp_event *ev, uint64_t *used, struct tp_err *err)
{
    struct tp_input *in = NULL;
    int rc = tp_input_memory("x", text, size, 0, &in, err);
    if (rc != TP_OK)
        return rc;
    scan->in = in;
    scan->line = scan->event = 1;
    int byte = 0;
    rc = tp_json_next(scan, &byte, err);
    if (rc == TP_OK)
        rc = tp_json_event_read(scan, ev, err);
    *used = tp_input_offset(in);
    tp_input_close(in);
    scan->in = NULL;
    return rc;
}

/* NULL: all is well; else what is not. `text` is not empty. */
static inline const char *event_differs(const void *text, size_t size, bool one_line)
{
    struct tp_json_scan scan = {.one_line = one_line};
    struct tp_event ev;
    struct tp_err err = {0};
    uint64_t used = 0;
    const char *what = NULL;
    int rc = read_event_of(text, size, &scan, &ev, &used, &err);
    if (used > 0 && !memmem(text, size, "\\u", 2)) /* of which cJSON takes what is none */
        what = differs_from_cjson(text, used < size ? used : size, rc, &ev, &err);
    tp_json_scan_release(&scan);
    return what;
}

#endif
