/* What a test of cuda/ does that was built without the CUDA Toolkit. The test itself stands in each
 * file, because the runner finds tests by the name of their file. */
#ifndef TP_TEST_NO_TOOLKIT_H
#define TP_TEST_NO_TOOLKIT_H

#include "tests/unit/test.h"

static inline void skip_without_toolkit(void)
{
    print_message("skipped: built without the CUDA Toolkit\n");
    skip();
}

#endif
