/* Names of C++ in words: usual ones, and ones that would become too many. */
#include "alloc/base/str.h"
#include "traces/symbols/symbols.h"

#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 5000 };

TEST(usual_names)
{
    static const struct {
        const char *name, *words;
    } rows[] = {
        {"_Znwm", "operator new(unsigned long)"},
        {"_ZN4pool4growEm", "pool::grow(unsigned long)"},
        {"_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)"},
        {"_ZZ4mainENKUlT_E_clIiEEDaS_",
         "auto main::{lambda(auto:1)#1}::operator()<int>(int) const"},
        {"main", "main"},
        {"_Z", "_Z"},
        {"_Znonsense", "_Znonsense"},
        {"", ""},
    };
    struct tp_cxx_names names = {0};
    tp_cxx_words(&names, "_Znwm");
    if (!names.demangle)
        skip();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(tp_cxx_words(&names, rows[i].name), rows[i].words);
        assert_true(tp_cxx_steps(rows[i].name) <= TP_CXX_STEPS);
    }
    tp_cxx_close(&names);
}

static void put_mention(struct tp_str *name, unsigned number)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    tp_str_add(name, "S");
    if (number > 36)
        tp_str_add(name, "%c", digits[(number - 1) / 36 % 36]);
    if (number)
        tp_str_add(name, "%c", digits[(number - 1) % 36]);
    tp_str_add(name, "_");
}

/* f(pair<int, int>, pair<S, S>, ..): of each parameter the next one is a pair. */
static void pairs_of_pairs(struct tp_str *name, unsigned levels)
{
    tp_str_add(name, "_Z1fSt4pairIiiE");
    for (unsigned k = 1; k <= levels; k++) {
        tp_str_add(name, "S_I");
        put_mention(name, k);
        put_mention(name, k);
        tp_str_add(name, "E");
    }
}

/* The words of each level are twice those of the one before; the bound is never below them. */
TEST(bound_holds)
{
    char name[ROOM];
    struct tp_cxx_names names = {0};
    unsigned told = 0;
    for (unsigned levels = 0; levels <= 100; levels++) {
        struct tp_str str = TP_STR_IN(name);
        pairs_of_pairs(&str, levels);
        uint64_t steps = tp_cxx_steps(name);
        assert_true(levels >= 24 || steps >= (uint64_t)1 << levels);
        assert_true(levels < 24 || steps > TP_CXX_STEPS);
        const char *words = tp_cxx_words(&names, name);
        assert_true(words == name || strlen(words) <= TP_CXX_BYTES * steps);
        assert_true(words == name || steps <= TP_CXX_STEPS);
        told += words != name;
    }
    assert_true(!names.demangle || (told >= 5 && told < 24));
    tp_cxx_close(&names);
}

/* Nothing of these is written out: packs in packs, what only one mention each doubles, and
 * arguments that lie behind. */
TEST(other_growth)
{
    static const char *const beginnings[] = {"_Z1fIJiiiiEEv", "_Z1fIiE", "_ZZ1fIiEvvENcvT_I"};
    static const char *const parts[] = {"Dp", "T_", "sZT_", "DpT_"};
    struct tp_cxx_names names = {0};
    for (size_t b = 0; b < sizeof beginnings / sizeof *beginnings; b++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
            char name[ROOM];
            struct tp_str str = TP_STR_IN(name);
            tp_str_add(&str, "%s", beginnings[b]);
            for (unsigned i = 0; i < 40; i++)
                tp_str_add(&str, "%s", parts[p]);
            assert_true(tp_cxx_steps(name) > TP_CXX_STEPS);
            assert_ptr_equal(tp_cxx_words(&names, name), name);
        }
    assert_false(names.asked);
    tp_cxx_close(&names);
}

/* The second ends in no time that was waited for. */
TEST(packs_stay_as_they_are)
{
    static const char *const packs[] = {
        "_ZNSt6vectorISt4pairIilESaIS1_EE17_M_realloc_insertIJRiRlEEEv"
        "N9__gnu_cxx17__normal_iteratorIPS1_S3_EEDpOT_",
        "_ZN4llvm4yaml7yamlizeISt6vectorINS_8COFFYAML10RelocationESaIS4_EENS0_12EmptyContextEEENSt9"
        "enable_ifIXsr18has_SequenceTraitsIT_NDpT0_valueEvE4typeERNS0_2IOERS9_bRT0_"};
    struct tp_cxx_names names = {0};
    for (size_t i = 0; i < sizeof packs / sizeof *packs; i++)
        assert_ptr_equal(tp_cxx_words(&names, packs[i]), packs[i]);
    assert_false(names.asked);
    tp_cxx_close(&names);
}

TEST(deep_and_long)
{
    static const char codes[] = "PKRONSIFXLJZDAMUE0";
    char name[ROOM];
    struct tp_cxx_names names = {0};
    for (const char *code = codes; *code; code++)
        for (size_t length = 1; length < ROOM - 10; length += length / 4 + 1) {
            struct tp_str str = TP_STR_IN(name);
            tp_str_add(&str, "_Z1f");
            for (size_t i = 0; i < length; i++)
                tp_str_add(&str, "%c", *code);
            tp_str_add(&str, "i");
            const char *words = tp_cxx_words(&names, name);
            assert_true(words == name || length < 3000);
        }
    tp_cxx_close(&names);
}

/* Many names that are dear one by one end at some time, and those behind stay as they are. */
TEST(all_of_them)
{
    struct tp_cxx_names names = {0};
    const char *name = "_ZN4pool4growEm";
    if (tp_cxx_words(&names, name) == name)
        skip();
    names.spent_ns = INT64_MAX / 2;
    assert_ptr_equal(tp_cxx_words(&names, name), name);
    tp_cxx_close(&names);
}
