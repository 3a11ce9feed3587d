/* What a profile of `tapool gen` makes, as a program. */
#ifndef TP_TEST_PROFILE_RIG_H
#define TP_TEST_PROFILE_RIG_H

#include "tests/unit/test.h"
#include "traces/lower/lower.h"
#include "traces/profile.h"

#include <stddef.h>

/* To be freed with tp_profile_opts_free. */
static inline void *profile_options(const struct tp_profile *p, const char *text)
{
    void *opts = NULL;
    struct tp_err err = {0};
    if (tp_profile_opts_new(p, &opts, &err) || tp_opts_parse(p->options, opts, text, p->name, &err))
        fail_msg("%s %s: %s", p->name, text, err.text);
    return opts;
}

/* Lowers strictly; to be released. */
static inline struct tp_program *profile_program(const struct tp_profile *p, const char *text,
                                                 uint64_t seed)
{
    struct tp_lower *lo = NULL;
    struct tp_program *program = NULL;
    struct tp_err err = {0};
    uint64_t repairs[TP_REPAIR_COUNT];
    void *opts = profile_options(p, text);
    const struct tp_lower_cfg cfg = {.path = p->name, .strict = true};
    if (tp_lower_new(&cfg, &lo, &err) || tp_profile_lower(p, opts, seed, lo, &err) ||
        tp_lower_finish(lo, &program, repairs, &err))
        fail_msg("%s %s: %s", p->name, text, err.text);
    tp_lower_free(lo);
    tp_profile_opts_free(p, opts);
    return program;
}

#endif
