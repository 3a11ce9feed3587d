/* All bytes of an input through a descriptor: the file itself or a copy, from every kind of input,
 * and reading goes on beside it. */
#include "tests/unit/input_rig.h"

#include <sys/stat.h>

/* Some of it in every part, from the back; moves its position, and closes it. */
static void check_file(int fd)
{
    struct stat st;
    unsigned char data[1000];
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, MANY);
    assert_int_equal(lseek(fd, 12345, SEEK_SET), 12345);
    for (size_t at = MANY - sizeof data;; at -= at < 50021 ? at : 50021) {
        assert_int_equal(pread(fd, data, sizeof data, (off_t)at), sizeof data);
        for (size_t i = 0; i < sizeof data; i++)
            assert_int_equal(data[i], pattern(at + i));
        if (at == 0)
            break;
    }
    close(fd);
}

static size_t read_half(struct tp_input *in)
{
    for (size_t i = 0; i < MANY / 2; i++)
        assert_int_equal(tp_input_byte(in), pattern(i));
    return MANY / 2;
}

/* Before anything is taken, beside reading, and after everything. Closes the input. */
static void check_fresh(struct tp_input *in)
{
    const unsigned char *data = NULL;
    size_t got = 0;
    int fd = -1, later = -1;
    assert_int_equal(tp_input_peek(in, 65536, &data, &got, NULL), TP_OK);
    assert_int_equal(got, 65536);
    assert_int_equal(tp_input_file(in, &fd, NULL), TP_OK);
    size_t at = read_half(in);
    assert_int_equal(tp_input_file(in, &later, NULL), TP_OK); /* now it is a file */
    check_file(later);
    check_file(fd);
    read_pattern_from(in, at);
    assert_int_equal(tp_input_reopen(in, &fd, NULL), TP_OK);
    tp_input_close(in);
    check_file(fd);
}

/* Only after everything, or after a part: by reading anew. Closes the input. */
static void check_later(struct tp_input *in, bool packed)
{
    struct tp_err err = {0};
    int fd = -1;
    size_t at = read_half(in);
    if (packed) {
        assert_int_equal(tp_input_file(in, &fd, &err), TP_EUNSUP);
        assert_non_null(strstr(err.text, ": its beginning is no longer there"));
        assert_int_equal(fd, -1);
    }
    assert_int_equal(tp_input_reopen(in, &fd, NULL), TP_OK);
    check_file(fd);
    read_pattern_from(in, at);
    assert_int_equal(tp_input_reopen(in, &fd, NULL), TP_OK);
    tp_input_close(in);
    check_file(fd);
}

static struct tp_input *memory(struct bytes b)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_memory("m", b.data, b.size, 0, &in, NULL), TP_OK);
    return in;
}

static struct tp_input *file(const char *path)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
    return in;
}

static void check_bytes(struct bytes b, bool packed)
{
    char path[] = RIG_FILE;
    make_file(path, b.data, b.size);
    check_fresh(file(path));
    check_later(file(path), packed);
    check_fresh(memory(b));
    check_later(memory(b), packed);
    unlink(path);
}

TEST(test_plain)
{
    struct bytes all = make_pattern(MANY);
    check_bytes(all, false);
    free(all.data);
}

TEST(test_packed)
{
    struct bytes all = make_pattern(MANY);
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = packers[i].pack(all.data, all.size);
        check_bytes(packed, true);
        free(packed.data);
    }
    free(all.data);
}

/* An unpacked file is not copied: not even $TMPDIR is needed. */
TEST(test_in_place)
{
    char path[] = RIG_FILE;
    struct bytes all = make_pattern(MANY);
    struct stat own, got;
    int fd = -1;
    make_file(path, all.data, all.size);
    struct tp_input *in = file(path);
    assert_int_equal(tp_input_file(in, &fd, NULL), TP_OK);
    assert_int_equal(stat(path, &own), 0);
    assert_int_equal(fstat(fd, &got), 0);
    assert_int_equal(own.st_ino, got.st_ino);
    assert_true(tp_input_taken(in) > all.size / 2); /* who has the descriptor may read all of it */
    tp_input_close(in);
    check_file(fd);
    unlink(path);
    free(all.data);
}

TEST(test_pipe)
{
    struct bytes all = make_pattern(MANY);
    for (size_t i = 0; i <= PACKERS; i++) {
        struct bytes b = i < PACKERS ? packers[i].pack(all.data, all.size) : make_pattern(MANY);
        struct feeder f;
        struct tp_err err = {0};
        int fd = -1;
        feed(&f, b.data, b.size);
        check_fresh(file("-"));
        feed_end(&f);
        feed(&f, b.data, b.size);
        struct tp_input *in = file("-");
        size_t at = read_half(in);
        assert_int_equal(tp_input_file(in, &fd, &err), TP_EUNSUP);
        assert_int_equal(tp_input_reopen(in, &fd, &err), TP_EUNSUP);
        assert_string_equal(err.text, "stdin: can be read only once");
        read_pattern_from(in, at);
        tp_input_close(in);
        feed_end(&f);
        free(b.data);
    }
    free(all.data);
}

/* stdin may be a file of which a part was taken by others: what is left of it is the input. */
TEST(test_stdin_file)
{
    char path[] = RIG_FILE;
    struct bytes all = make_pattern(MANY);
    int saved = dup(STDIN_FILENO), fd = -1;
    make_file(path, "skip", 4);
    int end = open(path, O_RDWR | O_APPEND);
    assert_int_equal(write(end, all.data, all.size), (ssize_t)all.size);
    assert_int_equal(lseek(end, 4, SEEK_SET), 4);
    assert_int_equal(dup2(end, STDIN_FILENO), STDIN_FILENO);
    struct tp_input *in = file("-");
    assert_int_equal(tp_input_reopen(in, &fd, NULL), TP_EUNSUP);
    check_fresh(in);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(end);
    unlink(path);
    free(all.data);
}

/* Damage behind the first block is found while copying, and stays. */
TEST(test_damaged)
{
    struct bytes all = make_pattern(MANY), packed = pack_gzip(all.data, all.size);
    struct tp_err err = {0};
    int fd = -1;
    packed.data[packed.size - 8] ^= 1;
    struct tp_input *in = memory(packed);
    assert_int_equal(tp_input_reopen(in, &fd, &err), TP_EINPUT);
    assert_int_equal(tp_input_byte(in), pattern(0)); /* as if that had not been */
    tp_input_close(in);
    in = memory(packed);
    assert_int_equal(tp_input_file(in, &fd, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "m: the gzip data is damaged at byte "));
    assert_int_equal(fd, -1);
    assert_int_equal(tp_input_byte(in), -2);
    tp_input_close(in);
    free(packed.data);
    free(all.data);
}

TEST(test_no_room)
{
    struct bytes all = make_pattern(MANY), packed = pack_gzip(all.data, all.size);
    const char *before = getenv("TMPDIR");
    char saved[256];
    struct tp_err err = {0};
    int fd = -1;
    snprintf(saved, sizeof saved, "%s", before ? before : "");
    struct tp_input *in = memory(packed);
    setenv("TMPDIR", "/nonexistent", 1);
    assert_int_equal(tp_input_file(in, &fd, &err), TP_EIO);
    assert_non_null(strstr(err.text, "/nonexistent"));
    if (before)
        setenv("TMPDIR", saved, 1);
    else
        unsetenv("TMPDIR");
    assert_int_equal(fd, -1);
    read_pattern(in); /* nothing was lost */
    tp_input_close(in);
    free(packed.data);
    free(all.data);
}
