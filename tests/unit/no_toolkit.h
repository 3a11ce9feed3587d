/* The whole of a test of cuda/ that was built without the CUDA Toolkit. */
#ifndef TP_TEST_NO_TOOLKIT_H
#define TP_TEST_NO_TOOLKIT_H

#include "tests/unit/test.h"

TEST(built_without_the_cuda_toolkit)
{
    print_message("skipped: built without the CUDA Toolkit\n");
    skip();
}

#endif
