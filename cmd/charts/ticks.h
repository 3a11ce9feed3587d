/* Where the marks of an axis lie, and what is written beside them: round values from 0 on, all in
 * one unit. */
#ifndef TP_TICKS_H
#define TP_TICKS_H

#include "alloc/base/numbers.h"

enum { TP_TICKS_MAX = 12 };

struct tp_ticks {
    uint32_t count; /* 1 or more; the first is 0 */
    uint64_t at[TP_TICKS_MAX];
    struct tp_text text[TP_TICKS_MAX];
};

/* The marks of an axis from 0 to `top`: steps of a power of two bytes, four to eight of them where
 * `top` is 4 bytes or more. "0.5 GiB". */
void tp_ticks_bytes(uint64_t top, struct tp_ticks *out);

/* Likewise of an axis of time, in ns: "20 ms". */
void tp_ticks_time(uint64_t top, struct tp_ticks *out);

/* Likewise of an axis of events: "2,000". */
void tp_ticks_count(uint64_t top, struct tp_ticks *out);

#endif
