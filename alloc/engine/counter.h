/* The processor's own count of instructions: of this thread, in user mode alone (perf_event_open).
 * What the kernel does for it (page faults, mmap) is not counted.
 *
 * Known weakness: an interrupt may add one, so that two counts of the same work differ a little;
 * and addresses differ from run to run, with them the work of a table that is keyed by them. */
#ifndef TP_COUNTER_H
#define TP_COUNTER_H

#include <stdint.h>

struct tp_instruction_counter {
    int fd; /* -1: closed */
};

/* Opens a counter that stands at 0 and has been seen to count. Else returns why not, and it is
 * closed: EACCES or EPERM (not allowed to this process), ENOENT or EOPNOTSUPP (no such counter, as
 * in many virtual machines), ENODATA (there is one, and it stands still), another errno. */
int tp_counter_open(struct tp_instruction_counter *c);

/* Counts from the first to the second; adds up over many turns. Nothing on a closed one. */
void tp_counter_start(const struct tp_instruction_counter *c);
void tp_counter_stop(const struct tp_instruction_counter *c);

/* Instructions so far; UINT64_MAX where they are not known: others took the counter for a while. */
uint64_t tp_counter_read(const struct tp_instruction_counter *c);

void tp_counter_close(struct tp_instruction_counter *c); /* a closed one is fine */

#endif
