/* The monotonic clocks of the C library, as a malloc library that is replayed sees them.
 *
 * A replay takes a fraction of the program's time. Libraries that give memory back after so many
 * milliseconds (mimalloc, jemalloc) would give back none of it. So their clock goes as the recorded
 * one does: this file has the process's clock_gettime. */
#ifndef TP_LIBRARY_CLOCK_H
#define TP_LIBRARY_CLOCK_H

#include <stdint.h>
#include <time.h>

/* clock_gettime of the system. */
int tp_unmoved_time(clockid_t id, struct timespec *out);

/* Stops the clock: each reading is the same, in each process. What a library does by the clock it
 * then does the same way each time. */
void tp_library_clock_stop(void);

/* Puts the clock ahead of the system's by so many ns. It never goes back: a smaller number than
 * before changes nothing. */
void tp_library_clock_ahead(uint64_t ns);

#endif
