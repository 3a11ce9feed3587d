/* Bytes of JSON: what is white space, a digit, an escape. */
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

/* Length of the escape whose backslash is at[0], both halves of a pair together; *character becomes
 * what it stands for, unless that is NULL. 0: none, or not within the text. */
size_t tp_json_escape(const char *at, const char *end, uint32_t *character);

#endif
