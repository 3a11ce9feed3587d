/* See alone.h. Orders and answers go through a pair of sockets, whose end is the end of the other
 * process; values and errors are in memory that both share. */
#include "alloc/engine/alone.h"

#include "alloc/base/own.h"
#include "alloc/base/process_memory.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#define HAS_QUIET_FORK __GLIBC_PREREQ(2, 34)
#else
#define HAS_QUIET_FORK 0
#endif

enum {
    LOOK_MS = 50,    /* between two looks for an interruption */
    END_LOOKS = 100, /* for the end of a process that fell silent, LOOK_MS / 5 apart */
    OWN_THREADS = TP_SANITIZED ? 2 : 1 /* the thread sanitizer has one, too */
};

struct tp_alone_shared {
    struct tp_series values; /* of the last order */
    int status;
    struct tp_err err;
};

struct order {
    double time_ns;
    bool fresh;
};

/* ---- the fork ---- */

static int obey(const struct tp_alone *a, const struct tp_replay_cfg *cfg, const struct order *o,
                struct tp_replayer *p)
{
    struct tp_alone_shared *s = a->shared;
    int status = TP_OK;
    s->values = (struct tp_series){0};
    if (o->fresh && p->cfg)
        status = tp_replayer_close(p, &s->err);
    if (!status && !p->cfg)
        status = tp_replayer_open(p, cfg, cfg->strategy, &s->err);
    return status ? status : a->replay(p, o->time_ns, &s->values, &s->err);
}

static bool hear(int line, struct order *o)
{
    ssize_t got;
    do
        got = recv(line, o, sizeof *o, MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *o;
}

/* Replays as it is told until it is killed, or its parent ends. What ends the parent comes from a
 * terminal for both, and is the parent's to answer. */
_Noreturn static void serve(const struct tp_alone *a, int line, pid_t parent)
{
    struct tp_replay_cfg cfg = *a->cfg;
    struct tp_replayer p = {0};
    struct order o;
    cfg.threads = 1;
    cfg.progress = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    while (getppid() == parent && hear(line, &o)) {
        a->shared->status = obey(a, &cfg, &o, &p);
        if (send(line, "", 1, MSG_NOSIGNAL) != 1)
            break;
    }
    _exit(0); /* exit would write the parent's buffered output a second time */
}

/* ---- its parent ---- */

/* A fork without what others have asked for to be run in one: with a single thread nothing is held
 * that would have to be let go, and a handler may take this for a fork of the allocator's own. */
static pid_t fork_quietly(void)
{
#if HAS_QUIET_FORK
    return _Fork();
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static int fail(struct tp_alone *a, const char *what, struct tp_err *err)
{
    int error = errno;
    if (a->shared)
        munmap(a->shared, sizeof *a->shared);
    *a = (struct tp_alone){0};
    return tp_fail(err, TP_EIO, "%s of the one thread that others are set against: %s", what,
                   strerror(error));
}

int tp_alone_open(struct tp_alone *a, const struct tp_replay_cfg *cfg, tp_alone_fn *replay,
                  struct tp_err *err)
{
    int ends[2];
    pid_t self = getpid();
    *a = (struct tp_alone){.cfg = cfg, .replay = replay};
    /* A malloc library may have threads of its own. In a fork they are gone, and what they hold
     * then is held for good. */
    if (tp_process_threads() > OWN_THREADS)
        return TP_OK;
    void *shared =
        mmap(NULL, sizeof *a->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return fail(a, "memory", err);
    a->shared = shared;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return fail(a, "a line to the process", err);
    a->pid = fork_quietly();
    if (a->pid == 0) {
        close(ends[0]);
        serve(a, ends[1], self);
    }
    int error = errno;
    close(ends[1]);
    a->line = ends[0];
    if (a->pid > 0)
        return TP_OK;
    close(ends[0]);
    errno = error;
    return fail(a, "the process", err);
}

void tp_alone_close(struct tp_alone *a)
{
    if (!a->shared)
        return;
    siginfo_t info;
    /* A number that is no child any more may be that of a unknown_format. */
    if (a->pid > 0 && waitid(P_PID, (id_t)a->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        kill(a->pid, SIGKILL);
        while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(a->line);
    munmap(a->shared, sizeof *a->shared);
    *a = (struct tp_alone){0};
}

static int lost(struct tp_alone *a, struct tp_err *err)
{
    int how = 0;
    const char *name = a->cfg->strategy->name;
    const struct timespec rest = {.tv_nsec = LOOK_MS * 1000000 / 5};
    pid_t ended = 0;
    for (int i = 0; i < END_LOOKS && (ended = waitpid(a->pid, &how, WNOHANG)) == 0; i++)
        nanosleep(&rest, NULL);
    bool known = ended == a->pid; /* else somebody else took how it ended, or it only fell silent */
    if (ended == 0) {
        kill(a->pid, SIGKILL);
        while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    a->pid = 0;
    if (known && WIFSIGNALED(how))
        return tp_fail(err, TP_EBROKEN,
                       "strategy '%s', replayed by one thread, was killed by signal %d (%s)", name,
                       WTERMSIG(how), strsignal(WTERMSIG(how)));
    return tp_fail(err, TP_EBROKEN, "strategy '%s', replayed by one thread, ended its process",
                   name);
}

/* Waits for the answer. A signal may reach this process alone, so it looks for itself. */
static int await(struct tp_alone *a, struct tp_err *err)
{
    const volatile sig_atomic_t *interrupted = a->cfg->interrupted;
    struct pollfd line = {.fd = a->line, .events = POLLIN};
    char answer;
    while (poll(&line, 1, LOOK_MS) <= 0)
        if (interrupted && *interrupted)
            return tp_fail(err, TP_ESTOP, "interrupted");
    return recv(a->line, &answer, 1, 0) == 1 ? TP_OK : lost(a, err);
}

int tp_alone_turn(struct tp_alone *a, double time_ns, bool fresh, struct tp_series *out,
                  struct tp_err *err)
{
    const struct order o = {time_ns, fresh};
    struct tp_alone_shared *s = a->shared;
    if (!s)
        return TP_OK;
    if (send(a->line, &o, sizeof o, MSG_NOSIGNAL) != (ssize_t)sizeof o)
        return lost(a, err);
    int status = await(a, err);
    if (status)
        return status;
    status = s->status;
    uint32_t count = s->values.count;
    /* The code that is measured can write there too. */
    if (status < TP_OK || status > TP_EUNSURE || count > TP_SERIES_MAX)
        return tp_fail(err, TP_EBROKEN,
                       "strategy '%s', replayed by one thread, wrote over its answer",
                       a->cfg->strategy->name);
    if (status && err) {
        *err = s->err;
        err->status = (enum tp_status)status;
        err->text[TP_ERR_TEXT - 1] = err->hint[TP_ERR_TEXT - 1] = '\0';
    }
    if (status)
        return status;
    for (uint32_t i = 0; out && i < count; i++)
        tp_series_add(out, s->values.values[i]);
    return TP_OK;
}
