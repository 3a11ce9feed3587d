/* What tests of `tapool record` run. Each task knows what it asks of malloc, and asks for odd sizes
 * only, or with an alignment, so that what the C library takes for itself is told apart. What it
 * knows it writes by the system, never by a stream, which would allocate. */
#include "cmd/preload/mark.h"
#include "traces/record/recording.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what)
{
    perror(what);
    _exit(99);
}

/* ---- knows THREADS: calls, sizes, alignments, and the peak ---- */

enum { BLOCKS = 60, MOST_THREADS = 1000 };

struct worker {
    pthread_t thread;
    int nth;
    unsigned reallocs, to_64, to_256, to_4096; /* how often, and with which alignments */
    size_t bytes, squares;                     /* of what it asked for, and of each of its sizes */
    void *blocks[BLOCKS];
};
static struct worker workers[MOST_THREADS + 1]; /* the last has no thread */
static pthread_barrier_t all_there, all_looked;

/* Block i of worker n: how it is got, and its size. */
static size_t size_of(int n, int i)
{
    return (size_t)(2 * (n % 50 * BLOCKS + i) + 1);
}

static void *get(struct worker *w, int i)
{
    size_t size = size_of(w->nth, i);
    void *p = NULL;
    w->bytes += size;
    w->squares += size * size + (i % 8 == 5 ? 9 : 0);
    w->to_64 += i % 8 == 1;
    w->to_256 += i % 8 == 3;
    w->to_4096 += i % 8 == 2 || i % 8 == 4;
    w->reallocs += i % 8 == 5;
    switch (i % 8) {
    case 0:
        return calloc(1, size);
    case 1:
        return aligned_alloc(64, size);
    case 2:
        return posix_memalign(&p, 4096, size) ? NULL : p;
    case 3:
        return memalign(256, size);
    case 4:
        return valloc(size);
    case 5:
        return realloc(malloc(3), size); /* grows, and so the peak is at the end */
    case 6:
        return reallocarray(NULL, 1, size);
    default:
        return malloc(size);
    }
}

/* Only more and more until all threads are there, then only less. The blocks of the neighbour are
 * freed: each is freed by another thread than the one that took it. */
static void *work(void *data)
{
    struct worker *w = data, *next = NULL;
    for (int i = 0; i < BLOCKS; i++)
        if (!(w->blocks[i] = get(w, i)))
            fail("malloc");
    int serial = pthread_barrier_wait(&all_there);
    if (serial == PTHREAD_BARRIER_SERIAL_THREAD)
        TAPOOL_MARK("all are there");
    pthread_barrier_wait(&all_looked);
    for (next = w + 1; !next->thread; next = workers)
        ;
    for (int i = 0; i < BLOCKS; i++)
        free(next->blocks[i]);
    return NULL;
}

/* As tests/cli/recorded_facts.py says it of the trace. */
static void tell(int threads)
{
    struct worker sum = {.nth = 0};
    for (int n = 0; n < threads; n++) {
        sum.bytes += workers[n].bytes;
        sum.squares += workers[n].squares;
        sum.reallocs += workers[n].reallocs;
        sum.to_64 += workers[n].to_64;
        sum.to_256 += workers[n].to_256;
        sum.to_4096 += workers[n].to_4096;
    }
    dprintf(1, "threads %d\nalloc %d\nrealloc %u\nfree %d\npeak %zu\nsquares %zu\n", threads,
            threads * BLOCKS, sum.reallocs, threads * BLOCKS, sum.bytes, sum.squares);
    dprintf(1, "align 64 %u\nalign 256 %u\nalign 4096 %u\n", sum.to_64, sum.to_256, sum.to_4096);
}

static int knows(int threads)
{
    pthread_attr_t attr;
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 16);
    pthread_barrier_init(&all_there, NULL, (unsigned)threads);
    pthread_barrier_init(&all_looked, NULL, (unsigned)threads + 1);
    for (int n = 0; n < threads; n++) {
        workers[n].nth = n;
        if (pthread_create(&workers[n].thread, &attr, work, &workers[n]) != 0)
            fail("pthread_create");
    }
    pthread_barrier_wait(&all_looked); /* every worker is known now */
    for (int n = 0; n < threads; n++)
        pthread_join(workers[n].thread, NULL);
    tell(threads);
    return 0;
}

/* ---- counts FILE N: FILE always has the number of allocations; killed at N of a thread, or by
 * another where N is 0 ---- */

static _Atomic uint64_t *counters;
static uint64_t last;

static void *count_on(void *data)
{
    _Atomic uint64_t *mine = data;
    for (;;) {
        uint64_t n = atomic_load(mine);
        free(malloc(2 * (n % 1000) + 1));
        atomic_store(mine, n + 1);
        if (n + 1 == last)
            kill(getpid(), SIGKILL);
    }
    return NULL;
}

static int counts(const char *path, const char *until)
{
    pthread_t other;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        fail(path);
    last = strtoull(until, NULL, 10);
    alarm(60); /* should nobody kill it */
    counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counters == MAP_FAILED)
        fail("mmap");
    pthread_create(&other, NULL, count_on, &counters[8]);
    count_on(&counters[0]);
    return 0;
}

/* ---- the others ---- */

static void take(int count, size_t size)
{
    for (int i = 0; i < count; i++) {
        void *volatile p = malloc(size);
        free(p);
    }
}

/* A child of vfork allocates in its parent's memory until it becomes another program; what it
 * leaves there is the parent's. posix_spawn does the same within the C library. */
static int vforks(void)
{
    static char *const arguments[] = {"true", NULL};
    static void *volatile left;
    pid_t child = 0;
    int how = 0;
    for (int i = 0; i < 20; i++) {
        child = vfork();
        if (!child) {
            left = malloc(101);
            execvp(arguments[0], arguments);
            _exit(98);
        }
        if (child < 0 || waitpid(child, &how, 0) != child || how)
            fail("vfork");
        free(left);
        if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) ||
            waitpid(child, &how, 0) != child || how)
            fail("posix_spawnp");
    }
    return 0;
}

/* Descriptors are closed, and what is opened then has their numbers; some are left, because without
 * one the recording ends. */
static int closes(void)
{
    long most = sysconf(_SC_OPEN_MAX) < 1024 ? sysconf(_SC_OPEN_MAX) : 1024;
    take(10, 101);
    for (int fd = 3; fd < most; fd++)
        close(fd);
    for (int fd = 3; fd < most - 24 && open("/dev/null", O_RDONLY) >= 0; fd++)
        ;
    take(40000, 101);
    return 0;
}

/* All descriptors are in use, those of the recorder too. */
static int exhausts(void)
{
    const struct rlimit few = {64, 64};
    take(10, 101);
    if (setrlimit(RLIMIT_NOFILE, &few))
        fail("setrlimit");
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    take(40000, 103);
    return 0;
}

/* All descriptors are closed; the first that is opened afterwards has the lowest number, and what
 * is written there is nobody else's. */
static int numbers(void)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    take(40000, 101);
    int fd = open("/dev/null", O_WRONLY);
    take(40000, 101);
    return fd == 0 && write(fd, "GARBAGE!", 8) == 8 ? 0 : 1;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

/* A thread that is cancelled where nothing is a cancellation point. */
static void *is_cancelled(void *data)
{
    pthread_mutex_lock(&held);
    pthread_cancel(pthread_self());
    take(100000, 101);
    pthread_mutex_unlock(&held);
    pthread_testcancel();
    return data;
}

static int cancels(void)
{
    pthread_t thread;
    void *end = NULL;
    pthread_create(&thread, NULL, is_cancelled, NULL);
    pthread_join(thread, &end);
    return end == PTHREAD_CANCELED && pthread_mutex_trylock(&held) == 0 ? 0 : 1;
}

/* A program of C finds no operator new, and what dlerror says outlives allocations. */
static int errs(void)
{
    if (dlsym(RTLD_DEFAULT, "_Znwm"))
        return 1;
    dlerror();
    if (dlopen("/nowhere.so", RTLD_NOW))
        return 1;
    take(10, 101);
    const char *said = dlerror();
    return said && strstr(said, "nowhere") ? 0 : 1;
}

static int forks(int count)
{
    take(10, 101);
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            take(100, 103);
            _exit(0);
        }
        int how = 0;
        if (pid < 0 || waitpid(pid, &how, 0) != pid || how)
            fail("fork");
    }
    take(10, 101);
    return 0;
}

/* Waits until the recording is in a state. */
static void await(uint32_t state)
{
    const char *path = getenv("TAPOOL_RECORDING");
    int fd = path ? open(path, O_RDONLY) : -1;
    if (fd < 0)
        fail("the recording");
    const struct tp_recording_head *head =
        mmap(NULL, TP_RECORDING_PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED)
        fail("mmap");
    while (atomic_load(&head->state) != state)
        usleep(1000);
    close(fd);
}

static int pauses(void)
{
    void *volatile before = malloc(101), *volatile kept = malloc(103);
    kill(getppid(), SIGUSR2);
    await(TP_REC_PAUSED);
    void *volatile unseen = malloc(105), *volatile grown = malloc(3001);
    unseen = realloc(unseen, 107); /* stays where it is, and moves */
    grown = realloc(grown, 300001);
    free(before);
    kept = realloc(kept, 107);
    kill(getppid(), SIGUSR2);
    await(TP_REC_ON);
    free(unseen);
    free(grown);
    void *volatile after = malloc(109);
    free(after);
    free(kept);
    return 0;
}

static int outlasts(void)
{
    take(10, 101);
    await(TP_REC_ENDED);
    take(10, 103);
    return 0;
}

static int orphans(void)
{
    take(10, 101);
    kill(getppid(), SIGKILL);
    return 0;
}

/* For a signal, which ends it. */
static int waits(void)
{
    take(10, 101);
    if (write(1, "ready\n", 6) != 6)
        fail("write");
    pause();
    return 99;
}

static volatile sig_atomic_t caught;

static void on_term(int signal)
{
    (void)signal;
    caught = caught + 1;
}

/* Says how often a signal came, if once it has. */
static int catches(void)
{
    const struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
    take(10, 101);
    if (write(1, "ready\n", 6) != 6)
        fail("write");
    while (!caught)
        usleep(1000);
    for (int i = 0; i < 300; i++)
        usleep(1000);
    dprintf(1, "caught %d\n", (int)caught);
    return 0;
}

/* Signals its whole group, tapool too, and then allocates. */
static int groups(int signal, int times)
{
    const struct sigaction action = {.sa_handler = on_term};
    sigaction(signal, &action, NULL);
    take(10, 101);
    for (int i = 0; i < times; i++)
        kill(0, signal);
    take(20000, 103);
    for (int i = 0; i < 50; i++) /* for tapool, to hear it */
        usleep(1000);
    take(20000, 103);
    dprintf(1, "caught %d\n", (int)caught);
    return 0;
}

/* Threads, one after another. */
static void *work_alone(void *data)
{
    take(10, 101);
    return data;
}

static int relays(int count)
{
    pthread_t thread;
    for (int i = 0; i < count; i++)
        if (pthread_create(&thread, NULL, work_alone, NULL) || pthread_join(thread, NULL))
            fail("a thread");
    return 0;
}

/* Blocks of 4 MiB of which the first quarter is written; half of them are live at exit. */
static int quarters(void)
{
    enum { COUNT = 8, BYTES = 4 << 20 };
    char *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        if (!(blocks[i] = malloc(BYTES)))
            fail("a block");
        memset(blocks[i], 1, BYTES / 4);
    }
    for (int i = 0; i < COUNT; i += 2)
        free(blocks[i]);
    return 0;
}

static int writes(void)
{
    char text[64];
    ssize_t n = read(0, text, sizeof text);
    take(1, 101);
    return n >= 0 && write(1, text, (size_t)n) == n && write(2, "to stderr\n", 10) == 10 ? 7 : 99;
}

/* ---- confines HOW ---- */

#define LET(n)                                                                                     \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Forbids itself nearly all calls of the system: another one kills it. */
static long confine(const char *how)
{
    static struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        LET(SYS_write),
        LET(SYS_exit_group),
        LET(SYS_clone),
        LET(SYS_wait4),
        LET(SYS_set_robust_list),
        LET(SYS_rseq),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    static const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
    if (!strcmp(how, "refused"))
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) + 1;
    if (!strcmp(how, "clock"))
        return prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    if (!strcmp(how, "call"))
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (!strcmp(how, "strict"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int confines(const char *how)
{
    if (strcmp(how, "first"))
        take(10, 101);
    if (confine(how))
        fail(how);
    take(10, 103);
    if (!strcmp(how, "forks")) {
        pid_t pid = fork();
        if (pid == 0)
            take(10, 103);
        else if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            fail("fork");
        _exit(0);
    }
    take(40000, 105);
    void *volatile p = malloc(107);
    p = realloc(p, 109);
    free(p);
    if (write(1, "done\n", 5) != 5)
        _exit(98);
    syscall(strcmp(how, "strict") ? SYS_exit_group : SYS_exit, 0L);
    return 99;
}

/* ---- children ---- */

/* Two children that both are process 1, of two namespaces. */
static int spaces(void)
{
    take(10, 101);
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork(), inner = 0;
        if (pid == 0) {
            if (unshare(CLONE_NEWPID) || (inner = fork()) < 0)
                _exit(77);
            if (inner == 0)
                take(100, 103 + 2 * (size_t)i);
            else
                waitpid(inner, NULL, 0);
            _exit(0);
        }
        int how = 0;
        if (pid < 0 || waitpid(pid, &how, 0) != pid || how)
            return WEXITSTATUS(how);
    }
    return 0;
}

/* Its child may write no file beside the trace. */
static int drops(void)
{
    take(10, 101);
    if (setgid(65534) || setuid(65534))
        return 77;
    return forks(1);
}

/* A copy of it runs on until the trace is made. */
static int daemons(void)
{
    const char *recording = getenv("TAPOOL_RECORDING");
    take(10, 101);
    if (daemon(1, 1))
        fail("daemon");
    take(10, 103);
    for (int i = 0; i < 10000 && recording && access(recording, F_OK) == 0; i++)
        usleep(1000);
    return 0;
}

static int plugs(const char *path)
{
    void *library = dlopen(path, RTLD_NOW), *function = library ? dlsym(library, "runs") : NULL;
    int (*run)(void) = NULL;
    memcpy(&run, &function, sizeof run);
    return run ? run() : 99;
}

/* Allocates nothing itself. */
static int starts(char **command)
{
    int how = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execv(command[0], command);
        _exit(99);
    }
    return waitpid(pid, &how, 0) == pid && WIFEXITED(how) ? WEXITSTATUS(how) : 99;
}

int main(int argc, char **argv)
{
    const char *task = argc > 1 ? argv[1] : "";
    const struct {
        const char *name;
        int (*run)(void);
    } tasks[] = {
        {"closes", closes},   {"pauses", pauses},   {"outlasts", outlasts}, {"writes", writes},
        {"orphans", orphans}, {"waits", waits},     {"errs", errs},         {"spaces", spaces},
        {"drops", drops},     {"daemons", daemons}, {"exhausts", exhausts}, {"catches", catches},
        {"cancels", cancels}, {"numbers", numbers}, {"vforks", vforks},     {"quarters", quarters}};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (!strcmp(task, tasks[i].name))
            return tasks[i].run();
    if (argc > 2 && !strcmp(task, "knows"))
        return knows((int)strtol(argv[2], NULL, 10));
    if (argc > 2 && !strcmp(task, "forks"))
        return forks((int)strtol(argv[2], NULL, 10));
    if (argc > 2 && !strcmp(task, "relays"))
        return relays((int)strtol(argv[2], NULL, 10));
    if (argc > 3 && !strcmp(task, "groups"))
        return groups((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
    if (argc > 3 && !strcmp(task, "counts"))
        return counts(argv[2], argv[3]);
    if (argc > 2 && !strcmp(task, "confines"))
        return confines(argv[2]);
    if (argc > 2 && !strcmp(task, "nothing"))
        return (int)strtol(argv[2], NULL, 10);
    if (argc > 2 && !strcmp(task, "plugs"))
        return plugs(argv[2]);
    if (argc > 2 && !strcmp(task, "starts"))
        return starts(argv + 2);
    if (argc > 2 && !strcmp(task, "takes"))
        take((int)strtol(argv[2], NULL, 10), 101);
    if (argc > 2 && !strcmp(task, "dies"))
        raise((int)strtol(argv[2], NULL, 10));
    return argc > 2 ? 0 : 2;
}
