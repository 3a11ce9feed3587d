/* See json_member.h. A look-up walks all of cJSON's list, so that a name that occurs twice is
 * found: a reader must not guess which of the two counts. */
#include "cmd/results/json_member.h"

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

/* If the document ends inside a string, returns the quote that opens the string; NULL otherwise. */
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

/* Whether the error at `rest` is that the document ends too early: at most the beginning of one
 * token follows. */
static bool is_cut(const char *text, const char *rest, const char *end)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    const char *quote = open_quote(text, end);
    if (end - rest <= 1) /* cJSON reports the last byte if it needs one more */
        return true;
    if (quote)
        return quote + 1 >= rest;
    while (rest < end && memchr(word, *rest, sizeof word - 1))
        rest++;
    return rest == end;
}

/* The length of NaN or Infinity at `rest`, as some writers of JSON spell them; 0: neither. */
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
        return tp_fail(err, TP_EINPUT, "%s: byte %zu: '%.*s' is not a JSON number", file, at + 1,
                       (int)word, text + at);
    if (!*tree)
        return tp_fail(err, TP_EINPUT, "%s: byte %zu: not JSON, or over 1,000 levels deep", file,
                       at + 1);
    at = skip_blanks(text, at, length);
    if (at == length)
        return TP_OK;
    cJSON_Delete(*tree);
    *tree = NULL;
    return tp_fail(err, TP_EINPUT, "%s: byte %zu: something follows the document", file, at + 1);
}

/* ---- places ---- */

void tp_member_fail(const struct tp_member *m, const char *what)
{
    char path[TP_MEMBER_PATH];
    struct tp_document *r = m->document;
    tp_clean_text(m->path, path, sizeof path);
    if (!r->status)
        r->status =
            tp_fail(r->err, TP_EINPUT, "%s: %s %s", r->file, *path ? path : "the document", what);
}

void tp_member_had_memory(const struct tp_member *m, bool had)
{
    if (!had && !m->document->status)
        m->document->status = tp_fail(m->document->err, TP_ENOMEM, "out of memory");
}

void *tp_member_memory(const struct tp_member *m, void *p)
{
    tp_member_had_memory(m, p != NULL);
    return p;
}

static struct tp_member place(const struct tp_member *in, const char *name)
{
    struct tp_member out = {.document = in->document};
    snprintf(out.path, sizeof out.path, "%.120s%s%.60s", in->path, *in->path ? "." : "", name);
    return out;
}

struct tp_member tp_member_get(const struct tp_member *in, const char *name, bool required)
{
    struct tp_member found = place(in, name);
    if (in->document->status)
        return found;
    if (!cJSON_IsObject(in->item)) {
        tp_member_fail(in, "is not an object");
        return found;
    }
    for (const cJSON *item = in->item->child; item; item = item->next) {
        if (strcmp(item->string, name))
            continue;
        if (found.item)
            tp_member_fail(&found, "stands there twice");
        found.item = item;
    }
    if (!found.item && required)
        tp_member_fail(&found, "is missing");
    if (in->document->status)
        found.item = NULL;
    return found;
}

struct tp_member tp_member_find(const struct tp_member *in, const char *name)
{
    struct tp_member found =
        in->item ? tp_member_get(in, name, false) : (struct tp_member){.document = in->document};
    if (cJSON_IsNull(found.item))
        found.item = NULL;
    return found;
}

static void note_lack(const struct tp_member *m)
{
    if (!m->document->status && m->document->lack)
        m->document->lack(m);
}

struct tp_member tp_member_seek(const struct tp_member *in, const char *name)
{
    struct tp_member found = tp_member_find(in, name);
    if (!found.item && in->item)
        note_lack(&found);
    return found;
}

struct tp_member tp_member_follow(const struct tp_member *root, const char *path, bool required,
                                  bool *last)
{
    struct tp_member at = *root;
    for (bool ended = false; !ended;) {
        char name[64];
        size_t length = strcspn(path, ".");
        ended = !path[length];
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        at = tp_member_get(&at, name, required);
        if (last)
            *last = ended;
        if (!ended && !required && cJSON_IsNull(at.item))
            at.item = NULL;
        if (!at.item)
            break;
        path += length + 1;
    }
    return at;
}

static struct tp_member element(const struct tp_member *list, const cJSON *item, size_t i)
{
    struct tp_member out = {.document = list->document, .item = item, .index = i};
    snprintf(out.path, sizeof out.path, "%.150s[%zu]", list->path, i);
    return out;
}

struct tp_member tp_member_element(const struct tp_member *list, size_t i)
{
    return element(list, cJSON_GetArrayItem(list->item, (int)i), i);
}

bool tp_member_next(const struct tp_member *all, struct tp_member *one)
{
    const cJSON *item = NULL;
    if (one->item)
        item = one->item->next;
    else if (all->item)
        item = all->item->child;
    if (all->document->status || !item)
        return false;
    if (cJSON_IsArray(all->item)) {
        *one = element(all, item, one->item ? one->index + 1 : 0);
    } else {
        *one = place(all, item->string);
        one->item = item;
    }
    return true;
}

static size_t count_in(const struct tp_member *m, bool is_kind, const char *none, size_t most,
                       const char *beyond)
{
    size_t count = is_kind ? (size_t)cJSON_GetArraySize(m->item) : 0;
    if (!m->item)
        return 0;
    if (!is_kind || count > most)
        tp_member_fail(m, is_kind ? beyond : none);
    return m->document->status ? 0 : count;
}

size_t tp_member_object(const struct tp_member *m, size_t most, const char *beyond)
{
    return count_in(m, cJSON_IsObject(m->item), "is not an object", most, beyond);
}

size_t tp_member_list(const struct tp_member *m, size_t most, const char *beyond)
{
    return count_in(m, cJSON_IsArray(m->item), "is not a list", most, beyond);
}

/* ---- values ---- */

char *tp_member_text(const struct tp_member *m)
{
    if (!cJSON_IsString(m->item))
        tp_member_fail(m, "is not text");
    else if (strlen(m->item->valuestring) > TP_MEMBER_TEXT)
        tp_member_fail(m, "is longer than any such text");
    if (m->document->status)
        return NULL;
    return tp_member_memory(m, tp_clean_copy(m->item->valuestring, TP_MEMBER_TEXT));
}

char *tp_member_sha256(const struct tp_member *m)
{
    char *text = tp_member_text(m);
    if (text && (strlen(text) != SHA256_DIGITS || strspn(text, HEXADECIMAL) != SHA256_DIGITS))
        tp_member_fail(m, "is not a SHA-256 in hexadecimal");
    return text;
}

uint64_t tp_member_count(const struct tp_member *m)
{
    uint64_t digits;
    if (cJSON_IsString(m->item) && tp_parse_uint(m->item->valuestring, &digits))
        return digits;
    double n = cJSON_IsNumber(m->item) ? m->item->valuedouble : -1;
    if (n >= 0 && n <= EXACT && n == floor(n))
        return (uint64_t)n;
    tp_member_fail(m, "is not a whole number from 0");
    return 0;
}

const struct tp_member_range tp_member_real = {.most = TP_MEMBER_BEYOND};
const struct tp_member_range tp_member_real_or_null = {.most = TP_MEMBER_BEYOND, .null = true};

double tp_member_number(const struct tp_member *m, const struct tp_member_range *range)
{
    uint64_t digits = 0;
    double value = NAN;
    if (!m->item || (cJSON_IsNull(m->item) && range->null))
        return value;
    if (cJSON_IsString(m->item) && tp_parse_uint(m->item->valuestring, &digits))
        value = (double)digits;
    else if (cJSON_IsNumber(m->item))
        value = m->item->valuedouble;
    else
        tp_member_fail(m, range->null ? "is neither a number nor null" : "is not a number");
    if (!isfinite(value))
        tp_member_fail(m, "is beyond all numbers");
    else if (value < 0 || value > range->most)
        tp_member_fail(m, "is out of its range");
    else if (range->whole && value != floor(value))
        tp_member_fail(m, "is not a whole number");
    return value;
}

/* ---- rows ---- */

static bool is_word(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text))
        words++;
    return *words != NULL;
}

static void read_row(const struct tp_member *m, const struct tp_member_row *row, void *to)
{
    char **text = to;
    switch (row->type) {
    case TP_ROW_TEXT:
    case TP_ROW_WORD:
        *text = tp_member_text(m);
        if (row->words && *text && !is_word(*text, row->words))
            tp_member_fail(m, "is not a known word");
        break;
    case TP_ROW_SHA256:
        *text = tp_member_sha256(m);
        break;
    case TP_ROW_COUNT:
        *(uint64_t *)to = tp_member_count(m);
        break;
    case TP_ROW_FLAG:
        *(bool *)to = cJSON_IsTrue(m->item);
        if (!cJSON_IsBool(m->item))
            tp_member_fail(m, "is neither true nor false");
        break;
    case TP_ROW_REAL:
        *(double *)to = tp_member_number(m, &tp_member_real);
        break;
    case TP_ROW_REAL_OR_NULL:
        *(double *)to = tp_member_number(m, &tp_member_real_or_null);
        break;
    }
}

static void lack_row(const struct tp_member *m, const struct tp_member_row *row, void *to)
{
    note_lack(m);
    if (row->type <= TP_ROW_SHA256)
        *(char **)to = tp_member_memory(m, strdup(""));
    else if (row->type == TP_ROW_COUNT)
        *(uint64_t *)to = UINT64_MAX;
    else if (row->type >= TP_ROW_REAL)
        *(double *)to = NAN;
}

void tp_member_rows(const struct tp_member *in, const struct tp_member_row *rows, size_t count,
                    void *out)
{
    for (size_t i = 0; i < count && !in->document->status; i++) {
        void *to = (char *)out + rows[i].offset;
        bool required = rows[i].need == TP_ROW_REQUIRED;
        struct tp_member m = tp_member_follow(in, rows[i].path, required, NULL);
        if (cJSON_IsNull(m.item) && !required && rows[i].type != TP_ROW_REAL_OR_NULL)
            m.item = NULL;
        if (m.item)
            read_row(&m, &rows[i], to);
        else if (rows[i].need == TP_ROW_EXPECTED)
            lack_row(&m, &rows[i], to);
    }
}
