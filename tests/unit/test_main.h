/* What a file of tests begins and ends with: cmocka, behind the headers that it wants before its
 * own, and a main that runs what is given. */
#ifndef TP_TEST_MAIN_H
#define TP_TEST_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TESTS(...)                                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#endif
