/* The side of cJSON: its trees live for one event or one member of the header, never longer.
 *
 * Integers take two ways: a bare number went through a double, so it must be whole and below 2^53;
 * a quoted one is read digit by digit, exactly. */
#include "traces/formats/json/json_value.h"

#include "alloc/base/clean.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 9007199254740991.0 /* 2^53 - 1 */

static bool only_space(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static int not_json(const struct tp_json_scan *s, const char *at, struct tp_err *err)
{
    char near[25];
    uint64_t line = s->line;
    if (!at || at < s->text || at > s->text + s->size)
        at = s->text;
    for (const char *c = s->text; c < at; c++)
        line += *c == '\n';
    tp_clean_text(at, near, sizeof near);
    int rc = tp_json_fail(s, line, err, " is not valid JSON near '%s'", near);
    return tp_hint(err, rc, "'tapool help format' shows the format");
}

static const char *pass_string(const char *c)
{
    for (c++; *c && *c != '"'; c++)
        c += *c == '\\' && c[1];
    return c + (*c == '"');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *pass_digits(const char *c)
{
    while (is_digit(*c))
        c++;
    return c;
}

/* NULL: a number as JSON has them begins at `c`, and *end is behind it. */
static const char *odd_number(const char *c, const char **end)
{
    const char *first = c;
    c += *c == '-';
    const char *behind = pass_digits(c);
    if (behind == c || (*c == '0' && behind > c + 1) || (*behind == '.' && !is_digit(behind[1])))
        return first;
    while (is_digit(*behind) || *behind == '.' || *behind == 'e' || *behind == 'E' ||
           *behind == '+' || *behind == '-')
        behind++;
    *end = behind;
    return NULL;
}

/* Most texts have neither a point nor a zero that begins digits: no number of theirs is odd. */
static bool may_be_odd(const char *text, size_t size)
{
    const char *end = text + size, *c = text;
    if (memchr(text, '.', size))
        return true;
    for (; (c = memchr(c, '0', (size_t)(end - c))) != NULL; c++) {
        if (is_digit(c[1]) && (c == text || !is_digit(c[-1])))
            return true;
    }
    return false;
}

/* cJSON takes the numbers that strtod takes: 01, 1., -.5. The first one in what it took that JSON
 * does not have; NULL: none. */
static const char *first_odd_number(const char *text, size_t size)
{
    const char *odd = NULL;
    if (!may_be_odd(text, size))
        return NULL;
    for (const char *c = text; *c && !odd;) {
        if (*c == '"')
            c = pass_string(c);
        else if (*c == '-' || is_digit(*c))
            odd = odd_number(c, &c);
        else
            c++;
    }
    return odd;
}

int tp_json_parse(const struct tp_json_scan *s, struct cJSON **out, struct tp_err *err)
{
    const char *end = NULL;
    cJSON *tree = cJSON_ParseWithLengthOpts(s->text, s->size, &end, 0);
    if (!tree)
        return not_json(s, end, err);
    const char *odd = only_space(end) ? first_odd_number(s->text, s->size) : end;
    if (odd) {
        cJSON_Delete(tree);
        return not_json(s, odd, err);
    }
    *out = tree;
    return TP_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int tp_json_unique(const struct tp_json_scan *s, const struct cJSON *object, struct tp_err *err)
{
    size_t count = 0, i = 0;
    int rc = TP_OK;
    for (const cJSON *c = object->child; c; c = c->next)
        count++;
    if (count < 2)
        return TP_OK;
    const char **names = malloc(count * sizeof *names);
    if (!names)
        return tp_fail(err, TP_ENOMEM, "out of memory while reading %s", tp_input_name(s->in));
    for (const cJSON *c = object->child; c; c = c->next)
        names[i++] = c->string;
    qsort(names, count, sizeof *names, by_name);
    for (i = 1; i < count && rc == TP_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            char name[64];
            tp_clean_text(names[i], name, sizeof name);
            rc = tp_json_fail(s, s->line, err, " has '%s' twice", name);
        }
    }
    free(names);
    return rc;
}

void tp_json_show(const struct cJSON *item, char *out, size_t size)
{
    double v = item->valuedouble;
    char text[64];
    if (cJSON_IsString(item)) {
        tp_clean_text(item->valuestring, text, sizeof text);
        snprintf(out, size, "\"%s\"", text);
    } else if (cJSON_IsNumber(item)) {
        snprintf(out, size, fabs(v) < 1e21 && floor(v) == v ? "%.0f" : "%.15g", v);
    } else {
        snprintf(out, size, "%s",
                 cJSON_IsArray(item)    ? "a list"
                 : cJSON_IsObject(item) ? "an object"
                 : cJSON_IsNull(item)   ? "null"
                 : cJSON_IsTrue(item)   ? "true"
                                        : "false");
    }
}

/* What is wrong with a number, or how it is read. */
enum verdict { FINE, NOT_WHOLE, INEXACT, NEGATIVE, TOO_BIG };

static enum verdict read_bare(double v, const struct tp_json_range *range, bool *negative,
                              uint64_t *magnitude)
{
    if (isfinite(v) && floor(v) != v)
        return NOT_WHOLE;
    if (v < 0 && !range->may_be_negative)
        return NEGATIVE;
    if (!isfinite(v) || fabs(v) > EXACT_MAX)
        return (double)range->max < EXACT_MAX ? TOO_BIG : INEXACT;
    *negative = v < 0;
    *magnitude = (uint64_t)fabs(v);
    return FINE;
}

static enum verdict read_quoted(const char *text, const struct tp_json_range *range, bool *negative,
                                uint64_t *magnitude)
{
    const char *digits = text + (*text == '-');
    uint64_t value = 0;
    bool fits = true;
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return NOT_WHOLE;
    for (const char *d = digits; *d; d++) {
        fits = fits && !__builtin_mul_overflow(value, 10u, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*d - '0'), &value);
    }
    *negative = *text == '-' && !(fits && value == 0);
    *magnitude = value;
    if (*negative && !range->may_be_negative)
        return NEGATIVE;
    return fits ? FINE : TOO_BIG;
}

static int refuse(const struct tp_json_scan *s, const struct cJSON *item, enum verdict v,
                  const struct tp_json_range *range, struct tp_err *err)
{
    static const char *const why[] = {[NOT_WHOLE] = "not a whole number",
                                      [INEXACT] = "beyond 2^53, where bare numbers are not exact",
                                      [NEGATIVE] = "negative",
                                      [TOO_BIG] = "it does not fit 64 bits"};
    char value[80], name[32];
    tp_json_show(item, value, sizeof value);
    tp_clean_text(item->string, name, sizeof name);
    if (v == TOO_BIG && range->max_text)
        return tp_json_fail(s, s->line, err, ": '%s' is %s: the limit is %s", name, value,
                            range->max_text);
    int rc = tp_json_fail(s, s->line, err, ": '%s' is %s: %s", name, value, why[v]);
    return v == INEXACT
               ? tp_hint(err, rc, "quote it as a string: \"%s\": \"12345678901234567890\"", name)
               : rc;
}

int tp_json_integer(const struct tp_json_scan *s, const struct cJSON *item,
                    const struct tp_json_range *range, uint64_t *out, struct tp_err *err)
{
    bool negative = false;
    uint64_t magnitude = 0;
    enum verdict v = NOT_WHOLE;
    if (cJSON_IsNumber(item))
        v = read_bare(item->valuedouble, range, &negative, &magnitude);
    else if (cJSON_IsString(item))
        v = read_quoted(item->valuestring, range, &negative, &magnitude);
    /* two's complement has room for one more below zero */
    if (v == FINE && magnitude > range->max &&
        !(negative && range->max == INT64_MAX && magnitude == range->max + 1))
        v = TOO_BIG;
    if (v != FINE)
        return refuse(s, item, v, range, err);
    *out = negative ? 0 - magnitude : magnitude;
    return TP_OK;
}
