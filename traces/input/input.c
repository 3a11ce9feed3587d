/* The bytes of a trace, from a descriptor or from memory, unpacked if necessary.
 *
 *     raw --> [unpack] --> buffer  | taken | start ... end | room |
 *
 * Positions advance when bytes are taken, so looking ahead does not move them. The first block is
 * read on opening, so an empty file fails at once, and the first bytes tell whether the file is
 * packed. Unpacked memory is shown in place, without a buffer. Known weakness: a file that grows
 * while it is read is read to its new end. */
#include "traces/input/input.h"

#include "alloc/base/clean.h"
#include "alloc/base/spool.h"
#include "traces/input/unpack.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* bytes read before unpacking begins must fit into the unpacker's head */
#define BUFFER_SIZE   TP_UNPACK_HEAD
#define PEEK_MAX      ((size_t)64 << 10)
#define NAME_MAX_KEPT 4096

static_assert(BUFFER_SIZE >= 2 * PEEK_MAX, "a peek must fit behind what is left of a block");

struct tp_input {
    const unsigned char *data; /* the buffer, or the caller's memory */
    size_t start, end;         /* range in `data` of the bytes that are not yet taken */
    uint64_t line, offset;     /* line and offset of data[start] */
    unsigned char *buffer;     /* NULL: the input is unpacked memory */
    bool ended;                /* nothing is left to read */
    bool owned;                /* the descriptor is closed with the input */
    struct tp_raw raw;
    struct tp_unpack *unpack; /* NULL: the input is not packed */
    const char *packing;      /* static; NULL: not packed */
    uint64_t max_memory;
    uint64_t given;        /* bytes on the disk of a file that was given away by its descriptor */
    char *name;            /* cleaned */
    struct tp_err failure; /* first read error, which is kept; status TP_OK: none */
};

static int read_failure(const struct tp_input *in, struct tp_err *err)
{
    if (err)
        *err = in->failure;
    return (int)in->failure.status;
}

static int read_some(struct tp_input *in, void *into, size_t room, size_t *got)
{
    return in->unpack ? tp_unpack_read(in->unpack, into, room, got, &in->failure)
                      : tp_raw_read(&in->raw, into, room, got, &in->failure);
}

/* Reads until `want` bytes are buffered or the input ends. */
static int fill(struct tp_input *in, size_t want, struct tp_err *err)
{
    if (in->failure.status != TP_OK)
        return read_failure(in, err);
    if (in->end - in->start >= want || in->ended)
        return TP_OK;
    if (in->start > 0) {
        memmove(in->buffer, in->buffer + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    while (in->end < want && !in->ended) {
        size_t got = 0;
        if (read_some(in, in->buffer + in->end, BUFFER_SIZE - in->end, &got) != TP_OK)
            return read_failure(in, err);
        in->end += got;
        in->ended = got == 0;
    }
    return TP_OK;
}

/* ---- opening ---- */

static int no_memory(const struct tp_input *in, struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory while opening %s", in->name);
}

static int open_descriptor(const char *path, struct tp_input *in, struct tp_err *err)
{
    if (strcmp(path, "-") == 0) {
        in->raw.fd = STDIN_FILENO;
    } else {
        in->raw.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (in->raw.fd < 0)
            return tp_raw_refuse(in->name, errno, err);
        in->owned = true;
    }
    return tp_raw_look(&in->raw, err);
}

static int new_input(const char *name, uint64_t max_memory, struct tp_input **out,
                     struct tp_err *err)
{
    struct tp_input *in = calloc(1, sizeof *in);
    if (in)
        in->name = tp_clean_copy(name, NAME_MAX_KEPT);
    if (!in || !in->name) {
        free(in);
        return tp_fail(err, TP_ENOMEM, "out of memory while opening a trace");
    }
    in->raw.name = in->name;
    in->raw.fd = -1;
    in->line = 1;
    in->max_memory = max_memory ? max_memory : TP_MAX_MEMORY;
    *out = in;
    return TP_OK;
}

static int refuse_empty(const struct tp_input *in, struct tp_err *err)
{
    if (in->end > in->start)
        return TP_OK;
    return tp_fail(err, TP_EINPUT, "%s: %s%s: no trace in it", in->name,
                   in->packing ? "unpacks to nothing" : "empty",
                   in->owned && !in->packing ? " file" : "");
}

/* Hands the buffered bytes to a new unpacker, which fills the buffer from then on. */
static int start_unpacking(struct tp_input *in, const struct tp_packing *how, struct tp_err *err)
{
    const struct tp_unpack_cfg cfg = {.how = how,
                                      .raw = &in->raw,
                                      .head = in->buffer,
                                      .head_size = in->buffer ? in->end : 0,
                                      .max_memory = in->max_memory};
    int rc = tp_unpack_new(&cfg, &in->unpack, err);
    if (rc != TP_OK)
        return rc;
    if (!in->buffer)
        in->buffer = malloc(BUFFER_SIZE);
    if (!in->buffer)
        return no_memory(in, err);
    in->packing = how->name;
    in->data = in->buffer;
    in->start = in->end = 0;
    in->ended = false;
    rc = fill(in, TP_PACKING_MAGIC, err);
    const struct tp_packing *inner = rc == TP_OK ? tp_packing_of(in->data, in->end) : NULL;
    if (!inner)
        return rc;
    rc =
        tp_fail(err, TP_EINPUT, "%s: packed twice: %s inside %s", in->name, inner->name, how->name);
    return tp_hint(err, rc, "unpack it once with '%s'", how->tool);
}

/* Reads the first bytes of a file or of memory. */
static int start_reading(struct tp_input *in, struct tp_err *err)
{
    int rc = TP_OK;
    if (in->raw.fd < 0) {
        in->data = in->raw.data;
        in->end = in->raw.size;
        in->ended = true;
    } else {
        in->buffer = malloc(BUFFER_SIZE);
        if (!in->buffer)
            return no_memory(in, err);
        in->data = in->buffer;
        rc = fill(in, TP_PACKING_MAGIC, err);
    }
    const struct tp_packing *how = rc == TP_OK ? tp_packing_of(in->data, in->end) : NULL;
    if (how)
        rc = start_unpacking(in, how, err);
    return rc == TP_OK ? refuse_empty(in, err) : rc;
}

/* Sets *out to an input that was opened, or closes it if `rc` is an error. */
static int opened(int rc, struct tp_input *in, struct tp_input **out)
{
    if (rc == TP_OK)
        *out = in;
    else
        tp_input_close(in);
    return rc;
}

int tp_input_open(const char *path, uint64_t max_memory, int (*stop)(struct tp_err *err),
                  struct tp_input **out, struct tp_err *err)
{
    struct tp_input *in = NULL;
    int rc = new_input(strcmp(path, "-") == 0 ? "stdin" : path, max_memory, &in, err);
    if (rc != TP_OK)
        return rc;
    in->raw.stop = stop;
    rc = open_descriptor(path, in, err);
    if (rc == TP_OK)
        rc = start_reading(in, err);
    return opened(rc, in, out);
}

int tp_input_memory(const char *name, const void *data, size_t size, uint64_t max_memory,
                    struct tp_input **out, struct tp_err *err)
{
    struct tp_input *in = NULL;
    int rc = new_input(name, max_memory, &in, err);
    if (rc != TP_OK)
        return rc;
    in->raw.data = data;
    in->raw.size = size;
    return opened(start_reading(in, err), in, out);
}

void tp_input_close(struct tp_input *in)
{
    if (!in)
        return;
    tp_unpack_free(in->unpack);
    if (in->owned)
        close(in->raw.fd);
    free(in->buffer);
    free(in->name);
    free(in);
}

/* ---- reading ---- */

uint64_t tp_input_taken(const struct tp_input *in)
{
    uint64_t read = in->raw.fd < 0 ? in->raw.size : in->raw.at;
    return in->given > read ? in->given : read;
}

bool tp_input_is_bomb(const struct tp_input *in, uint64_t made)
{
    return made > in->max_memory && made / TP_BOMB_RATIO > tp_input_taken(in);
}

const char *tp_input_name(const struct tp_input *in)
{
    return in->name;
}

const char *tp_input_packing(const struct tp_input *in)
{
    return in->packing;
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
    bool there = in->end > in->start && in->failure.status == TP_OK;
    int rc = there ? TP_OK : fill(in, 1, err);
    if (rc != TP_OK)
        return rc;
    *data = in->data + in->start;
    *got = in->end - in->start;
    return TP_OK;
}

bool tp_input_shows(const unsigned char *data, size_t size, const char *text)
{
    return memmem(data, size, text, strlen(text)) != NULL;
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
    return in->failure.status == TP_OK ? TP_OK : read_failure(in, err);
}

uint64_t tp_input_line(const struct tp_input *in)
{
    return in->line;
}

uint64_t tp_input_offset(const struct tp_input *in)
{
    return in->offset;
}

int tp_input_at_line(const struct tp_input *in, uint64_t line, int rc, struct tp_err *err)
{
    return rc == TP_EINPUT ? tp_prefix(err, rc, "%s:%" PRIu64, in->name, line) : rc;
}

int tp_input_at_byte(const struct tp_input *in, uint64_t offset, int rc, struct tp_err *err)
{
    return rc == TP_EINPUT ? tp_prefix(err, rc, "%s: byte %" PRIu64, in->name, offset) : rc;
}

int tp_input_no_memory(const struct tp_input *in, struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory while reading %s", in->name);
}

int tp_input_finish(struct tp_input *in, struct tp_err *err)
{
    while (in->unpack && !in->ended) {
        tp_input_take(in, in->end - in->start);
        int rc = fill(in, 1, err);
        if (rc != TP_OK)
            return rc;
    }
    return TP_OK;
}

/* ---- all bytes as a file ---- */

static int duplicate(struct tp_input *in, int *fd, struct tp_err *err)
{
    struct stat st;
    *fd = fcntl(in->raw.fd, F_DUPFD_CLOEXEC, 0);
    if (*fd < 0)
        return tp_fail(err, TP_EIO, "%s: cannot be opened again: %s", in->name, strerror(errno));
    if (fstat(*fd, &st) == 0) /* holes are no bytes that somebody wrote */
        in->given = (uint64_t)st.st_blocks * 512;
    return TP_OK;
}

/* Copies the whole input through the buffer into a file. After a failure the bytes read so far are
 * gone, so the failure is kept like a read error. */
static int copy_to(struct tp_input *in, int fd, struct tp_err *err)
{
    for (uint64_t at = 0;;) {
        size_t there = in->end - in->start;
        if (tp_spool_write(fd, in->data + in->start, there, at, &in->failure) != TP_OK)
            return read_failure(in, err);
        at += there;
        in->start = in->end;
        int rc = fill(in, 1, err);
        if (rc != TP_OK || in->start == in->end)
            return rc;
    }
}

/* Makes the input read from the copy, like from any other file. */
static void read_from_copy(struct tp_input *in, int fd)
{
    tp_unpack_free(in->unpack);
    in->unpack = NULL;
    if (in->owned)
        close(in->raw.fd);
    in->raw = (struct tp_raw){.name = in->name, .fd = fd, .again = true};
    in->owned = true;
    in->start = in->end = 0;
    in->ended = false;
}

static int copy_memory(const struct tp_input *in, int *out, struct tp_err *err)
{
    int fd = -1;
    int rc = tp_spool_open(&fd, err);
    if (rc != TP_OK)
        return rc;
    rc = tp_spool_write(fd, in->raw.data, in->raw.size, 0, err);
    if (rc == TP_OK)
        *out = fd;
    else
        close(fd);
    return rc;
}

int tp_input_file(struct tp_input *in, int *out, struct tp_err *err)
{
    if (!in->buffer)
        return copy_memory(in, out, err);
    if (in->raw.again && !in->unpack)
        return duplicate(in, out, err);
    if (in->offset > 0)
        return tp_fail(err, TP_EUNSUP, "%s: its beginning is no longer there", in->name);
    int fd = -1;
    int rc = tp_spool_open(&fd, err);
    if (rc != TP_OK)
        return rc;
    rc = copy_to(in, fd, err);
    if (rc != TP_OK) {
        close(fd);
        return rc;
    }
    read_from_copy(in, fd);
    return duplicate(in, out, err);
}

int tp_input_reopen(const struct tp_input *in, int *out, struct tp_err *err)
{
    struct tp_input *anew = NULL;
    if (in->raw.fd >= 0 && !in->raw.again)
        return tp_fail(err, TP_EUNSUP, "%s: can be read only once", in->name);
    int rc = new_input(in->name, in->max_memory, &anew, err);
    if (rc != TP_OK)
        return rc;
    anew->raw = in->raw;
    anew->raw.name = anew->name;
    anew->raw.at = 0;
    rc = start_reading(anew, err);
    if (rc == TP_OK)
        rc = tp_input_file(anew, out, err);
    tp_input_close(anew);
    return rc;
}
