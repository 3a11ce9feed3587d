/* Pickles for tests, written as text: one token per opcode.
 *
 *     } ( 'size' 512 'frames' ] m ( h3 h3 e u .
 *
 *     'abc'   a text             T F N   True, False, None     m      MEMOIZE
 *     12      a number           ~1.5    a fraction            h3 j3  BINGET, LONG_BINGET 3
 *     #12     the same as LONG1  %2      TUPLE2                q3 r3  BINPUT, LONG_BINPUT 3
 *     $8c01   these bytes        any other sign: the opcode of that letter
 */
#ifndef TP_PICKLE_TEXT_H
#define TP_PICKLE_TEXT_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pickle_bytes {
    unsigned char data[1 << 16];
    size_t size;
};

static inline void put_byte(struct pickle_bytes *b, unsigned byte)
{
    assert(b->size < sizeof b->data);
    b->data[b->size++] = (unsigned char)byte;
}

static inline void put_little(struct pickle_bytes *b, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        put_byte(b, (unsigned)(value >> (8 * i)) & 0xff);
}

static inline const char *put_text(struct pickle_bytes *b, const char *at)
{
    const char *end = strchr(at, '\'');
    assert(end);
    size_t size = (size_t)(end - at);
    put_byte(b, size < 256 ? 0x8c : 'X');
    put_little(b, size, size < 256 ? 1 : 4);
    for (; at < end; at++)
        put_byte(b, (unsigned char)*at);
    return end + 1;
}

static inline const char *put_number(struct pickle_bytes *b, const char *at)
{
    char *end = NULL;
    int64_t value = strtoll(at, &end, 10);
    if (value >= INT32_MIN && value <= INT32_MAX) {
        put_byte(b, 'J');
        put_little(b, (uint64_t)value, 4);
    } else {
        put_byte(b, 0x8a);
        put_byte(b, 8);
        put_little(b, (uint64_t)value, 8);
    }
    return end;
}

/* A token with a number behind its sign. */
static inline const char *put_numbered(struct pickle_bytes *b, const char *at)
{
    char *end = NULL;
    uint64_t value = strtoull(at + 1, &end, 10);
    if (*at == '%') {
        put_byte(b, 0x84 + (unsigned)value);
    } else if (*at == '#') {
        put_byte(b, 0x8a);
        put_byte(b, 8);
        put_little(b, value, 8);
    } else {
        put_byte(b, (unsigned char)*at);
        put_little(b, value, *at == 'j' || *at == 'r' ? 4 : 1);
    }
    return end;
}

static inline const char *put_fraction(struct pickle_bytes *b, const char *at)
{
    char *end = NULL;
    double value = strtod(at, &end);
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    put_byte(b, 'G');
    put_little(b, __builtin_bswap64(bits), 8);
    return end;
}

static inline const char *put_hex(struct pickle_bytes *b, const char *at)
{
    for (; *at && *at != ' ' && *at != '\n'; at += 2) {
        const char digits[3] = {at[0], at[1], '\0'};
        put_byte(b, (unsigned)strtoul(digits, NULL, 16));
    }
    return at;
}

static inline void put_pickle(struct pickle_bytes *b, const char *text)
{
    static const char named[] = "TFNm";
    static const unsigned char codes[] = {0x88, 0x89, 'N', 0x94};
    while (*text) {
        const char *sign = strchr(named, *text);
        if (*text == ' ' || *text == '\n')
            text++;
        else if (*text == '\'')
            text = put_text(b, text + 1);
        else if (*text == '-' || (*text >= '0' && *text <= '9'))
            text = put_number(b, text);
        else if (*text == '~')
            text = put_fraction(b, text + 1);
        else if (*text == '$')
            text = put_hex(b, text + 1);
        else if (strchr("hjqr%#", *text) && text[1] >= '0' && text[1] <= '9')
            text = put_numbered(b, text);
        else
            put_byte(b, sign ? codes[sign - named] : (unsigned char)*text), text++;
    }
}

/* With the opcode of protocol 4 before it. */
static inline void make_pickle(struct pickle_bytes *b, const char *text)
{
    b->size = 0;
    put_byte(b, 0x80);
    put_byte(b, 4);
    put_pickle(b, text);
}

#endif
