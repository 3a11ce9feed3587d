/* Following a child: which of its calls count, and what they map. */
#include "alloc/base/own.h"
#include "alloc/base/process_memory.h"
#include "cmd/jobs/follow.h"
#include "cmd/jobs/process.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, PAGE = 4096, REFUSED = 77, HEARD = 7 };

static struct tp_mapped *mapped; /* with the child */
static volatile sig_atomic_t heard;

static void hear(int number)
{
    heard = number == SIGUSR1;
}

static void *map(size_t bytes, int rights)
{
    return mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* What the child does while it is followed, and counted where `counting` is set. */
static void call(void)
{
    int statm;
    if (!tp_mapped_open(&statm, "/proc/self"))
        _exit(REFUSED);
    map(MIB, PROT_READ | PROT_WRITE); /* before the count */
    mapped->base = tp_mapped_read(statm);
    mapped->counting = true;
    char *a = map(MIB, PROT_READ | PROT_WRITE);          /* get */
    char *b = map(MIB, PROT_NONE);                       /* get, of nothing that can be written */
    mprotect(b, MIB, PROT_READ | PROT_WRITE);            /* now it can */
    madvise(a, MIB, MADV_DONTNEED);                      /* put */
    madvise(a, MIB, MADV_WILLNEED);                      /* neither */
    munmap(a, MIB);                                      /* put */
    b = mremap(b, MIB, 3 * (size_t)MIB, MREMAP_MAYMOVE); /* get */
    map((size_t)1 << 62, PROT_READ | PROT_WRITE);        /* refused */
    sbrk(0);                                             /* neither */
    sbrk(PAGE);                                          /* get */
    sbrk(-PAGE);                                         /* put */
    mremap(b, 3 * (size_t)MIB, PAGE, 0);                 /* put */
    signal(SIGUSR1, hear);
    raise(SIGUSR1);
    mapped->counting = false;
    map(8 * (size_t)MIB, PROT_READ | PROT_WRITE); /* after it */
    _exit(heard ? HEARD : 1);
}

static void *map_aside(void *unused)
{
    map(MIB, PROT_READ | PROT_WRITE);
    return unused;
}

/* Three threads map, one after the other. */
static void call_by_threads(void)
{
    static _Alignas(4096) char stack[3][256 << 10]; /* no mapping of the C library's */
    pthread_attr_t attr;
    pthread_t thread;
    int statm;
    if (!tp_mapped_open(&statm, "/proc/self"))
        _exit(REFUSED);
    mapped->base = tp_mapped_read(statm);
    mapped->counting = true;
    for (int i = 0; i < 3; i++) {
        pthread_attr_init(&attr);
        pthread_attr_setstack(&attr, stack[i], sizeof stack[i]);
        if (pthread_create(&thread, &attr, map_aside, NULL) || pthread_join(thread, NULL))
            _exit(1);
    }
    mapped->counting = false;
    _exit(HEARD);
}

static int follow(struct tp_follow *f, void (*what)(void))
{
    const struct tp_child_wait wait = {.stopped = tp_follow_stop, .ctx = f};
    int how = 0;
    pid_t pid = fork();
    if (!pid) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(REFUSED);
        raise(SIGSTOP);
        what();
    }
    tp_child_begun(pid);
    assert_int_equal(tp_child_await(pid, &wait, &how), TP_OK);
    tp_follow_end(f);
    assert_true(WIFEXITED(how));
    if (WEXITSTATUS(how) == REFUSED || mapped->why) {
        print_message("skipped: a child cannot be followed here\n");
        skip();
    }
    return WEXITSTATUS(how);
}

static int setup(void **state)
{
    (void)state;
    mapped = mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? -1 : 0;
}

static int release(void **state)
{
    (void)state;
    return munmap(mapped, sizeof *mapped);
}

TEST_WITH(calls_that_get_and_give_back_are_counted, setup, release)
{
    struct tp_follow f = TP_FOLLOW(mapped);
    assert_int_equal(follow(&f, call), HEARD); /* its signals reach it */
    assert_int_equal(f.counted.gets, 4);
    assert_int_equal(f.counted.puts, 4);
    assert_int_equal(f.counted.peak - f.counted.base, 3 * MIB + PAGE);
}

TEST_WITH(threads_are_followed_too, setup, release)
{
    struct tp_follow f = TP_FOLLOW(mapped);
    assert_int_equal(follow(&f, call_by_threads), HEARD);
    if (TP_SANITIZED) { /* it maps for each thread too */
        assert_in_range(f.counted.gets, 3, 100);
        return;
    }
    assert_int_equal(f.counted.gets, 3);
    assert_int_equal(f.counted.peak - f.counted.base, 3 * MIB);
}

TEST_WITH(a_child_that_is_interrupted_ends, setup, release)
{
    struct tp_follow f = TP_FOLLOW(mapped);
    const volatile sig_atomic_t stop = 1;
    const struct tp_child_wait wait = {.stopped = tp_follow_stop, .ctx = &f, .interrupted = &stop};
    int how = 0;
    pid_t pid = fork();
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        for (;;) /* it stops at each of these */
            getppid();
    }
    tp_child_begun(pid);
    assert_int_equal(tp_child_await(pid, &wait, &how), TP_ESTOP);
    tp_follow_end(&f);
}

TEST_WITH(addresses_are_as_they_were_before, setup, release)
{
    int before = personality(0xffffffff);
    bool fixed = tp_addresses_fixed(true);
    assert_int_equal(fixed, (before & ADDR_NO_RANDOMIZE) != 0);
    tp_addresses_fixed(fixed);
    assert_int_equal(personality(0xffffffff), before);
}
