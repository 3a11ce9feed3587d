/* Texts that are put together piece by piece, and texts that are written into another language. */
#include "alloc/base/str.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/text.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- one that grows ---- */

TEST(a_text_grows)
{
    struct tp_str s = {0};
    assert_string_equal(tp_str_text(&s), "");
    for (int i = 0; i < 5000; i++)
        tp_str_add(&s, "%d,", i % 10);
    assert_int_equal(s.length, 10000);
    assert_int_equal(strlen(tp_str_text(&s)), 10000);
    for (int i = 0; i < 5000; i++)
        assert_true(s.s[2 * i] == '0' + i % 10 && s.s[2 * i + 1] == ',');
    assert_int_equal(tp_str_status(&s, NULL), TP_OK);
    tp_str_drop(&s);
    assert_string_equal(tp_str_text(&s), "");
    tp_str_add(&s, "%0*d", 3000, 7); /* one piece, larger than any first room */
    assert_int_equal(strlen(tp_str_text(&s)), 3000);
    assert_true(s.s[2999] == '7');
    tp_str_drop(&s);
}

TEST(items_are_separated)
{
    struct tp_str s = {0};
    tp_str_item(&s, ", ", "%s", "a");
    assert_string_equal(tp_str_text(&s), "a");
    tp_str_item(&s, ", ", "%s", "b");
    tp_str_item(&s, "; ", "%d", 3);
    assert_string_equal(tp_str_text(&s), "a, b; 3");
    tp_str_drop(&s);
}

/* Once a piece was lost, what follows would stand at a wrong place. */
TEST(a_lost_piece_is_remembered)
{
    struct tp_err err;
    struct tp_str s = {0};
    tp_str_fail(&s);
    assert_string_equal(tp_str_text(&s), "...");
    tp_str_add(&s, "more");
    assert_string_equal(tp_str_text(&s), "...");
    tp_str_drop(&s);
    tp_str_add(&s, "command");
    tp_str_fail(&s);
    tp_str_add(&s, " --option");
    assert_string_equal(tp_str_text(&s), "command...");
    assert_int_equal(tp_str_status(&s, &err), TP_ENOMEM);
    assert_non_null(strstr(err.text, "out of memory"));
    tp_str_drop(&s);
    assert_int_equal(tp_str_status(&s, &err), TP_OK);
}

/* ---- in an array ---- */

TEST(an_array_is_never_cut_silently)
{
    static const struct {
        const char *pieces[3], *text;
    } rows[] = {{{"1234567", "", ""}, "1234567"},
                {{"12345678", "", ""}, "1234..."},
                {{"1234567", "8", ""}, "1234..."},
                {{"123456", "78", "9"}, "1234..."},
                {{"12345678", "", "9"}, "1234..."},
                {{"123\xc3\xa4\xc3\xa4\xc3\xa4", "", "x"}, "123...."},
                {{"12\xf0\x9f\x98\x80"
                  "78",
                  "x", ""},
                 "12....."}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char array[8], pieces[8] = "";
        struct tp_str s = TP_STR_IN(array);
        for (size_t p = 0; p < 3; p++) {
            tp_str_add(&s, "%s", rows[i].pieces[p]);
            tp_append(pieces, sizeof pieces, "%s", rows[i].pieces[p]);
        }
        assert_string_equal(array, rows[i].text);
        assert_string_equal(pieces, rows[i].text);
        assert_ptr_equal(tp_str_text(&s), array);
        assert_int_equal(s.length, strlen(array));
        assert_int_equal(s.cut, i > 0);
        tp_str_drop(&s); /* the array is the caller's */
    }
    char tiny[3];
    struct tp_str s = TP_STR_IN(tiny); /* no room for a sign: the flag has it */
    tp_str_add(&s, "1234");
    assert_true(s.cut && strlen(tiny) < sizeof tiny);
}

/* ---- numbers of things ---- */

TEST(things_are_counted)
{
    static const struct {
        uint64_t n;
        const char *noun, *text;
    } rows[] = {{0, "piece", "0 pieces"},
                {1, "piece", "1 piece"},
                {6170, "event", "6,170 events"},
                {1, "strategy", "1 strategy"},
                {2, "strategy", "2 strategies"},
                {2, "replay", "2 replays"},
                {1, "process", "1 process"},
                {2, "process", "2 processes"},
                {UINT64_MAX, "memory space", "18,446,744,073,709,551,615 memory spaces"}};
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(tp_plural(rows[i].n, rows[i].noun).s, rows[i].text);
}

/* ---- other languages ---- */

static void expect(enum tp_target target, const char *text, const char *as)
{
    struct tp_str s = {0};
    char *written = NULL;
    size_t size;
    tp_str_escape(&s, target, text);
    assert_string_equal(tp_str_text(&s), as);
    tp_str_drop(&s);
    FILE *out = open_memstream(&written, &size);
    assert_non_null(out);
    tp_escape(out, target, text);
    fclose(out);
    assert_string_equal(written, as);
    free(written);
}

TEST(texts_are_escaped)
{
    static const struct {
        const char *text, *xml, *cell, *markdown, *message, *property;
    } rows[] = {
        {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;", "`a<b>&\"'`", "a&lt;b&gt;&amp;\"'", "a<b>&\"'",
         "a<b>&\"'"},
        {"]]>", "]]&gt;", "`]]>`", "\\]\\]&gt;", "]]>", "]]>"},
        {"a\nb\r\x1b", "a?b??", "`a?b??`", "a?b??", "a?b??", "a?b??"},
        {"50%:,", "50%:,", "`50%:,`", "50%:,", "50%25:,", "50%25%3A%2C"},
        {"a|`b``", "a|`b``", "``` a\\|`b`` ```", "a\\|\\`b\\`\\`", "a|`b``", "a|`b``"},
        {"", "", "-", "", "", ""},
        {"\xff\xef\xbf\xbe", "??", "`?\xef\xbf\xbe`", "?\xef\xbf\xbe", "?\xef\xbf\xbe",
         "?\xef\xbf\xbe"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        expect(TP_TO_XML, rows[i].text, rows[i].xml);
        expect(TP_TO_CODE_CELL, rows[i].text, rows[i].cell);
        expect(TP_TO_MARKDOWN, rows[i].text, rows[i].markdown);
        expect(TP_TO_MESSAGE, rows[i].text, rows[i].message);
        expect(TP_TO_PROPERTY, rows[i].text, rows[i].property);
    }
    expect(TP_TO_CODE, "a|b", "`a|b`");
    expect(TP_TO_LINE, "a\nb \xe2\x80\xae|", "a?b ?|");
}

/* Nothing is markup, nobody is mentioned, nothing is linked, no formula is set. */
TEST(markdown_reads_as_it_is)
{
    static const char *const rows[][2] = {
        {"plain text, 1.5 MiB (x)", "plain text, 1.5 MiB (x)"},
        {"a|b|c", "a\\|b\\|c"},
        {"`x` *y* _z_ ~1", "\\`x\\` \\*y\\* \\_z\\_ \\~1"},
        {"<b>&amp;[l](u)![i]", "&lt;b&gt;&amp;amp;\\[l\\](u)\\!\\[i\\]"},
        {"@me #12", "@\xe2\x80\x8bme \\#\xe2\x80\x8b"
                    "12"},
        {"$x$ {y}", "\\$x\\$ \\{y\\}"},
        {"\\|", "\\\\\\|"}};
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(TP_TO_MARKDOWN, rows[i][0], rows[i][1]);
}

TEST(cells_are_no_formulas)
{
    static const char *const rows[][2] = {
        {"plain text", "plain text"},
        {"", ""},
        {"a,b", "\"a,b\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {" a ", "\" a \""},
        {"=1+2", "'=1+2"},
        {"+SUM(A1,A2)", "\"'+SUM(A1,A2)\""},
        {"@x", "'@x"},
        {"-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"},
        {" =1", "\"' =1\""},
        {"\t=1", "?=1"}, /* cleaned */
        {"\r=1", "?=1"},
        {"-O1 -g", "'-O1 -g"},
        {"-", "'-"},
        {"-inf", "'-inf"},
        {"-1.5", "-1.5"},
        {"+3", "+3"},
        {"-2.5e-07", "-2.5e-07"},
        {"-1e", "'-1e"},
        {"::error::x", "?:error::x"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(TP_TO_CSV, rows[i][0], rows[i][1]);
}

TEST(words_survive_a_shell)
{
    static const char *const rows[][2] = {{"a.tpt", "a.tpt"},
                                          {"my traces/a b.tpt", "'my traces/a b.tpt'"},
                                          {"", "''"},
                                          {"it's", "'it'\\''s'"},
                                          {"\xc3\xa4", "'\xc3\xa4'"},
                                          {"a\x1b[2J", "'a?[2J'"},
                                          {"$(x);*", "'$(x);*'"}};
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(TP_TO_SHELL, rows[i][0], rows[i][1]);
    struct tp_str s = {0};
    tp_str_add(&s, "x");
    tp_str_option(&s, "bin", NULL);
    tp_str_option(&s, "bin", "a b");
    tp_str_strategy(&s, "lru");
    tp_str_word(&s, "");
    assert_string_equal(tp_str_text(&s), "x --bin 'a b' -s lru ''");
    tp_str_drop(&s);
}

TEST(names_stay_apart)
{
    expect(TP_TO_BENCHMARK, "a/b c%1:x,y=#2-_.+", "a%2Fb%20c%251:x,y=#2-_.+");
    expect(TP_TO_BENCHMARK, "\xc3\xa4\n", "%C3%A4%0A");
    expect(TP_TO_FILE, "../a b:c,d#2=1.5+x-y_z", ".._a_b_c_d_2=1.5+x-y_z");
    expect(TP_TO_FILE, "\xc3\xa4", "__");
    expect(TP_TO_ZSH, "it's [a:b] \\", "it'\\''s \\[a\\:b\\] \\\\");
    expect(TP_TO_ROFF, "\\-'`^~\" .x\xc3\xa4[1]", "\\e\\-\\(aq\\(ga\\(ha\\(ti\\(dq .x??[1]");
}

/* The format is written as it is, what is put into it is not. */
TEST(a_format_escapes_its_texts)
{
    struct tp_str s = {0};
    tp_str_put(&s, TP_TO_XML, "<a b=\"%s\">%s</a> 95%% %s", "x\"<y>", "100 %s & more", "");
    assert_string_equal(tp_str_text(&s), "<a b=\"x&quot;&lt;y&gt;\">100 %s &amp; more</a> 95% ");
    tp_str_drop(&s);
    tp_str_put(&s, TP_TO_CODE, "Rerun: %s|%s\n", "a`b", "");
    assert_string_equal(tp_str_text(&s), "Rerun: `` a`b ``|-\n");
    tp_str_drop(&s);
}

/* Of each target: long texts are whole. */
TEST(nothing_is_cut)
{
    static char text[20001];
    memset(text, 'a', sizeof text - 1);
    for (int t = 0; t < TP_TARGETS; t++) {
        struct tp_str s = {0};
        tp_str_escape(&s, (enum tp_target)t, text);
        assert_non_null(strstr(tp_str_text(&s), text));
        tp_str_drop(&s);
    }
}
