/* The line reader: ends of lines, marks, limits, blocks, and numbers that must fit. */
#include "tests/unit/trace_fixture.h"

#include "traces/input/lines.h"

#include <unistd.h>

static struct tp_input *memory(const void *data, size_t size)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_memory("x.txt", data, size, 0, &in, NULL), TP_OK);
    return in;
}

/* The lines, each in brackets; "!" behind one that has no newline. */
static void join_lines(const char *text, size_t size, char *out)
{
    struct tp_input *in = memory(text, size);
    struct tp_lines lines = {.in = in};
    struct tp_cut line;
    uint64_t number = 0;
    out[0] = '\0';
    while (assert_int_equal(tp_lines_next(&lines, &line, NULL), TP_OK), !lines.ended) {
        assert_int_equal(lines.number, ++number);
        snprintf(out + strlen(out), 100 - strlen(out), "[%.*s]%s", (int)(line.end - line.at),
                 line.at, lines.unended ? "!" : "");
    }
    assert_int_equal(tp_lines_next(&lines, &line, NULL), TP_OK); /* the end stays the end */
    assert_true(lines.ended);
    tp_input_close(in);
}

TEST(test_ends_of_lines)
{
    static const struct {
        const char *text, *lines;
    } rows[] = {
        {"a\nb\n", "[a][b]"},
        {"a\nb", "[a][b]!"},
        {"a\r\n\r\nb\r", "[a][][b]!"},
        {"\n\n", "[][]"},
        {"\xef\xbb\xbf"
         "a\n\xef\xbb\xbf"
         "b\n",
         "[a][\xef\xbb\xbf"
         "b]"},
        {"\xef\xbb\xbf", "[]!"},
        {"a\rb\n", "[a\rb]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char got[100];
        join_lines(rows[i].text, strlen(rows[i].text), got);
        assert_string_equal(got, rows[i].lines);
    }
}

/* Lines of every length around the limit, with each kind of end; what follows is still there. */
static void check_long(size_t length, const char *end, bool fits)
{
    char *text = malloc(length + 8);
    assert_non_null(text);
    memset(text, 'x', length);
    snprintf(text + length, 8, "%s%s", end, *end ? "z\n" : "");
    for (int skip = 0; skip < 2; skip++) {
        struct tp_input *in = memory(text, strlen(text));
        struct tp_lines lines = {.in = in, .skip_long = skip};
        struct tp_cut line;
        struct tp_err err = {0};
        int rc = tp_lines_next(&lines, &line, &err);
        assert_int_equal(rc, fits || skip ? TP_OK : TP_EINPUT);
        if (rc == TP_OK)
            assert_int_equal(line.end - line.at, fits ? length : TP_LINE_MAX);
        else
            assert_string_equal(err.text, "x.txt:1: a line of more than 32,768 bytes");
        if (rc == TP_OK) {
            assert_int_equal(tp_lines_next(&lines, &line, &err), TP_OK);
            assert_true(*end ? line.end - line.at == 1 && *line.at == 'z' && lines.number == 2
                             : lines.ended);
        }
        tp_input_close(in);
    }
    free(text);
}

TEST(test_limit)
{
    static const char *const ends[] = {"\n", "\r\n", ""};
    for (int i = 0; i < 3; i++) {
        check_long(TP_LINE_MAX - 1, ends[i], true);
        check_long(TP_LINE_MAX, ends[i], true);
        check_long(TP_LINE_MAX + 1, ends[i], false);
        check_long(TP_LINE_MAX + 2, ends[i], false);
        check_long(3 * TP_LINE_MAX, ends[i], false);
        check_long(40 * TP_LINE_MAX, ends[i], false);
    }
}

/* A file of several blocks: every line is whole, wherever a block ends. */
TEST(test_blocks)
{
    char path[] = "/tmp/tapool-lines-XXXXXX";
    enum { LINES = 60000 };
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    for (int i = 1; i <= LINES; i++)
        fprintf(f, "%d %.*s\n", i, i % 37, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq");
    fclose(f);
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
    unlink(path);
    struct tp_lines lines = {.in = in};
    struct tp_cut line;
    uint64_t value = 0;
    for (uint64_t i = 1; i <= LINES; i++) {
        assert_int_equal(tp_lines_next(&lines, &line, NULL), TP_OK);
        assert_true(tp_cut_decimal(&line, &value) && value == i && lines.number == i);
        assert_int_equal(line.end - line.at, 1 + i % 37);
    }
    assert_int_equal(tp_lines_next(&lines, &line, NULL), TP_OK);
    assert_true(lines.ended);
    tp_input_close(in);
}

enum { DECIMAL, HEX, POINTER };
static bool take(int kind, struct tp_cut *c, uint64_t *v)
{
    if (kind == DECIMAL)
        return tp_cut_decimal(c, v);
    return kind == HEX ? tp_cut_hex(c, v) : tp_cut_pointer(c, v);
}

TEST(test_numbers)
{
    static const struct {
        int kind;
        const char *text;
        bool taken;
        uint64_t value;
        const char *rest;
    } rows[] = {
        {DECIMAL, "0", true, 0, ""},
        {DECIMAL, "0012,", true, 12, ","},
        {DECIMAL, "18446744073709551615x", true, UINT64_MAX, "x"},
        {DECIMAL, "18446744073709551616", false, 0, "18446744073709551616"},
        {DECIMAL, "18446744073709551620", false, 0, "18446744073709551620"},
        {DECIMAL, "99999999999999999999999", false, 0, "99999999999999999999999"},
        {DECIMAL, "00000000000000000000000007", true, 7, ""},
        {DECIMAL, "", false, 0, ""},
        {DECIMAL, "-1", false, 0, "-1"},
        {DECIMAL, "+1", false, 0, "+1"},
        {DECIMAL, " 1", false, 0, " 1"},
        {HEX, "0x", false, 0, "0x"},
        {HEX, "0xfF ", true, 255, " "},
        {HEX, "0XAb", true, 171, ""},
        {HEX, "12", true, 18, ""},
        {HEX, "ffffffffffffffff", true, UINT64_MAX, ""},
        {HEX, "0x10000000000000000", false, 0, "0x10000000000000000"},
        {HEX, "0xg", false, 0, "0xg"},
        {HEX, "g", false, 0, "g"},
        {HEX, "", false, 0, ""},
        {POINTER, "(nil),", true, 0, ","},
        {POINTER, "nullptr,", true, 0, ","},
        {POINTER, "0x7f0", true, 0x7f0, ""},
        {POINTER, "(null)", false, 0, "(null)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tp_cut c = {rows[i].text, rows[i].text + strlen(rows[i].text)};
        uint64_t value = 0;
        assert_int_equal(take(rows[i].kind, &c, &value), rows[i].taken);
        if (rows[i].taken)
            assert_int_equal(value, rows[i].value);
        assert_string_equal(c.at, rows[i].rest);
    }
}

TEST(test_fields)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a,,b\r\nlast";
    struct tp_cut all = tp_cut_start((const unsigned char *)text, sizeof text - 1), line;
    assert_true(tp_cut_line(&all, &line));
    assert_true(tp_cut_text(&line, "a,"));
    assert_false(tp_cut_text(&line, ",bb"));
    struct tp_cut empty = tp_cut_field(&line, ',');
    assert_ptr_equal(empty.at, empty.end);
    struct tp_cut field = tp_cut_field(&line, ',');
    assert_int_equal(field.end - field.at, 1);
    assert_false(tp_cut_byte(&line, ','));
    assert_true(tp_cut_line(&all, &line) && line.end - line.at == 4);
    assert_false(tp_cut_line(&all, &line));
}

TEST(test_quotes)
{
    char out[TP_CUT_SHOWN];
    static const char nul[] = "a\0b\x1b";
    static const char text[] = "0123456789012345678901234567890123456789+";
    assert_string_equal(tp_cut_show((struct tp_cut){nul, nul + 4}, out), "a?b?");
    assert_string_equal(tp_cut_show((struct tp_cut){text, text + 40}, out),
                        "0123456789012345678901234567890123456789");
    assert_string_equal(tp_cut_show((struct tp_cut){text, text + 41}, out),
                        "0123456789012345678901234567890123456...");
    assert_string_equal(tp_cut_show((struct tp_cut){text, text}, out), "");
}
