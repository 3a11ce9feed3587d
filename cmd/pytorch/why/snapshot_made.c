/* See snapshot_explainer.h. */
#include "cmd/pytorch/why/snapshot_explainer.h"

#include "alloc/base/spool.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/results/captured.h"
#include "cmd/results/recorded_strategy.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/result.h"
#include "cmd/ui/stop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is replayed, and how. */
struct replaying {
    struct tp_trace trace;
    struct tp_captured captured;
    struct tp_strategy_spec spec;
    struct tp_source_spec source;
    bool open;
};

static int name_strategy(struct replaying *p, const char *conf, bool limited, struct tp_err *err)
{
    struct tp_str text = {0};
    tp_str_add(&text, conf ? "torch:conf={%s}" : "torch", conf);
    int rc = tp_str_status(&text, err);
    if (rc == TP_OK)
        rc = tp_strategy_spec_parse(&p->spec, tp_str_text(&text), err);
    if (rc == TP_OK)
        rc = tp_apply_recorded(&p->trace, &p->captured, limited, &p->spec, err);
    tp_str_drop(&text);
    return rc;
}

static int name_source(struct replaying *p, uint64_t capacity, struct tp_err *err)
{
    char text[TP_SPEC_TEXT];
    snprintf(text, sizeof text, capacity ? "virtual+limit:capacity=%llu" : "virtual",
             (unsigned long long)capacity);
    return tp_source_spec_parse(&p->source, text, err);
}

static int open_replay(struct replaying *p, const struct tp_stand_in_ask *ask, struct tp_err *err)
{
    const struct tp_open_opts open = {.device = TP_OPT_KEYWORD(0), .max_memory = ask->max_memory};
    int rc = tp_open_trace(ask->path, &open, false, &p->trace, err);
    if (rc != TP_OK)
        return rc;
    p->open = true;
    if (!p->trace.recorded.by || strcmp(p->trace.recorded.by, "PyTorch") != 0)
        return tp_fail(err, TP_EINPUT, "%s: neither a PyTorch snapshot nor a trace of one",
                       ask->path);
    rc = tp_captured_scan(&p->trace, &p->captured, err);
    uint64_t limit =
        ask->capacity == UINT64_MAX ? tp_captured_capacity(&p->captured) : ask->capacity;
    if (rc == TP_OK)
        rc = name_strategy(p, ask->conf, limit > 0, err);
    return rc == TP_OK ? name_source(p, limit, err) : rc;
}

static void close_replay(struct replaying *p)
{
    tp_strategy_spec_release(&p->spec);
    tp_source_spec_release(&p->source);
    tp_captured_release(&p->captured);
    if (p->open)
        tp_trace_close(&p->trace);
}

static int write_snapshot(const struct replaying *p, int fd, struct tp_err *err)
{
    struct tp_result result = {.trace = &p->trace,
                               .facts = tp_program_facts(p->trace.program),
                               .spec = &p->spec,
                               .source = &p->source,
                               .captured = &p->captured,
                               .replayed = {.program = p->trace.program,
                                            .strategy = p->spec.strategy,
                                            .strategy_opts = p->spec.opts,
                                            .layer_count = p->source.count,
                                            .interrupted = tp_stop_flag()}};
    const struct tp_report report = {.results = &result, .count = 1, .planned = 1};
    memcpy(result.replayed.layers, p->source.layers, sizeof result.replayed.layers);
    int own = dup(fd);
    FILE *out = own >= 0 ? fdopen(own, "wb") : NULL;
    int rc = out ? tp_replay_snapshot.write_part(&report, 0, out, err)
                 : tp_fail(err, TP_EIO, "temporary file: %s", strerror(errno));
    bool wrote = out && !ferror(out);
    if (out ? fclose(out) != 0 : own >= 0 && close(own) != 0)
        wrote = false;
    return rc == TP_OK && !wrote ? tp_fail(err, TP_EIO, "temporary file: %s", strerror(errno)) : rc;
}

int tp_snapshot_made(const struct tp_stand_in_ask *ask, struct tp_why_replayed *out,
                     struct tp_err *err)
{
    struct replaying p = {.open = false};
    *out = (struct tp_why_replayed){.fd = -1};
    int rc = open_replay(&p, ask, err);
    if (rc == TP_OK)
        rc = tp_spool_open(&out->fd, err);
    if (rc == TP_OK)
        rc = write_snapshot(&p, out->fd, err);
    if (rc == TP_OK && p.trace.meta.remarks && !(out->remarks = strdup(p.trace.meta.remarks)))
        rc = tp_fail(err, TP_ENOMEM, "out of memory");
    snprintf(out->path, sizeof out->path, "/proc/self/fd/%d", out->fd);
    close_replay(&p);
    return rc;
}
