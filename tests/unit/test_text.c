/* Numbers as text: what every report prints through. */
#include "cmd/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void counts_have_thousands_separators(void **state)
{
    (void)state;
    assert_string_equal(tp_count(0).s, "0");
    assert_string_equal(tp_count(999).s, "999");
    assert_string_equal(tp_count(1000).s, "1,000");
    assert_string_equal(tp_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
}

static void four_digits_and_no_idle_zeros(void **state)
{
    (void)state;
    assert_string_equal(tp_digits(0).s, "0");
    assert_string_equal(tp_digits(4.8712).s, "4.871");
    assert_string_equal(tp_digits(5.0).s, "5");
    assert_string_equal(tp_digits(12.346).s, "12.35");
    assert_string_equal(tp_digits(99.996).s, "100");
    assert_string_equal(tp_digits(308.06).s, "308.1");
    assert_string_equal(tp_digits(999.96).s, "1,000");
    assert_string_equal(tp_digits(16500.4).s, "16,500");
    assert_string_equal(tp_digits(NAN).s, "-");
}

static void bytes_are_binary_or_exact(void **state)
{
    (void)state;
    assert_string_equal(tp_bytes(0, false).s, "0 B");
    assert_string_equal(tp_bytes(1023, false).s, "1,023 B");
    assert_string_equal(tp_bytes(1024, false).s, "1 KiB");
    assert_string_equal(tp_bytes(315477, false).s, "308.1 KiB");
    assert_string_equal(tp_bytes(315477, true).s, "315,477 B");
    assert_string_equal(tp_bytes((UINT64_C(1) << 20) - 1, false).s, "1 MiB");
    assert_string_equal(tp_bytes((UINT64_C(1) << 20) - 412, false).s, "1 MiB"); /* no 1,024 KiB */
    assert_string_equal(tp_bytes((UINT64_C(1) << 20) - 600, false).s, "1,023 KiB");
    assert_string_equal(tp_bytes(UINT64_MAX, false).s, "16 EiB");
}

static void a_share_of_all_but_a_few_is_not_all(void **state)
{
    (void)state;
    assert_string_equal(tp_percent(0).s, "0.0 %");
    assert_string_equal(tp_percent(1).s, "100.0 %");
    assert_string_equal(tp_percent(0.999999).s, ">99.9 %");
    assert_string_equal(tp_percent(0.998).s, "99.8 %");
    assert_string_equal(tp_percent(0.000001).s, "<0.1 %");
    assert_string_equal(tp_percent(NAN).s, "-");
}

static void durations_choose_their_unit(void **state)
{
    (void)state;
    assert_string_equal(tp_duration(0).s, "0 ns");
    assert_string_equal(tp_duration(999).s, "999 ns");
    assert_string_equal(tp_duration(3461000).s, "3.461 ms");
    assert_string_equal(tp_duration(UINT64_C(90000000000)).s, "90 s");
}

/* UX: up to one step a bound, two to nine steps +-1 step, from ten steps the number. */
static void latencies_show_the_limits_of_the_clock(void **state)
{
    (void)state;
    assert_string_equal(tp_latency_text(0, 10.01).s, "<=10");
    assert_string_equal(tp_latency_text(8, 10.01).s, "<=10");
    assert_string_equal(tp_latency_text(14, 10.01).s, "<=10");
    assert_string_equal(tp_latency_text(18, 10.01).s, "~20");
    assert_string_equal(tp_latency_text(31, 10.01).s, "~30");
    assert_string_equal(tp_latency_text(92, 10.01).s, "~90");
    assert_string_equal(tp_latency_text(97, 10.01).s, "97");
    assert_string_equal(tp_latency_text(5210, 10.01).s, "5,210");
    assert_string_equal(tp_latency_text(3, 0.4).s, "3"); /* a clock this fine needs no notation */
    assert_true(tp_latency_is_coarse(90, 10.01));
    assert_false(tp_latency_is_coarse(100, 10.01));
}

static void a_page_wraps_words_at_its_width_and_keeps_its_indent(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    struct tp_page page = {.out = open_memstream(&text, &size), .width = 80};
    tp_page_at(&page, 0, "Name");
    tp_page_at(&page, 60, "%s", "one two three four five six");
    tp_page_line(&page);
    tp_page_right(&page, 10, "7");
    tp_page_right(&page, 11, "wide");
    tp_page_line(&page);
    fclose(page.out);
    assert_string_equal(
        text, "Name                                                        one two three four\n"
              "                                                            five six\n"
              "         7 wide\n");
    free(text);
}

static void width_counts_characters_not_bytes(void **state)
{
    (void)state;
    assert_int_equal(tp_text_width("±95 %"), 5);
    assert_int_equal(tp_text_width("█▅▁"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_have_thousands_separators),
        cmocka_unit_test(four_digits_and_no_idle_zeros),
        cmocka_unit_test(bytes_are_binary_or_exact),
        cmocka_unit_test(a_share_of_all_but_a_few_is_not_all),
        cmocka_unit_test(durations_choose_their_unit),
        cmocka_unit_test(latencies_show_the_limits_of_the_clock),
        cmocka_unit_test(a_page_wraps_words_at_its_width_and_keeps_its_indent),
        cmocka_unit_test(width_counts_characters_not_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
