/* Every table of tapool. To add a strategy, source, format, profile, subcommand or help topic,
 * write one file elsewhere and add one line here. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"

#include "cmd/compare/compare_html.h"
#include "cmd/gate/gate.h"
#include "cmd/results/replay_exports.h"
#include "cmd/tune/tunable.h"
#include "cmd/verify/certifier.h"
#include "cmd/why/explainer.h"

/* One entry per line, so that two branches can add entries without a merge conflict. */
/* clang-format off */
#define STRATEGIES(ROW, type, of)          \
    ROW(type, of, arena)                   \
    ROW(type, of, lru)                     \
    ROW(type, of, stream_pool)             \
    ROW(type, of, torch)                   \
    ROW(type, of, torch_pinned)            \
    ROW(type, of, bfc)                     \
    ROW(type, of, rmm_pool)                \
    ROW(type, of, rmm_arena)               \
    ROW(type, of, stitch)                  \
    ROW(type, of, planned)                 \
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
    ROW(type, of, xplane)                  \
    ROW(type, of, memory_profile)          \
    ROW(type, of, rmm)                     \
    ROW(type, of, rocprof)                 \
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
    ROW(type, of, llm_decode)              \
    ROW(type, of, fleet_0)                 \
    ROW(type, of, fleet_1)                 \
    ROW(type, of, fleet_2)                 \
    ROW(type, of, fleet_3)                 \
    ROW(type, of, fleet_4)                 \
    ROW(type, of, fleet_5)                 \
    ROW(type, of, fleet_6)                 \
    ROW(type, of, fleet_7)                 \
    ROW(type, of, fleet_8)                 \
    ROW(type, of, fleet_9)
#define RECORDED_STRATEGIES(ROW, type, of)   \
    ROW(type, of, torch)                   \
    ROW(type, of, torch_pinned)            \
    ROW(type, of, tensorflow)              \
    ROW(type, of, jax)                     \
    ROW(type, of, onnxruntime)
#define CERTIFIERS(ROW, type, of)          \
    ROW(type, of, torch)                   \
    ROW(type, of, bfc)
#define TUNABLES(ROW, type, of)            \
    ROW(type, of, torch)                   \
    ROW(type, of, torch_pinned)            \
    ROW(type, of, tensorflow)              \
    ROW(type, of, jax)                     \
    ROW(type, of, onnxruntime)
#define EXPLAINERS(ROW, type, of)          \
    ROW(type, of, torch)                   \
    ROW(type, of, bfc)
#define COMMANDS(ROW, type, of)            \
    ROW(type, of, replay)                  \
    ROW(type, of, compare)                 \
    ROW(type, of, check)                   \
    ROW(type, of, info)                    \
    ROW(type, of, why)                     \
    ROW(type, of, verify)                  \
    ROW(type, of, tune)                    \
    ROW(type, of, sweep)                   \
    ROW(type, of, predict)                 \
    ROW(type, of, plan)                    \
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
    ROW(type, of, terms)                   \
    ROW(type, of, formats)                 \
    ROW(type, of, format)                  \
    ROW(type, of, tpt)                     \
    ROW(type, of, snapshots)               \
    ROW(type, of, malloc)                  \
    ROW(type, of, sweeps)                  \
    ROW(type, of, plugin)                  \
    ROW(type, of, metrics)                 \
    ROW(type, of, ci)                      \
    ROW(type, of, exports)                 \
    ROW(type, of, config)                  \
    ROW(type, of, environment)             \
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
TABLE(tp_recorded_strategies, RECORDED_STRATEGIES, tp_recorded_strategy, tp_recorded_strategy)
TABLE(tp_certifiers, CERTIFIERS, tp_certifier, tp_certifier)
TABLE(tp_tunables, TUNABLES, tp_tunable, tp_tunable)
TABLE(tp_explainers, EXPLAINERS, tp_explainer, tp_explainer)
TABLE(tp_commands, COMMANDS, tp_command, tp_command)
TABLE(tp_topics, TOPICS, tp_topic, tp_topic)
#undef DECLARE
#undef POINT

const struct tp_strategy *const tp_default_host[] = {&tp_strategy_system, &tp_strategy_lib,
                                                     &tp_strategy_arena, NULL};
const struct tp_strategy *const tp_default_device[] = {&tp_strategy_arena,       &tp_strategy_lru,
                                                       &tp_strategy_stream_pool, &tp_strategy_bump,
                                                       &tp_strategy_direct,      NULL};

/* Their lists are in headers, because options are made from them too. */
const struct tp_exporters tp_replay_exporters =
    TP_EXPORT_TABLE(tp_replay, TP_REPLAY_EXPORTS, tp_replay_tree);
const struct tp_exporters tp_compare_exporters =
    TP_EXPORT_TABLE(tp_compare, TP_COMPARE_EXPORTS, tp_compare_tree);
const struct tp_exporters tp_check_exporters =
    TP_EXPORT_TABLE(tp_check, TP_CHECK_EXPORTS, tp_check_tree);
