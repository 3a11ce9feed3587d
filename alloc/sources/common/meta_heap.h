/* The memory behind tp_meta_get and tp_meta_put: counted, zeroed, and failed on purpose in tests.
 * Whoever makes an environment owns one heap per instance and points env->meta to it. */
#ifndef TP_META_HEAP_H
#define TP_META_HEAP_H

#include "alloc/source.h"
#include "alloc/strategy.h"

struct tp_meta_heap {
    bool own;                   /* all blocks come from alloc/base/own.h, none from calloc */
    struct tp_account *account; /* where metadata and its peaks are counted; may be NULL */
    uint64_t calls;             /* calls of tp_meta_get, failed ones included */
    /* the call, counted from 1, that gets NULL; 0: no call fails */
    uint64_t fail_at;
    uint64_t live_bytes, live_blocks; /* memory not put back yet; after fini these are leaks */
};

#endif
