/* Unlinked files in $TMPDIR for data that does not fit into memory. */
#ifndef TP_SPOOL_H
#define TP_SPOOL_H

#include "alloc/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Makes an unlinked file in $TMPDIR, or in /tmp where that is not set; the caller closes it. TP_EIO
 * names the directory. */
int tp_spool_open(int *fd, struct tp_err *err);

/* Transfer all bytes or fail: TP_EIO, or TP_EINPUT for a file that is too short. */
int tp_spool_write(int fd, const void *data, size_t size, uint64_t offset, struct tp_err *err);
int tp_spool_read(int fd, void *data, size_t size, uint64_t offset, struct tp_err *err);

#endif
