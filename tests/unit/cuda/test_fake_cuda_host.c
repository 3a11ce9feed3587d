/* The fake CUDA driver and the process that calls it: how the host waits, and what a fork may do.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef TAPOOL_FAKE_CUDA_PATH
#include "tests/unit/fake_cuda_rig.h"

#include <sys/wait.h>
#include <unistd.h>

TEST(test_a_full_queue_waits)
{
    begin("step=0;queue=4");
    CUstream s = other_stream(), other = other_stream();
    CUdeviceptr a = range(16 * 1024);
    for (int i = 0; i < 10; i++) {
        fill(a + (CUdeviceptr)i * 1024, 1024, s);
        assert_int_equal(books().works_pending, i < 4 ? i + 1 : 4);
    }
    fill(a + 12 * 1024, 1024, other); /* each stream has its own */
    assert_int_equal(books().works_pending, 5);
    fill(a, 1024, other); /* that it waited has not told the host what is complete */
    violated(1, "races");
    end(1);
}

TEST(test_who_asks_on_has_waited)
{
    int asked = 0;
    begin("step=0");
    CUstream s = other_stream();
    CUdeviceptr a = range(4096);
    fill(a, 4096, s);
    while (cu.cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
        asked++;
    assert_int_equal(asked, 9999);
    end(0);
}

TEST(test_real_time)
{
    begin("clock=real");
    CUstream s = other_stream();
    CUdeviceptr a = range(64u << 20);
    fill(a, 64u << 20, s); /* 65 us */
    ok(cu.cuStreamSynchronize(s));
    assert_int_equal(books().works_pending, 0);
    fill(a, 64u << 20, s);
    while (cu.cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
        ;
    ok(cu.cuMemFree(a));
    ok(cu.cuStreamDestroy(s));
    end(0);
}

/* A child that calls the driver after its parent did, and what each call answered there. */
TEST(test_a_fork_cannot_use_it)
{
    begin(NULL);
    CUdeviceptr b = 0;
    range(4096);
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(cu.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                      cu.cuMemAlloc(&b, 4096) == CUDA_ERROR_NOT_INITIALIZED &&
                      books().violations == 0 && books().contexts == 0
                  ? 0
                  : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    end(0);
}

GROUP(open_driver, NULL)

#else
#include "tests/unit/no_toolkit.h"

TEST(built_without_the_cuda_toolkit)
{
    skip_without_toolkit();
}
#include "tests/unit/test.h"
#endif
