/* Builds JSON with cJSON; see json_out.h. */
#include "cmd/ui/json_out.h"

#include "alloc/base/opt_row.h"
#include "alloc/base/units.h"
#include "cmd/ui/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT (UINT64_C(1) << 53)

void tp_json_push(struct tp_json *j, cJSON *array, cJSON *item)
{
    if (!item || !array || !cJSON_AddItemToArray(array, item)) {
        j->failed = true;
        cJSON_Delete(item);
    }
}

cJSON *tp_json_item(struct tp_json *j, cJSON *array)
{
    cJSON *item = cJSON_CreateObject();
    tp_json_push(j, array, item);
    return j->failed ? NULL : item;
}

static cJSON *add(struct tp_json *j, cJSON *in, const char *name, cJSON *item)
{
    if (item && in && cJSON_AddItemToObject(in, name, item))
        return item;
    j->failed = true;
    cJSON_Delete(item);
    return NULL;
}

cJSON *tp_json_object(struct tp_json *j, cJSON *in, const char *name)
{
    cJSON *item = cJSON_CreateObject();
    if (!name && !in) {
        j->failed |= !item;
        return item;
    }
    return add(j, in, name, item);
}

cJSON *tp_json_array(struct tp_json *j, cJSON *in, const char *name)
{
    return add(j, in, name, cJSON_CreateArray());
}

void tp_json_text(struct tp_json *j, cJSON *in, const char *name, const char *value)
{
    add(j, in, name, value ? cJSON_CreateString(value) : cJSON_CreateNull());
}

cJSON *tp_json_number(struct tp_json *j, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    /* A raw item, because cJSON would print 16 digits as 9.00719925474099e+15. */
    cJSON *item = value > EXACT ? cJSON_CreateString(text) : cJSON_CreateRaw(text);
    j->failed |= !item;
    return item;
}

void tp_json_uint(struct tp_json *j, cJSON *in, const char *name, uint64_t value)
{
    add(j, in, name, value == TP_NONE ? cJSON_CreateNull() : tp_json_number(j, value));
}

/* Six decimals are more than the precision of any figure here, and avoid the noise of binary
 * fractions. */
double tp_json_rounded(double value)
{
    return round(value * 1e6) / 1e6;
}

void tp_json_real(struct tp_json *j, cJSON *in, const char *name, double value)
{
    bool known = isfinite(value);
    add(j, in, name, known ? cJSON_CreateNumber(tp_json_rounded(value)) : cJSON_CreateNull());
}

void tp_json_bool(struct tp_json *j, cJSON *in, const char *name, bool value)
{
    add(j, in, name, cJSON_CreateBool(value));
}

void tp_json_base64(struct tp_json *j, cJSON *in, const char *name, const uint8_t *bytes,
                    size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(tp_base64_length(count) + 1), *to = text;
    j->failed |= !text;
    for (size_t i = 0; text && i < count; i += 3, to += 4) {
        uint32_t three = (uint32_t)bytes[i] << 16;
        three |= i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0;
        three |= i + 2 < count ? bytes[i + 2] : 0;
        to[0] = digits[three >> 18];
        to[1] = digits[three >> 12 & 63];
        to[2] = (char)(i + 1 < count ? digits[three >> 6 & 63] : '=');
        to[3] = (char)(i + 2 < count ? digits[three & 63] : '=');
    }
    if (!text)
        return;
    *to = '\0';
    tp_json_text(j, in, name, text);
    free(text);
}

void tp_json_words(struct tp_json *j, cJSON *in, const char *words, const char *separators,
                   const char *but)
{
    for (const char *at = words ? words : ""; *at;) {
        char word[1024]; /* longer than any text of a trace */
        size_t length = strcspn(at, separators);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length && (!but || strncmp(word, but, strlen(but)) != 0))
            tp_json_push(j, in, cJSON_CreateString(word));
        at += length;
        at += strspn(at, separators);
        at += strspn(at, " ");
    }
}

cJSON *tp_json_option(struct tp_json *j, cJSON *array, const struct tp_opt *row)
{
    static const char *const types[] = {
        [TP_OPT_FLAG] = "flag",   [TP_OPT_UINT] = "uint",         [TP_OPT_SIZE] = "size",
        [TP_OPT_REAL] = "real",   [TP_OPT_DURATION] = "duration", [TP_OPT_CHOICE] = "choice",
        [TP_OPT_SHARE] = "share", [TP_OPT_SET] = "set",           [TP_OPT_TEXT] = "text",
        [TP_OPT_LIST] = "list"};
    bool ranged = row->type <= TP_OPT_DURATION && row->type != TP_OPT_FLAG;
    cJSON *o = tp_json_item(j, array);
    tp_json_text(j, o, "name", row->name);
    tp_json_text(j, o, "type", types[row->type]);
    tp_json_text(j, o, "default", row->def);
    tp_json_uint(j, o, "min", ranged ? row->min : TP_NONE);
    tp_json_uint(j, o, "max", ranged && row->max ? row->max : TP_NONE);
    cJSON *choices = tp_json_array(j, o, "choices");
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        tp_json_push(j, choices, cJSON_CreateString(row->choices[i]));
    tp_json_text(j, o, "help", row->help);
    return o;
}

/* Writes a printed document, which may be NULL, and deletes it and its tree. */
static int write_text(char *text, cJSON *root, const char *end, FILE *out, struct tp_err *err)
{
    cJSON_Delete(root);
    if (!text)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing JSON");
    fputs(text, out);
    fputs(end, out);
    cJSON_free(text);
    return TP_OK;
}

int tp_json_print(struct tp_json *j, cJSON *root, FILE *out, struct tp_err *err)
{
    return write_text(j->failed ? NULL : cJSON_Print(root), root, "\n", out, err);
}

int tp_json_print_line(struct tp_json *j, cJSON *root, FILE *out, struct tp_err *err)
{
    return write_text(j->failed ? NULL : cJSON_PrintUnformatted(root), root, "", out, err);
}

void tp_json_tool(struct tp_json *j, cJSON *in)
{
    cJSON *tool = tp_json_object(j, in, "tool");
    tp_json_text(j, tool, "version", TAPOOL_VERSION);
    tp_json_text(j, tool, "commit", *tp_commit ? tp_commit : NULL);
    tp_json_text(j, tool, "build", TAPOOL_BUILD);
    tp_json_text(j, tool, "compiler", TAPOOL_COMPILER);
    tp_json_text(j, tool, "flags", TAPOOL_FLAGS);
}
