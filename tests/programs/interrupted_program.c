/* What tests of complete recordings run: signal handlers that interrupt malloc, and call it, or
 * leave it for good; children that are not followed, and end badly; children with threads. Each
 * task prints how many blocks of each size it was given: "made SIZE COUNT". Calls that never
 * returned are none. The malloc is raising_malloc.c. */
#include "tests/programs/raising_malloc.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTER = 101, INNER = 103, SPARE = 105, TIMES = 7000 };

static void fail(const char *what)
{
    perror(what);
    _exit(99);
}

static unsigned take(unsigned count, size_t size)
{
    unsigned made = 0;
    for (unsigned i = 0; i < count; i++) {
        void *volatile p = malloc(size);
        made += p != NULL;
        free(p);
    }
    return made;
}

static void handle(void (*handler)(int), int signal, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    if (sigaction(signal, &action, NULL))
        fail("sigaction");
}

/* ---- handlers that jump ---- */

static sigjmp_buf out;
static unsigned jumps;

static void jump(int signal)
{
    (void)signal;
    jumps++;
    siglongjmp(out, 1);
}

/* Its frame covers that of calls that were made from where it is called. */
static __attribute__((noinline)) unsigned take_deeper(unsigned count, size_t size)
{
    volatile char room[4096];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = (char)i;
    return take(count, size) + (room[1] != 1);
}

static unsigned jump_out(unsigned turns)
{
    volatile unsigned made = 0;
    raising = (struct raising){.size = OUTER, .every = 7};
    for (volatile unsigned i = 0; i < turns; i++)
        if (!sigsetjmp(out, 1))
            made += take(1, OUTER);
    raising.every = 0;
    return made;
}

/* HOW: "same" stack, "deeper" calls after the jump, or from an "alternate" stack. */
static int jumps_out(const char *how)
{
    static char stack[1 << 16];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    bool alt = !strcmp(how, "alternate");
    unsigned deeper = 0;
    if (alt && sigaltstack(&alternate, NULL))
        fail("sigaltstack");
    handle(jump, SIGUSR1, alt ? SA_ONSTACK : 0);
    unsigned made = jump_out(!strcmp(how, "deeper") ? 0 : TIMES);
    for (unsigned i = 0; !strcmp(how, "deeper") && i < 100; i++) {
        made += jump_out(7);
        deeper += take_deeper(100, INNER);
    }
    dprintf(1, "jumps %u\nmade %d %u\nmade %d %u\n", jumps, OUTER, made, INNER, deeper);
    return 0;
}

/* ---- handlers that allocate ---- */

static volatile unsigned handled;

static void allocate(int signal)
{
    (void)signal;
    handled = handled + take(1, INNER);
}

static void *kept;

/* Takes a block, and gives back that of the time before. */
static void keep(int signal)
{
    (void)signal;
    free(kept);
    kept = malloc(INNER);
    handled = handled + (kept != NULL);
}

static int handles(const char *how)
{
    raising = (struct raising){.size = OUTER, .every = 7, .late = !strcmp(how, "late")};
    handle(!strcmp(how, "keep") ? keep : allocate, SIGUSR1, 0);
    unsigned made = take(TIMES, OUTER);
    raising.every = 0;
    dprintf(1, "made %d %u\nmade %d %u\n", OUTER, made, INNER, handled);
    return 0;
}

/* At any moment, until enough of them have come. */
static int ticks(void)
{
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    unsigned made = 0;
    handle(allocate, SIGALRM, SA_RESTART);
    setitimer(ITIMER_REAL, &often, NULL);
    while (handled < 2000)
        made += take(100, OUTER);
    setitimer(ITIMER_REAL, &never, NULL);
    dprintf(1, "made %d %u\nmade %d %u\n", OUTER, made, INNER, handled);
    return 0;
}

/* ---- children ---- */

static void wait_for(pid_t pid)
{
    if (pid < 0 || waitpid(pid, NULL, 0) != pid)
        fail("fork");
}

/* A child that allocates, and then forbids itself to make calls, or to read the clock. */
static void confine_child(const char *how)
{
    pid_t pid = fork();
    if (pid == 0) {
        take(10, SPARE);
        if (!strcmp(how, "strict"))
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        else
            prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
        syscall(SYS_exit, 0L);
    }
    wait_for(pid);
}

static int confines_child(const char *how)
{
    unsigned made = take(1000, OUTER);
    confine_child(how);
    made += take(100000, OUTER);
    dprintf(1, "made %d %u\n", OUTER, made);
    return 0;
}

/* What comes after it in this process. */
static int becomes(char **command)
{
    take(1000, SPARE);
    confine_child("strict");
    execv(command[0], command);
    return 98;
}

static pthread_barrier_t all;

static void *work(void *made)
{
    pthread_barrier_wait(&all);
    *(unsigned *)made = take(200, INNER);
    return NULL;
}

static void *end_at_once(void *data)
{
    return data;
}

enum { WORKERS = 3 };

static void start_workers(pthread_t *threads, void *(*run)(void *), unsigned *made)
{
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, run, made ? &made[i] : NULL))
            fail("pthread_create");
}

static void join_workers(pthread_t *threads)
{
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

/* Its threads take stacks that the parent's have left, for which nothing is allocated: each of them
 * may be the first that allocates. */
static void be_child(void)
{
    pthread_t threads[WORKERS];
    unsigned made[WORKERS] = {0};
    start_workers(threads, work, made);
    pthread_barrier_wait(&all);
    for (int i = 0; i < 3; i++)
        sched_yield();
    unsigned own = take(200, INNER);
    join_workers(threads);
    dprintf(1, "child %d made %u\n", (int)getpid(), own + made[0] + made[1] + made[2]);
    _exit(0);
}

static int copies(unsigned children)
{
    pthread_t threads[WORKERS];
    unsigned made = take(1000, OUTER);
    pthread_barrier_init(&all, NULL, WORKERS + 1);
    start_workers(threads, end_at_once, NULL);
    join_workers(threads);
    for (unsigned i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid == 0)
            be_child();
        wait_for(pid);
        made += take(10, OUTER);
    }
    dprintf(1, "made %d %u\n", OUTER, made);
    return 0;
}

int main(int argc, char **argv)
{
    const char *task = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
    const struct {
        const char *name;
        int (*run)(const char *how);
    } tasks[] = {{"jumps", jumps_out}, {"handles", handles}, {"confines", confines_child}};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (!strcmp(task, tasks[i].name))
            return tasks[i].run(how);
    if (!strcmp(task, "ticks"))
        return ticks();
    if (!strcmp(task, "copies"))
        return copies((unsigned)strtoul(how, NULL, 10));
    return argc > 2 && !strcmp(task, "becomes") ? becomes(argv + 2) : 2;
}
