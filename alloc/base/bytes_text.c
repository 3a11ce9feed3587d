/* See bytes_text.h: the same rounding as in the reports, so that a figure looks the same in both.
 */
#include "alloc/base/bytes_text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *tp_bytes_text(uint64_t bytes, char out[TP_BYTES_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1023.5 && unit < sizeof units / sizeof *units - 1) {
        value /= 1024;
        unit++;
    }
    int decimals = unit == 0 || value >= 999.95 ? 0 : value >= 99.995 ? 1 : value >= 9.9995 ? 2 : 3;
    int n = snprintf(out, TP_BYTES_TEXT, "%.*f", decimals, value);
    while (decimals > 0 && out[n - 1] == '0') { /* zeros after the point say nothing */
        out[--n] = '\0';
        decimals--;
    }
    if (n > 0 && out[n - 1] == '.')
        out[--n] = '\0';
    snprintf(out + n, TP_BYTES_TEXT - (size_t)n, " %s", units[unit]);
    return out;
}
