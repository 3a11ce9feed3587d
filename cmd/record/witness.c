/* See witness.h. Known weakness: a signal that is for tapool alone is not passed on where its
 * sender sent the same one to the group less than 100 ms before, or twice at one time less than a
 * second before. */
#include "cmd/record/witness.h"

#include "alloc/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

void tp_witness_start(struct tp_witness *w, const sigset_t *signals)
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

bool tp_witness_saw(struct tp_witness *w, const siginfo_t *info)
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

void tp_witness_stop(struct tp_witness *w)
{
    if (!w->pid)
        return;
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(w->told);
    *w = (struct tp_witness){.told = -1};
}
