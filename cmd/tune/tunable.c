/* See tunable.h; the table is in cmd/registry.c. */
#include "cmd/tune/tunable.h"

#include "cmd/tune/grid.h"

#include <string.h>

const struct tp_tunable *tp_tunable_of(const char *recorded_by)
{
    for (size_t i = 0; recorded_by && tp_tunables[i]; i++)
        if (!strcmp(tp_tunables[i]->of->by, recorded_by))
            return tp_tunables[i];
    return tp_tunables[0];
}

const char *const tp_tunable_words[] = {
    "recorded", "pytorch", "pytorch-pinned", "tensorflow", "jax", "onnxruntime", NULL};

const struct tp_tunable *tp_tunable_chosen(uint32_t word)
{
    return word ? tp_tunables[word - 1] : NULL;
}

const struct tp_tunable *tp_tunable_strategy(const struct tp_strategy *strategy)
{
    for (size_t i = 0; tp_tunables[i]; i++)
        if (tp_tunables[i]->of->strategy == strategy)
            return tp_tunables[i];
    return NULL;
}

struct adding_grid {
    struct tp_texts *set;
    struct tp_tune_whose whose;
};

static int add_grid_text(void *ctx, const char *text, struct tp_err *err)
{
    const struct adding_grid *a = ctx;
    struct tp_err refused;
    uint32_t number;
    int status = a->whose.target->check(text, a->whose.device, a->whose.usual ? &refused : err);
    if (status && a->whose.usual)
        return TP_OK;
    if (!status && a->set->count >= TP_GRID_MOST)
        status = tp_grid_too_many(err);
    return status ? status : tp_texts_need(a->set, text, strlen(text), &number, err);
}

int tp_tunable_add(struct tp_texts *set, const char *grid, struct tp_tune_whose whose,
                   struct tp_err *err)
{
    char plain[4096];
    struct adding_grid a = {.set = set, .whose = whose};
    if (!tp_copy_plain(grid, plain, sizeof plain))
        return tp_fail(err, TP_EUSAGE, "a grid has at most %zu characters", sizeof plain - 1);
    return tp_grid_each(plain, add_grid_text, &a, err);
}

const char *tp_tunable_danger(const struct tp_tunable *t, const char *setting, const char *device)
{
    return t->danger ? t->danger(setting, device) : NULL;
}

const char *tp_tunable_needs_size(const struct tp_tunable *t, const char *setting)
{
    return t->needs_size ? t->needs_size(setting) : NULL;
}

const char *tp_tunable_newer(const struct tp_tunable *t, const char *setting, const char *device)
{
    return t->newer ? t->newer(setting, device) : NULL;
}

bool tp_tunable_is_older(const struct tp_tunable *t, const char *release)
{
    return t->of->is_before && t->of->is_before(release, t->newer_major, t->newer_minor);
}

void tp_tunable_show(const struct tp_tunable *t, const struct tp_meta *m, const char *setting,
                     struct tp_str *out)
{
    if (t->show)
        t->show(m, setting, out);
    else
        tp_str_add(out, "%s", setting);
}
