/* How often a part, which is not empty, stands in a text. Not found by strstr, which measures the
 * whole text at each call under the address sanitizer. */
#ifndef TP_TEST_OCCURRENCES_H
#define TP_TEST_OCCURRENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline size_t occurrences(const char *text, const char *part)
{
    size_t n = 0, length = strlen(part);
    while (*text) {
        bool found = *text == *part && !strncmp(text, part, length);
        n += found;
        text += found ? length : 1;
    }
    return n;
}

#endif
