/* The reader of bytes: what it refuses, and that positions and contents hold over blocks and pipes.
 */
#include "tests/unit/trace_fixture.h"

#include "traces/clean.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void must_fail(const char *path, const char *text)
{
    struct tp_input *in = NULL;
    struct tp_err err = {0};
    assert_int_equal(tp_input_open(path, &in, &err), TP_EINPUT);
    assert_string_equal(err.text, text);
    assert_null(in);
}

static void make_file(char *path, const void *data, size_t size)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), (ssize_t)size);
    close(fd);
}

static void test_refusals(void **state)
{
    (void)state;
    must_fail("/nonexistent/x.json", "/nonexistent/x.json: no such file");
    must_fail("/tmp", "/tmp is a directory");
    must_fail("/nonexistent/\x1b[31m\xff.json", "/nonexistent/?[31m?.json: no such file");
    char path[] = "/tmp/tapool-input-XXXXXX", text[100];
    make_file(path, "", 0);
    snprintf(text, sizeof text, "%s: empty file: no trace in it", path);
    must_fail(path, text);
    unlink(path);
}

static void test_empty_memory(void **state)
{
    (void)state;
    struct tp_input *in = NULL;
    struct tp_err err = {0};
    assert_int_equal(tp_input_memory("m", "", 0, &in, &err), TP_EINPUT);
    assert_string_equal(err.text, "m: empty: no trace in it");
}

static void test_positions(void **state)
{
    (void)state;
    struct tp_input *in = NULL;
    const unsigned char *data = NULL;
    size_t got = 0;
    assert_int_equal(tp_input_memory("m", "a\n\nbc", 5, &in, NULL), TP_OK);
    assert_int_equal(tp_input_peek(in, 3, &data, &got, NULL), TP_OK);
    assert_int_equal(got, 3);
    assert_memory_equal(data, "a\n\n", 3);
    assert_int_equal(tp_input_line(in), 1);
    assert_int_equal(tp_input_byte(in), 'a');
    assert_int_equal(tp_input_byte(in), '\n');
    assert_int_equal(tp_input_line(in), 2);
    assert_int_equal(tp_input_block(in, &data, &got, NULL), TP_OK);
    assert_int_equal(got, 3);
    tp_input_take(in, 2);
    assert_int_equal(tp_input_line(in), 3);
    assert_int_equal(tp_input_offset(in), 4);
    assert_int_equal(tp_input_peek(in, 100, &data, &got, NULL), TP_OK);
    assert_int_equal(got, 1);
    assert_int_equal(tp_input_byte(in), 'c');
    assert_int_equal(tp_input_byte(in), -1);
    assert_int_equal(tp_input_byte(in), -1);
    assert_int_equal(tp_input_error(in, NULL), TP_OK);
    tp_input_close(in);
}

#define MANY 700001u /* bytes: over several buffers, not a multiple of any */

static unsigned char pattern(size_t i)
{
    return i % 61 == 60 ? '\n' : (unsigned char)(i * 7 + i / 251);
}

/* Every way of looking, in turn, with sizes that fall across the ends of blocks. */
static void read_pattern(struct tp_input *in)
{
    static const size_t wants[] = {1, 65536, 7, 40000, 3, 65535};
    size_t at = 0, lines = 1;
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

static void test_file(void **state)
{
    (void)state;
    char path[] = "/tmp/tapool-input-XXXXXX";
    unsigned char *data = malloc(MANY);
    assert_non_null(data);
    for (size_t i = 0; i < MANY; i++)
        data[i] = pattern(i);
    make_file(path, data, MANY);
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open(path, &in, NULL), TP_OK);
    read_pattern(in);
    tp_input_close(in);
    assert_int_equal(tp_input_memory("m", data, MANY, &in, NULL), TP_OK);
    read_pattern(in);
    tp_input_close(in);
    unlink(path);
    free(data);
}

/* Writes the pattern in small pieces, the first after a pause, and ends. */
static void write_slowly(int fd)
{
    unsigned char piece[997];
    usleep(30000);
    for (size_t at = 0; at < MANY;) {
        size_t n = sizeof piece < MANY - at ? sizeof piece : MANY - at;
        for (size_t i = 0; i < n; i++)
            piece[i] = pattern(at + i);
        ssize_t done = write(fd, piece, n);
        if (done <= 0)
            _exit(1);
        at += (size_t)done;
    }
    _exit(0);
}

static void test_stdin_pipe(void **state)
{
    (void)state;
    int ends[2], status = 0;
    int saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        write_slowly(ends[1]);
    }
    close(ends[1]);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0); /* must be waited for all the same */
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open("-", &in, NULL), TP_OK);
    assert_string_equal(tp_input_name(in), "stdin");
    read_pattern(in);
    tp_input_close(in);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* stdin is not ours to close */
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
}

/* A look ahead waits for all that it was asked for, however small the pieces come. */
static void test_peek_waits(void **state)
{
    (void)state;
    int ends[2], status = 0;
    char path[64];
    struct tp_input *in = NULL;
    const unsigned char *data = NULL;
    size_t got = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 4; i++) {
            if (write(ends[1], &"abcd"[i], 1) != 1)
                _exit(1);
            usleep(30000);
        }
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(tp_input_open(path, &in, NULL), TP_OK);
    assert_int_equal(tp_input_peek(in, 4, &data, &got, NULL), TP_OK);
    assert_int_equal(got, 4);
    assert_memory_equal(data, "abcd", 4);
    assert_int_equal(tp_input_peek(in, 5, &data, &got, NULL), TP_OK);
    assert_int_equal(got, 4);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tp_input_close(in);
    close(ends[0]);
}

static void test_read_error(void **state)
{
    (void)state;
    /* a directory is seen on opening; memory of the own process fails only in read(2) */
    struct tp_input *in = NULL;
    struct tp_err err = {0};
    assert_int_equal(tp_input_open("/proc/self/mem", &in, &err), TP_EIO);
    assert_non_null(strstr(err.text, "/proc/self/mem: cannot be read: "));
}

static void check_clean(const char *in, size_t size, const char *expected)
{
    char out[64];
    tp_clean_text(in, out, size);
    assert_string_equal(out, expected);
}

static void test_clean(void **state)
{
    (void)state;
    check_clean("plain", 64, "plain");
    check_clean(NULL, 64, "");
    check_clean("a\x1b[0m\n\x7f", 64, "a?[0m??");
    check_clean("gr\xc3\xbc\xc3\x9f", 64, "gr\xc3\xbc\xc3\x9f");
    check_clean("\xf0\x9f\x98\x80", 64, "\xf0\x9f\x98\x80");
    check_clean("\xc2\x9b", 64, "?");            /* CSI as one character */
    check_clean("\xe2\x80\xae", 64, "?");        /* turns the direction */
    check_clean("\xc0\xaf", 64, "??");           /* overlong */
    check_clean("\xe0\x80\xaf", 64, "???");      /* overlong in three bytes */
    check_clean("\xed\xa0\x80", 64, "???");      /* surrogate */
    check_clean("\xf4\x90\x80\x80", 64, "????"); /* beyond U+10FFFF */
    check_clean("ab\xc3", 64, "ab?");            /* cut */
    check_clean("ab\xc3\xbc", 4, "ab");          /* no room for the whole letter */
    check_clean("abc", 3, "ab");
}

static void test_grouped(void **state)
{
    (void)state;
    char out[TP_GROUPED];
    assert_string_equal(tp_grouped(0, out), "0");
    assert_string_equal(tp_grouped(999, out), "999");
    assert_string_equal(tp_grouped(1000, out), "1,000");
    assert_string_equal(tp_grouped(UINT64_MAX, out), "18,446,744,073,709,551,615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_empty_memory),
        cmocka_unit_test(test_positions),  cmocka_unit_test(test_file),
        cmocka_unit_test(test_stdin_pipe), cmocka_unit_test(test_peek_waits),
        cmocka_unit_test(test_read_error), cmocka_unit_test(test_clean),
        cmocka_unit_test(test_grouped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
