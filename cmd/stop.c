/* See stop.h. A signal handler can reach nothing but a global: the one variable here. */
#include "cmd/stop.h"

#include <stddef.h>

static volatile sig_atomic_t stopped_by; /* the last signal */

static const int stop_signals[TP_STOP_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

static void note_signal(int number)
{
    stopped_by = number;
}

void tp_stop_catch(struct tp_stop *s, bool once)
{
    const struct sigaction note = {.sa_handler = note_signal,
                                   .sa_flags = once ? (int)SA_RESETHAND : 0};
    for (size_t i = 0; i < TP_STOP_SIGNALS; i++) {
        sigaction(stop_signals[i], NULL, &s->before[i]);
        if (s->before[i].sa_handler != SIG_IGN)
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

void tp_stop_restore(const struct tp_stop *s)
{
    for (size_t i = 0; i < TP_STOP_SIGNALS; i++)
        sigaction(stop_signals[i], &s->before[i], NULL);
    if (stopped_by)
        raise(stopped_by);
}
