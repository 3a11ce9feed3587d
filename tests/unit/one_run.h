/* What the tests of the engine's passes share: one run and one error, and how a program is replayed
 * on a source with the defaults of everything. */
#ifndef TP_TEST_ONE_RUN_H
#define TP_TEST_ONE_RUN_H

#include "alloc/engine/replay.h"
#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_DEVICES = 4, OPTION_WORDS = 32 };

static struct tp_run *run;
static struct tp_err err;
static struct tp_program *programs_of_test[512];

static inline int new_run(void)
{
    memset(&err, 0, sizeof err);
    run = calloc(1, tp_run_size(RUN_DEVICES));
    return run ? 0 : -1;
}

/* The program lives until the test ends. */
static inline struct tp_program *until_the_end(struct tp_program *p)
{
    size_t i = 0;
    while (programs_of_test[i] && programs_of_test[i] != p)
        assert_true(++i < sizeof programs_of_test / sizeof *programs_of_test);
    return programs_of_test[i] = p;
}

static inline int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs_of_test / sizeof *programs_of_test; i++) {
        tp_program_release(programs_of_test[i]);
        programs_of_test[i] = NULL;
    }
    free(run);
    return 0;
}

/* Of the wrapper `limit`. */
struct limit_options {
    uint64_t capacity;
};

static inline void limit_to(struct tp_replay_cfg *cfg, struct limit_options *limit)
{
    assert_int_equal(tp_source_limit.opts_size, sizeof *limit);
    cfg->layers[cfg->layer_count++] = (struct tp_source_layer){&tp_source_limit, limit};
}

static inline const void *default_options(const struct tp_opt *rows, size_t size, uint64_t *room)
{
    memset(room, 0, OPTION_WORDS * sizeof *room);
    assert_true(size <= OPTION_WORDS * sizeof *room);
    assert_int_equal(tp_opts_defaults(rows, room, NULL), TP_OK);
    return room;
}

/* Valid until the next call. */
static inline struct tp_replay_cfg run_on(const struct tp_source_ops *source,
                                          const struct tp_strategy *s, struct tp_program *p,
                                          unsigned passes)
{
    static uint64_t source_room[OPTION_WORDS], strategy_room[OPTION_WORDS];
    return (struct tp_replay_cfg){
        .program = p,
        .strategy = s,
        .strategy_opts = default_options(s->options, s->opts_size, strategy_room),
        .layers = {{source, default_options(source->options, source->opts_size, source_room)}},
        .layer_count = 1,
        .touch = TP_TOUCH_FIRST,
        .passes = passes};
}

static inline const struct tp_device_run *replay(const struct tp_replay_cfg *cfg)
{
    memset(run, 0, tp_run_size(RUN_DEVICES));
    if (tp_replay(cfg, run, &err))
        fail_msg("%s", err.text);
    return run->devices;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
