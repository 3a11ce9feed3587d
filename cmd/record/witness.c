/* See witness.h. Known weakness: after two signals to the group at one time, of which tapool saw
 * one, a third of the same sender within a second that is for tapool alone is not passed on. */
#include "cmd/record/witness.h"

#include "alloc/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS  20
#define NS_PER_S UINT64_C(1000000000)

/* What the witness tells. */
struct told {
    int signal;
    pid_t from;
    uint64_t at; /* wall time, ns */
};

static _Noreturn void be_witness(int to, const sigset_t *signals, pid_t parent)
{
    siginfo_t info;
    bool good = prctl(PR_SET_PDEATHSIG, (long)SIGKILL) == 0;
    while (good && getppid() == parent) {
        if (sigwaitinfo(signals, &info) <= 0 || info.si_signo == SIGCHLD)
            continue;
        const struct told word = {info.si_signo, info.si_pid, tp_wall_ns()};
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

bool tp_witness_saw(const struct tp_witness *w, const siginfo_t *info)
{
    struct pollfd pipe = {.fd = w->told, .events = POLLIN};
    struct told word;
    uint64_t now = tp_wall_ns();
    while (w->pid && poll(&pipe, 1, WAIT_MS) > 0) {
        if (read(w->told, &word, sizeof word) != (ssize_t)sizeof word)
            return false; /* it was ended */
        if (word.signal == info->si_signo && word.from == info->si_pid && word.at + NS_PER_S > now)
            return true;
    }
    return false;
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
