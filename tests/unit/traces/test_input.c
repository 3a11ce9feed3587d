/* The reader of bytes: what it refuses, and that positions and contents hold over blocks and pipes.
 */
#include "tests/unit/input_rig.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"

static void must_fail(const char *path, const char *text)
{
    struct tp_input *in = NULL;
    struct tp_err err = {0};
    assert_int_equal(tp_input_open(path, 0, NULL, &in, &err), TP_EINPUT);
    assert_string_equal(err.text, text);
    assert_null(in);
}

TEST(test_refusals)
{
    must_fail("/nonexistent/x.json", "/nonexistent/x.json: no such file");
    must_fail("/tmp", "/tmp is a directory");
    must_fail("/nonexistent/\x1b[31m\xff.json", "/nonexistent/?[31m?.json: no such file");
    char path[] = RIG_FILE, text[100];
    make_file(path, "", 0);
    snprintf(text, sizeof text, "%s: empty file: no trace in it", path);
    must_fail(path, text);
    unlink(path);
}

TEST(test_empty_memory)
{
    struct tp_input *in = NULL;
    struct tp_err err = {0};
    assert_int_equal(tp_input_memory("m", "", 0, 0, &in, &err), TP_EINPUT);
    assert_string_equal(err.text, "m: empty: no trace in it");
}

TEST(test_positions)
{
    struct tp_input *in = NULL;
    const unsigned char *data = NULL;
    size_t got = 0;
    assert_int_equal(tp_input_memory("m", "a\n\nbc", 5, 0, &in, NULL), TP_OK);
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

TEST(test_file)
{
    char path[] = RIG_FILE;
    struct bytes all = make_pattern(MANY);
    make_file(path, all.data, all.size);
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
    assert_null(tp_input_packing(in));
    read_pattern(in);
    tp_input_close(in);
    assert_int_equal(tp_input_memory("m", all.data, all.size, 0, &in, NULL), TP_OK);
    read_pattern(in);
    assert_int_equal(tp_input_finish(in, NULL), TP_OK);
    tp_input_close(in);
    unlink(path);
    free(all.data);
}

TEST(test_stdin_pipe)
{
    struct bytes all = make_pattern(MANY);
    struct feeder f;
    feed(&f, all.data, all.size);
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open("-", 0, NULL, &in, NULL), TP_OK);
    assert_string_equal(tp_input_name(in), "stdin");
    read_pattern(in);
    tp_input_close(in);
    feed_end(&f);
    free(all.data);
}

/* A look ahead waits for all that it was asked for, however small the pieces come. */
TEST(test_peek_waits)
{
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
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
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

TEST(test_read_error)
{
    /* a directory is seen on opening; memory of the own process fails only in read(2) */
    struct tp_input *in = NULL;
    struct tp_err err = {0};
    assert_int_equal(tp_input_open("/proc/self/mem", 0, NULL, &in, &err), TP_EIO);
    assert_non_null(strstr(err.text, "/proc/self/mem: cannot be read: "));
}

static void check_clean(const char *in, size_t size, const char *expected)
{
    char out[64];
    tp_clean_text(in, out, size);
    assert_string_equal(out, expected);
}

TEST(test_clean)
{
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

/* What a service that runs jobs would do on reading it in their output. */
TEST(test_clean_commands)
{
    check_clean("::error::x", 64, "?:error::x");
    check_clean("  ::add-mask::x", 64, "  ?:add-mask::x");
    check_clean("a\n::error::x", 64, "a?::error::x");
    check_clean("\xc2\xa0::error::x", 64, "\xc2\xa0?:error::x"); /* blanks that are trimmed, too */
    check_clean("\xe2\x80\x83::x", 64, "\xe2\x80\x83?:x");
    check_clean("\xe3\x80\x80::x", 64, "\xe3\x80\x80?:x");
    check_clean(":::error::x", 64, "??:error::x");
    check_clean("a:::x", 64, "a:?:x"); /* broken before any of them */
    check_clean("std::vector<a::b>::size", 64, "std::vector<a::b>::size");
    check_clean("a : :b: c", 64, "a : :b: c");
    check_clean("a ##[error]x", 64, "a ?#[error]x");
    check_clean("##vso[task.x]", 64, "?#vso[task.x]");
    check_clean("###teamcity[x]", 64, "#?#teamcity[x]");
    check_clean("## a [b] ##c #[d", 64, "## a [b] ##c #[d");
    check_clean("##", 64, "##");
}

TEST(test_grouped)
{
    assert_string_equal(tp_count(0).s, "0");
    assert_string_equal(tp_count(999).s, "999");
    assert_string_equal(tp_count(1000).s, "1,000");
    assert_string_equal(tp_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
}
