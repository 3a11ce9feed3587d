/* Quantities: one that does not exist, and reading what people write. Writing is the business of
 * cmd/. */
#ifndef TP_UNITS_H
#define TP_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define TP_NONE UINT64_MAX /* a count or byte value that does not exist; ratios use NAN */

/* Bytes: an integer or decimal fraction and a unit, any case. K M G T and KiB MiB GiB TiB are
 * binary, KB MB GB TB decimal, B or nothing bytes. False where the text is no such thing, is
 * negative, does not fit 64 bits, or is under a byte. What is not a whole number of bytes, as
 * 3.65GiB, is rounded down; "1.5" without a unit is no size. */
bool tp_parse_size(const char *text, uint64_t *bytes);

/* A duration with its unit: ns us ms s min h; "0" needs none. False as above. */
bool tp_parse_duration(const char *text, uint64_t *ns);

/* A decimal integer without sign or blanks. False as above. */
bool tp_parse_uint(const char *text, uint64_t *value);

#endif
