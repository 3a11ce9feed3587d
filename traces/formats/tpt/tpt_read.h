/* Reading .tpt: a file that is a program as it stands, played in place. */
#ifndef TP_TPT_READ_H
#define TP_TPT_READ_H

#include "traces/format.h"

/* Opens a .tpt file and takes `fd` over, in every case. Cursors of the program read the file; it
 * must not change. `name` is for messages. Of `r`, input, lowering and
 * budget are not looked at; 64 bytes of max_memory for each slot must be there; what was lost is
 * among the remarks. `repairs`: TP_REPAIR_COUNT of them. TP_EINPUT names file, block and byte. */
int tp_tpt_open(int fd, const char *name, const struct tp_reading *r, uint64_t *repairs,
                struct tp_program **out, struct tp_err *err);

#endif
