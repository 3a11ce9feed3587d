/* Checks values of a JSON trace, and shows them in messages. */
#ifndef TP_JSON_VALUE_H
#define TP_JSON_VALUE_H

#include "traces/input/json_scan.h"

/* Cuts the next value, of at most `limit` bytes. TP_EINPUT: not JSON; the message has the place. */
int tp_json_read(struct tp_json_scan *s, size_t limit, struct tp_span *out, struct tp_err *err);

/* TP_EINPUT if an object has a key twice; the message names the key. */
int tp_json_unique(const struct tp_json_scan *s, struct tp_span object, struct tp_err *err);

/* The range of an integer. Bare JSON numbers are exact only up to 2^53 - 1; larger ones must be
 * quoted. */
struct tp_json_range {
    bool may_be_negative;
    uint64_t max;         /* largest magnitude */
    const char *max_text; /* `max` in messages: "2^48 bytes"; NULL: 64 bits */
};

/* Reads the value of the member `name`, a whole number, bare or quoted. *out receives its 64 bits
 * in two's complement. */
int tp_json_integer(const struct tp_json_scan *s, const char *name, struct tp_span value,
                    const struct tp_json_range *range, uint64_t *out, struct tp_err *err);

/* TP_EINPUT if the value of the member `name` is not a string. */
int tp_json_need_text(const struct tp_json_scan *s, const char *name, struct tp_span value,
                      struct tp_err *err);

/* Writes a value into `out` as messages quote it, cleaned and cut. Returns `out`. */
#define TP_JSON_SHOWN 80
const char *tp_json_show(struct tp_span value, char out[TP_JSON_SHOWN]);

#endif
