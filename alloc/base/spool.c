/* See spool.h. Reads and writes pass their own offsets, so that two processes may share a
 * descriptor. */
#include "alloc/base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *spool_dir(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

int tp_spool_open(int *out, struct tp_err *err)
{
    const char *dir = spool_dir();
    int fd = open(dir, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) { /* not every file system supports unnamed files */
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/tapool-XXXXXX", dir);
        errno = ENAMETOOLONG;
        fd = n > 0 && (size_t)n < sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
        if (fd >= 0)
            unlink(path);
    }
    if (fd < 0) {
        int rc = tp_fail(err, TP_EIO, "cannot create a temporary file in '%s': %s", dir,
                         strerror(errno));
        return tp_hint(err, rc, "set TMPDIR to a directory that can be written");
    }
    *out = fd;
    return TP_OK;
}

int tp_spool_write(int fd, const void *data, size_t size, uint64_t offset, struct tp_err *err)
{
    const char *from = data;
    while (size > 0) {
        ssize_t n = pwrite(fd, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int rc = tp_fail(err, TP_EIO, "cannot write the temporary file in '%s': %s",
                             spool_dir(), n < 0 ? strerror(errno) : "nothing was written");
            return tp_hint(err, rc, "set TMPDIR to a directory with more room");
        }
        from += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return TP_OK;
}

int tp_spool_read(int fd, void *data, size_t size, uint64_t offset, struct tp_err *err)
{
    char *to = data;
    while (size > 0) {
        ssize_t n = pread(fd, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tp_fail(err, TP_EIO, "cannot read the program file: %s", strerror(errno));
        if (n == 0)
            return tp_fail(err, TP_EINPUT, "the program file ends too early");
        to += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return TP_OK;
}
