/* The layout that plug-ins are compiled for. Where it fails, a struct of the installed headers has
 * changed: a TP_ABI that was released is raised then, and the numbers here are those of the new
 * one.
 */
#include "alloc/strategy.h"
#include "tests/unit/test.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define AT(type, member)                                                                           \
    {                                                                                              \
#type "." #member, offsetof(struct type, member)                                           \
    }

/* The last member of each struct, and those before which one is likely to be added. */
static const struct {
    const char *name;
    size_t at;
} places[] = {AT(tp_plugin, magic),
              AT(tp_plugin, abi),
              AT(tp_plugin, size),
              AT(tp_plugin, sizes),
              AT(tp_plugin, version),
              AT(tp_plugin, strategy),
              AT(tp_strategy, group),
              AT(tp_strategy, caps),
              AT(tp_strategy, options),
              AT(tp_strategy, init),
              AT(tp_strategy, free),
              AT(tp_strategy, trim),
              AT(tp_strategy, thread_fini),
              AT(tp_strategy, check),
              AT(tp_strategy, start),
              AT(tp_strategy, detects),
              AT(tp_env, source),
              AT(tp_env, meta),
              AT(tp_env, streams),
              AT(tp_env, concurrent),
              AT(tp_req, align),
              AT(tp_req, stream),
              AT(tp_block, allocated),
              AT(tp_stats, retries),
              AT(tp_source, page),
              AT(tp_source, flags),
              AT(tp_opt, type),
              AT(tp_opt, offset),
              AT(tp_opt, def),
              AT(tp_opt, choices),
              AT(tp_opt, help),
              AT(tp_opt, same),
              AT(tp_opt, listed),
              AT(tp_err, text),
              AT(tp_err, hint)};

static const size_t of_abi_1[] = {0,   8,   12,  16,  48, 56, 32, 36,  64,  72, 96, 168,
                                  184, 216, 232, 264, 0,  16, 24, 28,  8,   16, 8,  40,
                                  24,  40,  12,  24,  32, 56, 72, 112, 124, 8,  520};
static_assert(sizeof of_abi_1 / sizeof *of_abi_1 == sizeof places / sizeof *places, "one each");

TEST(places_are_those_of_the_abi)
{
    char have[2048] = "", want[2048] = "";
    size_t used = 0, wanted = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        used += (size_t)snprintf(have + used, sizeof have - used, "%s %zu\n", places[i].name,
                                 places[i].at);
        wanted += (size_t)snprintf(want + wanted, sizeof want - wanted, "%s %zu\n", places[i].name,
                                   of_abi_1[i]);
    }
    assert_int_equal(TP_ABI, 1);
    assert_string_equal(have, want);
}

TEST(sizes_are_those_of_the_abi)
{
    static const uint32_t have[TP_PLUGIN_SIZES] = TP_PLUGIN_OWN_SIZES;
    static const uint32_t want[TP_PLUGIN_SIZES] = {272, 32, 24, 16, 48, 48, 128, 1032};
    assert_int_equal(sizeof(struct tp_plugin), 64);
    for (int i = 0; i < TP_PLUGIN_SIZES; i++)
        assert_int_equal(have[i], want[i]);
}

/* Words that a plug-in was compiled with keep their numbers. */
TEST(words_keep_their_numbers)
{
    const unsigned have[] = {TP_OK,
                             TP_EOOM,
                             TP_EINVAL,
                             TP_EUNSUP,
                             TP_ENOMEM,
                             TP_EIO,
                             TP_EDEVICE,
                             TP_CAP_THREADS,
                             TP_CAP_STREAMS,
                             TP_CAP_ALIGN,
                             TP_CAP_RETAINS,
                             TP_CAP_NOFREE,
                             TP_CAP_FOREIGN,
                             TP_CAP_ASYNC,
                             TP_WALK_LIVE,
                             TP_WALK_CACHED,
                             TP_WALK_SPAN,
                             TP_WALK_DEAD,
                             TP_WALK_INTERNAL,
                             TP_OPT_FLAG,
                             TP_OPT_UINT,
                             TP_OPT_SIZE,
                             TP_OPT_DURATION,
                             TP_OPT_CHOICE,
                             TP_OPT_LIST,
                             TP_GROUP_STRATEGY,
                             TP_GROUP_REFERENCE,
                             TP_SRC_HOST,
                             TP_SRC_ORDERED};
    const unsigned want[] = {0, 1, 2, 3, 4, 7, 8, 1, 2, 4, 8, 16, 32, 64, 0,
                             1, 2, 3, 4, 0, 1, 2, 3, 4, 9, 0, 2,  1,  16};
    assert_memory_equal(have, want, sizeof want);
}
