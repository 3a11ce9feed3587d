/* Finds and reads the configuration file.
 *
 * The search works as that of git for .git: the current folder first, then each parent, and the
 * first file is taken. A file that someone else put above our folder (/tmp/.tapool.ini) must not be
 * obeyed, so the file has to belong to the user, to root, or to the owner of the current folder.
 * The owner of the folder matters in a container that runs as root in a checkout of another user.
 *
 * A file that belongs to the user may still have come with a folder that was cloned or unpacked.
 * Therefore a file that was searched for, even in the home folder, may not set options that run a
 * program, or write or name a file (TP_OPT_USER). A file that TAPOOL_CONFIG names may: whoever can
 * set that variable can set those options in the environment too. */
#include "cmd/cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_file(struct tp_err *err, const char *path, const char *why)
{
    int status = tp_fail(err, TP_EUSAGE, "%s: %s", path, why);
    return tp_hint(
        err, status,
        "it holds defaults of options ('tapool help config'); with an empty " TP_CONFIG_VARIABLE
        " none is read");
}

/* ---- finding the file ---- */

/* Finds the nearest file in `folder` or above and writes its path to `folder`. Returns false if
 * there is none. Anything with the name ends the search: a folder with that name is an error later.
 */
static bool search_upwards(char *folder, size_t size)
{
    struct stat st;
    for (size_t length = strlen(folder);; length--) {
        while (length > 0 && folder[length - 1] == '/')
            length--; /* "/" itself becomes "" */
        int wrote = snprintf(folder + length, size - length, "/%s", TP_CONFIG_NAME);
        if (wrote > 0 && (size_t)wrote < size - length && lstat(folder, &st) == 0)
            return true;
        folder[length] = '\0';
        while (length > 0 && folder[length - 1] != '/')
            length--;
        if (length == 0)
            return false;
    }
}

static bool is_trusted(uid_t owner)
{
    struct stat folder;
    return owner == geteuid() || owner == 0 || (stat(".", &folder) == 0 && owner == folder.st_uid);
}

/* Checks the owners of the file and of a symbolic link to it, because either could be hostile. */
static bool belongs_to_us(const char *path, const struct stat *file)
{
    struct stat link;
    return lstat(path, &link) == 0 && is_trusted(link.st_uid) && is_trusted(file->st_uid);
}

/* ---- reading ---- */

static int read_all(int fd, const char *path, char *text, size_t *size, struct tp_err *err)
{
    ssize_t got;
    *size = 0;
    do {
        got = read(fd, text + *size, TP_CONFIG_BYTES + 1 - *size);
        if (got < 0)
            return fail_file(err, path, strerror(errno));
        *size += (size_t)got;
    } while (got > 0 && *size <= TP_CONFIG_BYTES);
    if (*size > TP_CONFIG_BYTES)
        return fail_file(err, path, "more than 64 KiB: not a configuration file");
    return TP_OK;
}

static int check_kind(int fd, const char *path, bool searched, struct tp_err *err)
{
    struct stat st;
    if (fstat(fd, &st))
        return fail_file(err, path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return fail_file(err, path, "a folder, not a configuration file");
    if (!S_ISREG(st.st_mode))
        return fail_file(err, path, "not a regular file");
    if (!searched || belongs_to_us(path, &st))
        return TP_OK;
    int status = tp_fail(err, TP_EUSAGE, "%s: belongs to another user and is not read", path);
    return tp_hint(err, status, "%s=%s to trust it, an empty %s to use no file", TP_CONFIG_VARIABLE,
                   path, TP_CONFIG_VARIABLE);
}

static int read_file(const char *path, bool searched, struct tp_config *out, struct tp_err *err)
{
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* a pipe does not block */
    if (fd < 0)
        return fail_file(err, path, strerror(errno));
    char *text = malloc(TP_CONFIG_BYTES + 1);
    int status = text ? check_kind(fd, path, searched, err)
                      : tp_fail(err, TP_ENOMEM, "out of memory for '%s'", path);
    if (!status)
        status = read_all(fd, path, text, &size, err);
    if (!status)
        status = tp_config_parse(text, size, path, !searched, out, err);
    free(text);
    close(fd);
    return status;
}

int tp_config_read(const char *path, struct tp_config *out, struct tp_err *err)
{
    return read_file(path, false, out, err);
}

int tp_config_load(struct tp_config *out, struct tp_err *err)
{
    char path[PATH_MAX + sizeof TP_CONFIG_NAME + 1];
    const char *named = getenv(TP_CONFIG_VARIABLE);
    *out = (struct tp_config){0};
    if (named)
        return *named ? read_file(named, false, out, err) : TP_OK;
    if (!getcwd(path, PATH_MAX) || path[0] != '/') /* the folder was deleted or cannot be reached */
        return TP_OK;
    return search_upwards(path, sizeof path) ? read_file(path, true, out, err) : TP_OK;
}
