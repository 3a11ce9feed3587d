/* See page_replay.h. */
#include "cmd/pages/page_replay.h"

#include "alloc/base/spool.h"
#include "alloc/engine/crew.h"
#include "cmd/jobs/child.h"
#include "cmd/jobs/machine.h"
#include "cmd/jobs/memory_passes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check(const struct tp_page_job *job, const struct tp_strategy_spec *spec,
                 struct tp_err *err)
{
    if (tp_program_facts(job->program)->devices > 1 ||
        tp_program_facts(job->program)->kind != TP_KIND_HOST)
        return tp_fail(err, TP_EUSAGE, "pages are those of a host trace");
    if (!tp_strategy_takes_source(spec->strategy))
        return tp_child_settings(spec, job->interrupted, err);
    if (spec->strategy->caps & TP_CAP_ASYNC)
        return tp_fail(err, TP_EUSAGE, "'%s' is an allocator of a GPU", spec->label);
    return TP_OK;
}

static struct tp_replay_cfg configure(const struct tp_page_job *job,
                                      const struct tp_strategy_spec *spec,
                                      const struct tp_source_spec *host)
{
    const struct tp_source_spec *source = tp_source_spec_of(spec->strategy, host);
    struct tp_replay_cfg cfg = {.program = job->program,
                                .strategy = spec->strategy,
                                .strategy_opts = spec->opts,
                                .layer_count = source->count,
                                .touched = job->touched,
                                .passes = TP_PASS_RESIDENT,
                                .huge_pages = job->huge_pages,
                                .threads = TP_CREW_MAX,
                                .threads_if_possible = true,
                                .cores = (uint32_t)tp_machine_cores_to_use(),
                                .timeout_ns = job->timeout_ns,
                                .interrupted = job->interrupted};
    memcpy(cfg.layers, source->layers, sizeof cfg.layers);
    return cfg;
}

/* Replays with the file of the lists, and reads it. */
static int replay(struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                  const struct tp_page_asked *asked, struct tp_page_replay *out, struct tp_err *err)
{
    const struct tp_program_facts *facts = tp_program_facts(cfg->program);
    struct tp_page_asked lists = *asked;
    struct tp_run *run = calloc(1, tp_run_size(facts->devices));
    int status = run ? tp_spool_open(&lists.fd, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (status) {
        free(run);
        return status;
    }
    cfg->page_lists = &lists;
    status = tp_replay_apart(cfg, spec, run, err);
    if (!status)
        status = tp_page_lists_open(lists.fd, facts->slots, &out->lists, err);
    size_t count = out->lists.count;
    if (!status && (!count || !(out->lists.lists[count - 1].head.flags & TP_PAGE_LIST_LAST)))
        status = tp_fail(err, count ? TP_EIO : TP_EUNSUP,
                         "the pages of '%s' are not known at each moment: the kernel does not list "
                         "them, memory is mapped twice, or the folder of TMPDIR is full",
                         spec->label);
    out->resident = run->resident;
    snprintf(out->library, sizeof out->library, "%s", run->library);
    close(lists.fd);
    free(run);
    return status;
}

int tp_page_replay(const struct tp_page_job *job, const char *text,
                   const struct tp_page_asked *asked, struct tp_page_replay *out,
                   struct tp_err *err)
{
    struct tp_strategy_spec spec;
    struct tp_source_spec host = {.count = 0};
    *out = (struct tp_page_replay){.start = TP_NONE};
    int status = tp_strategy_spec_named(&spec, text, err);
    if (status)
        return status;
    snprintf(out->label, sizeof out->label, "%s", spec.label);
    status = check(job, &spec, err);
    if (!status)
        status = tp_source_spec_parse(&host, "host", err);
    struct tp_replay_cfg cfg = {.program = NULL};
    if (!status) {
        cfg = configure(job, &spec, &host);
        status = replay(&cfg, &spec, asked, out, err);
    }
    if (!status)
        status = tp_memory_start(&cfg, &spec, &out->start, err);
    tp_source_spec_release(&host);
    tp_strategy_spec_release(&spec);
    return status;
}

void tp_page_replay_release(struct tp_page_replay *r)
{
    tp_page_lists_close(&r->lists);
}
