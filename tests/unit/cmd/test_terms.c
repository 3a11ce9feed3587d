/* The vocabulary: every term is found by its word, and a page names the terms that it uses. */
#include "cmd/ui/terms.h"

#include "cmd/results/metrics.h"

#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

static bool is_used(const char *word, const char *text)
{
    const struct tp_term *term = tp_find_term(word);
    assert_non_null(term);
    return tp_term_is_in(term, text);
}

TEST(each_word_is_one_row)
{
    for (size_t i = 0; i < tp_term_count; i++) {
        assert_ptr_equal(tp_find_term(tp_terms[i].word), &tp_terms[i]);
        assert_true(tp_terms[i].meaning[0]);
        assert_true(i == 0 || tp_terms[i].group >= tp_terms[i - 1].group);
    }
    assert_null(tp_find_term("idle"));
}

TEST(figures_point_to_terms_of_the_table)
{
    size_t pointing = 0;
    for (size_t i = 0; i < tp_figure_count; i++) {
        pointing += tp_figures[i]->term != NULL;
        if (tp_figures[i]->term) {
            assert_non_null(tp_find_term(tp_figures[i]->term));
            assert_null(tp_figures[i]->meaning);
        }
    }
    assert_true(pointing >= 5);
}

TEST(a_term_is_used_as_whole_words_in_any_case)
{
    assert_true(is_used("regret", "Regret 1.20x"));
    assert_true(is_used("regret", "(regret)"));
    assert_false(is_used("regret", "regretted"));
    assert_false(is_used("regret", "peak_regret"));
    assert_false(is_used("regret", ""));
    assert_true(is_used("95% CI", "12 ns, 95% CI [11, 13]"));
}

TEST(a_term_is_used_in_any_of_its_forms)
{
    assert_true(is_used("memory source", "--source host"));
    assert_true(is_used("memory source", "two memory sources"));
    assert_false(is_used("memory source", "the source of a program"));
    /* the verb is no use of the term */
    assert_false(is_used("free", "3,047 free"));
    assert_true(is_used("free", "free at peak"));
}

static char *rows_for(const char *text)
{
    char *rows = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&rows, &size);
    struct tp_page page;
    assert_non_null(out);
    tp_page_init(&page, out, 0);
    tp_terms_put_used(&page, text);
    fclose(out);
    return rows;
}

TEST(the_rows_of_a_page_are_those_of_its_terms_in_the_order_of_the_table)
{
    char *rows = rows_for("ns/op of two strategies; reserved 12 MiB");
    const char *reserved = strstr(rows, "  reserved "), *speed = strstr(rows, "  ns/op ");
    assert_true(reserved && speed && reserved < speed && strstr(speed, "  strategy "));
    assert_null(strstr(rows, "  regret "));
    free(rows);
    rows = rows_for("nothing");
    assert_string_equal(rows, "");
    free(rows);
}
