/* One event of a JSON trace. */
#ifndef TP_JSON_EVENT_H
#define TP_JSON_EVENT_H

#include "traces/event.h"
#include "traces/format.h"
#include "traces/input/json_scan.h"

/* Checks values of a JSON trace, and shows them in messages. */

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

/* Reads the event at the next byte, which tp_json_next has shown. Its texts are borrowed until the
 * input is read again. */
int tp_json_event_read(struct tp_json_scan *s, struct tp_event *ev, struct tp_err *err);

/* Reads an event like tp_json_event_read, lowers it, and adds its code place to r->places. */
int tp_json_event_lower(struct tp_json_scan *s, const struct tp_reading *r, struct tp_err *err);

/* ---- keys and ops ---- */

/* Keys of an event, in the order in which writers tend to give them. */
enum tp_json_key {
    TP_JSON_T,
    TP_JSON_OP,
    TP_JSON_ID,
    TP_JSON_SIZE,
    TP_JSON_ALIGN,
    TP_JSON_THREAD,
    TP_JSON_STREAM,
    TP_JSON_NAME,
    TP_JSON_FREE,
    TP_JSON_NUMBER,
    TP_JSON_PLACE,
    TP_JSON_AT,
    TP_JSON_BYTES,
    TP_JSON_BEHIND,
    TP_JSON_POOL,
    TP_JSON_POOL_2,
    TP_JSON_KEYS
};
#define TP_JSON_BIT(key) (1u << (key))

struct tp_json_key_row {
    struct tp_span_word word;
    char usual[24];             /* the key with the bytes that nearly always surround it */
    size_t offset;              /* offset in struct tp_event of the 64-bit member for the value */
    struct tp_json_range range; /* `max` is 0 if the value is a text */
};
extern const struct tp_json_key_row tp_json_keys[TP_JSON_KEYS];

struct tp_json_op_row {
    struct tp_span_word word;
    enum tp_event_op op;
    unsigned needs; /* TP_JSON_BIT of every key that the op requires */
};
enum { TP_JSON_OPS = 1 TP_RECORDED_OPS(TP_OP_ONE) }; /* the recorded ops and `initial` */
extern const struct tp_json_op_row tp_json_ops[TP_JSON_OPS];

/* Sets the op of the event and its has_ flags. `seen` has the bits of the keys that were present,
 * among them all that the op needs. */
void tp_json_event_settle(struct tp_event *ev, const struct tp_json_op_row *op, unsigned seen);

#endif
