/* Signals that ask to stop; see stop.h. The variables are global because a signal handler gets no
 * other context. */
#include "cmd/ui/stop.h"

#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t stopped_by; /* the last signal */
static struct timespec noted_at;         /* time of the first signal; only handlers use it */

static const int stop_signals[TP_STOP_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

void tp_signals_set(struct tp_signals_found *before)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &usual, &before->pipe);
    sigaction(SIGXFSZ, &ignored, &before->file_size);
}

void tp_signals_restore(const struct tp_signals_found *before)
{
    sigaction(SIGPIPE, &before->pipe, NULL);
    sigaction(SIGXFSZ, &before->file_size, NULL);
}

static void note_signal(int number)
{
    if (!stopped_by)
        clock_gettime(CLOCK_MONOTONIC, &noted_at);
    stopped_by = number;
}

/* A second signal right after the first is part of the same request, because timeout(1) signals the
 * process and then its group. A later one is from a user who does not want to wait. */
static void note_once(int number)
{
    struct timespec now;
    note_signal(number);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - noted_at.tv_sec < 2)
        return;
    signal(number, SIG_DFL);
    raise(number); /* takes effect when this handler returns */
}

void tp_stop_catch(struct tp_stop *s, bool once)
{
    struct sigaction note = {.sa_handler = once ? note_once : note_signal};
    s->noted = stopped_by != 0;
    sigemptyset(&note.sa_mask); /* only one handler runs at a time, because it writes noted_at */
    for (size_t i = 0; i < TP_STOP_SIGNALS; i++)
        sigaddset(&note.sa_mask, stop_signals[i]);
    for (size_t i = 0; i < TP_STOP_SIGNALS; i++) {
        sigaction(stop_signals[i], NULL, &s->before[i]);
        if (s->before[i].sa_handler != SIG_IGN && s->before[i].sa_handler != note_once)
            sigaction(stop_signals[i], &note, NULL);
    }
}

int tp_stop_asked(struct tp_err *err)
{
    return stopped_by ? tp_fail(err, TP_EIO, "stopped by signal %d", (int)stopped_by) : TP_OK;
}

const volatile sig_atomic_t *tp_stop_flag(void)
{
    return &stopped_by;
}

void tp_stop_end(void)
{
    if (!stopped_by)
        return;
    signal(stopped_by, SIG_DFL);
    raise(stopped_by);
}

/* Does not raise the signal again if an outer tp_stop_catch is active: it sees the same flag. */
void tp_stop_restore(const struct tp_stop *s)
{
    bool outer = false;
    for (size_t i = 0; i < TP_STOP_SIGNALS; i++) {
        sigaction(stop_signals[i], &s->before[i], NULL);
        outer |= s->before[i].sa_handler == note_signal || s->before[i].sa_handler == note_once;
    }
    if (stopped_by && !s->noted && !outer)
        raise(stopped_by);
}
