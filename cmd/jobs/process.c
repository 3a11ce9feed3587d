/* See process.h. */
#include "cmd/jobs/process.h"

#include "alloc/base/clock.h"
#include "cmd/jobs/hearing.h"
#include "cmd/jobs/left_behind.h"
#include "cmd/ui/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define GRACE_NS NS_PER_S /* in which a tapool that was asked to end does so */

bool tp_child_own_file(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size);
    bool whole = length > 0 && (size_t)length < size;
    path[whole ? length : 0] = '\0';
    return whole && access(path, X_OK) == 0;
}

/* Under an emulator opening the link gives the emulator, but reading it still gives tapool's path.
 * So the two differ exactly if there is an emulator. */
const char *tp_child_own_executable(char *path, size_t size)
{
    static const char link[] = "/proc/self/exe";
    struct stat kernel, named;
    bool emulated = tp_child_own_file(path, size) && !stat(link, &kernel) && !stat(path, &named) &&
                    (kernel.st_ino != named.st_ino || kernel.st_dev != named.st_dev);
    return emulated ? path : link;
}

bool tp_child_begin(pid_t parent)
{
    static const int ignored[] = {SIGINT, SIGHUP, SIGTTIN, SIGTTOU};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    return getppid() == parent;
}

void tp_child_begun(pid_t child)
{
    setpgid(child, child);
}

void tp_child_pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

int tp_stdout_aside(void)
{
    fflush(stdout);
    int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (kept >= 0) /* else nothing is open there, or it could not be given back */
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return kept;
}

void tp_stdout_back(int aside)
{
    fflush(stdout);
    if (aside >= 0) {
        dup2(aside, STDOUT_FILENO);
        close(aside);
    }
}

/* ---- waiting ---- */

static void tell_group(pid_t pid, int number)
{
    kill(-pid, number);
}

static uint64_t stop_group(pid_t pid, const struct tp_child_wait *w, const struct tp_hearing *h)
{
    return tp_hearing_stop(h, &pid, 1, w->tapool ? SIGTSTP : SIGSTOP);
}

static bool is_late(uint64_t end)
{
    return end && tp_wall_ns() >= end;
}

/* Threads of a traced child are waited for as it is; they are in its group. */
static int next_of(pid_t pid, const struct tp_child_wait *w, int flags, siginfo_t *out)
{
    out->si_pid = 0;
    return w->stopped ? waitid(P_PGID, (id_t)pid, out, flags | WSTOPPED | WNOHANG | __WALL)
                      : waitid(P_PID, (id_t)pid, out, flags | WSTOPPED | WNOHANG);
}

/* Tells of a thread that has ended. */
static void take_thread(const struct tp_child_wait *w, pid_t tid)
{
    int how = 0;
    if (waitpid(tid, &how, WNOHANG | __WALL) == tid)
        w->stopped(w->ctx, tid, how);
}

/* Does as waitpid without waiting, and says so where a thread of a traced child has stopped. What a
 * child has left behind is ended before the child is taken off, because its number may be another's
 * afterwards. A stop is taken as a stop alone: the child may have ended since. */
static pid_t look(pid_t pid, const struct tp_child_wait *w, int *how)
{
    siginfo_t info;
    for (;;) {
        if (next_of(pid, w, WEXITED | WNOWAIT, &info))
            return -1;
        if (!info.si_pid || info.si_code == CLD_STOPPED)
            return 0;
        if (info.si_code == CLD_TRAPPED)
            break;
        if (info.si_pid == pid) {
            tell_group(pid, SIGKILL);
            tp_left_behind_end(pid);
            return waitpid(pid, how, WNOHANG);
        }
        take_thread(w, info.si_pid);
    }
    if (next_of(pid, w, 0, &info))
        return -1;
    *how = W_STOPCODE(info.si_status);
    return info.si_pid;
}

/* Looks again until the child has ended, or something is to be done about it: it stopped, or there
 * is a reason to end it. */
static bool runs_on(pid_t pid, const struct tp_child_wait *w, int *how, pid_t *got)
{
    *got = look(pid, w, how);
    return *got == 0 || (*got < 0 && errno == EINTR) || (*got > 0 && WIFSTOPPED(*how));
}

static bool is_interrupted(const struct tp_child_wait *w)
{
    return w->interrupted && *w->interrupted;
}

/* Waits for the child, and ends it if it is interrupted or its time is over. */
static int await_end(pid_t pid, const struct tp_child_wait *w, const struct tp_hearing *h, int *how)
{
    struct pollfd none_more[1];
    uint64_t end = w->timeout_ns ? tp_wall_ns() + w->timeout_ns : 0;
    int reason = TP_OK;
    pid_t got;
    while (runs_on(pid, w, how, &got)) {
        if (got > 0 && w->stopped)
            w->stopped(w->ctx, got, *how);
        if (got > 0 && !is_interrupted(w) && !is_late(end))
            continue;
        uint64_t stopped = stop_group(pid, w, h);
        end += end ? stopped : 0;
        bool asks = !reason && w->tapool;
        if (!reason && is_interrupted(w))
            reason = TP_ESTOP;
        else if (tp_hearing_sleep(h, end, none_more, 1))
            continue;
        else if (!reason)
            reason = TP_ELATE;
        tell_group(pid, asks ? SIGTERM : SIGKILL);
        end = asks ? tp_wall_ns() + GRACE_NS : 0;
    }
    if (got < 0)
        return TP_EIO;
    return WIFSIGNALED(*how) || (w->tapool && *how) ? reason : TP_OK;
}

bool tp_child_has_ended(pid_t pid, int *how)
{
    return look(pid, &(struct tp_child_wait){.timeout_ns = 0}, how) != 0;
}

void tp_child_kill(pid_t pid)
{
    siginfo_t info;
    int how;
    tell_group(pid, SIGKILL);
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) && errno == EINTR) {
    }
    tp_child_has_ended(pid, &how);
}

int tp_child_await(pid_t pid, const struct tp_child_wait *w, int *how)
{
    struct tp_hearing h;
    tp_hearing_begin(&h);
    int status = await_end(pid, w, &h, how);
    tp_hearing_end(&h);
    /* A signal to the whole group ends the child first; this process hears of it only now. */
    if (!status && WIFSIGNALED(*how) && w->interrupted && *w->interrupted)
        return TP_ESTOP;
    return status;
}

bool tp_child_has_answered(const struct tp_child_end *e, bool given)
{
    return !e->waited && !WIFSIGNALED(e->how) && !e->torn && given;
}

int tp_child_fail(const struct tp_child_end *e, const char *who, const char *where,
                  struct tp_err *err)
{
    const char *comma = *where ? ", " : "";
    if (e->waited == TP_ESTOP)
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (e->waited == TP_ELATE)
        return tp_fail(err, TP_ELATE, "%s had not ended after %s%s%s", who,
                       tp_duration(e->timeout_ns).s, *where ? ": it was " : "", where);
    if (e->waited)
        return tp_fail(err, TP_EIO, "a child process is lost: %s", strerror(errno));
    if (WIFSIGNALED(e->how))
        return tp_fail(err, TP_EBROKEN, "%s died of signal %d (%s) in its process%s%s", who,
                       WTERMSIG(e->how), strsignal(WTERMSIG(e->how)), comma, where);
    if (e->torn)
        return tp_fail(err, TP_EBROKEN, "%s wrote over memory of tapool in its process", who);
    return tp_fail(err, TP_EBROKEN, "%s ended its process with code %d%s%s", who,
                   WEXITSTATUS(e->how), comma, where);
}
