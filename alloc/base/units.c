/* Parses quantities exactly: digits are collected as an integer and a power of ten, because a
 * double cannot hold values such as 0.1GB. A fraction of a byte, as in 3.65GiB, is rounded down.
 * Known weakness: numbers with more digits than fit 64 bits are refused, even where the product
 * would fit. */
#include "alloc/base/units.h"

#include <stddef.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t factor;
};

#define KIB UINT64_C(1024)
#define KB  UINT64_C(1000)

static const struct unit size_units[] = {
    {"", 1},
    {"b", 1},
    {"k", KIB},
    {"m", KIB *KIB},
    {"g", KIB *KIB *KIB},
    {"t", KIB *KIB *KIB *KIB},
    {"kib", KIB},
    {"mib", KIB *KIB},
    {"gib", KIB *KIB *KIB},
    {"tib", KIB *KIB *KIB *KIB},
    {"kb", KB},
    {"mb", KB *KB},
    {"gb", KB *KB *KB},
    {"tb", KB *KB *KB *KB},
    {NULL, 0},
};

static const struct unit time_units[] = {
    {"ns", 1},
    {"us", KB},
    {"ms", KB *KB},
    {"s", KB *KB *KB},
    {"min", 60 * KB *KB *KB},
    {"h", 3600 * KB *KB *KB},
    {NULL, 0},
};

/* A decimal number: value / 10^places. */
struct decimal {
    uint64_t value;
    unsigned places;
};

static bool add_digit(uint64_t *value, char digit)
{
    return !__builtin_mul_overflow(*value, 10, value) &&
           !__builtin_add_overflow(*value, (uint64_t)(digit - '0'), value);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads "12", "1.5" or ".5" and moves *text behind it. Zeros at the end of a fraction are
 * ignored. */
static bool read_decimal(const char **text, struct decimal *out)
{
    const char *at = *text;
    *out = (struct decimal){0, 0};
    bool any = is_digit(*at);
    for (; is_digit(*at); at++)
        if (!add_digit(&out->value, *at))
            return false;
    if (*at == '.') {
        const char *end = ++at;
        while (is_digit(*end))
            end++;
        if (end == at)
            return false;
        any = true;
        const char *last = end;
        while (last > at && last[-1] == '0')
            last--;
        for (; at < last; at++, out->places++)
            if (!add_digit(&out->value, *at))
                return false;
        at = end;
    }
    *text = at;
    return any;
}

/* Computes decimal * factor, rounded down. False on overflow, where a value above 0 would become 0,
 * and for a fraction of a unit with factor 1. */
static bool scale(struct decimal d, uint64_t factor, uint64_t *out)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)d.value * factor;
    if (d.places > 0 && factor == 1)
        return false;
    for (unsigned i = 0; i < d.places; i++)
        product /= 10;
    *out = (uint64_t)product;
    return product <= UINT64_MAX && (product > 0 || d.value == 0);
}

static bool parse(const char *text, const struct unit *units, uint64_t *out)
{
    struct decimal number;
    uint64_t value = 0;
    if (!read_decimal(&text, &number))
        return false;
    while (*text == ' ')
        text++;
    for (; units->name; units++)
        if (strcasecmp(text, units->name) == 0) {
            if (!scale(number, units->factor, &value))
                return false;
            *out = value;
            return true;
        }
    return false;
}

bool tp_parse_size(const char *text, uint64_t *bytes)
{
    return parse(text, size_units, bytes);
}

bool tp_parse_duration(const char *text, uint64_t *ns)
{
    if (text[0] == '0' && text[1] == '\0') {
        *ns = 0;
        return true;
    }
    return parse(text, time_units, ns);
}

bool tp_parse_uint(const char *text, uint64_t *value)
{
    uint64_t sum = 0;
    if (!*text)
        return false;
    for (; *text; text++)
        if (!is_digit(*text) || !add_digit(&sum, *text))
            return false;
    *value = sum;
    return true;
}
