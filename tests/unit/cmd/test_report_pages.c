/* The block Pages of a result: parts that add up, errors of sampled ones, and what is said of how
 * the pages were found and what is special about them. */
#include "alloc/base/units.h"
#include "cmd/report/report_pages.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static struct tp_run run_of_pages(void)
{
    struct tp_run made = {.resident = {.passes = 1, .start = 2 * MIB, .pages_every = 1}};
    made.resident.parts_at_peak = (struct tp_page_parts){
        .resident = 8 * MIB, .live = 4 * MIB, .partly_free = 3 * MIB, .own = 1 * MIB};
    made.resident.parts_end =
        (struct tp_page_parts){.resident = 6 * MIB, .live = 1 * MIB, .free_pages = 5 * MIB};
    return made;
}

static char *printed(struct tp_run *made, const char *preload)
{
    char *text = NULL;
    size_t size = 0;
    char library[32];
    snprintf(library, sizeof library, "%s", preload ? preload : "");
    struct tp_strategy_spec spec = {.preload = preload ? library : NULL};
    const struct tp_result r = {.run = made, .spec = &spec};
    struct tp_page page = {.out = open_memstream(&text, &size), .width = 100};
    tp_pages_print(&r, &page);
    fclose(page.out);
    return text;
}

TEST(parts_of_both_moments_stand_beside_each_other)
{
    struct tp_run made = run_of_pages();
    char *text = printed(&made, NULL);
    assert_string_equal(text, "Pages           at the trace peak             after the last event\n"
                              "          4 MiB     live                      1 MiB\n"
                              "     +      0 B     rounding                  0 B\n"
                              "     +    3 MiB     partly free pages         0 B\n"
                              "     +      0 B     free pages                5 MiB\n"
                              "     +    1 MiB     never part of a block     0 B\n"
                              "     =    8 MiB     resident                  6 MiB\n"
                              "\n");
    free(text);
    made.resident.parts_at_peak.resident = TP_NONE;
    text = printed(&made, NULL);
    assert_string_equal(text, "");
    free(text);
}

TEST(what_a_library_adds_at_start_is_beside_the_sum)
{
    struct tp_run made = run_of_pages();
    char *text = printed(&made, "lib.so");
    assert_non_null(strstr(text, "=    8 MiB     resident                  6 MiB\n"
                                 "     +    2 MiB     at start, by the library  2 MiB\n"
                                 "     =   10 MiB     resident, start included  8 MiB\n"));
    free(text);
    made.resident.start = TP_NONE;
    text = printed(&made, "lib.so");
    assert_null(strstr(text, "start"));
    free(text);
}

TEST(sampled_parts_have_errors)
{
    struct tp_run made = run_of_pages();
    made.resident.pages_every = 4;
    made.resident.errors_at_peak.live = made.resident.errors_at_peak.own = MIB / 8;
    made.resident.errors_end.live = MIB / 4;
    char *text = printed(&made, NULL);
    assert_non_null(strstr(text, "live +-3.1%                   1 MiB +-25.0%\n"));
    assert_non_null(strstr(text, "free pages                    5 MiB\n"));
    assert_non_null(strstr(text, "never part of a block +-12.5% 0 B\n"));
    assert_non_null(strstr(text, " estimated from 1 of 4 runs of 512 pages; +-: standard error\n"));
    free(text);
}

TEST(what_is_special_about_pages_is_said_where_there_are_some)
{
    struct tp_run made = run_of_pages();
    made.resident.parts_at_peak.huge_page = 4 * MIB;
    made.resident.parts_at_peak.locked = MIB;
    made.resident.parts_end.shared_live = 3 * MIB;
    made.resident.by_mincore = true;
    char *text = printed(&made, NULL);
    if (sysconf(_SC_PAGESIZE) == 4096)
        assert_non_null(strstr(text, " 4 MiB (at the end 0 B) on pages of 2 MiB: "));
    assert_non_null(strstr(text, " 1 MiB (at the end 0 B) locked (mlock): "));
    assert_non_null(strstr(text, " 0 B (at the end 3 MiB) of live blocks in shared mappings"));
    assert_non_null(strstr(text, " by mincore, because /proc/self/pagemap cannot be read"));
    free(text);
}
