/* Quantities: the value for one that does not exist, and parsers for sizes, durations and integers.
 * numbers.h turns quantities into text. */
#ifndef TP_UNITS_H
#define TP_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define TP_NONE UINT64_MAX /* a count or byte value that does not exist; ratios use NAN */

/* Parses a size in bytes: an integer or decimal fraction and a unit in any case. K M G T and KiB
 * MiB GiB TiB are binary, KB MB GB TB decimal; B or no unit means bytes. Fractions of a byte, as in
 * 3.65GiB, are rounded down. False where the text is not a size, is negative, exceeds 64 bits or is
 * below one byte; "1.5" without a unit is not a size. */
bool tp_parse_size(const char *text, uint64_t *bytes);

/* Parses a duration with a unit: ns us ms s min h; "0" needs none. False where the text is not a
 * duration, is negative or exceeds 64 bits. */
bool tp_parse_duration(const char *text, uint64_t *ns);

/* Parses a decimal integer without sign or blanks. False where the text is anything else or exceeds
 * 64 bits. */
bool tp_parse_uint(const char *text, uint64_t *value);

#endif
