/* Every table of tapool. To add a strategy, source, format, profile, subcommand or help topic,
 * write one file elsewhere and add one line here. */
#include "alloc/strategies/torch/torch_rules.h"
#include "alloc/strategies/torch_pinned/torch_pinned_rules.h"
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"

#include "alloc/engine/replay.h"
#include "cmd/gate/gate.h"
#include "cmd/jobs/libraries.h"
#include "cmd/results/exporter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* One entry per line, so that two branches can add entries without a merge conflict. */
/* clang-format off */
#define STRATEGIES(ROW, type, of)          \
    ROW(type, of, arena)                   \
    ROW(type, of, lru)                     \
    ROW(type, of, stream_pool)             \
    ROW(type, of, torch)                   \
    ROW(type, of, torch_pinned)            \
    ROW(type, of, rmm_pool)                \
    ROW(type, of, rmm_arena)               \
    ROW(type, of, bump)                    \
    ROW(type, of, system)                  \
    ROW(type, of, lib)                     \
    ROW(type, of, cuda_malloc_async)       \
    ROW(type, of, direct)
#define SOURCES(ROW, type, of)             \
    ROW(type, of, host)                    \
    ROW(type, of, virtual)                 \
    ROW(type, of, cuda)                    \
    ROW(type, of, limit)                   \
    ROW(type, of, fault)                   \
    ROW(type, of, shuffle)
#define FORMATS(ROW, type, of)             \
    ROW(type, of, json)                    \
    ROW(type, of, jsonl)                   \
    ROW(type, of, tpt)                     \
    ROW(type, of, pytorch)                 \
    ROW(type, of, kineto)                  \
    ROW(type, of, rmm)                     \
    ROW(type, of, umpire)                  \
    ROW(type, of, mtrace)                  \
    ROW(type, of, malloc_raw)              \
    ROW(type, of, recording)               \
    ROW(type, of, valgrind)                \
    ROW(type, of, heaptrack)               \
    ROW(type, of, memory_replay)           \
    ROW(type, of, malloc_bench)            \
    ROW(type, of, rep)                     \
    ROW(type, of, minimalloc)
#define WRITERS(ROW, type, of)             \
    ROW(type, of, tpt)                     \
    ROW(type, of, json)                    \
    ROW(type, of, jsonl)                   \
    ROW(type, of, minimalloc)
#define PROFILES(ROW, type, of)            \
    ROW(type, of, pair)                    \
    ROW(type, of, batch)                   \
    ROW(type, of, random_replace)          \
    ROW(type, of, producer_consumer)       \
    ROW(type, of, streams)                 \
    ROW(type, of, web_server)              \
    ROW(type, of, training_step)           \
    ROW(type, of, llm_decode)
#define COMMANDS(ROW, type, of)            \
    ROW(type, of, replay)                  \
    ROW(type, of, compare)                 \
    ROW(type, of, check)                   \
    ROW(type, of, info)                    \
    ROW(type, of, why)                     \
    ROW(type, of, verify)                  \
    ROW(type, of, tune)                    \
    ROW(type, of, predict)                 \
    ROW(type, of, convert)                 \
    ROW(type, of, record)                  \
    ROW(type, of, gen)                     \
    ROW(type, of, strategies)              \
    ROW(type, of, doctor)                  \
    ROW(type, of, help)                    \
    ROW(type, of, child)                   \
    ROW(type, of, generate)
#define TOPICS(ROW, type, of)              \
    ROW(type, of, report)                  \
    ROW(type, of, formats)                 \
    ROW(type, of, format)                  \
    ROW(type, of, tpt)                     \
    ROW(type, of, snapshots)               \
    ROW(type, of, malloc)                  \
    ROW(type, of, plugin)                  \
    ROW(type, of, metrics)                 \
    ROW(type, of, ci)                      \
    ROW(type, of, exports)                 \
    ROW(type, of, config)                  \
    ROW(type, of, warnings)
/* clang-format on */

#define DECLARE(type, of, id) extern const struct type of##_##id;
#define POINT(type, of, id)   &of##_##id,
#define TABLE(array, rows, type, of)                                                               \
    rows(DECLARE, type, of) const struct type *const array[] = {rows(POINT, type, of) NULL};
TABLE(tp_strategies, STRATEGIES, tp_strategy, tp_strategy)
TABLE(tp_sources, SOURCES, tp_source_ops, tp_source)
TABLE(tp_formats, FORMATS, tp_format, tp_format)
TABLE(tp_trace_writers, WRITERS, tp_trace_writer, tp_writer)
TABLE(tp_profiles, PROFILES, tp_profile, tp_profile)
TABLE(tp_commands, COMMANDS, tp_command, tp_command)
TABLE(tp_topics, TOPICS, tp_topic, tp_topic)
#undef DECLARE
#undef POINT

const struct tp_strategy *const tp_default_host[] = {&tp_strategy_system, &tp_strategy_lib,
                                                     &tp_strategy_arena, NULL};
const struct tp_strategy *const tp_default_device[] = {&tp_strategy_arena,       &tp_strategy_lru,
                                                       &tp_strategy_stream_pool, &tp_strategy_bump,
                                                       &tp_strategy_direct,      NULL};

/* Nothing is to be applied where the defaults were recorded. */
static const char *torch_settings(const char *said)
{
    const char *text = tp_torch_recorded(said);
    return text && *text ? text : NULL;
}

static int check_torch(const char *text, const char *device, struct tp_err *err)
{
    struct tp_torch_rules rules = tp_torch_rules_for(tp_torch_device(device));
    return tp_torch_conf(&rules, text, err);
}

/* What a segment has at most, whatever the device. */
static uint64_t torch_segment(uint64_t size)
{
    uint64_t most = 0;
    for (const struct tp_torch_device *d = tp_torch_devices; d->name; d++) {
        struct tp_torch_rules rules = tp_torch_rules_for(d);
        uint64_t bytes = tp_torch_segment_bytes(&rules, tp_torch_rounded(&rules, size));
        most = bytes > most ? bytes : most;
    }
    return most;
}

static struct tp_limit_rules torch_limits(const char *said, const char *device)
{
    const struct tp_torch_rules plain = tp_torch_rules_for(tp_torch_device(device));
    struct tp_torch_rules rules = plain;
    const char *text = tp_torch_recorded(said);
    struct tp_err ignored;
    if (text && tp_torch_conf(&rules, text, &ignored))
        rules = plain;
    return (struct tp_limit_rules){.segment = torch_segment,
                                   .unit = rules.expandable ? rules.large_segment : 0,
                                   .collect_above = rules.collect_above};
}

/* In any of its parts, where it has several for phases. */
static bool reuses_in_graphs(const char *text)
{
    char plain[1024];
    return tp_torch_plain(text, plain, sizeof plain) &&
           strstr(plain, "graph_capture_record_stream_reuse:True");
}

static const char *torch_unplayed(const char *text, const char *recorded)
{
    return reuses_in_graphs(text) != reuses_in_graphs(recorded)
               ? "graph_capture_record_stream_reuse"
               : NULL;
}

static bool knows_torch(const char *text)
{
    struct tp_torch_rules rules = tp_torch_defaults;
    struct tp_err ignored;
    return !tp_torch_version(&rules, text, &ignored);
}

static int check_torch_pinned(const char *text, const char *device, struct tp_err *err)
{
    (void)device;
    struct tp_torch_pinned_rules rules = tp_torch_pinned_defaults;
    return tp_torch_pinned_conf(&rules, text, err);
}

const struct tp_recorded_policy *tp_find_recorded_policy(const char *by)
{
    static const struct tp_recorded_policy policies[] = {{.by = "PyTorch",
                                                          .strategy = &tp_strategy_torch,
                                                          .option = "conf",
                                                          .device_option = "allocator",
                                                          .release_option = "version",
                                                          .knows_release = knows_torch,
                                                          .is_before = tp_torch_is_before,
                                                          .settings = torch_settings,
                                                          .check = check_torch,
                                                          .unplayed = torch_unplayed,
                                                          .shared = TP_TORCH_WHOLE_SHARE,
                                                          .limits = torch_limits},
                                                         {.by = "PyTorch (pinned)",
                                                          .strategy = &tp_strategy_torch_pinned,
                                                          .option = "conf",
                                                          .settings = torch_settings,
                                                          .check = check_torch_pinned,
                                                          .shared = ""}};
    for (size_t i = 0; by && i < sizeof policies / sizeof *policies; i++)
        if (!strcmp(by, policies[i].by))
            return &policies[i];
    return NULL;
}

/* The lists of exporters and gate writers are TP_EXPORTERS in cmd/results/exporter.h and
 * TP_GATE_WRITERS in cmd/gate/gate.h, because options are made from them too. */
#define DECLARE(of, id, ...) extern const struct tp_##of tp_##of##_##id;
#define POINT(of, id, ...)   &tp_##of##_##id,
TP_EXPORTERS(DECLARE, exporter)
const struct tp_exporter *const tp_exporters[] = {TP_EXPORTERS(POINT, exporter) NULL};
TP_GATE_WRITERS(DECLARE, gate_writer)
const struct tp_gate_writer *const tp_gate_writers[] = {TP_GATE_WRITERS(POINT, gate_writer) NULL};

enum { NAMES_MAX = 64 };

/* Fails because `name` is not one of `names`. The hint is the nearest name, and the command
 * `lister` that lists all of them. */
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

/* Says how a malloc library is named of which the name was given as that of a strategy. */
static void hint_library(const char *name, struct tp_err *err)
{
    for (const struct tp_library *l = tp_libraries; l->name; l++)
        if (!strcasecmp(name, l->name))
            tp_hint(err, TP_EUSAGE, "'lib:%s' is the malloc library of that name", l->name);
    if (!strcasecmp(name, "glibc") || !strcasecmp(name, "libc"))
        tp_hint(err, TP_EUSAGE, "'system' is the C library's malloc");
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
    hint_library(name, err);
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

/* An installed tapool finds its samples relative to the binary (../share/tapool/samples), a tapool
 * in a build tree finds those of the source tree. TAPOOL_SAMPLES is searched before both. */
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
