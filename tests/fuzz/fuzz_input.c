/* Fuzz target: the reader of bytes, packed or not. The first byte decides how the rest is read: 'A'
 * (odd) makes a file of it as well. The limit is 1 MiB, so that bombs are small.
 *
 * Whatever the bytes are: as many as the limit allows, in whatever portions they are asked for the
 * same, also from the file and when read anew; or TP_EINPUT. */
#include "tests/fuzz/fuzz_format.h"

#include <string.h>
#include <unistd.h>

#define LIMIT  (UINT64_C(1) << 20)
#define RATIO  200
#define AT_ONE ((size_t)256 << 10) /* a bomb is noticed after a buffer */

static struct tp_input *open_bytes(const uint8_t *data, size_t size, struct tp_err *err)
{
    struct tp_input *in = NULL;
    int rc = tp_input_memory("fuzz", data, size, LIMIT, &in, err);
    if (rc != TP_OK)
        check_error(rc, err);
    return in;
}

/* Where portions differ, a bomb may be seen in one and pass in the other. */
static bool bomb(int rc, const struct tp_err *err)
{
    return rc != TP_OK && strstr(err->text, "a decompression bomb?") != NULL;
}

static void end_alike(int rc, const struct tp_err *err, int other, const struct tp_err *other_err)
{
    must(rc == other || bomb(rc, err) || bomb(other, other_err));
    if (rc != TP_OK)
        check_error(rc, err);
}

/* In portions that the bytes themselves choose, beside whole blocks. */
static uint64_t compare(struct tp_input *in, struct tp_input *blocks, const uint8_t *data,
                        size_t size)
{
    struct tp_err err = {0}, block_err = {0};
    const unsigned char *want = NULL, *got = NULL;
    for (size_t turn = 0;; turn++) {
        size_t there = 0, n = 0;
        int block_rc = tp_input_block(blocks, &want, &there, &block_err);
        size_t portion = 1 + data[turn % size] * (size_t)250;
        portion = there == 0 || portion < there ? portion : there;
        int rc = tp_input_peek(in, portion, &got, &n, &err);
        if (rc != TP_OK || block_rc != TP_OK || there == 0) {
            end_alike(rc, &err, block_rc, &block_err);
            must(rc != TP_OK || block_rc != TP_OK || n == 0);
            return tp_input_offset(blocks);
        }
        must(n == portion && memcmp(got, want, n) == 0);
        tp_input_take(in, portion);
        tp_input_take(blocks, portion);
        must(tp_input_line(in) == tp_input_line(blocks));
        must(tp_input_offset(in) == tp_input_offset(blocks));
    }
}

/* The descriptor holds what the input gives. */
static void compare_file(struct tp_input *in, int fd)
{
    static unsigned char held[AT_ONE];
    const unsigned char *data = NULL;
    size_t got = 0;
    must(tp_input_block(in, &data, &got, NULL) == TP_OK);
    while (got > 0) {
        uint64_t at = tp_input_offset(in);
        got = got < sizeof held ? got : sizeof held;
        must(pread(fd, held, got, (off_t)at) == (ssize_t)got && memcmp(held, data, got) == 0);
        tp_input_take(in, got);
        must(tp_input_block(in, &data, &got, NULL) == TP_OK);
    }
    must(pread(fd, held, 1, (off_t)tp_input_offset(in)) == 0);
    close(fd);
}

static void check_file(const uint8_t *data, size_t size)
{
    struct tp_err err = {0}, again = {0};
    struct tp_input *in = open_bytes(data, size, &err);
    int fd = -1, anew = -1;
    if (!in)
        return;
    int rc = tp_input_reopen(in, &anew, &again);
    must(tp_input_file(in, &fd, &err) == rc);
    if (rc == TP_OK) {
        compare_file(in, fd);
        tp_input_close(in);
        in = open_bytes(data, size, &err);
        compare_file(in, anew);
    } else {
        check_error(rc, &err);
        must(strcmp(err.text, again.text) == 0);
    }
    tp_input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_err err = {0};
    if (size < 2)
        return 0;
    struct tp_input *in = open_bytes(data + 1, size - 1, &err);
    if (!in)
        return 0;
    struct tp_input *blocks = open_bytes(data + 1, size - 1, &err);
    uint64_t most = RATIO * size > LIMIT ? RATIO * size : LIMIT;
    must(compare(in, blocks, data, size) <= most + AT_ONE);
    tp_input_close(in);
    tp_input_close(blocks);
    if (data[0] & 1)
        check_file(data + 1, size - 1);
    return 0;
}
