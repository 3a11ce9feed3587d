/* See session.h. */
#include "cmd/record/session.h"

#include "alloc/base/clock.h"
#include "alloc/base/numbers.h"
#include "cmd/jobs/process.h"
#include "cmd/ui/stop.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- witness ---- */

/* Tells a signal to tapool from one to its process group. The group's program has that one already,
 * and would get it twice if tapool passed it on; the kernel does not say which of the two a signal
 * is. So a process of the group does nothing but take the same signals, and tell of them. */

/* What the witness tells. */
struct tp_witness_told {
    int signal;
    pid_t from;
    uint64_t at; /* wall time, ns */
};

struct tp_witness {
    pid_t pid; /* 0: there is none, and every signal of a process is taken for tapool's own */
    int told;  /* end of a pipe */
    struct tp_witness_told last; /* that was selected */
};

#define WAIT_MS     20
#define MOST_MS     2000 /* on a machine that has no time for the witness */
#define TOGETHER_NS UINT64_C(100000000)
#define NS_PER_S    UINT64_C(1000000000)

static _Noreturn void be_witness(int to, const sigset_t *signals, pid_t parent)
{
    siginfo_t info;
    bool good = prctl(PR_SET_PDEATHSIG, (long)SIGKILL) == 0;
    while (good && getppid() == parent) {
        if (sigwaitinfo(signals, &info) <= 0 || info.si_signo == SIGCHLD)
            continue;
        const struct tp_witness_told word = {info.si_signo, info.si_pid, tp_wall_ns()};
        good = write(to, &word, sizeof word) == (ssize_t)sizeof word;
    }
    _exit(0);
}

/* Starts it. The signals are blocked in this process. */
static void witness_start(struct tp_witness *w, const sigset_t *signals)
{
    int ends[2];
    pid_t parent = getpid();
    *w = (struct tp_witness){.told = -1};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        be_witness(ends[1], signals, parent);
    close(ends[1]);
    if (pid > 0)
        *w = (struct tp_witness){.pid = pid, .told = ends[0]};
    else
        close(ends[0]);
}

/* One that sleeps has taken, and told, all that it got. */
static bool is_asleep(pid_t pid)
{
    char path[32], text[256] = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    const char *behind = got > 0 ? strrchr(text, ')') : NULL;
    return !behind || behind[1] != ' ' || behind[2] == 'S';
}

static bool is_same(const struct tp_witness_told *word, const siginfo_t *info)
{
    return word->signal == info->si_signo && word->from == info->si_pid;
}

/* Whether it got the signal, too. Waits a moment for its word. */
static bool witness_saw(struct tp_witness *w, const siginfo_t *info)
{
    struct pollfd pipe = {.fd = w->told, .events = POLLIN};
    struct tp_witness_told word;
    uint64_t now = tp_wall_ns();
    if (!w->pid)
        return info->si_code == SI_KERNEL; /* the terminal asks the whole group */
    for (int waited = 0; waited < MOST_MS; waited += WAIT_MS) {
        while (poll(&pipe, 1, WAIT_MS) > 0) {
            if (read(w->told, &word, sizeof word) != (ssize_t)sizeof word)
                return false; /* it was ended */
            if (is_same(&word, info) && word.at + NS_PER_S > now) {
                w->last = word;
                return true;
            }
        }
        if (is_asleep(w->pid))
            break;
    }
    /* Two at one time are one to a process that has not taken the first yet. */
    return is_same(&w->last, info) && w->last.at + TOGETHER_NS > now;
}

/* Ends it. It does so by itself when this process ends. */
static void witness_stop(struct tp_witness *w)
{
    if (!w->pid)
        return;
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(w->told);
    *w = (struct tp_witness){.told = -1};
}

#define NS_PER_S UINT64_C(1000000000)
#define TICK_NS  8.0 /* times are kept in ticks of at least this */

#define RECORDER_NAME  "libtapool_record.so"
#define INJECTION_NAME "libtapool_record_cuda.so"
#define INJECTION      "CUDA_INJECTION64_PATH" /* a library that CUDA loads when it begins */
/* The one that takes call stacks is a library of its own: the other has nothing of it. */
#define STACKS_NAME "libtapool_record_stacks.so"

/* ---- the file ---- */

/* Whether the processor has the instruction that the recorder reads the counter with, and the
 * counter goes on alike whatever the processor's speed. */
static bool counter_is_there(void)
{
#if defined(__x86_64__)
    enum { RDTSCP = 1 << 27, INVARIANT = 1 << 8 };
    unsigned a, b, c, features = 0, power = 0;
    return __get_cpuid(0x80000001, &a, &b, &c, &features) && (features & RDTSCP) &&
           __get_cpuid(0x80000007, &a, &b, &c, &power) && (power & INVARIANT);
#else
    return true;
#endif
}

/* It counts alike on all cores where the kernel itself uses it. */
static bool counter_is_good(void)
{
    char name[16] = {0};
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!f)
        return false;
    bool read = fscanf(f, "%15s", name) == 1;
    fclose(f);
    return read && counter_is_there() &&
           (!strcmp(name, "tsc") || !strcmp(name, "arch_sys_counter"));
}

static int fill_head(const struct tp_record_cfg *cfg, struct tp_recording_head *h,
                     struct tp_err *err)
{
    struct tp_clock clock = {.ns_per_tick = 1};
    bool counter = counter_is_good();
    int status = counter ? tp_clock_calibrate(&clock, err) : TP_OK;
    if (status)
        return status;
    if (getrandom(&h->session, sizeof h->session, 0) != (ssize_t)sizeof h->session)
        return tp_fail(err, TP_EIO, "no random numbers from the system: %s", strerror(errno));
    memcpy(h->magic, TP_RECORDING_MAGIC, sizeof h->magic);
    h->version = TP_RECORDING_VERSION;
    h->clock = counter ? TP_REC_COUNTER : TP_REC_MONOTONIC;
    h->ns_per_tick = clock.ns_per_tick;
    while (clock.ns_per_tick * (double)(UINT64_C(1) << h->shift) < TICK_NS)
        h->shift++;
    h->follow = (uint32_t)cfg->follow;
    h->max_bytes = cfg->max_bytes;
    h->max_events = cfg->max_events;
    h->after = cfg->after;
    h->no_command = cfg->no_command;
    h->memory = cfg->cuda ? TP_REC_OF_DEVICE : TP_REC_OF_HOST;
    h->stacks = cfg->stacks;
    h->stack_every = cfg->stack_every;
    h->stack_size = cfg->stack_size;
    atomic_store(&h->state, (uint32_t)(cfg->after ? TP_REC_WAITING : TP_REC_ON));
    atomic_store(&h->bytes, (uint64_t)TP_RECORDING_PAGE);
    return TP_OK;
}

/* The recorder finds the file wherever the program has gone: paths are absolute. */
static int set_paths(const char *output, struct tp_record_session *s, char absolute[PATH_MAX],
                     struct tp_err *err)
{
    char folder[PATH_MAX] = {0};
    bool relative = output[0] != '/';
    if (relative && !getcwd(folder, sizeof folder))
        return tp_fail(err, TP_EIO, "the current folder: %s", strerror(errno));
    int length = snprintf(absolute, PATH_MAX, "%s%s%s", folder, relative ? "/" : "", output);
    int full = snprintf(s->path, sizeof s->path, "%s" TP_RECORDING_SUFFIX, absolute);
    if (length >= TP_RECORDING_PATH || full >= PATH_MAX)
        return tp_fail(err, TP_EIO, "the path of the trace is longer than %s bytes",
                       tp_count(TP_RECORDING_PATH - 1).s);
    return TP_OK;
}

/* Makes the file with its first page, mapped. errno says why not. */
static bool make_first_page(int fd, struct tp_record_session *s)
{
    errno = posix_fallocate(fd, 0, TP_RECORDING_PAGE);
    if (errno)
        return false;
    void *p = mmap(NULL, TP_RECORDING_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    s->head = p == MAP_FAILED ? NULL : p;
    return s->head != NULL;
}

int tp_record_open(const struct tp_record_cfg *cfg, struct tp_record_session *s, struct tp_err *err)
{
    char absolute[PATH_MAX];
    *s = (struct tp_record_session){.how = 0};
    int status = set_paths(cfg->output, s, absolute, err);
    if (status)
        return status;
    int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return tp_hint(
            err, tp_fail(err, TP_EUSAGE, "'%s' exists", s->path),
            "left by a killed record? tapool convert --recover makes it a trace; else remove "
            "it");
    if (fd < 0)
        return tp_fail(err, TP_EIO, "%s: %s", s->path, strerror(errno));
    status = make_first_page(fd, s) ? fill_head(cfg, s->head, err)
                                    : tp_fail(err, TP_EIO, "%s: %s", s->path, strerror(errno));
    close(fd);
    if (!status)
        memcpy(s->head->path, absolute, strlen(absolute) + 1);
    else
        unlink(s->path);
    return status;
}

void tp_record_close(struct tp_record_session *s)
{
    if (s->head)
        munmap(s->head, TP_RECORDING_PAGE);
    s->head = NULL;
}

/* Goes on with a copy of the head: who still has the file mapped is then another. */
static void let_go(struct tp_record_session *s)
{
    void *p =
        mmap(NULL, TP_RECORDING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return;
    memcpy(p, s->head, TP_RECORDING_PAGE);
    tp_record_close(s);
    s->head = p;
}

/* ---- the program ---- */

static bool find_library(const char *name, char out[PATH_MAX])
{
    static const char *const places[] = {"", TAPOOL_RECORDER_FROM_BIN};
    char own[PATH_MAX];
    if (!tp_child_own_file(own, sizeof own))
        return false;
    *(strrchr(own, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if ((size_t)snprintf(out, PATH_MAX, "%s%s%s", own, places[i], name) < PATH_MAX &&
            access(out, R_OK) == 0)
            return true;
    return false;
}

/* The library lies beside tapool in the build, and in its own folder where it is installed. */
static int find_recorder(const char *name, char out[PATH_MAX], struct tp_err *err)
{
    if (find_library(name, out))
        return TP_OK;
    if (!strcmp(name, INJECTION_NAME))
        return tp_hint(
            err, tp_fail(err, TP_EUSAGE, "--cuda: this tapool was built without CUPTI"),
            "install the CUDA Toolkit with CUPTI (12.0 or newer), and build tapool again");
    if (!strcmp(name, STACKS_NAME))
        return tp_hint(
            err, tp_fail(err, TP_EUSAGE, "--stacks: this tapool was built without call stacks"),
            "they need the GNU C library, 2.35 or newer (libc6-dev)");
    return tp_hint(err, tp_fail(err, TP_EIO, "the recorder " RECORDER_NAME " was not found"),
                   "it is installed with tapool and found relative to the tapool binary");
}

static int set_environment(const struct tp_record_cfg *cfg, const struct tp_record_session *s,
                           struct tp_err *err)
{
    char recorder[PATH_MAX], *preload = NULL;
    const char *before = getenv("LD_PRELOAD");
    const char *name = cfg->stacks ? STACKS_NAME : RECORDER_NAME;
    if (cfg->cuda)
        name = INJECTION_NAME;
    int status = find_recorder(name, recorder, err);
    if (status)
        return status;
    if (cfg->cuda && getenv(INJECTION))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--cuda: " INJECTION " names another tool"),
                       "CUDA loads one tool at a time: unset it to record");
    if (strpbrk(recorder, " :"))
        return tp_fail(err, TP_EIO,
                       "the loader cannot preload '%s': its path has a blank or a colon", recorder);
    bool more = before && before[0];
    if (asprintf(&preload, "%s%s%s", recorder, more ? ":" : "", more ? before : "") < 0)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    if (setenv("LD_PRELOAD", preload, 1) || setenv("TAPOOL_RECORDING", s->path, 1) ||
        (cfg->cuda && setenv(INJECTION, recorder, 1)))
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    free(preload);
    return status;
}

/* What this process starts later is not recorded. */
static void restore_environment(const char *preload)
{
    if (preload)
        setenv("LD_PRELOAD", preload, 1);
    else
        unsetenv("LD_PRELOAD");
    unsetenv("TAPOOL_RECORDING");
    unsetenv(INJECTION);
}

/* How signals were treated before this process waited for one. */
struct signals {
    sigset_t mask;
    struct sigaction child;
};

/* From here on signals wait to be taken by await_program: all but those that stop a job and let it
 * go on. A program may signal its whole group, and what that means is its affair. A child that has
 * ended stays to be waited for, also where this process was started with SIGCHLD ignored. */
static void hold_signals(sigset_t *held, struct signals *before)
{
    static const int of_jobs[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigfillset(held);
    for (size_t i = 0; i < sizeof of_jobs / sizeof *of_jobs; i++)
        sigdelset(held, of_jobs[i]);
    sigprocmask(SIG_BLOCK, held, &before->mask);
    sigaction(SIGCHLD, &usual, &before->child);
}

/* Signals that came when the program had ended were for the program, or for its group. */
static void drop_pending(const sigset_t *held)
{
    const struct timespec now = {.tv_sec = 0};
    while (sigtimedwait(held, NULL, &now) > 0 || errno == EINTR)
        ;
}

static void restore_signals(const struct signals *before)
{
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Starts the program. Its number is in the head before it begins. */
static pid_t start(const struct tp_record_cfg *cfg, struct tp_record_session *s,
                   const struct signals *before, int *error)
{
    int told[2];
    *error = 0;
    if (pipe2(told, O_CLOEXEC) != 0) {
        *error = errno;
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        s->head->process = tp_recorded_self();
        restore_signals(before);
        tp_signals_restore(cfg->signals);
        execvp(cfg->program, cfg->command); /* which runs a script without #!, too */
        int code = errno;
        ssize_t ignored = write(told[1], &code, sizeof code);
        (void)ignored;
        _exit(TP_RECORD_NOT_STARTED);
    }
    close(told[1]);
    if (pid < 0 || read(told[0], error, sizeof *error) != (ssize_t)sizeof *error)
        *error = pid < 0 ? errno : 0;
    close(told[0]);
    return pid;
}

/* Time of the recording's clock. */
static uint64_t ticks_now(const struct tp_recording_head *h)
{
    return h->clock == TP_REC_COUNTER ? tp_stamp() : tp_wall_ns();
}

static void note_pause(struct tp_recording_head *h, bool begins, uint64_t now)
{
    uint32_t nth = begins ? atomic_fetch_add(&h->pauses, 1) : atomic_load(&h->pauses) - 1;
    if (nth < TP_REC_PAUSES)
        atomic_store(begins ? &h->pause[nth].from : &h->pause[nth].to, now);
}

/* Other states may come at the same time: the program's, or that of --duration. */
static void toggle(struct tp_recording_head *h)
{
    uint64_t now = ticks_now(h);
    uint32_t was = atomic_load(&h->state), next = was == TP_REC_ON ? TP_REC_PAUSED : TP_REC_ON;
    if (was != TP_REC_ENDED && atomic_compare_exchange_strong(&h->state, &was, next) &&
        was != TP_REC_WAITING)
        note_pause(h, next == TP_REC_PAUSED, now);
}

static void end_by_duration(struct tp_recording_head *h)
{
    uint32_t none = TP_REC_NO_REASON;
    atomic_compare_exchange_strong(&h->why, &none, (uint32_t)TP_REC_DURATION);
    atomic_store(&h->state, (uint32_t)TP_REC_ENDED);
}

/* What is waited for. */
struct awaited {
    struct tp_record_session *s;
    pid_t pid;     /* 0: the program has ended */
    uint64_t end;  /* of --duration, wall time; 0: there is none */
    bool children; /* until all descendants have ended */
    struct tp_witness witness;
};

/* Who waits for the children of a program that has ended waits no longer. */
static bool asks_to_end(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

/* What a signal to this process means. One to its group, as the terminal sends them, has reached
 * the program already. */
static void on_signal(const siginfo_t *info, struct awaited *a)
{
    if (info->si_signo == SIGCHLD)
        return;
    if (!a->pid)
        a->s->stopped |= asks_to_end(info->si_signo);
    else if (witness_saw(&a->witness, info))
        return;
    else if (info->si_signo == SIGUSR2)
        toggle(a->s->head);
    else if (info->si_code == SI_QUEUE)
        sigqueue(a->pid, info->si_signo, info->si_value);
    else
        kill(a->pid, info->si_signo);
}

/* CPU time of a process that has ended and is not reaped, without its children's, ns: in the
 * kernel's ticks of 10 ms, from fields 14 and 15 of its line. 0: not known. */
static uint64_t cpu_of_ended(pid_t pid)
{
    char path[64], text[TP_STAT_BYTES];
    unsigned long long user = 0, system = 0;
    long per_second = sysconf(_SC_CLK_TCK);
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    const char *at = tp_stat_field(path, 14, text);
    if (!at || sscanf(at, "%llu %llu", &user, &system) != 2 || per_second <= 0)
        return 0;
    return (user + system) * (NS_PER_S / (uint64_t)per_second);
}

/* What the recorder could not note of a program that was killed, or left by _exit. */
static void note_end(struct tp_recording_head *h, pid_t pid)
{
    uint64_t cpu = cpu_of_ended(pid);
    if (!atomic_load(&h->cpu_from) || cpu <= atomic_load(&h->cpu_to) ||
        atomic_load(&h->state) == TP_REC_ENDED)
        return;
    atomic_store(&h->cpu_to, cpu);
    atomic_store(&h->ticks_to, ticks_now(h));
}

/* Takes the children that have ended. true: all that is waited for. */
static bool has_ended(struct awaited *a)
{
    siginfo_t ended = {.si_pid = 0};
    int how = 0, got = 0;
    while (((got = waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT)) == 0 && ended.si_pid) ||
           (got < 0 && errno == EINTR)) {
        if (got < 0)
            continue;
        if (ended.si_pid == a->pid)
            note_end(a->s->head, a->pid);
        if (waitpid(ended.si_pid, &how, 0) == a->pid) {
            a->s->how = how;
            a->pid = 0;
            witness_stop(&a->witness); /* it is no descendant to be waited for */
        }
        ended.si_pid = 0;
    }
    return a->s->stopped || got < 0 || (!a->pid && !a->children);
}

static void await_program(const struct tp_record_cfg *cfg, struct tp_record_session *s, pid_t pid,
                          const struct tp_witness *witness, const sigset_t *held)
{
    struct awaited a = {.s = s,
                        .pid = pid,
                        .end = cfg->duration_ns ? tp_wall_ns() + cfg->duration_ns : 0,
                        .children = cfg->follow != TP_FOLLOW_NONE,
                        .witness = *witness};
    while (!has_ended(&a)) {
        siginfo_t info;
        uint64_t now = tp_wall_ns(), left = a.end > now ? a.end - now : 0;
        const struct timespec rest = {.tv_sec = (time_t)(left / NS_PER_S),
                                      .tv_nsec = (long)(left % NS_PER_S)};
        if (a.end && !left) {
            end_by_duration(s->head);
            a.end = 0;
        } else if (sigtimedwait(held, &info, a.end ? &rest : NULL) > 0)
            on_signal(&info, &a);
    }
}

int tp_record_run(const struct tp_record_cfg *cfg, struct tp_record_session *s, struct tp_err *err)
{
    sigset_t held;
    struct signals before;
    struct tp_witness witness;
    const char *before_us = getenv("LD_PRELOAD");
    char *preload = before_us ? strdup(before_us) : NULL;
    int error = 0, status = set_environment(cfg, s, err);
    if (status) {
        free(preload);
        return status;
    }
    if (cfg->follow != TP_FOLLOW_NONE)
        prctl(PR_SET_CHILD_SUBREAPER, 1L); /* for children whose parents end before them */
    hold_signals(&held, &before);
    witness_start(&witness, &held);
    pid_t pid = start(cfg, s, &before, &error);
    restore_environment(preload);
    free(preload);
    if (pid > 0)
        await_program(cfg, s, pid, &witness, &held);
    else
        witness_stop(&witness);
    let_go(s);
    drop_pending(&held);
    restore_signals(&before);
    return error ? tp_fail(err, TP_EIO, "'%s' cannot be started: %s", cfg->program, strerror(error))
                 : TP_OK;
}
