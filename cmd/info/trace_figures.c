/* See trace_figures.h. */
#include "cmd/info/trace_figures.h"

#include "alloc/base/opt.h"

#include <strings.h>

static uint64_t in_info(const struct tp_program *p, const struct tp_info *info,
                        const struct tp_trace_figure *figure)
{
    (void)p;
    return *(const uint64_t *)(const void *)((const char *)info + figure->at);
}

static uint64_t in_facts(const struct tp_program *p, const struct tp_info *info,
                         const struct tp_trace_figure *figure)
{
    (void)info;
    return *(const uint64_t *)(const void *)((const char *)tp_program_facts(p) + figure->at);
}

static uint64_t at_once(const struct tp_program *p, const struct tp_info *info,
                        const struct tp_trace_figure *figure)
{
    (void)info, (void)figure;
    return tp_program_facts(p)->slots;
}

/* Devices have their peaks at different times: what all of them together need at most. */
static uint64_t peak(const struct tp_program *p, const struct tp_info *info,
                     const struct tp_trace_figure *figure)
{
    uint64_t sum = 0;
    (void)info, (void)figure;
    for (uint16_t d = 0; d < tp_program_facts(p)->devices; d++)
        sum += tp_program_demand(p, d)->bytes;
    return sum;
}

#define COUNT(label, text, get, offset)                                                            \
    {                                                                                              \
        .metric = {.name = label, .unit = TP_UNIT_COUNT}, .value = get, .at = offset, .name = text \
    }
#define BYTES(label, text, get, offset)                                                            \
    {                                                                                              \
        .metric = {.name = label, .unit = TP_UNIT_BYTES}, .value = get, .at = offset, .name = text \
    }
#define INFO(member)  offsetof(struct tp_info, member)
#define FACTS(member) offsetof(struct tp_program_facts, member)

const struct tp_trace_figure tp_trace_figures[] = {
    COUNT("allocations", "allocations", in_info, INFO(allocated.objects)),
    BYTES("allocated", "allocated bytes", in_info, INFO(allocated.bytes)),
    COUNT("reallocs", "reallocations", in_facts, FACTS(ops[TP_REALLOC])),
    COUNT("frees", "frees", in_info, INFO(freed)),
    BYTES("peak_requested", "peak requested", peak, 0),
    COUNT("peak_blocks", "peak blocks", at_once, 0),
    COUNT("left_blocks", "blocks at the end", in_facts, FACTS(live_at_end)),
    BYTES("left", "bytes at the end", in_facts, FACTS(live_at_end_bytes)),
    COUNT("temporary", "freed within 64 events", in_info, INFO(temporary.objects)),
    COUNT("remote_frees", "freed by other threads", in_info, INFO(remote_frees)),
    COUNT("threads", "threads", in_facts, FACTS(recorded_threads)),
    COUNT("sizes", "distinct sizes", in_info, INFO(distinct)),
};
enum { FIGURES = sizeof tp_trace_figures / sizeof *tp_trace_figures };
const size_t tp_trace_figure_count = FIGURES;

uint64_t tp_trace_figure_value(const struct tp_trace_figure *f, const struct tp_program *p,
                               const struct tp_info *info)
{
    return f->value(p, info, f);
}

const struct tp_metric *tp_trace_figure_find(const char *name, struct tp_err *err)
{
    const char *names[FIGURES + 1] = {0};
    for (size_t i = 0; i < FIGURES; i++) {
        names[i] = tp_trace_figures[i].metric.name;
        if (!strcasecmp(name, names[i]))
            return &tp_trace_figures[i].metric;
    }
    const char *near = tp_nearest(name, names);
    int status = tp_fail(err, TP_EUSAGE, "unknown figure of a trace '%s'", name);
    tp_hint(err, status, "%s%s%s'tapool info A B' shows them, 'tapool info --help' has their names",
            near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
    return NULL;
}
