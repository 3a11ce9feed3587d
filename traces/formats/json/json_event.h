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

/* Keys of an event, in the order in which writers tend to give them: constant, key, the 64-bit
 * member of struct tp_event for its number, range of the number. Without a range it is a text, or
 * the op. */
/* clang-format off */
#define TP_JSON_KEY_ROWS(X) \
    X(T,      "t",            time_ns,    .max = UINT64_MAX) \
    X(OP,     "op",           op,         .max = 0) \
    X(ID,     "id",           id,         .max = INT64_MAX, .may_be_negative = true) \
    X(SIZE,   "size",         size,       .max = TP_MAX_SIZE, .max_text = "2^48 bytes") \
    X(ALIGN,  "align",        align,      .max = UINT64_C(1) << TP_MAX_ALIGN_LOG2, .max_text = "2^30") \
    X(THREAD, "thread",       thread,     .max = UINT64_MAX) \
    X(STREAM, "stream",       stream,     .max = INT64_MAX, .may_be_negative = true) \
    X(NAME,   "name",         name,       .max = 0) \
    X(FREE,   "free",         free_bytes, .max = TP_MAX_SIZE, .max_text = "2^48 bytes") \
    X(NUMBER, "event_number", number,     .max = UINT64_C(1) << 53, .max_text = "2^53") \
    X(PLACE,  "place",        place,      .max = 0) \
    X(AT,     "at",           at,         .max = UINT64_MAX) \
    X(BYTES,  "bytes",        bytes,      .max = UINT64_MAX) \
    X(BEHIND, "behind",       behind,     .max = UINT64_MAX) \
    X(POOL,   "pool",         pool[0],    .max = TP_POOL_MOST, .max_text = "2^24 - 1") \
    X(POOL_2, "pool_2",       pool[1],    .max = TP_POOL_MOST, .max_text = "2^24 - 1")
/* clang-format on */
#define TP_JSON_KEY_NAME(key, ...) TP_JSON_##key,
enum tp_json_key { TP_JSON_KEY_ROWS(TP_JSON_KEY_NAME) TP_JSON_KEYS };
#define TP_JSON_BIT(key) (1u << (key))

struct tp_json_key_row {
    struct tp_span_word word;
    char usual[24];             /* the key with the bytes that nearly always surround it */
    size_t offset;              /* of that member in struct tp_event */
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
