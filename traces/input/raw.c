/* See unpack.h. A file is read by offset, so that several readers do not disturb each other,
 * although copies of a descriptor share its position. A pipe is read from its current position. */
#include "traces/input/unpack.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tp_raw_refuse(const char *name, int code, struct tp_err *err)
{
    if (code == ENOENT)
        return tp_fail(err, TP_EINPUT, "%s: no such file", name);
    if (code == EISDIR)
        return tp_fail(err, TP_EINPUT, "%s is a directory", name);
    return tp_fail(err, TP_EINPUT, "%s: cannot be read: %s", name, strerror(code));
}

int tp_raw_look(struct tp_raw *raw, struct tp_err *err)
{
    struct stat st;
    if (fstat(raw->fd, &st) != 0)
        return tp_raw_refuse(raw->name, errno, err);
    if (S_ISDIR(st.st_mode))
        return tp_raw_refuse(raw->name, EISDIR, err);
    /* Files of /proc claim to be regular, have size 0, and may differ when they are read again.
     * Stdin may be a file of which another process has read the beginning. */
    raw->again = S_ISREG(st.st_mode) && st.st_size > 0 && lseek(raw->fd, 0, SEEK_CUR) == 0;
    return TP_OK;
}

static size_t from_memory(struct tp_raw *raw, void *into, size_t room)
{
    size_t left = raw->size - (size_t)raw->at;
    size_t n = left < room ? left : room;
    if (n > 0)
        memcpy(into, raw->data + raw->at, n);
    return n;
}

enum { ASK_AFTER_MS = 250 };

/* Waits with a timeout: a pipe may be empty for hours, and a signal that arrives just before a read
 * would not interrupt it. */
static int wait_for_bytes(const struct tp_raw *raw, struct tp_err *err)
{
    struct pollfd ready = {.fd = raw->fd, .events = POLLIN};
    int rc = raw->stop ? raw->stop(err) : TP_OK;
    while (raw->stop && !raw->again && rc == TP_OK && poll(&ready, 1, ASK_AFTER_MS) <= 0)
        rc = raw->stop(err);
    return rc;
}

static ssize_t from_descriptor(const struct tp_raw *raw, void *into, size_t room)
{
    for (;;) {
        ssize_t n =
            raw->again ? pread(raw->fd, into, room, (off_t)raw->at) : read(raw->fd, into, room);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
        if (errno == EAGAIN) {
            struct pollfd ready = {.fd = raw->fd, .events = POLLIN};
            if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                return -1;
        }
    }
}

int tp_raw_read(struct tp_raw *raw, void *into, size_t room, size_t *got, struct tp_err *err)
{
    *got = 0;
    if (raw->fd < 0) {
        *got = from_memory(raw, into, room);
    } else {
        int rc = wait_for_bytes(raw, err);
        if (rc != TP_OK)
            return rc;
        ssize_t n = from_descriptor(raw, into, room);
        if (n < 0)
            return tp_fail(err, TP_EIO, "%s: cannot be read: %s", raw->name, strerror(errno));
        *got = (size_t)n;
    }
    raw->at += *got;
    return TP_OK;
}
