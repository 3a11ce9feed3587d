/* See recorded_policy.h. Settings that are not simulated are not applied; a warning says so. */
#include "cmd/measure/recorded_policy.h"

#include "cmd/measure/captured.h"
#include "cmd/measure/catalog.h"

#include <stdio.h>
#include <string.h>

/* What is needed to apply the recorded settings; `there` where there is something to apply. */
struct policy_settings {
    const struct tp_recorded_policy *policy;
    const struct tp_opt *row;
    char text[TP_SPEC_TEXT];
    bool there;
};

/* The recorded settings as the strategy's option takes them. */
static struct policy_settings recorded_settings(const struct tp_trace *trace, bool collects,
                                                const struct tp_strategy_spec *spec)
{
    struct policy_settings r = {.policy = tp_find_recorded_policy(trace->recorded.by)};
    const char *text = r.policy ? r.policy->settings(trace->meta.settings) : NULL;
    if (!r.policy || r.policy->strategy != spec->strategy)
        return (struct policy_settings){.policy = NULL};
    r.row = tp_opt_find(spec->strategy->options, r.policy->option);
    r.there = text && snprintf(r.text, sizeof r.text, "%s%s", text,
                               collects ? r.policy->shared : "") < (int)sizeof r.text;
    return r;
}

static bool is_given(const struct policy_settings *r, const struct tp_strategy_spec *spec)
{
    char given[2] = "";
    tp_opt_format(r->row, spec->opts, given, sizeof given);
    return *given;
}

bool tp_plays_as_recorded(const struct tp_trace *trace, const struct tp_captured *captured,
                          const struct tp_strategy_spec *spec)
{
    struct policy_settings plain = recorded_settings(trace, false, spec);
    struct policy_settings shared = recorded_settings(trace, tp_captured_collects(captured), spec);
    char given[TP_SPEC_TEXT] = "";
    if (!plain.policy)
        return false;
    tp_opt_format(plain.row, spec->opts, given, sizeof given);
    return !strcmp(given, plain.text) || !strcmp(given, shared.text);
}

bool tp_recorded_unapplied(const struct tp_trace *trace, const struct tp_strategy_spec *spec,
                           struct tp_err *why)
{
    struct policy_settings r = recorded_settings(trace, false, spec);
    return r.there && !is_given(&r, spec) && r.policy->check(r.text, why);
}

int tp_apply_recorded(const struct tp_trace *trace, const struct tp_captured *captured,
                      bool limited, struct tp_strategy_spec *spec, struct tp_err *err)
{
    struct policy_settings r =
        recorded_settings(trace, limited && tp_captured_collects(captured), spec);
    struct tp_err why;
    return r.there && !is_given(&r, spec) && !r.policy->check(r.text, &why)
               ? tp_opt_set(r.row, spec->opts, r.text, err)
               : TP_OK;
}
