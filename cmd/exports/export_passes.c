/* What an export needs of the passes that --passes chose (replay_exports.h). */
#include "cmd/jobs/memory_passes.h"
#include "cmd/results/metrics.h"
#include "cmd/results/replay_exports.h"

enum { EVERY = TP_PASS_ALL | TP_MEMORY_PASSES };

/* By index. json and csv leave out or empty what was not measured, benchfmt leaves out its lines,
 * and folded is about the trace alone. */
static const unsigned needs[tp_replay_index_end] = {
    [tp_replay_index_text] = EVERY,
    [tp_replay_index_markdown] = EVERY,
    [tp_replay_index_hgrm] = TP_PASS_LATENCY,
    [tp_replay_index_perfetto] = TP_PASS_USAGE,
    [tp_replay_index_svg] = TP_PASS_USAGE,
    [tp_replay_index_svg_heap] = TP_PASS_USAGE,
    [tp_replay_index_snapshot] = TP_PASS_USAGE,
    [tp_replay_index_html] = EVERY,
};

bool tp_replay_export_serves(size_t index, unsigned passes)
{
    return (needs[index] & ~passes) == 0;
}

int tp_replay_export_lacks(const struct tp_exports *e, size_t index, struct tp_err *err)
{
    char name[64];
    const char *pass = needs[index] == TP_PASS_LATENCY ? "latency" : "usage";
    bool printed = e->format == index;
    snprintf(name, sizeof name, "--%s%s", printed ? "format " : "export-",
             tp_replay_exporters.list[index]->name);
    if (needs[index] != EVERY)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "%s needs the pass '%s'", name, pass),
                       "add %s to --passes", pass);
    if (!index)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE, "--passes: the screen shows figures of all passes"),
                       "print --json or --format csv, which leave out the others");
    return tp_hint(
        err, tp_fail(err, TP_EUSAGE, "--passes: %s shows figures of all passes", name),
        "write --export-json or --export-csv, which leave out the others, or omit --passes");
}
