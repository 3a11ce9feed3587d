/* One event of a JSON trace. */
#ifndef TP_JSON_EVENT_H
#define TP_JSON_EVENT_H

#include "traces/event.h"
#include "traces/format.h"
#include "traces/formats/json/json_value.h"

/* Reads the event at the next byte, which tp_json_next has shown. Its texts are borrowed until the
 * input is read again. */
int tp_json_event_read(struct tp_json_scan *s, struct tp_event *ev, struct tp_err *err);

/* The same, and hands it on: to the lowering, and its place to the places. */
int tp_json_event_lower(struct tp_json_scan *s, const struct tp_reading *r, struct tp_err *err);

/* ---- what it is made of ---- */

/* In the order in which writers tend to give them. */
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
    TP_JSON_KEYS
};
#define TP_JSON_BIT(key) (1u << (key))

struct tp_json_key_row {
    struct tp_span_word word;
    char usual[24];             /* with what stands around it nearly always */
    size_t offset;              /* of the 64 bits in struct tp_event */
    struct tp_json_range range; /* max is 0 where the value is a text */
};
extern const struct tp_json_key_row tp_json_keys[TP_JSON_KEYS];

struct tp_json_op_row {
    struct tp_span_word word;
    enum tp_event_op op;
    unsigned needs; /* bits of keys */
};
enum { TP_JSON_OPS = 1 TP_RECORDED_OPS(TP_OP_ONE) }; /* and `initial` */
extern const struct tp_json_op_row tp_json_ops[TP_JSON_OPS];

/* Sets what follows from the op and from the keys that were there; they hold all that it needs. */
void tp_json_event_settle(struct tp_event *ev, const struct tp_json_op_row *op, unsigned seen);

#endif
