/* Every table of tapool. Adding a strategy, source, format, profile, subcommand or help topic is
 * one file elsewhere and one line here. */
#include "cmd/cli/commands.h"
#include "cmd/measure/catalog.h"

#include "alloc/engine/replay.h"
#include "cmd/gate/gate.h"
#include "cmd/measure/exporter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* One line each, so that additions do not meet in one. */
/* clang-format off */
#define STRATEGIES(ROW)    \
    ROW(arena)             \
    ROW(lru)               \
    ROW(stream_pool)       \
    ROW(bump)              \
    ROW(system)            \
    ROW(cuda_malloc_async) \
    ROW(direct)
#define SOURCES(ROW)       \
    ROW(host)              \
    ROW(virtual)           \
    ROW(cuda)              \
    ROW(limit)             \
    ROW(fault)             \
    ROW(shuffle)
/* clang-format on */

#define STRATEGY(name) extern const struct tp_strategy tp_strategy_##name;
#define SOURCE(name)   extern const struct tp_source_ops tp_source_##name;
STRATEGIES(STRATEGY)
SOURCES(SOURCE)
#undef STRATEGY
#undef SOURCE

#define STRATEGY(name) &tp_strategy_##name,
#define SOURCE(name)   &tp_source_##name,
const struct tp_strategy *const tp_strategies[] = {STRATEGIES(STRATEGY) NULL};
const struct tp_source_ops *const tp_sources[] = {SOURCES(SOURCE) NULL};

const struct tp_strategy *const tp_default_host[] = {&tp_strategy_system, &tp_strategy_arena, NULL};
const struct tp_strategy *const tp_default_device[] = {&tp_strategy_arena,       &tp_strategy_lru,
                                                       &tp_strategy_stream_pool, &tp_strategy_bump,
                                                       &tp_strategy_direct,      NULL};

extern const struct tp_format tp_format_json, tp_format_jsonl, tp_format_tpt, tp_format_pytorch,
    tp_format_kineto, tp_format_rmm, tp_format_umpire, tp_format_mtrace, tp_format_malloc_raw,
    tp_format_valgrind, tp_format_rep, tp_format_minimalloc;
const struct tp_format *const tp_formats[] = {&tp_format_json,
                                              &tp_format_jsonl,
                                              &tp_format_tpt,
                                              &tp_format_pytorch,
                                              &tp_format_kineto,
                                              &tp_format_rmm,
                                              &tp_format_umpire,
                                              &tp_format_mtrace,
                                              &tp_format_malloc_raw,
                                              &tp_format_valgrind,
                                              &tp_format_rep,
                                              &tp_format_minimalloc,
                                              NULL};

extern const struct tp_trace_writer tp_writer_tpt, tp_writer_json, tp_writer_jsonl,
    tp_writer_minimalloc;
const struct tp_trace_writer *const tp_trace_writers[] = {
    &tp_writer_tpt, &tp_writer_json, &tp_writer_jsonl, &tp_writer_minimalloc, NULL};

extern const struct tp_profile tp_profile_pair, tp_profile_batch, tp_profile_random_replace,
    tp_profile_producer_consumer, tp_profile_streams, tp_profile_web_server,
    tp_profile_training_step, tp_profile_llm_decode;
const struct tp_profile *const tp_profiles[] = {&tp_profile_pair,
                                                &tp_profile_batch,
                                                &tp_profile_random_replace,
                                                &tp_profile_producer_consumer,
                                                &tp_profile_streams,
                                                &tp_profile_web_server,
                                                &tp_profile_training_step,
                                                &tp_profile_llm_decode,
                                                NULL};

/* One line each, so that additions do not meet in one. */
/* clang-format off */
extern const struct tp_command tp_command_replay, tp_command_compare, tp_command_check,
    tp_command_info, tp_command_convert, tp_command_gen, tp_command_strategies, tp_command_doctor, tp_command_help,
    tp_command_child, tp_command_generate;
const struct tp_command *const tp_commands[] = {
    &tp_command_replay,
    &tp_command_compare,
    &tp_command_check,
    &tp_command_info,
    &tp_command_convert,
    &tp_command_gen,
    &tp_command_strategies,
    &tp_command_doctor,
    &tp_command_help,
    &tp_command_child,
    &tp_command_generate,
    NULL,
};

extern const struct tp_topic tp_topic_report, tp_topic_formats, tp_topic_format, tp_topic_tpt,
    tp_topic_snapshots, tp_topic_malloc, tp_topic_metrics, tp_topic_ci, tp_topic_exports,
    tp_topic_config, tp_topic_warnings;
const struct tp_topic *const tp_topics[] = {
    &tp_topic_report,
    &tp_topic_formats,
    &tp_topic_format,
    &tp_topic_tpt,
    &tp_topic_snapshots,
    &tp_topic_malloc,
    &tp_topic_metrics,
    &tp_topic_ci,
    &tp_topic_exports,
    &tp_topic_config,
    &tp_topic_warnings,
    NULL,
};

/* clang-format on */

/* Their lists are in cmd/measure/exporter.h and cmd/gate/gate.h, where options are made of them
 * too. */
#define DECLARE(of, id, words) extern const struct tp_##of tp_##of##_##id;
#define POINT(of, id, words)   &tp_##of##_##id,
TP_EXPORTERS(DECLARE, exporter)
const struct tp_exporter *const tp_exporters[] = {TP_EXPORTERS(POINT, exporter) NULL};
TP_GATE_WRITERS(DECLARE, gate_writer)
const struct tp_gate_writer *const tp_gate_writers[] = {TP_GATE_WRITERS(POINT, gate_writer) NULL};

enum { NAMES_MAX = 64 };

/* Says that `name` is not one of `names`, with the nearest or all of them as a hint. */
static void fail_unknown(struct tp_err *err, const char *what, const char *name,
                         const char *const *names, const char *lister)
{
    const char *near = tp_nearest(name, names);
    int status = tp_fail(err, TP_EUSAGE, "unknown %s '%s'", what, name);
    if (near)
        tp_hint(err, status, "did you mean '%s'? '%s' lists all", near, lister);
    else
        tp_hint(err, status, "'%s' lists all", lister);
}

const struct tp_strategy *tp_find_strategy(const char *name, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {0};
    for (size_t i = 0; tp_strategies[i] && i < NAMES_MAX - 1; i++) {
        names[i] = tp_strategies[i]->name;
        if (!strcasecmp(name, names[i]))
            return tp_strategies[i];
    }
    fail_unknown(err, "strategy", name, names, "tapool strategies");
    return NULL;
}

const struct tp_source_ops *tp_find_source(const char *name, bool decorator, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; tp_sources[i] && count < NAMES_MAX - 1; i++) {
        if (((tp_sources[i]->flags & TP_SRC_DECORATOR) != 0) != decorator)
            continue;
        names[count++] = tp_sources[i]->name;
        if (!strcasecmp(name, tp_sources[i]->name))
            return tp_sources[i];
    }
    fail_unknown(err, decorator ? "source decorator" : "source", name, names,
                 "tapool help metrics");
    return NULL;
}

const struct tp_profile *tp_find_profile(const char *name, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {0};
    for (size_t i = 0; tp_profiles[i] && i < NAMES_MAX - 1; i++) {
        names[i] = tp_profiles[i]->name;
        if (!strcasecmp(name, names[i]))
            return tp_profiles[i];
    }
    fail_unknown(err, "profile", name, names, "tapool gen");
    return NULL;
}

static bool is_among(const char *name, const char *words)
{
    size_t length = strlen(name);
    for (; *words; words += strcspn(words, " "), words += strspn(words, " "))
        if (strcspn(words, " ") == length && !strncasecmp(words, name, length))
            return true;
    return false;
}

void tp_topic_print(const struct tp_topic *topic, FILE *out)
{
    for (const char *const *text = topic->texts; *text; text++)
        fputs(*text, out);
    if (topic->print)
        topic->print(out);
}

const struct tp_topic *tp_find_topic(const char *name)
{
    for (size_t i = 0; tp_topics[i]; i++)
        if (!strcasecmp(tp_topics[i]->name, name))
            return tp_topics[i];
    for (size_t i = 0; tp_topics[i]; i++)
        if (is_among(name, tp_topics[i]->also))
            return tp_topics[i];
    for (size_t i = 0; tp_formats[i]; i++)
        if (!strcasecmp(tp_formats[i]->name, name))
            return &tp_topic_formats;
    return NULL;
}

const struct tp_command *tp_find_command(const char *name, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; tp_commands[i] && count < NAMES_MAX - 1; i++) {
        if (!strcmp(name, tp_commands[i]->name))
            return tp_commands[i];
        if (!tp_commands[i]->hidden)
            names[count++] = tp_commands[i]->name;
    }
    fail_unknown(err, "command", name, names, "tapool");
    return NULL;
}

/* An installed tapool finds its samples beside itself (../share/tapool/samples), one in a build
 * tree in the source tree it was built from; TAPOOL_SAMPLES goes before both. */
void tp_sample_dirs(struct tp_sample_dirs *out)
{
    size_t n = 0, size = sizeof out->installed;
    const char *given = getenv("TAPOOL_SAMPLES");
    if (given && *given)
        out->list[n++] = given;
    ssize_t len = readlink("/proc/self/exe", out->installed, size - 1);
    out->installed[len > 0 ? len : 0] = '\0';
    for (int up = 0; up < 2 && len > 0; up++) {
        char *slash = strrchr(out->installed, '/');
        if (slash)
            *slash = '\0';
    }
    size_t used = strlen(out->installed);
    int wrote = snprintf(out->installed + used, size - used, "/%s", TAPOOL_SAMPLES_FROM_BIN);
    if (wrote > 0 && (size_t)wrote < size - used)
        out->list[n++] = out->installed;
    out->list[n++] = TAPOOL_SAMPLES_BUILD;
    out->list[n] = NULL;
}
