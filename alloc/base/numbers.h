/* Numbers as text for people, so that a quantity looks the same in reports and in error sentences.
 */
#ifndef TP_NUMBERS_H
#define TP_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* A short text by value: tp_bytes(n, false).s lives until the end of the full expression. */
struct tp_text {
    char s[48];
};

struct tp_text tp_text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct tp_text tp_count(uint64_t n); /* "6,170" */
/* "1 piece", "6,170 pieces", "2 strategies", "3 processes". */
struct tp_text tp_plural(uint64_t n, const char *noun);
struct tp_text tp_bytes(uint64_t bytes, bool exact); /* "308.1 KiB": 4 digits; exact: "315,477 B" */
/* 4 significant digits: "4.871", "12.3", "16,500" */
struct tp_text tp_digits(double value);

/* ---- no text ---- */

uint64_t tp_common_divisor(uint64_t a, uint64_t b); /* the greatest; of 0 and b it is b */

#endif
