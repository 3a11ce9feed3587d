/* Dots on a terminal: which bit is which dot, what a row of text is, and curves that are drawn with
 * them. */
#include "cmd/report/curve_text.h"
#include "cmd/ui/braille.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* By row from the top and from the left, each dot alone in a character. */
TEST(each_dot_has_its_bit)
{
    static const char *const rows[TP_BRAILLE_UP] = {"⠁⠈", "⠂⠐", "⠄⠠", "⡀⢀"};
    for (uint32_t y = 0; y < TP_BRAILLE_UP; y++) {
        struct tp_braille b;
        char text[TP_BRAILLE_TEXT];
        tp_braille_begin(&b, 2, 1);
        tp_braille_dot(&b, 0, TP_BRAILLE_UP - 1 - y);
        tp_braille_dot(&b, 3, TP_BRAILLE_UP - 1 - y);
        tp_braille_row(&b, 0, text);
        assert_string_equal(text, rows[y]);
    }
}

TEST(rows_begin_at_the_top_and_end_at_the_last_dot)
{
    struct tp_braille b;
    char text[TP_BRAILLE_TEXT];
    tp_braille_begin(&b, TP_BRAILLE_WIDTH, 3);
    tp_braille_dot(&b, 2, 11); /* the second character of the top row */
    tp_braille_bar(&b, 0, 0, 3);
    tp_braille_row(&b, 0, text);
    assert_string_equal(text, "⠀⠁"); /* the first is an empty pattern */
    tp_braille_row(&b, 1, text);
    assert_string_equal(text, "");
    tp_braille_row(&b, 2, text);
    assert_string_equal(text, "⡇");
    for (uint32_t x = 0; x < 2 * TP_BRAILLE_WIDTH; x++)
        tp_braille_bar(&b, x, 0, 11);
    tp_braille_row(&b, 2, text);
    assert_int_equal(strlen(text), TP_BRAILLE_TEXT - 1);
}

/* Every 2 x 4 dots have two of shade, one in each column. */
TEST(shade_is_even)
{
    struct tp_braille b;
    char text[TP_BRAILLE_TEXT];
    tp_braille_begin(&b, 3, 2);
    for (uint32_t x = 0; x < 6; x++)
        tp_braille_shade(&b, x, 6);
    tp_braille_row(&b, 1, text);
    assert_string_equal(text, "⡐⡐⡐");
    tp_braille_row(&b, 0, text);
    assert_string_equal(text, "⡀⡀⡀");
}

TEST(a_terminal_can_show_it_where_its_locale_says_so)
{
    static const struct {
        const char *all, *ctype, *lang;
        bool can;
    } rows[] = {{NULL, NULL, NULL, false},          {NULL, NULL, "C", false},
                {NULL, NULL, "de_DE.UTF-8", true},  {NULL, "C.utf8", "C", true},
                {"C", "C.UTF-8", "C.UTF-8", false}, {"", "", "en_US.utf8", true},
                {"POSIX", NULL, NULL, false},       {NULL, NULL, "ja_JP.EUC-JP", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const values[] = {rows[i].all, rows[i].ctype, rows[i].lang};
        const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
        for (int k = 0; k < 3; k++)
            assert_int_equal(values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]), 0);
        assert_int_equal(tp_braille_can_show(), rows[i].can);
    }
}

/* ---- curves ---- */

/* Prints a curve on a page; the caller frees the text. */
static char *printed(const struct tp_curve_text *c, int width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    struct tp_page page = {.out = file, .width = width};
    tp_curve_text_print(c, &page);
    assert_int_equal(fclose(file), 0);
    return text;
}

TEST(a_curve_goes_to_the_extremes_of_its_columns)
{
    struct tp_stretch area[8], line[8];
    for (int i = 0; i < 8; i++) {
        area[i] = (struct tp_stretch){0, 0, 0};
        line[i] = (struct tp_stretch){700, 700, 700};
    }
    area[3] = (struct tp_stretch){0, 300, 0}; /* a peak and a valley of a moment */
    line[6] = (struct tp_stretch){0, 700, 700};
    const struct tp_curve_text c = {.name = 0,
                                    .column = 8,
                                    .rows = 2,
                                    .area = area,
                                    .line = line,
                                    .high = 700,
                                    .left = {"0"},
                                    .right = {"1 s"}};
    char *text = printed(&c, 12);
    assert_string_equal(text, "700 B   ⠉⠉⠉⡏\n"
                              "0 B     ⣀⣸⣀⣇\n"
                              "        0 1 s\n");
    free(text);
}

/* One value of many: its dot is in the row where the axis puts it, and the highest in the top row.
 */
TEST(every_value_has_its_row)
{
    for (uint64_t bytes = 0; bytes <= 31; bytes++) {
        const struct tp_stretch area[2] = {{bytes, bytes, bytes}, {bytes, bytes, bytes}};
        const struct tp_curve_text c = {.rows = 8, .column = 8, .area = area, .high = 31};
        char *text = printed(&c, 9), *at = text;
        for (uint64_t row = 0; row < 7 - bytes / 4; row++)
            at = strchr(at, '\n') + 1;
        at += strspn(at, "31B 0"); /* the bytes beside the first and the last row */
        uint64_t dots = (uint64_t)(at[1] & 3) << 6 | (at[2] & 63);
        static const uint64_t both[] = {0xc0, 0x24, 0x12, 0x09};
        assert_int_equal(dots & both[bytes % 4], both[bytes % 4]);
        free(text);
    }
}

TEST(the_axis_begins_higher_where_most_is_held_all_the_time)
{
    const struct tp_stretch low[2] = {{40, 90, 80}, {80, 100, 100}};
    const struct tp_stretch high[2] = {{60, 90, 80}, {80, 100, 100}};
    const struct tp_stretch flat[2] = {{100, 100, 100}, {100, 100, 100}};
    assert_int_equal(tp_curve_text_floor(low, 2, 100), 0);
    assert_int_equal(tp_curve_text_floor(high, 2, 100), 60);
    assert_int_equal(tp_curve_text_floor(flat, 2, 100), 0);
}
