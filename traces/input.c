/* Bytes of a trace, from a descriptor or from memory.
 *
 *     buffer  | taken | start ... end | room |      one read(2) fills what is left of the room
 *
 * Positions are counted where bytes are taken, so a look ahead does not move them. The first block
 * is read on opening: an empty file is an error before anything else happens. Known weakness: a
 * file that grows while it is read is read to where it then ends. */
#include "traces/input.h"

#include "traces/clean.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_SIZE   ((size_t)256 << 10)
#define PEEK_MAX      ((size_t)64 << 10)
#define NAME_MAX_KEPT 4096

static_assert(BUFFER_SIZE >= 2 * PEEK_MAX, "a peek must fit behind what is left of a block");

struct tp_input {
    char *name;                /* cleaned */
    int fd;                    /* -1: memory */
    bool owned;                /* the descriptor is ours to close */
    bool ended;                /* nothing more to read */
    int failure;               /* errno of the read that failed; 0: none */
    unsigned char *buffer;     /* NULL: memory */
    const unsigned char *data; /* the buffer, or the caller's memory */
    size_t start, end;         /* of what is not yet taken */
    uint64_t line, offset;     /* of data[start] */
};

static int read_failure(const struct tp_input *in, struct tp_err *err)
{
    return tp_fail(err, TP_EIO, "%s: cannot be read: %s", in->name, strerror(in->failure));
}

/* One read(2) that waits where the descriptor does not block. */
static ssize_t read_some(int fd, void *into, size_t room)
{
    for (;;) {
        ssize_t n = read(fd, into, room);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
        if (errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLIN};
            if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                return -1;
        }
    }
}

/* Reads until `want` bytes are there or the input ends. */
static int fill(struct tp_input *in, size_t want, struct tp_err *err)
{
    if (in->failure)
        return read_failure(in, err);
    if (in->end - in->start >= want || in->ended)
        return TP_OK;
    if (in->start > 0) {
        memmove(in->buffer, in->buffer + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    while (in->end < want && !in->ended) {
        ssize_t n = read_some(in->fd, in->buffer + in->end, BUFFER_SIZE - in->end);
        if (n < 0) {
            in->failure = errno;
            return read_failure(in, err);
        }
        in->end += (size_t)n;
        in->ended = n == 0;
    }
    return TP_OK;
}

static int open_failure(const char *name, int code, struct tp_err *err)
{
    if (code == ENOENT)
        return tp_fail(err, TP_EINPUT, "%s: no such file", name);
    if (code == EISDIR)
        return tp_fail(err, TP_EINPUT, "%s is a directory", name);
    return tp_fail(err, TP_EINPUT, "%s: cannot be read: %s", name, strerror(code));
}

static int open_descriptor(const char *path, struct tp_input *in, struct tp_err *err)
{
    if (strcmp(path, "-") == 0) {
        in->fd = STDIN_FILENO;
    } else {
        in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (in->fd < 0)
            return open_failure(in->name, errno, err);
        in->owned = true;
    }
    struct stat st;
    if (fstat(in->fd, &st) != 0)
        return open_failure(in->name, errno, err);
    if (S_ISDIR(st.st_mode))
        return open_failure(in->name, EISDIR, err);
    return TP_OK;
}

static int new_input(const char *name, struct tp_input **out, struct tp_err *err)
{
    struct tp_input *in = calloc(1, sizeof *in);
    if (in)
        in->name = tp_clean_copy(name, NAME_MAX_KEPT);
    if (!in || !in->name) {
        free(in);
        return tp_fail(err, TP_ENOMEM, "out of memory while opening a trace");
    }
    in->fd = -1;
    in->line = 1;
    *out = in;
    return TP_OK;
}

static int refuse_empty(const struct tp_input *in, struct tp_err *err)
{
    if (in->end > in->start)
        return TP_OK;
    return tp_fail(err, TP_EINPUT, "%s: empty%s: no trace in it", in->name,
                   in->owned ? " file" : "");
}

int tp_input_open(const char *path, struct tp_input **out, struct tp_err *err)
{
    struct tp_input *in = NULL;
    int rc = new_input(strcmp(path, "-") == 0 ? "stdin" : path, &in, err);
    if (rc != TP_OK)
        return rc;
    rc = open_descriptor(path, in, err);
    if (rc != TP_OK)
        goto done;
    in->buffer = malloc(BUFFER_SIZE);
    if (!in->buffer) {
        rc = tp_fail(err, TP_ENOMEM, "out of memory while opening %s", in->name);
        goto done;
    }
    in->data = in->buffer;
    rc = fill(in, 1, err);
    if (rc == TP_OK)
        rc = refuse_empty(in, err);
done:
    if (rc != TP_OK) {
        tp_input_close(in);
        return rc;
    }
    *out = in;
    return TP_OK;
}

int tp_input_memory(const char *name, const void *data, size_t size, struct tp_input **out,
                    struct tp_err *err)
{
    struct tp_input *in = NULL;
    int rc = new_input(name, &in, err);
    if (rc != TP_OK)
        return rc;
    in->data = data;
    in->end = size;
    in->ended = true;
    rc = refuse_empty(in, err);
    if (rc != TP_OK) {
        tp_input_close(in);
        return rc;
    }
    *out = in;
    return TP_OK;
}

void tp_input_close(struct tp_input *in)
{
    if (!in)
        return;
    if (in->owned)
        close(in->fd);
    free(in->buffer);
    free(in->name);
    free(in);
}

const char *tp_input_name(const struct tp_input *in)
{
    return in->name;
}

int tp_input_peek(struct tp_input *in, size_t want, const unsigned char **data, size_t *got,
                  struct tp_err *err)
{
    assert(want <= PEEK_MAX);
    int rc = fill(in, want, err);
    if (rc != TP_OK)
        return rc;
    size_t there = in->end - in->start;
    *data = in->data + in->start;
    *got = there < want ? there : want;
    return TP_OK;
}

int tp_input_block(struct tp_input *in, const unsigned char **data, size_t *got, struct tp_err *err)
{
    int rc = fill(in, 1, err);
    if (rc != TP_OK)
        return rc;
    *data = in->data + in->start;
    *got = in->end - in->start;
    return TP_OK;
}

void tp_input_take(struct tp_input *in, size_t n)
{
    assert(n <= in->end - in->start);
    const unsigned char *at = in->data + in->start;
    const unsigned char *end = at + n;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        in->line++;
        at++;
    }
    in->start += n;
    in->offset += n;
}

int tp_input_byte(struct tp_input *in)
{
    if (in->start == in->end) {
        if (fill(in, 1, NULL) != TP_OK)
            return -2;
        if (in->start == in->end)
            return -1;
    }
    unsigned char byte = in->data[in->start++];
    in->offset++;
    in->line += byte == '\n';
    return byte;
}

int tp_input_error(const struct tp_input *in, struct tp_err *err)
{
    return in->failure ? read_failure(in, err) : TP_OK;
}

uint64_t tp_input_line(const struct tp_input *in)
{
    return in->line;
}

uint64_t tp_input_offset(const struct tp_input *in)
{
    return in->offset;
}
