/* Writes files completely or not at all; see output.h.
 *
 * A file has no name while it is written (O_TMPFILE), so that nothing is left if the process is
 * killed. It then gets its name by a link, which fails if the name is taken. With `force` it is
 * linked under a temporary name in the same folder and renamed at once; only between these two
 * steps a kill leaves a file. On file systems without O_TMPFILE the file has a temporary name in
 * the same folder from the start. */
#include "cmd/ui/output.h"

#include "cmd/ui/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int tp_finish_output(FILE *out, const char *name, struct tp_err *err)
{
    errno = 0;
    if (fflush(out) == 0 && !ferror(out))
        return TP_OK;
    return tp_fail_write(err, name);
}

static int fail_exists(const char *path, struct tp_err *err)
{
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s' exists", path), "-f overwrites it");
}

static int fail_write(const char *path, struct tp_err *err)
{
    return tp_fail(err, TP_EIO, "'%s' cannot be written: %s", path, strerror(errno));
}

static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static void folder_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(out, size, ".");
    else
        snprintf(out, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

int tp_output_check(const char *path, bool force, struct tp_err *err)
{
    char folder[4096];
    struct stat st;
    if (!*path)
        return tp_fail(err, TP_EUSAGE, "an empty file name");
    if (is_special(path))
        return access(path, W_OK) ? fail_write(path, err) : TP_OK;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return tp_fail(err, TP_EUSAGE, "'%s' is a directory", path);
    if (lstat(path, &st) == 0 && !force)
        return fail_exists(path, err);
    folder_of(path, folder, sizeof folder);
    return access(folder, W_OK | X_OK) ? fail_write(path, err) : TP_OK;
}

/* The path by which linkat() finds a file without a name; it needs /proc. */
static void name_of_descriptor(int fd, char *out, size_t size)
{
    snprintf(out, size, "/proc/self/fd/%d", fd);
}

/* Opens a file without a name that can get one later. Returns a descriptor; -1: not possible here.
 */
static int open_nameless(const char *path)
{
    char folder[4096], name[32];
    folder_of(path, folder, sizeof folder);
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    name_of_descriptor(fd, name, sizeof name);
    if (access(name, F_OK) == 0)
        return fd;
    close(fd);
    return -1;
}

static int name_temporary(struct tp_output *o, struct tp_err *err)
{
    size_t size = strlen(o->path) + sizeof ".tmpXXXXXX";
    o->temporary = malloc(size);
    if (!o->temporary)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    snprintf(o->temporary, size, "%s.tmpXXXXXX", o->path);
    return TP_OK;
}

static void forget_temporary(struct tp_output *o)
{
    free(o->temporary);
    o->temporary = NULL;
}

static int open_beside(struct tp_output *o, int *out, struct tp_err *err)
{
    int status = name_temporary(o, err);
    if (status)
        return status;
    int fd = mkostemp(o->temporary, O_CLOEXEC);
    if (fd < 0) {
        forget_temporary(o);
        return fail_write(o->path, err);
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    *out = fd;
    return TP_OK;
}

static int open_temporary(struct tp_output *o, struct tp_err *err)
{
    int fd = open_nameless(o->path);
    o->nameless = fd >= 0;
    int status = o->nameless ? TP_OK : open_beside(o, &fd, err);
    if (status)
        return status;
    o->file = fdopen(fd, "w");
    if (!o->file)
        close(fd);
    return o->file ? TP_OK : fail_write(o->path, err);
}

int tp_output_open(struct tp_output *o, const char *path, bool force, struct tp_err *err)
{
    *o = (struct tp_output){.force = force, .path = strdup(path)};
    if (!o->path)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status;
    if (is_special(path)) {
        o->file = fopen(path, "w");
        status = o->file ? TP_OK : fail_write(path, err);
    } else {
        status = open_temporary(o, err);
    }
    if (status)
        tp_output_discard(o);
    return status;
}

/* Links the file under a temporary name in the same folder, because its final name is taken.
 * mkostemp finds a free name; the file that it makes is removed again. */
static int link_beside(struct tp_output *o, const char *source, struct tp_err *err)
{
    enum { TRIES = 100 };
    int status = name_temporary(o, err);
    size_t end = status ? 0 : strlen(o->temporary) - strlen("XXXXXX");
    for (int i = 0; !status && i < TRIES; i++) {
        memcpy(o->temporary + end, "XXXXXX", sizeof "XXXXXX");
        int fd = mkostemp(o->temporary, O_CLOEXEC);
        if (fd < 0)
            break;
        close(fd);
        unlink(o->temporary);
        if (linkat(AT_FDCWD, source, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW) == 0)
            return TP_OK;
        if (errno != EEXIST)
            break;
    }
    forget_temporary(o);
    return status ? status : fail_write(o->path, err);
}

/* Gives a file without a name its final name or, with `force`, a temporary one if that is taken. */
static int link_nameless(struct tp_output *o, int fd, struct tp_err *err)
{
    char source[32];
    name_of_descriptor(fd, source, sizeof source);
    if (linkat(AT_FDCWD, source, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW) == 0)
        return TP_OK;
    if (errno != EEXIST)
        return fail_write(o->path, err);
    return o->force ? link_beside(o, source, err) : fail_exists(o->path, err);
}

static int place(struct tp_output *o, struct tp_err *err)
{
    if (!o->temporary)
        return TP_OK;
    if (o->force)
        return rename(o->temporary, o->path) ? fail_write(o->path, err) : TP_OK;
    if (renameat2(AT_FDCWD, o->temporary, AT_FDCWD, o->path, RENAME_NOREPLACE) == 0)
        return TP_OK;
    /* Without RENAME_NOREPLACE in the kernel or file system: link(2) refuses a taken name too. */
    if (errno != EEXIST && link(o->temporary, o->path) == 0)
        return TP_OK; /* tp_output_discard removes the temporary name */
    return errno == EEXIST ? fail_exists(o->path, err) : fail_write(o->path, err);
}

int tp_output_commit(struct tp_output *o, struct tp_err *err)
{
    int status = tp_finish_output(o->file, o->path, err);
    int fd = o->nameless && !status ? fcntl(fileno(o->file), F_DUPFD_CLOEXEC, 0) : -1;
    if (o->nameless && !status && fd < 0)
        status = fail_write(o->path, err);
    errno = 0;
    if (fclose(o->file) && !status)
        status = fail_write(o->path, err);
    o->file = NULL;
    if (!status && o->nameless)
        status = link_nameless(o, fd, err);
    if (fd >= 0)
        close(fd);
    if (!status)
        status = place(o, err);
    tp_output_discard(o);
    return status;
}

void tp_output_discard(struct tp_output *o)
{
    if (o->file)
        fclose(o->file);
    if (o->temporary)
        unlink(o->temporary); /* fails without harm after a rename */
    free(o->temporary);
    free(o->path);
    *o = (struct tp_output){0};
}

int tp_output_lock(const char *path, int *lock, struct tp_err *err)
{
    enum { TRIES = 3000 };
    const struct timespec rest = {.tv_nsec = 10000000};
    char folder[4096];
    int status = TP_OK, tries = 0;
    folder_of(path, folder, sizeof folder);
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (!status && *lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) &&
           (errno == EWOULDBLOCK || errno == EINTR)) {
        status = tp_stop_asked(err);
        if (!status && ++tries == TRIES)
            status =
                tp_fail(err, TP_EIO, "'%s': another program has locked the folder of it", path);
        nanosleep(&rest, NULL);
    }
    if (status) {
        tp_output_unlock(*lock);
        *lock = -1;
    }
    return status;
}

void tp_output_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

int tp_output_write(const char *path, bool force, tp_output_fn *write, void *ctx,
                    struct tp_err *err)
{
    struct tp_stop stop;
    struct tp_output file;
    tp_stop_catch(&stop, false);
    int status = tp_output_open(&file, path, force, err);
    if (!status) {
        status = write(ctx, file.file, err);
        if (status)
            tp_output_discard(&file);
        else
            status = tp_output_commit(&file, err);
    }
    tp_stop_restore(&stop);
    return status;
}
