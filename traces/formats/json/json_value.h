/* Values of a JSON trace: checked, and shown in messages. */
#ifndef TP_JSON_VALUE_H
#define TP_JSON_VALUE_H

#include "traces/input/json_scan.h"

/* Cuts the next value. TP_EINPUT: not JSON, with the place. */
int tp_json_read(struct tp_json_scan *s, size_t limit, struct tp_span *out, struct tp_err *err);

/* TP_EINPUT names a key that an object has twice. */
int tp_json_unique(const struct tp_json_scan *s, struct tp_span object, struct tp_err *err);

/* What an integer may be. JSON's own numbers are exact only up to 2^53 - 1: beyond, they must be
 * quoted. */
struct tp_json_range {
    bool may_be_negative;
    uint64_t max;         /* of the magnitude */
    const char *max_text; /* what messages call it: "2^48 bytes"; NULL: 64 bits */
};

/* Reads the member `name`, a whole number, bare or quoted: its 64 bits, two's complement. */
int tp_json_integer(const struct tp_json_scan *s, const char *name, struct tp_span value,
                    const struct tp_json_range *range, uint64_t *out, struct tp_err *err);

/* TP_EINPUT says that the member `name` is none. */
int tp_json_need_text(const struct tp_json_scan *s, const char *name, struct tp_span value,
                      struct tp_err *err);

/* Writes a value as messages show it, cleaned. */
#define TP_JSON_SHOWN 80
const char *tp_json_show(struct tp_span value, char out[TP_JSON_SHOWN]);

#endif
