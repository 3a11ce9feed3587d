/* The memory behind tp_meta_get and tp_meta_put: counted, zeroed, and failed on purpose in tests.
 * Whoever makes an environment owns one heap per instance and points env->meta to it. */
#ifndef TP_META_H
#define TP_META_H

#include "alloc/strategy.h"

struct tp_meta_heap {
    struct tp_account *account;       /* metadata and its peaks; may be NULL */
    uint64_t calls;                   /* of tp_meta_get, failed ones included */
    uint64_t fail_at;                 /* this call, counted from 1, gets NULL; 0 = none */
    uint64_t live_bytes, live_blocks; /* not put back yet: leaks, once fini has run */
};

#endif
