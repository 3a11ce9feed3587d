/* Numbers as text: what every report prints through. */
#include "cmd/ui/text.h"

#include "cmd/ui/progress.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(counts_have_thousands_separators)
{
    assert_string_equal(tp_count(0).s, "0");
    assert_string_equal(tp_count(999).s, "999");
    assert_string_equal(tp_count(1000).s, "1,000");
    assert_string_equal(tp_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
}

TEST(four_digits_and_no_idle_zeros)
{
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

TEST(bytes_are_binary_or_exact)
{
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

TEST(a_share_of_all_but_a_few_is_not_all)
{
    assert_string_equal(tp_percent(0).s, "0.0%");
    assert_string_equal(tp_percent(1).s, "100.0%");
    assert_string_equal(tp_percent(0.999999).s, ">99.9%");
    assert_string_equal(tp_percent(0.998).s, "99.8%");
    assert_string_equal(tp_percent(0.000001).s, "<0.1%");
    assert_string_equal(tp_percent(NAN).s, "-");
}

TEST(durations_choose_their_unit)
{
    assert_string_equal(tp_duration(0).s, "0 ns");
    assert_string_equal(tp_duration(999).s, "999 ns");
    assert_string_equal(tp_duration(3461000).s, "3.461 ms");
    assert_string_equal(tp_duration(UINT64_C(90000000000)).s, "90 s");
}

/* UX: up to one step a bound, two to nine steps +-1 step, from ten steps the number. */
TEST(latencies_show_the_limits_of_the_clock)
{
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

TEST(a_page_wraps_words_at_its_width_and_keeps_its_indent)
{
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

TEST(a_long_word_is_broken_where_no_line_begins_with_two_colons)
{
    for (int before = 1; before < 200; before++) {
        char word[256], *text = NULL;
        size_t size = 0;
        snprintf(word, sizeof word, "%0*d::error::x", before, 1);
        struct tp_page page = {.out = open_memstream(&text, &size), .width = 80};
        tp_page_at(&page, 2, "%s", word);
        tp_page_more(&page, 70, "%s", word);
        tp_page_line(&page);
        fclose(page.out);
        for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
            if (!strncmp(at + strspn(at, " "), "::", 2))
                fail_msg("%d: %s", before, text);
        free(text);
    }
}

TEST(width_counts_characters_not_bytes)
{
    assert_int_equal(tp_text_width("±95%"), 4);
    assert_int_equal(tp_text_width("█▅▁"), 3);
}

TEST(what_is_left_of_steps_that_are_alike)
{
    const uint64_t s = UINT64_C(1000000000);
    assert_string_equal(tp_progress_left(9 * s, 0, 12).s, ""); /* nothing to go by */
    assert_string_equal(tp_progress_left(10 * s, 3, 12).s, ", about 30 s left");
    assert_string_equal(tp_progress_left(s / 2, 11, 12).s, ", about 1 s left");
    assert_string_equal(tp_progress_left(300 * s, 1, 3).s, ", about 10 min left");
    assert_string_equal(tp_progress_left(36000 * s, 1, 2).s, ", about 10 h left");
    assert_string_equal(tp_progress_left(s, 12, 12).s, "");
    assert_string_equal(tp_progress_left(s, 13, 12).s, "");
}

/* What `draw` writes to standard error. */
static void capture_steps(struct tp_progress_line *p, char *text, size_t size)
{
    int fd = memfd_create("stderr", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
    assert_true(fd >= 0 && kept >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    tp_progress_at(p, "web.tpt, \033arena", 3);
    p->shown_ns = 0; /* as if some time had passed */
    tp_progress_did(p);
    tp_progress_clear(p);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    ssize_t got = pread(fd, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    close(fd);
    close(kept);
}

TEST(steps_are_shown_with_their_number_and_what_is_left)
{
    char text[512];
    struct tp_progress_line p = {0};
    tp_progress_begin(NULL, "nobody looks", 1);
    tp_progress_at(NULL, "x", 0);
    tp_progress_did(NULL);
    tp_progress_begin(&p, "memory and counts", 12);
    p.enabled = true;
    p.logs = false;
    p.shown_ns = 0;
    p.started_ns -= UINT64_C(40000000000);
    capture_steps(&p, text, sizeof text);
    assert_int_equal(strncmp(text, "\r\033[Kmemory and counts: 3 of 12 (web.tpt, ", 41), 0);
    assert_non_null(strstr(text, "), about 2 min left"));
    assert_non_null(strstr(text, "\r\033[Kmemory and counts: 4 of 12 (web.tpt, "));
    assert_non_null(strstr(text, "), about 80 s left\r\033[K"));
    assert_null(strstr(text, "\033a"));
    p.enabled = false; /* a log: whole lines, and rarely */
    p.logs = true;
    p.shown_ns = p.started_ns + UINT64_C(39000000000);
    capture_steps(&p, text, sizeof text);
    assert_int_equal(strncmp(text, "tapool: memory and counts: 4 of 12 (web.tpt, ", 45), 0);
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_null(strchr(text, '\r'));
    p.logs = false;
    p.shown_ns = 0;
    capture_steps(&p, text, sizeof text);
    assert_string_equal(text, "");
}
