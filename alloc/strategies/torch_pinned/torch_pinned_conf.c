/* What the keys of PYTORCH_ALLOC_CONF are to the allocator of pinned host memory (alloc_conf.h).
 * Those of GPU memory are known and skipped. How memory is pinned (pinned_use_cuda_host_register,
 * and in how many threads) decides nothing about where blocks lie. */
#include "alloc/strategies/common/alloc_conf.h"
#include "alloc/strategies/torch_pinned/torch_pinned_core.h"

const struct tp_torch_pinned_rules tp_torch_pinned_defaults = {.round_most = PINNED_NO_LIMIT,
                                                               .cached_most = PINNED_NO_LIMIT};

static int set_pinned_reserve(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_pinned_rules *r = rules;
    return conf_mib(name, value, 1, &r->reserve, err);
}

static int set_pinned_round(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_pinned_rules *r = rules;
    return conf_mib(name, value, 0, &r->round_most, err);
}

static int set_pinned_cached(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_pinned_rules *r = rules;
    return conf_mib(name, value, 0, &r->cached_most, err);
}

static int set_pinned_background(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_pinned_rules *r = rules;
    return conf_bool(name, value, &r->background, err);
}

#define PINNED_KEY(text, gpu, effect, pinned) {text, pinned},
static const struct {
    const char *name;
    conf_set_fn *set;
} pinned_keys[] = {TORCH_CONF_KEYS(PINNED_KEY){NULL, NULL}};

static int set_pinned_key(void *rules, const char *name, char *value, struct tp_err *err)
{
    const char *names[CONF_NAMES] = {NULL};
    for (size_t i = 0; pinned_keys[i].name; i++) {
        names[i] = pinned_keys[i].name;
        if (!strcmp(name, names[i]))
            return pinned_keys[i].set(rules, name, value, err);
    }
    return conf_unknown("PyTorch", name, names, err);
}

static bool is_replayed(const char *name)
{
    for (size_t i = 0; pinned_keys[i].name; i++)
        if (!strcmp(pinned_keys[i].name, name))
            return !conf_is_skipped(pinned_keys[i].set);
    return false;
}

void tp_torch_pinned_conf_kept(const char *text, struct tp_str *out)
{
    conf_kept(text, is_replayed, out);
}

int tp_torch_pinned_conf(struct tp_torch_pinned_rules *rules, const char *text, struct tp_err *err)
{
    return conf_each(text, set_pinned_key, rules, err);
}
