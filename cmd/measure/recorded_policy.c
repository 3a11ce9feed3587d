/* See recorded_policy.h. Settings that are not simulated are not applied; a warning says so. */
#include "cmd/measure/recorded_policy.h"

#include "cmd/measure/catalog.h"

#include <string.h>

/* What is needed to apply the recorded settings; text is NULL where there is nothing to apply. */
struct policy_settings {
    const struct tp_recorded_policy *policy;
    const struct tp_opt *row;
    const char *text;
};

static struct policy_settings settings_of(const struct tp_trace *trace,
                                          const struct tp_strategy_spec *spec)
{
    struct policy_settings r = {.policy = tp_find_recorded_policy(trace->recorded.by)};
    char given[2] = "";
    if (!r.policy || r.policy->strategy != spec->strategy)
        return r;
    r.row = tp_opt_find(spec->strategy->options, r.policy->option);
    tp_opt_format(r.row, spec->opts, given, sizeof given);
    r.text = *given ? NULL : r.policy->settings(trace->meta.settings);
    return r;
}

bool tp_plays_as_recorded(const struct tp_trace *trace, const struct tp_strategy_spec *spec)
{
    const struct tp_recorded_policy *p = tp_find_recorded_policy(trace->recorded.by);
    const char *text = p ? p->settings(trace->meta.settings) : NULL;
    char given[TP_SPEC_TEXT] = "";
    if (!p || p->strategy != spec->strategy)
        return false;
    tp_opt_format(tp_opt_find(spec->strategy->options, p->option), spec->opts, given, sizeof given);
    return !strcmp(given, text ? text : "");
}

bool tp_recorded_unapplied(const struct tp_trace *trace, const struct tp_strategy_spec *spec,
                           struct tp_err *why)
{
    struct policy_settings r = settings_of(trace, spec);
    return r.text && r.policy->check(r.text, why);
}

int tp_apply_recorded(const struct tp_trace *trace, struct tp_strategy_spec *spec,
                      struct tp_err *err)
{
    struct policy_settings r = settings_of(trace, spec);
    struct tp_err why;
    return r.text && !r.policy->check(r.text, &why) ? tp_opt_set(r.row, spec->opts, r.text, err)
                                                    : TP_OK;
}
