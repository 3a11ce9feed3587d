/* Values of a JSON trace: what was cut, read by cJSON and checked. */
#ifndef TP_JSON_VALUE_H
#define TP_JSON_VALUE_H

#include "traces/input/json_scan.h"

struct cJSON;

/* Reads the value last cut. TP_EINPUT: not JSON, with the place. The caller deletes the tree. */
int tp_json_parse(const struct tp_json_scan *s, struct cJSON **out, struct tp_err *err);

/* TP_EINPUT names a key that an object has twice. */
int tp_json_unique(const struct tp_json_scan *s, const struct cJSON *object, struct tp_err *err);

/* What an integer may be. JSON's own numbers are exact only up to 2^53 - 1: beyond, they must be
 * quoted. */
struct tp_json_range {
    bool may_be_negative;
    uint64_t max;         /* of the magnitude */
    const char *max_text; /* what messages call it: "2^48 bytes"; NULL: 64 bits */
};

/* Reads a member that is a whole number, bare or quoted: its 64 bits, two's complement. */
int tp_json_integer(const struct tp_json_scan *s, const struct cJSON *item,
                    const struct tp_json_range *range, uint64_t *out, struct tp_err *err);

/* Writes a value as messages show it: cleaned and cut to `size` bytes. */
void tp_json_show(const struct cJSON *item, char *out, size_t size);

#endif
