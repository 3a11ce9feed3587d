/* See recorded_strategy.h. Settings that are not simulated are not applied; a warning says so. */
#include "cmd/results/recorded_strategy.h"

#include "cmd/jobs/catalog.h"
#include "cmd/results/captured.h"

#include <stdio.h>
#include <string.h>

static const char leaves_it[] = "recorded"; /* a word of the device option */

/* What is needed to apply the recorded settings; `there` where there is something to apply. */
struct strategy_settings {
    const struct tp_recorded_strategy *strategy;
    const struct tp_opt *row; /* NULL: it has no such option */
    char text[TP_SPEC_TEXT];
    bool there;
};

/* The recorded settings as the strategy's option takes them. */
static struct strategy_settings recorded_settings(const struct tp_trace *trace, bool collects,
                                                  const struct tp_strategy_spec *spec)
{
    struct strategy_settings r = {.strategy = tp_find_recorded_strategy(trace->recorded.by)};
    const char *text =
        r.strategy && r.strategy->option ? r.strategy->settings(trace->meta.settings) : NULL;
    if (!r.strategy || r.strategy->strategy != spec->strategy)
        return (struct strategy_settings){.strategy = NULL};
    if (r.strategy->option)
        r.row = tp_opt_find(spec->strategy->options, r.strategy->option);
    /* nothing is to be applied where the defaults were recorded */
    r.there = text && *text &&
              snprintf(r.text, sizeof r.text, "%s%s", text,
                       collects ? tp_recorded_share(r.strategy, text) : "") < (int)sizeof r.text;
    return r;
}

/* The word of the recording for the device option; NULL: it says none, or none that is known. */
static const char *device_word(const struct tp_trace *trace, const struct tp_opt *row)
{
    const char *said = trace->meta.allocator_device;
    for (size_t i = 0; said && row->choices[i]; i++)
        if (!strcmp(row->choices[i], said))
            return said;
    return NULL;
}

/* Whether the strategy replays the device of the recording. */
static bool has_recorded_device(const struct tp_trace *trace, const struct tp_recorded_strategy *p,
                                const struct tp_strategy_spec *spec)
{
    if (!p->device_option)
        return true;
    const char *word = device_word(trace, tp_opt_find(spec->strategy->options, p->device_option));
    return tp_strategy_spec_says(spec, p->device_option, word ? word : leaves_it);
}

static bool has_recorded_release(const struct tp_trace *trace, const struct tp_recorded_strategy *p,
                                 const struct tp_strategy_spec *spec)
{
    const char *release = trace->meta.allocator_release;
    char replayed[TP_SPEC_TEXT] = "";
    if (!p->release_option || !release)
        return true;
    tp_opt_format(tp_opt_find(spec->strategy->options, p->release_option), spec->opts, replayed,
                  sizeof replayed);
    return !strcmp(replayed, release);
}

static int apply_device(const struct tp_trace *trace, struct tp_strategy_spec *spec,
                        struct tp_err *err)
{
    const struct tp_recorded_strategy *p = tp_find_recorded_strategy(trace->recorded.by);
    if (!p || p->strategy != spec->strategy || !p->device_option ||
        !tp_strategy_spec_says(spec, p->device_option, leaves_it))
        return TP_OK;
    const struct tp_opt *row = tp_opt_find(spec->strategy->options, p->device_option);
    const char *word = device_word(trace, row);
    return word ? tp_opt_set(row, spec->opts, word, err) : TP_OK;
}

static bool is_given(const struct tp_opt *row, const struct tp_strategy_spec *spec)
{
    char given[2] = "";
    tp_opt_format(row, spec->opts, given, sizeof given);
    return *given;
}

static int apply_release(const struct tp_trace *trace, struct tp_strategy_spec *spec,
                         struct tp_err *err)
{
    const struct tp_recorded_strategy *p = tp_find_recorded_strategy(trace->recorded.by);
    const char *release = trace->meta.allocator_release;
    if (!release || !p || p->strategy != spec->strategy || !p->release_option)
        return TP_OK;
    const struct tp_opt *row = tp_opt_find(spec->strategy->options, p->release_option);
    return is_given(row, spec) ? TP_OK : tp_opt_set(row, spec->opts, release, err);
}

bool tp_replays_as_recorded(const struct tp_trace *trace, const struct tp_captured *captured,
                            const struct tp_strategy_spec *spec)
{
    struct strategy_settings plain = recorded_settings(trace, false, spec);
    struct strategy_settings shared =
        recorded_settings(trace, tp_captured_collects(captured), spec);
    char given[TP_SPEC_TEXT] = "";
    if (!plain.strategy)
        return false;
    if (plain.row)
        tp_opt_format(plain.row, spec->opts, given, sizeof given);
    return (!strcmp(given, plain.text) || !strcmp(given, shared.text)) &&
           has_recorded_device(trace, plain.strategy, spec) &&
           has_recorded_release(trace, plain.strategy, spec);
}

bool tp_recorded_unapplied(const struct tp_trace *trace, const struct tp_strategy_spec *spec,
                           struct tp_err *why)
{
    struct strategy_settings r = recorded_settings(trace, false, spec);
    return r.there && !is_given(r.row, spec) &&
           r.strategy->check(r.text, trace->meta.allocator_device, why);
}

const char *tp_recorded_unplayed(const struct tp_trace *trace, const struct tp_strategy_spec *spec)
{
    struct strategy_settings r = recorded_settings(trace, false, spec);
    char given[TP_SPEC_TEXT] = "";
    if (!r.row || !r.strategy->unplayed)
        return NULL;
    tp_opt_format(r.row, spec->opts, given, sizeof given);
    return r.strategy->unplayed(given, r.there ? r.text : "");
}

int tp_apply_recorded(const struct tp_trace *trace, const struct tp_captured *captured,
                      bool limited, struct tp_strategy_spec *spec, struct tp_err *err)
{
    struct strategy_settings r =
        recorded_settings(trace, limited && tp_captured_collects(captured), spec);
    struct tp_err why;
    int status = apply_device(trace, spec, err);
    if (!status)
        status = apply_release(trace, spec, err);
    if (status || !r.there || is_given(r.row, spec) ||
        r.strategy->check(r.text, trace->meta.allocator_device, &why))
        return status;
    return tp_opt_set(r.row, spec->opts, r.text, err);
}
