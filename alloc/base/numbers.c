/* See numbers.h. */
#include "alloc/base/numbers.h"

#include "alloc/base/str.h"

#include <math.h>
#include <string.h>

struct tp_text tp_count(uint64_t n)
{
    struct tp_text t;
    char reversed[sizeof t.s], *to = t.s;
    size_t length = 0;
    for (unsigned digits = 0; digits == 0 || n > 0; digits++, n /= 10) {
        if (digits > 0 && digits % 3 == 0)
            reversed[length++] = ',';
        reversed[length++] = (char)('0' + n % 10);
    }
    while (length > 0)
        *to++ = reversed[--length];
    *to = '\0';
    return t;
}

struct tp_text tp_text_of(const char *format, ...)
{
    struct tp_text t;
    struct tp_str s = TP_STR_IN(t.s);
    va_list args;
    va_start(args, format);
    tp_str_vadd(&s, format, args);
    va_end(args);
    return t;
}

struct tp_text tp_plural(uint64_t n, const char *noun)
{
    size_t length = strlen(noun);
    bool y = n != 1 && length > 1 && noun[length - 1] == 'y' && !strchr("aeiou", noun[length - 2]);
    const char *ending = "s";
    if (n == 1)
        ending = "";
    else if (y)
        ending = "ies";
    else if (noun[length - 1] == 's')
        ending = "es";
    return tp_text_of("%s %.*s%s", tp_count(n).s, (int)(y ? length - 1 : length), noun, ending);
}

struct tp_text tp_digits(double value)
{
    if (!isfinite(value))
        return tp_text_of("-");
    if (fabs(value) >= 999.95)
        return tp_text_of("%s%s", value < 0 ? "-" : "", tp_count((uint64_t)llround(fabs(value))).s);
    int decimals = 3;
    if (fabs(value) >= 99.995)
        decimals = 1;
    else if (fabs(value) >= 9.9995)
        decimals = 2;
    struct tp_text t = tp_text_of("%.*f", decimals, value);
    char *end = t.s + strlen(t.s) - 1; /* drops zeros at the end of the fraction */
    while (*end == '0')
        *end-- = '\0';
    if (*end == '.')
        *end = '\0';
    return t;
}

struct tp_text tp_bytes(uint64_t bytes, bool exact)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (!exact && value >= 1023.5 && unit < sizeof units / sizeof *units - 1) {
        value /= 1024;
        unit++;
    }
    return tp_text_of("%s %s", unit ? tp_digits(value).s : tp_count(bytes).s, units[unit]);
}

uint64_t tp_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
