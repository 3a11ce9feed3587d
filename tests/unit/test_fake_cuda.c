/* The fake CUDA driver against its contract: what tests/fake_libcuda.h promises, each rule once,
 * and beside each violation the same program in order, which is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef TAPOOL_FAKE_CUDA_PATH
#include "tests/unit/fake_cuda_rig.h"

#include <pthread.h>
#include <unistd.h>

static void test_ranges(void **state)
{
    (void)state;
    CUdeviceptr a, b;
    size_t free_bytes, total;
    begin("memory=64MiB");
    ok(cu.cuMemAlloc(&a, 1000));
    ok(cu.cuMemAlloc(&b, 3 << 20));
    ok(cu.cuMemGetInfo(&free_bytes, &total));
    assert_int_equal(total, 64 << 20);
    assert_int_equal(free_bytes, (64 - 2 - 4) << 20);
    ok(cu.cuMemFree(a));
    ok(cu.cuMemFree(b));
    ok(cu.cuMemGetInfo(&free_bytes, &total));
    assert_int_equal(free_bytes, 64 << 20);
    end(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
    };
    open_driver();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void)
{
    print_message("skipped: built without the CUDA Toolkit\n");
    return 0;
}
#endif
