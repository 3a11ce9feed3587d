/* See output.h. The new file gets its name by a rename that fails where the name is taken, or, with
 * force, by one that does not. */
#include "cmd/output.h"

#include "cmd/cli.h"
#include "cmd/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

static int open_temporary(struct tp_output *o, struct tp_err *err)
{
    size_t size = strlen(o->path) + sizeof ".tmpXXXXXX";
    o->temporary = malloc(size);
    if (!o->temporary)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    snprintf(o->temporary, size, "%s.tmpXXXXXX", o->path);
    int fd = mkstemp(o->temporary);
    if (fd < 0) {
        free(o->temporary);
        o->temporary = NULL;
        return fail_write(o->path, err);
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
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

static int place(struct tp_output *o, struct tp_err *err)
{
    if (!o->temporary)
        return TP_OK;
    if (o->force)
        return rename(o->temporary, o->path) ? fail_write(o->path, err) : TP_OK;
    if (renameat2(AT_FDCWD, o->temporary, AT_FDCWD, o->path, RENAME_NOREPLACE) == 0)
        return TP_OK;
    /* a file system or kernel without it: link(2) refuses a name that is taken just as well */
    if (errno != EEXIST && link(o->temporary, o->path) == 0)
        return TP_OK; /* the other name goes in discard */
    return errno == EEXIST ? fail_exists(o->path, err) : fail_write(o->path, err);
}

int tp_output_commit(struct tp_output *o, struct tp_err *err)
{
    int status = tp_finish_output(o->file, o->path, err);
    errno = 0;
    if (fclose(o->file) && !status)
        status = fail_write(o->path, err);
    o->file = NULL;
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
        unlink(o->temporary); /* after a rename there is none: no matter */
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
