/* What the tests of the resident pass share: the strategy `direct`, which holds exactly the pages
 * of its blocks, how far a figure may lie off, and a run where the kernel says what was written. */
#ifndef TP_TEST_RESIDENT_RIG_H
#define TP_TEST_RESIDENT_RIG_H

#include "alloc/base/own.h"
#include "alloc/base/process_memory.h"
#include "tests/unit/one_run.h"

extern const struct tp_source_ops tp_source_host;
extern const struct tp_strategy tp_strategy_direct;

/* A sanitizer writes its shadow too. */
enum { MIB = 1 << 20, FEW = (TP_SANITIZED ? 256 : 16) * 4096 };

static inline int setup(void **state)
{
    struct tp_written written;
    (void)state;
    if (!tp_written_open(&written, "/proc/self") || tp_written_read(&written) == TP_NONE) {
        print_message("skipped: this kernel does not say what was written\n");
        skip();
    }
    tp_written_close(&written);
    return new_run();
}

#endif
