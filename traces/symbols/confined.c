/* See confined.h. */
#include "traces/symbols/confined.h"

#include "alloc/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASKED_MS 100 /* how often `stop` is called */

/* Address space of this process, bytes. It is what a fork begins with. */
static uint64_t mapped(void)
{
    uint64_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%" SCNu64, &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void bound(int what, uint64_t most)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)what, &limit) != 0)
        return;
    if (most < limit.rlim_max)
        limit.rlim_cur = limit.rlim_max = most;
    setrlimit((__rlimit_resource_t)what, &limit);
}

/* Signals end the fork, whatever this process does with them; a crash leaves no file behind. */
static void bind(const struct tp_confined_cfg *cfg, pid_t parent)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, (long)SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    bound(RLIMIT_CORE, 0);
    bound(RLIMIT_CPU, cfg->seconds);
    bound(RLIMIT_AS, mapped() + cfg->memory);
}

int tp_confined_start(struct tp_confined *c, const struct tp_confined_cfg *cfg, struct tp_err *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tp_fail(err, TP_EIO, "a pipe to a child process: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        bind(cfg, parent);
        cfg->run(cfg->ctx, ends[1]);
        _exit(0); /* exit would write the parent's buffered output a second time */
    }
    int why = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return tp_fail(err, TP_EIO, "a child process cannot start: %s", strerror(why));
    }
    *c = (struct tp_confined){.cfg = cfg, .pid = pid, .in = ends[0]};
    return TP_OK;
}

int tp_confined_read(struct tp_confined *c, void *into, size_t room, size_t *got,
                     struct tp_err *err)
{
    struct pollfd one = {.fd = c->in, .events = POLLIN};
    int rc = TP_OK;
    *got = 0;
    while (!rc && tp_wall_ns() < c->cfg->until) {
        int there = poll(&one, 1, ASKED_MS);
        if (there > 0) {
            ssize_t bytes = read(c->in, into, room);
            *got = bytes > 0 ? (size_t)bytes : 0;
            return TP_OK;
        }
        if (there < 0 && errno != EINTR)
            return TP_OK;
        rc = c->cfg->stop ? c->cfg->stop(err) : TP_OK;
    }
    return rc;
}

uint64_t tp_confined_end(struct tp_confined *c)
{
    struct rusage used = {0};
    int how = 0;
    kill(c->pid, SIGKILL);
    while (wait4(c->pid, &how, 0, &used) < 0 && errno == EINTR)
        ;
    close(c->in);
    uint64_t seconds = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    return seconds * 1000000000 + (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

void tp_confined_write(int out, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t done = write(out, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            _exit(1);
        at += done;
        size -= (size_t)done;
    }
}
