/* What the tests of reading bytes share: a pattern over many blocks, packing, files and pipes. */
#ifndef TP_INPUT_RIG_H
#define TP_INPUT_RIG_H

#include "tests/unit/trace_fixture.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define MANY 700001u /* bytes: over several buffers, not a multiple of any */

struct bytes {
    unsigned char *data;
    size_t size;
};

static inline unsigned char pattern(size_t i)
{
    return i % 61 == 60 ? '\n' : (unsigned char)(i * 7 + i / 251);
}

static inline struct bytes make_bytes(size_t size)
{
    struct bytes b = {calloc(1, size + 1), size};
    assert_non_null(b.data);
    return b;
}

static inline struct bytes make_pattern(size_t size)
{
    struct bytes b = make_bytes(size);
    for (size_t i = 0; i < size; i++)
        b.data[i] = pattern(i);
    return b;
}

/* Appends and frees `more`. */
static inline void append(struct bytes *to, struct bytes more)
{
    to->data = realloc(to->data, to->size + more.size + 1);
    assert_non_null(to->data);
    memcpy(to->data + to->size, more.data, more.size);
    to->size += more.size;
    free(more.data);
}

static inline struct bytes pack_gzip(const void *data, size_t size)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    struct bytes out = make_bytes(deflateBound(&z, size));
    z.next_in = (z_const Bytef *)data;
    z.avail_in = (uInt)size;
    z.next_out = out.data;
    z.avail_out = (uInt)out.size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.size = z.total_out;
    deflateEnd(&z);
    return out;
}

/* With a checksum, as the zstd tool does. `window` is log2 of bytes, as for a pipe, whose length is
 * not known; 0: as for a file. */
static inline struct bytes pack_zstd_window(const void *data, size_t size, int window)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    struct bytes out = make_bytes(ZSTD_compressBound(size));
    ZSTD_inBuffer from = {data, size, 0};
    ZSTD_outBuffer to = {out.data, out.size, 0};
    assert_non_null(c);
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window);
    if (window == 0)
        ZSTD_CCtx_setPledgedSrcSize(c, size);
    assert_false(ZSTD_isError(ZSTD_compressStream2(c, &to, &from, ZSTD_e_continue)));
    assert_int_equal(ZSTD_compressStream2(c, &to, &from, ZSTD_e_end), 0);
    ZSTD_freeCCtx(c);
    out.size = to.pos;
    return out;
}

static inline struct bytes pack_zstd(const void *data, size_t size)
{
    return pack_zstd_window(data, size, 0);
}

typedef struct bytes pack_fn(const void *data, size_t size);
static const struct packer {
    const char *name;
    pack_fn *pack;
    size_t magic; /* bytes that tell it */
} packers[] = {{"gzip", pack_gzip, 2}, {"zstd", pack_zstd, 4}};
#define PACKERS (sizeof packers / sizeof packers[0])

#define RIG_FILE "/tmp/tapool-input-XXXXXX"

/* `path` is RIG_FILE and becomes the name. */
static inline void make_file(char *path, const void *data, size_t size)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), (ssize_t)size);
    close(fd);
}

/* Every way of looking, in turn, with sizes that fall across the ends of blocks. */
static inline void read_pattern_from(struct tp_input *in, size_t at)
{
    static const size_t wants[] = {1, 65536, 7, 40000, 3, 65535};
    uint64_t lines = tp_input_line(in);
    for (size_t turn = 0; at < MANY; turn++) {
        const unsigned char *data = NULL;
        size_t got = 0, want = wants[turn % 6];
        if (turn % 5 == 4) {
            assert_int_equal(tp_input_byte(in), pattern(at));
            lines += pattern(at++) == '\n';
            continue;
        }
        if (turn % 3 == 0) {
            assert_int_equal(tp_input_block(in, &data, &got, NULL), TP_OK);
            assert_true(got > 0);
        } else {
            assert_int_equal(tp_input_peek(in, want, &data, &got, NULL), TP_OK);
            assert_int_equal(got, want < MANY - at ? want : MANY - at);
        }
        size_t take = got - got / 3;
        for (size_t i = 0; i < take; i++, at++) {
            assert_int_equal(data[i], pattern(at));
            lines += data[i] == '\n';
        }
        tp_input_take(in, take);
        assert_int_equal(tp_input_offset(in), at);
        assert_int_equal(tp_input_line(in), lines);
    }
    assert_int_equal(tp_input_byte(in), -1);
}

static inline void read_pattern(struct tp_input *in)
{
    read_pattern_from(in, 0);
}

/* A process that writes to stdin of this one. */
struct feeder {
    pid_t child;
    int saved, end;
};

/* In small pieces, the first after a pause; stdin does not block. */
static inline void feed(struct feeder *f, const void *data, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    f->saved = dup(STDIN_FILENO);
    f->end = ends[0];
    f->child = fork();
    if (f->child == 0) {
        close(ends[0]);
        usleep(30000);
        for (size_t at = 0; at < size;) {
            size_t n = size - at < 997 ? size - at : 997;
            ssize_t done = write(ends[1], (const char *)data + at, n);
            if (done <= 0)
                _exit(1);
            at += (size_t)done;
        }
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
}

static inline void feed_end(struct feeder *f)
{
    int status = 0;
    assert_int_equal(waitpid(f->child, &status, 0), f->child);
    assert_int_equal(status, 0);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* stdin is not ours to close */
    dup2(f->saved, STDIN_FILENO);
    close(f->saved);
    close(f->end);
}

#endif
