/* The whole of a test of cuda/ that was built without the CUDA Toolkit. */
#ifndef TP_TEST_NO_TOOLKIT_MAIN_H
#define TP_TEST_NO_TOOLKIT_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int main(void)
{
    print_message("skipped: built without the CUDA Toolkit\n");
    return 0;
}

#endif
