/* Names of functions on a screen: what is left out of them. */
#include "cmd/report/report_sites.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void reads(const char *place, const char *want)
{
    struct tp_str text = {0};
    tp_place_short(place, &text);
    assert_string_equal(tp_str_text(&text), want);
    tp_str_drop(&text);
}

TEST(arguments_of_templates_and_functions_are_left_out)
{
    reads("random.h:12 std::mersenne_twister_engine<unsigned long, 64ul>::seed(unsigned long)",
          "random.h:12 std::mersenne_twister_engine<...>::seed(...)");
    reads("a.cc:9 std::map<int, std::vector<std::pair<int, int> > >::find(int const&) const",
          "a.cc:9 std::map<...>::find(...) const");
    reads("a.cc:9 f(int)", "a.cc:9 f(int)"); /* as short as what would stand there */
    reads("a.cc:9 f()", "a.cc:9 f()");
}

TEST(what_is_no_argument_stays)
{
    reads("train.py:67 <module>", "train.py:67 <module>");
    reads("train.py:67 Model.<locals>.step", "train.py:67 Model.<locals>.step");
    reads("a.cc:9 (anonymous namespace)::read(std::string)",
          "a.cc:9 (anonymous namespace)::read(...)");
    reads("a.cc:9 Model::operator()(std::string)", "a.cc:9 Model::operator()(...)");
    reads("a.cc:9 Model::operator<<", "a.cc:9 Model::operator<<");
    reads("a.cc:9 operator<< <char, int>(std::ostream&)", "a.cc:9 operator<< <char, int>(...)");
    reads("a.cc:9 f<unclosed", "a.cc:9 f<unclosed");
    reads("a.cc:9 f<decltype(a->b)>::g", "a.cc:9 f<...>::g");
    reads("lib(x86_64).so+0x12", "lib(x86_64).so+0x12"); /* a file */
    reads("", "");
}

TEST(a_long_name_is_cut)
{
    enum { LONG = 100000 };
    char *place = malloc(LONG + 8);
    struct tp_str text = {0};
    assert_non_null(place);
    memcpy(place, "a.cc:9 ", 7);
    for (size_t i = 0; i < LONG; i++)
        place[7 + i] = i % 2 ? '<' : 'a'; /* each of them looks for its end */
    place[7 + LONG] = '\0';
    tp_place_short(place, &text);
    assert_in_range(text.length, 1000, 1020);
    assert_string_equal(tp_str_text(&text) + text.length - 3, "...");
    tp_str_drop(&text);
    free(place);
}
