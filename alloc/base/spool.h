/* Files without a name in $TMPDIR, for what does not fit into memory. */
#ifndef TP_SPOOL_H
#define TP_SPOOL_H

#include "alloc/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* A new unlinked file in $TMPDIR, else /tmp; the caller closes it. TP_EIO names the directory. */
int tp_spool_open(int *fd, struct tp_err *err);

/* All bytes or an error: TP_EIO; a short file is TP_EINPUT. */
int tp_spool_write(int fd, const void *data, size_t size, uint64_t offset, struct tp_err *err);
int tp_spool_read(int fd, void *data, size_t size, uint64_t offset, struct tp_err *err);

#endif
