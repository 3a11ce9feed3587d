/* Parses decimal digits eight at a time. Half of the bytes of a text trace are digits, and numbers
 * differ in length, so the exit of a loop over single digits would be mispredicted often. */
#ifndef TP_DIGITS_H
#define TP_DIGITS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Counts the digits at the beginning of eight bytes, and sets *value to their number, or 0.
 *
 *     "5103,{\"t"  --minus '0', non-digits marked-->  5 1 0 3 | . . . .      4 of them
 *                  --moved up: zeros in front-->      0 0 0 0   5 1 0 3      times 10, 100, 10,000
 */
static inline unsigned tp_digits_of_8(const char *at, uint64_t *value)
{
    static const uint64_t above_9 = UINT64_C(0x7676767676767676),
                          top = UINT64_C(0x8080808080808080);
    uint64_t v;
    memcpy(&v, at, sizeof v);
    v = le64toh(v) ^ UINT64_C(0x3030303030303030);
    uint64_t others = ((v + above_9) | v) & top;
    unsigned count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    v = count ? v << (64 - 8 * count) : 0;
    v = v * 10 + (v >> 8); /* every other byte now has the value of two digits */
    uint64_t pairs = UINT64_C(0x000000ff000000ff);
    *value = ((v & pairs) * ((UINT64_C(1000000) << 32) + 100) +
              ((v >> 16) & pairs) * ((UINT64_C(10000) << 32) + 1)) >>
             32;
    return count;
}

/* Reads up to 16 digits into *value, which is 0 if there are none. Returns where they end. */
static inline const char *tp_cut_digits(const char *at, const char *end, uint64_t *value)
{
    static const uint64_t tens[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const char *last = end - at > 16 ? at + 16 : end;
    uint64_t v = 0, more = 0;
    unsigned count = 8;
    while (count == 8 && last - at >= 8) {
        count = tp_digits_of_8(at, &more);
        v = v * tens[count] + more;
        at += count;
    }
    if (count == 8) /* fewer than eight bytes are left */
        for (unsigned digit; at < last && (digit = (unsigned)(unsigned char)*at - '0') <= 9; at++)
            v = v * 10 + digit;
    *value = v;
    return at;
}

/* Reads all digits into *value. Returns where they end; NULL: no digit, or more than 64 bits. */
static inline const char *tp_decimal(const char *from, const char *end, uint64_t *value)
{
    const char *at = tp_cut_digits(from, end, value);
    unsigned digit;
    for (; at < end && (digit = (unsigned)(unsigned char)*at - '0') <= 9; at++)
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, digit, value))
            return NULL;
    return at > from ? at : NULL;
}

#endif
