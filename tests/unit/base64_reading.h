/* Numbers in base 64, as a page reads them. */
#ifndef TP_TEST_BASE64_READING_H
#define TP_TEST_BASE64_READING_H

#include "tests/unit/one_run.h"

struct reading {
    uint8_t bytes[1 << 17];
    size_t at, end;
};

static inline void read_base64(struct reading *r, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0, count = 0;
    r->at = r->end = 0;
    assert_true(strlen(text) % 4 == 0 && strlen(text) < sizeof r->bytes);
    for (; *text && *text != '='; text++) {
        assert_non_null(strchr(digits, *text));
        bits = bits << 6 | (uint32_t)(strchr(digits, *text) - digits);
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        r->bytes[r->end++] = (uint8_t)(bits >> count);
    }
    assert_true(strspn(text, "=") == strlen(text) && strlen(text) < 3);
}

static inline uint64_t number(struct reading *r)
{
    uint64_t value = 0, weight = 1;
    uint8_t byte;
    do {
        assert_true(r->at < r->end);
        byte = r->bytes[r->at++];
        value += (byte & 127u) * weight;
        weight *= 128;
    } while (byte > 127);
    return value;
}

#endif
