/* Tables from cells made by hand, as text, Markdown and CSV. */
#include "cmd/ui/table.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

/* What is written is the caller's, who frees it. */
struct screen {
    struct tp_page page;
    char *text;
    size_t size;
};

static struct tp_page *begin(struct screen *s, int width)
{
    *s = (struct screen){.page = {.width = width}};
    s->page.out = open_memstream(&s->text, &s->size);
    assert_non_null(s->page.out);
    return &s->page;
}

static void expect(struct screen *s, const char *wanted)
{
    fclose(s->page.out);
    assert_string_equal(s->text, wanted);
    free(s->text);
}

/* Two metrics of two columns each, and rows with whatever makes widths hard. */
static struct tp_table example(void)
{
    static const struct tp_column columns[] = {
        {.left = true, .to = TP_TO_CODE_CELL}, {.head = {"peak", "reserved"}},
        {.joined = true, .name = "change"},    {.head = {"", "ns, ±95%"}, .to = TP_TO_MARKDOWN},
        {.left = true, .joined = true},
    };
    struct tp_table t = {0};
    tp_table_columns(&t, columns, COUNT(columns));
    tp_table_add(&t, "arena");
    tp_table_bytes(&t, 1536, false);
    tp_table_add(&t, "base");
    tp_table_add(&t, "4.9 ±0.1");
    tp_table_add(&t, "ok");
    tp_table_add(&t, "%s", "l|r*u");
    tp_table_bytes(&t, UINT64_MAX, false);
    tp_table_add(&t, "%s", "");
    tp_table_count(&t, 12345678901);
    tp_table_add(&t, NULL);
    assert_int_equal(tp_table_status(&t, NULL), TP_OK);
    return t;
}

TEST(columns_line_up_by_characters)
{
    struct tp_table t = example();
    struct screen s;
    assert_int_equal(tp_table_rows(&t), 2);
    assert_int_equal(tp_table_width(&t), 5 + 2 + 8 + 2 + 4 + 2 + 14 + 2 + 2);
    assert_int_equal(tp_table_print(&t, begin(&s, 80), 2, TP_TABLE_FIRST), 5);
    expect(&s, "             peak\n"
               "         reserved              ns, ±95%\n"
               "  arena   1.5 KiB  base        4.9 ±0.1  ok\n"
               "  l|r*u         -        12,345,678,901\n");
    tp_table_drop(&t);
}

TEST(what_finds_no_room_is_counted_or_stands_below)
{
    struct tp_table t = example();
    struct screen s;
    /* up to the last character of the third column, and one less */
    assert_int_equal(tp_table_print(&t, begin(&s, 21), 0, TP_TABLE_FIRST), 3);
    expect(&s, "           peak\n"
               "       reserved\n"
               "arena   1.5 KiB  base\n"
               "l|r*u         -\n");
    for (int width = 1; width <= 40; width++) { /* one with what is joined to it, always */
        assert_int_equal(tp_table_print(&t, begin(&s, width), 0, TP_TABLE_FIRST), 3);
        fclose(s.page.out);
        free(s.text);
    }
    assert_int_equal(tp_table_print(&t, begin(&s, 41), 0, TP_TABLE_FIRST), 5);
    fclose(s.page.out);
    free(s.text);
    assert_int_equal(tp_table_print(&t, begin(&s, 30), 0, TP_TABLE_BELOW), 5);
    expect(&s, "           peak\n"
               "       reserved\n"
               "arena   1.5 KiB  base\n"
               "l|r*u         -\n"
               "\n"
               "             ns, ±95%\n"
               "arena        4.9 ±0.1  ok\n"
               "l|r*u  12,345,678,901\n");
    assert_int_equal(tp_table_print(&t, begin(&s, 30), 0, TP_TABLE_WIDE), 5);
    fclose(s.page.out);
    assert_non_null(strstr(s.text, "arena   1.5 KiB  base        4.9 ±0.1  ok\n"));
    free(s.text);
    tp_table_drop(&t);
}

TEST(markdown_takes_no_cell_for_markup)
{
    struct tp_table t = example();
    struct screen s;
    assert_int_equal(tp_table_markdown(&t, ":--", "--:", begin(&s, 0)->out, NULL), TP_OK);
    expect(&s, "| | peak reserved | change | ns, ±95% | |\n"
               "|:--|--:|--:|--:|:--|\n"
               "| `arena` | 1.5 KiB | base | 4.9 ±0.1 | ok |\n"
               "| `l\\|r*u` | - |  | 12,345,678,901 | |\n");
    tp_table_drop(&t);
    const struct tp_column one = {.to = TP_TO_MARKDOWN};
    tp_table_columns(&t, &one, 1);
    tp_table_add(&t, "%s", "<b>@x | \x1b[2J\n\n# y");
    tp_table_markdown(&t, "-", "-", begin(&s, 0)->out, NULL);
    fclose(s.page.out);
    assert_null(strpbrk(s.text, "<>\x1b"));
    assert_null(strstr(s.text, "@x"));
    int bars = 0, lines = 0;
    for (const char *at = s.text; *at; at++) {
        lines += *at == '\n';
        bars += *at == '|' && (at == s.text || at[-1] != '\\');
    }
    assert_int_equal(bars, 6);
    assert_int_equal(lines, 3);
    free(s.text);
    tp_table_drop(&t);
}

TEST(csv_quotes_what_needs_it)
{
    struct tp_table t = {0};
    struct screen s;
    tp_table_columns(&t, NULL, 3);
    for (char c = 'a'; c <= 'c'; c++)
        tp_table_add(&t, "%c", c);
    tp_table_add(&t, "%s", "x,\"y\"");
    tp_table_add(&t, NULL);
    tp_table_add(&t, "%s", "=1+2");
    tp_table_add(&t, "-1.5");
    tp_table_add(&t, " ");
    tp_table_add(&t, "z");
    assert_int_equal(tp_table_csv(&t, begin(&s, 0)->out, NULL), TP_OK);
    expect(&s, "a,b,c\n\"x,\"\"y\"\"\",,'=1+2\n-1.5,\" \",z\n");
    tp_table_drop(&t);
}

TEST(an_empty_table_has_its_heads)
{
    static const struct tp_column columns[] = {{.left = true}, {.head = {"", "calls"}}};
    struct tp_table t = {0};
    struct screen s;
    tp_table_columns(&t, columns, COUNT(columns));
    assert_int_equal(tp_table_rows(&t), 0);
    assert_int_equal(tp_table_print(&t, begin(&s, 80), 1, TP_TABLE_BELOW), 2);
    expect(&s, "   calls\n");
    tp_table_markdown(&t, "---", "--:", begin(&s, 0)->out, NULL);
    expect(&s, "| | calls |\n|---|--:|\n");
    tp_table_drop(&t);
    tp_table_drop(&t);
    assert_int_equal(tp_table_print(&t, begin(&s, 80), 0, TP_TABLE_FIRST), 0);
    expect(&s, "");
}

TEST(no_cell_is_cut_however_long)
{
    static char name[20001];
    const struct tp_column columns[] = {{.left = true, .width = 3}, {.width = 4}};
    struct tp_table t = {0};
    struct screen s;
    memset(name, 'x', sizeof name - 1);
    tp_table_columns(&t, columns, COUNT(columns));
    tp_table_add(&t, "%s", name);
    tp_table_add(&t, "%s", name + 1);
    assert_int_equal(tp_table_width(&t), 20000 + 2 + 19999);
    tp_table_print(&t, begin(&s, 50000), 0, TP_TABLE_FIRST);
    fclose(s.page.out);
    assert_int_equal(s.size, 20000 + 2 + 19999 + 1);
    free(s.text);
    tp_table_markdown(&t, "-", "-", begin(&s, 0)->out, NULL);
    fclose(s.page.out);
    assert_non_null(strstr(s.text, name));
    free(s.text);
    tp_table_drop(&t);
}

/* A row beside something else: its line goes on. */
TEST(a_row_shares_its_line)
{
    struct tp_table t = example();
    struct screen s;
    begin(&s, 80);
    tp_table_row(&t, 1, &s.page, 1);
    tp_page_put(&s.page, 50, "beside");
    expect(&s, " l|r*u         -        12,345,678,901            beside\n");
    tp_table_drop(&t);
}

TEST(what_can_be_pasted_is_not_wrapped)
{
    static const struct tp_column columns[] = {
        {.head = {"", "what"}}, {.left = true, .gap = 3}, {.name = "set", .unbroken = true}};
    struct tp_table t = {0};
    struct screen s;
    tp_table_columns(&t, columns, COUNT(columns));
    tp_table_add(&t, "one");
    tp_table_add(&t, "a");
    tp_table_add(&t, "NAME=some words beyond the page");
    tp_table_add(&t, "two");
    tp_table_add(&t, NULL);
    tp_table_add(&t, "x");
    assert_int_equal(tp_table_width(&t), 4 + 3 + 1 + 2 + 31);
    tp_table_print(&t, begin(&s, 20), 1, TP_TABLE_WIDE);
    expect(&s, " what\n"
               " one    a  NAME=some words beyond the page\n"
               " two       x\n");
    tp_table_drop(&t);
}

TEST(a_page_that_is_html_gets_it_as_html)
{
    struct tp_table t = example();
    struct screen s;
    begin(&s, 80);
    s.page.form = TP_PAGE_HTML;
    assert_int_equal(tp_table_print(&t, &s.page, 2, TP_TABLE_FIRST), 5);
    tp_page_put(&s.page, 2, "below");
    fclose(s.page.out);
    static const char head[] = "<th scope=\"col\" class=\"n\">peak reserved</th>";
    assert_non_null(strstr(s.text, head));
    assert_non_null(strstr(s.text, "<tr><th scope=\"row\">l|r*u</th><td class=\"n\">-</td>"));
    assert_non_null(strstr(s.text, "<td class=\"n\">12,345,678,901</td><td></td></tr></tbody>"));
    assert_non_null(strstr(s.text, "</div>\n<p>below<br>\n"));
    free(s.text);
    tp_table_drop(&t);
}

TEST(lines_behind_the_first_are_folded_in_html)
{
    struct tp_table t = {0};
    struct screen s;
    tp_table_columns(&t, NULL, 1);
    tp_table_add(&t, "%s", "a<b\nc\n>d");
    begin(&s, 80);
    s.page.form = TP_PAGE_HTML;
    tp_table_print(&t, &s.page, 0, TP_TABLE_WIDE);
    fclose(s.page.out);
    assert_non_null(
        strstr(s.text, "<details><summary>a&lt;b</summary>\nc<br>\n&gt;d<br></details>"));
    free(s.text);
    tp_table_drop(&t);
}

TEST(lost_memory_is_said)
{
    struct tp_table t = example();
    struct tp_err err;
    struct screen s;
    tp_str_fail(&t.text);
    tp_table_add(&t, "more");
    assert_int_equal(tp_table_status(&t, &err), TP_ENOMEM);
    assert_int_equal(tp_table_markdown(&t, "-", "-", begin(&s, 0)->out, &err), TP_ENOMEM);
    fclose(s.page.out);
    free(s.text);
    assert_int_equal(tp_table_csv(&t, begin(&s, 0)->out, &err), TP_ENOMEM);
    fclose(s.page.out);
    free(s.text);
    tp_table_print(&t, begin(&s, 80), 0, TP_TABLE_FIRST);
    fclose(s.page.out);
    assert_non_null(strstr(s.text, "out of memory: a part of this table is missing\n"));
    free(s.text);
    tp_table_drop(&t);
}
