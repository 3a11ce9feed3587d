/* Classes of the bytes of JSON: white space, digits, escapes. */
#ifndef TP_JSON_BYTES_H
#define TP_JSON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool tp_json_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline bool tp_json_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of the escape that begins with the backslash at[0]; a surrogate pair counts as one escape.
 * Sets *character, unless it is NULL, to the code point. 0: not an escape, or cut off by `end`. */
size_t tp_json_escape(const char *at, const char *end, uint32_t *character);

#endif
