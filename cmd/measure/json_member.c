/* See json_member.h. Members are found along cJSON's list, every one of it, so that a name that
 * stands there twice is seen: which of the two would count is not for a reader to guess. */
#include "cmd/measure/json_member.h"

#include "alloc/base/clean.h"
#include "alloc/base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EXACT       0x1p53
#define HEXADECIMAL "0123456789abcdef"
enum { SHA256_DIGITS = 64 };

/* ---- the document ---- */

/* The quote of the text that `text` ends in the middle of; NULL: it ends outside of one. */
static const char *open_quote(const char *text, const char *end)
{
    const char *quote = NULL;
    for (; text < end; text++) {
        if (*text == '"')
            quote = quote ? NULL : text;
        else if (*text == '\\' && quote)
            text++;
    }
    return quote;
}

/* Whether what is wrong at `rest` is that the text ends there: with no more than the beginning of a
 * token. */
static bool is_cut(const char *text, const char *rest, const char *end)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    const char *quote = open_quote(text, end);
    if (end - rest <= 1) /* cJSON names the last byte where it would need one more */
        return true;
    if (quote)
        return quote + 1 >= rest;
    while (rest < end && memchr(word, *rest, sizeof word - 1))
        rest++;
    return rest == end;
}

/* "NaN" and its like, as some writers of JSON put them; 0: nothing of the kind. */
static size_t no_number(const char *rest, const char *end)
{
    static const char *const words[] = {"nan", "infinity", "inf"};
    size_t sign = rest < end && (*rest == '-' || *rest == '+');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = sign + strlen(words[i]);
        if ((size_t)(end - rest) < length || strncasecmp(rest + sign, words[i], length - sign))
            continue;
        if (rest + length == end || !isalnum((unsigned char)rest[length]))
            return length;
    }
    return 0;
}

static size_t skip_blanks(const char *text, size_t at, size_t length)
{
    while (at < length && memchr(" \t\r\n", text[at], 4))
        at++;
    return at;
}

int tp_member_parse(const char *text, size_t length, const char *file, cJSON **tree,
                    struct tp_err *err)
{
    const char *end = NULL, *nul = length ? memchr(text, '\0', length) : NULL;
    *tree = NULL;
    if (nul)
        return tp_fail(err, TP_EINPUT, "%s: byte %zu: a NUL, which no JSON has", file,
                       (size_t)(nul - text) + 1);
    if (skip_blanks(text, 0, length) == length)
        return tp_fail(err, TP_EINPUT, "%s is empty", file);
    *tree = cJSON_ParseWithLengthOpts(text, length, &end, false);
    size_t at = end ? (size_t)(end - text) : 0, last = length;
    while (last > at && memchr(" \t\r\n", text[last - 1], 4))
        last--;
    if (!*tree && is_cut(text, text + at, text + last))
        return tp_fail(err, TP_EINPUT, "%s is cut off: it ends after %zu bytes", file, length);
    size_t word = *tree ? 0 : no_number(text + at, text + last);
    if (word)
        return tp_fail(err, TP_EINPUT, "%s: byte %zu: '%.*s' is no JSON number", file, at + 1,
                       (int)word, text + at);
    if (!*tree)
        return tp_fail(err, TP_EINPUT, "%s: byte %zu: no JSON, or over 1,000 levels deep", file,
                       at + 1);
    at = skip_blanks(text, at, length);
    if (at == length)
        return TP_OK;
    cJSON_Delete(*tree);
    *tree = NULL;
    return tp_fail(err, TP_EINPUT, "%s: byte %zu: something follows the document", file, at + 1);
}

/* ---- places ---- */

int tp_member_fail(const struct tp_member *m, const char *what, struct tp_err *err)
{
    char path[TP_MEMBER_PATH];
    tp_clean_text(m->path, path, sizeof path);
    return tp_fail(err, TP_EINPUT, "%s: %s %s", m->file, *path ? path : "the document", what);
}

static void name_place(const struct tp_member *in, const char *name, struct tp_member *out)
{
    *out = (struct tp_member){.file = in->file};
    snprintf(out->path, sizeof out->path, "%.120s%s%.60s", in->path, *in->path ? "." : "", name);
}

int tp_member_get(const struct tp_member *in, const char *name, bool required,
                  struct tp_member *out, struct tp_err *err)
{
    struct tp_member found; /* `out` may be `in` */
    int status = tp_member_is_object(in, err);
    if (status)
        return status;
    name_place(in, name, &found);
    for (const cJSON *item = in->item->child; item; item = item->next) {
        if (strcmp(item->string, name))
            continue;
        if (found.item)
            return tp_member_fail(&found, "stands there twice", err);
        found.item = item;
    }
    if (!found.item && required)
        return tp_member_fail(&found, "is missing", err);
    *out = found;
    return TP_OK;
}

int tp_member_find(const struct tp_member *in, const char *name, struct tp_member *out,
                   struct tp_err *err)
{
    int status = TP_OK;
    if (in->item)
        status = tp_member_get(in, name, false, out, err);
    else
        *out = (struct tp_member){.file = in->file};
    if (!status && cJSON_IsNull(out->item))
        out->item = NULL;
    return status;
}

void tp_member_child(const struct tp_member *object, const cJSON *item, struct tp_member *out)
{
    struct tp_member child; /* `out` may be `object` */
    name_place(object, item->string, &child);
    child.item = item;
    *out = child;
}

void tp_member_element(const struct tp_member *array, const cJSON *element, size_t i,
                       struct tp_member *out)
{
    *out = (struct tp_member){.file = array->file, .item = element};
    snprintf(out->path, sizeof out->path, "%.150s[%zu]", array->path, i);
}

int tp_member_is_object(const struct tp_member *m, struct tp_err *err)
{
    return cJSON_IsObject(m->item) ? TP_OK : tp_member_fail(m, "is no object", err);
}

int tp_member_is_array(const struct tp_member *m, struct tp_err *err)
{
    return cJSON_IsArray(m->item) ? TP_OK : tp_member_fail(m, "is no list", err);
}

/* ---- values ---- */

int tp_member_as_text(const struct tp_member *m, char **out, struct tp_err *err)
{
    if (!cJSON_IsString(m->item))
        return tp_member_fail(m, "is no text", err);
    if (strlen(m->item->valuestring) > TP_MEMBER_TEXT)
        return tp_member_fail(m, "is longer than any such text", err);
    *out = tp_clean_copy(m->item->valuestring, TP_MEMBER_TEXT);
    return *out ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

int tp_member_text(const struct tp_member *in, const char *name, char **out, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_get(in, name, true, &m, err);
    return status ? status : tp_member_as_text(&m, out, err);
}

int tp_member_sha256(const struct tp_member *in, const char *name, char **out, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_text(in, name, out, err);
    if (status || (strlen(*out) == SHA256_DIGITS && strspn(*out, HEXADECIMAL) == SHA256_DIGITS))
        return status;
    name_place(in, name, &m);
    return tp_member_fail(&m, "is no SHA-256 in hexadecimal", err);
}

int tp_member_as_flag(const struct tp_member *m, bool *out, struct tp_err *err)
{
    if (!cJSON_IsBool(m->item))
        return tp_member_fail(m, "is neither true nor false", err);
    *out = cJSON_IsTrue(m->item);
    return TP_OK;
}

int tp_member_as_count(const struct tp_member *m, uint64_t *out, struct tp_err *err)
{
    if (cJSON_IsString(m->item) && tp_parse_uint(m->item->valuestring, out))
        return TP_OK;
    double n = cJSON_IsNumber(m->item) ? m->item->valuedouble : -1;
    if (!(n >= 0 && n <= EXACT && n == floor(n)))
        return tp_member_fail(m, "is no whole number from 0", err);
    *out = (uint64_t)n;
    return TP_OK;
}

int tp_member_count(const struct tp_member *in, const char *name, uint64_t *out, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_get(in, name, true, &m, err);
    return status ? status : tp_member_as_count(&m, out, err);
}

int tp_member_value(const struct tp_member *m, const struct tp_member_range *range, double *out,
                    struct tp_err *err)
{
    uint64_t digits = 0;
    if (cJSON_IsNull(m->item) && range->null) {
        *out = NAN;
        return TP_OK;
    }
    if (cJSON_IsString(m->item) && tp_parse_uint(m->item->valuestring, &digits))
        *out = (double)digits;
    else if (cJSON_IsNumber(m->item))
        *out = m->item->valuedouble;
    else
        return tp_member_fail(m, range->null ? "is neither a number nor null" : "is no number",
                              err);
    if (!isfinite(*out))
        return tp_member_fail(m, "is beyond all numbers", err);
    if (*out < 0 || *out > range->most)
        return tp_member_fail(m, "is out of its range", err);
    if (range->whole && *out != floor(*out))
        return tp_member_fail(m, "is no whole number", err);
    return TP_OK;
}

int tp_member_number(const struct tp_member *in, const char *name,
                     const struct tp_member_range *range, double *out, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_get(in, name, true, &m, err);
    return status ? status : tp_member_value(&m, range, out, err);
}
