/* Checks of values that the format makes beyond valid JSON.
 *
 * Integers have two spellings. A bare number must be whole and below 2^53, so that a double holds
 * it exactly. A quoted number is read digit by digit. */
#include "traces/formats/json/json_event.h"

#include "alloc/base/clean.h"
#include "alloc/base/grow.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 9007199254740991.0 /* 2^53 - 1 */

static int not_json(const struct tp_json_scan *s, const char *at, struct tp_err *err)
{
    char near[25];
    uint64_t line = s->line;
    for (const char *c = s->text; c < at; c++)
        line += *c == '\n';
    tp_clean_text(at, near, sizeof near);
    int rc = tp_json_fail(s, line, err, " is not valid JSON near '%s'", near);
    return tp_hint(err, rc, "'tapool help format' shows the format");
}

int tp_json_read(struct tp_json_scan *s, size_t limit, struct tp_span *out, struct tp_err *err)
{
    int rc = tp_json_cut(s, limit, err);
    if (rc != TP_OK)
        return rc;
    *out = (struct tp_span){s->text, s->size};
    const char *odd = tp_span_check(*out);
    return odd ? not_json(s, odd, err) : TP_OK;
}

/* ---- keys that come twice ---- */

static int by_name(const void *a, const void *b)
{
    return tp_span_order(*(const struct tp_span *)a, *(const struct tp_span *)b);
}

int tp_json_unique(const struct tp_json_scan *s, struct tp_span object, struct tp_err *err)
{
    struct tp_span_walk w = tp_span_members(object);
    struct tp_span key, value, *keys = NULL;
    size_t count = 0, room = 0;
    int rc = TP_OK;
    while (rc == TP_OK && tp_span_next(&w, &key, &value)) {
        rc = TP_GROW(&keys, &room, count + 1, err, .what = "keys", .of = tp_input_name(s->in));
        if (rc == TP_OK)
            keys[count++] = key;
    }
    if (count > 1)
        qsort(keys, count, sizeof *keys, by_name);
    for (size_t i = 1; i < count && rc == TP_OK; i++) {
        if (tp_span_order(keys[i - 1], keys[i]) == 0) {
            char raw[TP_JSON_SHOWN], name[64];
            tp_span_text(keys[i], raw, sizeof raw);
            tp_clean_text(raw, name, sizeof name);
            rc = tp_json_fail(s, s->line, err, " has '%s' twice", name);
        }
    }
    free(keys);
    return rc;
}

/* ---- messages ---- */

/* What a value is that is neither a text nor a number, from its first byte. */
static const char *other_value(char first)
{
    switch (first) {
    case '[':
        return "a list";
    case '{':
        return "an object";
    case 'n':
        return "null";
    case 't':
        return "true";
    default:
        return "false";
    }
}

const char *tp_json_show(struct tp_span value, char out[TP_JSON_SHOWN])
{
    char raw[256], text[64];
    double v = 0;
    if (tp_span_text(value, raw, sizeof raw)) {
        tp_clean_text(raw, text, sizeof text);
        snprintf(out, TP_JSON_SHOWN, "\"%s\"", text);
    } else if (tp_span_double(value, &v)) {
        snprintf(out, TP_JSON_SHOWN, fabs(v) < 1e21 && floor(v) == v ? "%.0f" : "%.15g", v);
    } else {
        snprintf(out, TP_JSON_SHOWN, "%s", other_value(*value.at));
    }
    return out;
}

int tp_json_need_text(const struct tp_json_scan *s, const char *name, struct tp_span value,
                      struct tp_err *err)
{
    char shown[TP_JSON_SHOWN];
    if (tp_span_is_text(value))
        return TP_OK;
    return tp_json_fail(s, s->line, err, ": '%s' is %s, not a text", name,
                        tp_json_show(value, shown));
}

/* ---- integers ---- */

/* What is wrong with a number, if anything. */
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

static enum verdict read_quoted(struct tp_span text, const struct tp_json_range *range,
                                bool *negative, uint64_t *magnitude)
{
    struct tp_span_bytes b = tp_span_bytes(text);
    int c = tp_span_byte(&b);
    bool minus = c == '-', fits = true, some = false;
    uint64_t value = 0;
    for (c = minus ? tp_span_byte(&b) : c; c >= '0' && c <= '9'; c = tp_span_byte(&b)) {
        some = true;
        fits = fits && !__builtin_mul_overflow(value, 10u, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(c - '0'), &value);
    }
    if (!some || c >= 0)
        return NOT_WHOLE;
    *negative = minus && !(fits && value == 0);
    *magnitude = value;
    if (*negative && !range->may_be_negative)
        return NEGATIVE;
    return fits ? FINE : TOO_BIG;
}

static int refuse(const struct tp_json_scan *s, const char *name, struct tp_span item,
                  enum verdict v, const struct tp_json_range *range, struct tp_err *err)
{
    static const char *const why[] = {[NOT_WHOLE] = "not a whole number",
                                      [INEXACT] = "beyond 2^53, where bare numbers are not exact",
                                      [NEGATIVE] = "negative",
                                      [TOO_BIG] = "it does not fit 64 bits"};
    char value[TP_JSON_SHOWN];
    tp_json_show(item, value);
    if (v == TOO_BIG && range->max_text)
        return tp_json_fail(s, s->line, err, ": '%s' is %s: the limit is %s", name, value,
                            range->max_text);
    int rc = tp_json_fail(s, s->line, err, ": '%s' is %s: %s", name, value, why[v]);
    return v == INEXACT
               ? tp_hint(err, rc, "quote it as a string: \"%s\": \"12345678901234567890\"", name)
               : rc;
}

int tp_json_integer(const struct tp_json_scan *s, const char *name, struct tp_span value,
                    const struct tp_json_range *range, uint64_t *out, struct tp_err *err)
{
    bool negative = false;
    uint64_t magnitude = 0;
    double number = 0;
    enum verdict v = NOT_WHOLE;
    if (tp_span_double(value, &number))
        v = read_bare(number, range, &negative, &magnitude);
    else if (tp_span_is_text(value))
        v = read_quoted(value, range, &negative, &magnitude);
    /* two's complement has one more negative number than positive ones */
    if (v == FINE && magnitude > range->max &&
        !(negative && range->max == INT64_MAX && magnitude == range->max + 1))
        v = TOO_BIG;
    if (v != FINE)
        return refuse(s, name, value, v, range, err);
    *out = negative ? 0 - magnitude : magnitude;
    return TP_OK;
}
