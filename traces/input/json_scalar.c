/* Numbers and texts of JSON: see json_span.h. Whole numbers are read digit by digit and escapes
 * resolved one character at a time, so that neither needs memory. */
#include "traces/input/json_bytes.h"
#include "traces/input/json_span.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 63 /* bytes of a number that fit into the buffers here */

/* ---- numbers ---- */

/* The value without its quotes, if it has any. */
static struct tp_span bare(struct tp_span s)
{
    if (s.at && s.size >= 2 && *s.at == '"')
        return (struct tp_span){s.at + 1, s.size - 2};
    return s;
}

static bool read_digits(const char *at, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    if (tp_decimal(at, at + size, &value) != at + size)
        return false;
    *out = value;
    return true;
}

/* Combines a magnitude and a sign. False: it does not fit into 64 bits. */
static bool signed_value(uint64_t magnitude, bool negative, int64_t *out)
{
    if (magnitude > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

bool tp_span_uint(struct tp_span s, uint64_t *out)
{
    s = bare(s);
    return s.at && read_digits(s.at, s.size, out);
}

bool tp_span_int(struct tp_span s, int64_t *out)
{
    uint64_t magnitude = 0;
    s = bare(s);
    bool negative = s.at && s.size > 0 && *s.at == '-';
    return s.at && read_digits(s.at + negative, s.size - negative, &magnitude) &&
           signed_value(magnitude, negative, out);
}

bool tp_span_double(struct tp_span s, double *out)
{
    char text[NUMBER_MAX + 1], *end = NULL, *copy = text;
    if (!s.at || s.size == 0 || !(*s.at == '-' || tp_json_digit(*s.at)))
        return false;
    if (s.size > NUMBER_MAX)
        copy = malloc(s.size + 1);
    if (!copy)
        return false;
    memcpy(copy, s.at, s.size);
    copy[s.size] = '\0';
    *out = strtod(copy, &end);
    bool whole = *end == '\0';
    if (copy != text)
        free(copy);
    return whole;
}

static bool through_double(struct tp_span s, int64_t *out)
{
    double value = 0;
    if (!tp_span_double(s, &value) || !(fabs(value * 1000) < 9.2e18))
        return false;
    *out = (int64_t)(value * 1000);
    return true;
}

bool tp_span_thousandths(struct tp_span s, int64_t *out)
{
    s = bare(s);
    if (!s.at || s.size == 0 || s.size > NUMBER_MAX)
        return false;
    if (memchr(s.at, 'e', s.size) || memchr(s.at, 'E', s.size))
        return through_double(s, out);
    bool negative = *s.at == '-';
    const char *at = s.at + negative, *end = s.at + s.size;
    const char *point = memchr(at, '.', (size_t)(end - at));
    const char *whole = point ? point : end;
    uint64_t units = 0, parts = 0, ignored = 0;
    char digits[3] = {'0', '0', '0'};
    if (!read_digits(at, (size_t)(whole - at), &units) ||
        __builtin_mul_overflow(units, 1000u, &units))
        return false;
    size_t after = point ? (size_t)(end - point - 1) : 0, kept = after < 3 ? after : 3;
    if (point && (after == 0 || after > 18 || !read_digits(point + 1, after, &ignored)))
        return false;
    if (kept > 0)
        memcpy(digits, point + 1, kept);
    return read_digits(digits, 3, &parts) && !__builtin_add_overflow(units, parts, &units) &&
           signed_value(units, negative, out);
}

bool tp_span_pointer(struct tp_span s, uint64_t *out)
{
    char text[20], *end = NULL;
    *out = 0;
    if (tp_span_is(s, "0") || tp_span_is(s, "(nil)") || tp_span_is(s, "nullptr"))
        return true;
    if (!s.at || s.size < 5 || s.size > sizeof text + 1 || memcmp(s.at, "\"0x", 3) != 0)
        return false;
    memcpy(text, s.at + 3, s.size - 4);
    text[s.size - 4] = '\0';
    if (strspn(text, "0123456789abcdefABCDEF") != s.size - 4)
        return false;
    errno = 0;
    *out = strtoull(text, &end, 16);
    return errno == 0;
}

/* ---- escapes ---- */

/* Reads the four hexadecimal digits behind \u. False: they are not all there. */
static bool hex4(const char *at, const char *end, uint32_t *out)
{
    uint32_t value = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return false;
    for (int i = 2; i < 6; i++) {
        char c = at[i], letter = (char)(c | 0x20);
        if (!tp_json_digit(c) && (letter < 'a' || letter > 'f'))
            return false;
        value = value << 4 | (uint32_t)(tp_json_digit(c) ? c - '0' : letter - 'a' + 10);
    }
    *out = value;
    return true;
}

size_t tp_json_escape(const char *at, const char *end, uint32_t *character)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    uint32_t high = 0, low = 0, ignored;
    character = character ? character : &ignored;
    const char *name = end - at >= 2 && at[1] ? strchr(names, at[1]) : NULL;
    if (name) {
        *character = (uint32_t)meant[name - names];
        return 2;
    }
    if (!hex4(at, end, &high) || (high >= 0xdc00 && high <= 0xdfff))
        return 0;
    *character = high;
    if (high < 0xd800 || high > 0xdbff)
        return 6;
    if (!hex4(at + 6, end, &low) || low < 0xdc00 || low > 0xdfff)
        return 0;
    *character = 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
    return 12;
}

/* ---- texts ---- */

bool tp_span_is_text(struct tp_span s)
{
    return s.at && s.size >= 2 && *s.at == '"';
}

struct tp_span_bytes tp_span_bytes(struct tp_span s)
{
    if (!tp_span_is_text(s))
        return (struct tp_span_bytes){0};
    return (struct tp_span_bytes){.at = s.at + 1, .end = s.at + s.size - 1};
}

/* Encodes a code point as UTF-8. Returns the number of bytes. */
static unsigned encode(uint32_t c, unsigned char *out)
{
    unsigned count = 4;
    if (c < 0x80)
        count = 1;
    else if (c < 0x800)
        count = 2;
    else if (c < 0x10000)
        count = 3;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = count - 1; i > 0; i--, c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
    out[0] = (unsigned char)(marks[count] | c);
    return count;
}

int tp_span_byte(struct tp_span_bytes *b)
{
    uint32_t character = 0;
    if (b->next < b->count)
        return b->held[b->next++];
    if (b->at == b->end)
        return -1;
    if (*b->at != '\\')
        return (unsigned char)*b->at++;
    size_t length = tp_json_escape(b->at, b->end, &character);
    if (length == 0)
        return -1;
    b->at += length;
    b->count = encode(character, b->held);
    b->next = 1;
    return b->held[0];
}

bool tp_span_is(struct tp_span s, const char *text)
{
    size_t length = strlen(text);
    if (!tp_span_is_text(s) || s.size < length + 2)
        return false;
    if (s.size == length + 2)
        return memcmp(s.at + 1, text, length) == 0;
    if (!memchr(s.at, '\\', s.size))
        return false;
    struct tp_span_bytes b = tp_span_bytes(s);
    size_t i = 0;
    while (i < length && tp_span_byte(&b) == (unsigned char)text[i])
        i++;
    return i == length && tp_span_byte(&b) < 0 && b.at == b.end;
}

int tp_span_order(struct tp_span a, struct tp_span b)
{
    struct tp_span_bytes x = tp_span_bytes(a), y = tp_span_bytes(b);
    int p, q;
    do {
        p = tp_span_byte(&x);
        q = tp_span_byte(&y);
    } while (p == q && p >= 0);
    if (p < q)
        return -1;
    return p > q ? 1 : 0;
}

bool tp_span_text(struct tp_span s, char *out, size_t size)
{
    struct tp_span_bytes b = tp_span_bytes(s);
    size_t n = 0;
    int c;
    while ((c = tp_span_byte(&b)) >= 0)
        if (n < size)
            out[n++] = (char)c;
    out[n < size ? n : size - 1] = '\0';
    bool whole = tp_span_is_text(s) && b.at == b.end;
    if (!whole)
        out[0] = '\0';
    return whole;
}

char *tp_span_copy(struct tp_span s)
{
    char *text = malloc(s.size);
    if (text)
        tp_span_text(s, text, s.size);
    return text;
}
