/* The processor's own count of instructions: of this thread, in user mode alone (perf_event_open).
 * What the kernel does for it (page faults, mmap) is not counted.
 *
 * Known weakness: an interrupt may add one instruction, so two counts of the same work differ a
 * little. Addresses also differ from run to run, and with them the work of tables keyed by
 * addresses. */
#ifndef TP_COUNTER_H
#define TP_COUNTER_H

#include <stdint.h>

struct tp_instruction_counter {
    int fd; /* -1: closed */
};

/* Opens a counter at 0 and checks that it counts. Returns 0, or an errno with the counter closed:
 * EACCES or EPERM (this process may not use it), ENOENT or EOPNOTSUPP (the machine has no such
 * counter, as in many virtual machines), ENODATA (the counter stands still), or another one. */
int tp_counter_open(struct tp_instruction_counter *c);

/* Instructions between start and stop are counted; repeated turns add up. On a closed counter both
 * do nothing. */
void tp_counter_start(const struct tp_instruction_counter *c);
void tp_counter_stop(const struct tp_instruction_counter *c);

/* Instructions counted so far; UINT64_MAX: not known, because another user had the counter for a
 * while. */
uint64_t tp_counter_read(const struct tp_instruction_counter *c);

void tp_counter_close(struct tp_instruction_counter *c); /* a closed counter is fine */

#endif
