/* How signals reach a process that waits for its children. They are blocked except while it sleeps:
 * otherwise one could arrive between looking at a child and going to sleep, and would not wake it.
 *
 * Ctrl-Z stops only the foreground group of a terminal, and a child that leads a group of its own
 * is not in it. So this process stops its children's groups first, then itself. */
#ifndef TP_HEARING_H
#define TP_HEARING_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tp_hearing {
    sigset_t before; /* the signal mask of this process */
    sigset_t open;   /* the signal mask while it sleeps */
    struct sigaction child_before;
    int stops; /* signalfd for SIGTSTP, which stays blocked; -1: SIGTSTP is ignored */
};

void tp_hearing_begin(struct tp_hearing *h);

/* Also to be called in a child that was forked in between. Keeps errno. */
void tp_hearing_end(const struct tp_hearing *h);

/* Sleeps until a signal comes, one of `more` is ready, or the wall time `end` in ns (0: none) is
 * reached. The first of `more` is left to this function. false: `end` was past, and it did not
 * sleep. */
bool tp_hearing_sleep(const struct tp_hearing *h, uint64_t end, struct pollfd *more, size_t count);

/* Stops the groups and this process if Ctrl-Z asks for it, and lets the groups go on with it. A
 * group of 0 is none. `number`: SIGSTOP, or SIGTSTP for children that stop their own children then.
 * Returns how long they were stopped in ns, which does not count for deadlines. */
uint64_t tp_hearing_stop(const struct tp_hearing *h, const pid_t *groups, size_t count, int number);

#endif
