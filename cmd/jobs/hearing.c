/* See hearing.h. */
#include "cmd/jobs/hearing.h"

#include "alloc/base/clock.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

static void wake(int number)
{
    (void)number; /* the signal only has to interrupt ppoll */
}

/* Whether a terminal may stop tapool; false if it was started with SIGTSTP ignored. */
static bool can_be_stopped(void)
{
    struct sigaction now;
    return sigaction(SIGTSTP, NULL, &now) == 0 && now.sa_handler != SIG_IGN;
}

void tp_hearing_begin(struct tp_hearing *h)
{
    const struct sigaction woken = {.sa_handler = wake};
    sigset_t held, stop;
    h->stops = -1;
    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    if (can_be_stopped())
        h->stops = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    if (h->stops >= 0)
        sigaddset(&held, SIGTSTP);
    sigaction(SIGCHLD, &woken, &h->child_before);
    sigprocmask(SIG_BLOCK, &held, &h->before);
    h->open = h->before;
    sigdelset(&h->open, SIGCHLD);
    if (h->stops >= 0)
        sigaddset(&h->open, SIGTSTP);
}

void tp_hearing_end(const struct tp_hearing *h)
{
    int error = errno;
    if (h->stops >= 0)
        close(h->stops);
    sigprocmask(SIG_SETMASK, &h->before, NULL);
    sigaction(SIGCHLD, &h->child_before, NULL);
    errno = error;
}

bool tp_hearing_sleep(const struct tp_hearing *h, uint64_t end, struct pollfd *more, size_t count)
{
    uint64_t now = end ? tp_wall_ns() : 0;
    if (end && now >= end)
        return false;
    const struct timespec rest = {.tv_sec = (time_t)((end - now) / NS_PER_S),
                                  .tv_nsec = (long)((end - now) % NS_PER_S)};
    more[0] = (struct pollfd){.fd = h->stops, .events = POLLIN}; /* ppoll ignores an fd of -1 */
    if (ppoll(more, count, end ? &rest : NULL, &h->open) < 0)
        for (size_t i = 0; i < count; i++)
            more[i].revents = 0;
    return true;
}

static void tell_all(const pid_t *groups, size_t count, int number)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i])
            kill(-groups[i], number);
}

uint64_t tp_hearing_stop(const struct tp_hearing *h, const pid_t *groups, size_t count, int number)
{
    struct signalfd_siginfo told;
    sigset_t stop;
    if (h->stops < 0 || read(h->stops, &told, sizeof told) != (ssize_t)sizeof told)
        return 0;
    uint64_t from = tp_wall_ns();
    tell_all(groups, count, number);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP); /* pending, because the signal is blocked */
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL); /* the process goes on here after SIGCONT */
    tell_all(groups, count, SIGCONT);
    return tp_wall_ns() - from;
}
