/* The record of a run in this process is the one that is read from its result: of one device and of
 * two, whichever passes were replayed. */
#include "cmd/jobs/spec.h"
#include "cmd/results/record.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/report_json.h"
#include "cmd/results/stored.h"
#include "cmd/ui/exports.h"
#include "tests/unit/one_run.h"

#include <math.h>

enum { OBJECTS = 64 };

static struct tp_program *program_on(uint16_t devices)
{
    struct tp_insn insns[2 * OBJECTS];
    for (uint32_t i = 0; i < OBJECTS; i++) {
        insns[i] = (struct tp_insn)ALLOC_INSN(i, 1000 + 37 * i, 10);
        insns[OBJECTS + i] = (struct tp_insn)FREE_INSN(i, 1000 + 37 * i, 10);
        insns[i].device = insns[OBJECTS + i].device = (uint16_t)(i % devices);
    }
    return test_program(insns, COUNT(insns), true);
}

/* Written and read, or made here. */
static void expect_same(const struct tp_result *r)
{
    const struct tp_report report = {.results = (struct tp_result *)(uintptr_t)r, .count = 1};
    struct tp_stored file;
    struct tp_record here;
    char *text = NULL;
    size_t length = 0, known = 0;
    const struct tp_exports json = {.format = tp_replay_index_json};
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(tp_exports_print(&json, &tp_replay_exporters, &report, out, &err), TP_OK);
    fclose(out);
    if (tp_stored_parse(text, length, "here", &file, &err) || tp_record_of(r, &here, &err))
        fail_msg("%s", err.text);
    const struct tp_record *there = &file.runs[0];
    assert_int_equal(file.lack_count, 0); /* the reader finds whatever it looks for */
    assert_string_equal(here.label, there->label);
    assert_string_equal(here.trace_name, there->trace_name);
    assert_int_equal(here.devices, there->devices);
    for (size_t i = 0; i < here.devices * tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i % tp_metric_count];
        bool weighs = here.devices > 1 && m->share_of; /* of one device nobody asks for it */
        if (here.values[i] != there->values[i] &&
            !(isnan(here.values[i]) && isnan(there->values[i])))
            fail_msg("%s is %g here and %g there", m->name, here.values[i], there->values[i]);
        if (weighs && here.weights[i] != there->weights[i] &&
            !(isnan(here.weights[i]) && isnan(there->weights[i])))
            fail_msg("%s weighs %g here and %g there", m->name, here.weights[i], there->weights[i]);
        known += isnan(here.values[i]) ? 0 : 1;
    }
    assert_true(known > 0);
    tp_record_release(&here);
    tp_stored_release(&file);
    free(text);
}

static void expect_same_of(uint16_t devices, const char *strategy, unsigned passes)
{
    struct tp_trace trace = {.program = program_on(devices),
                             .meta = {.name = (char[]){"by hand"}},
                             .path = (char[]){"by-hand.json"},
                             .file = (char[]){"by-hand.json"},
                             .format = "json"};
    struct tp_captured captured;
    struct tp_strategy_spec spec;
    struct tp_source_spec source;
    assert_int_equal(tp_captured_scan(&trace, &captured, &err), TP_OK);
    assert_int_equal(tp_strategy_spec_parse(&spec, strategy, &err), TP_OK);
    assert_int_equal(tp_source_spec_parse(&source, "virtual", &err), TP_OK);
    const struct tp_result result = {.trace = &trace,
                                     .facts = tp_program_facts(trace.program),
                                     .spec = &spec,
                                     .source = &source,
                                     .captured = &captured,
                                     .use = &(struct tp_device_use){.scale = 1},
                                     .run = run};
    struct tp_replay_cfg cfg = run_on(source.layers[0].ops, spec.strategy, trace.program, passes);
    struct tp_clock clock;
    assert_int_equal(tp_clock_calibrate(&clock, &err), TP_OK);
    cfg.clock = &clock;
    replay(&cfg);
    expect_same(&result);
    tp_source_spec_release(&source);
    tp_strategy_spec_release(&spec);
    tp_captured_release(&captured);
    tp_program_release(trace.program);
}

static int setup(void **state)
{
    (void)state;
    return new_run();
}

TEST_WITH(a_record_is_what_its_file_says, setup, teardown)
{
    static const unsigned passes[] = {TP_PASS_USAGE, TP_PASS_THROUGHPUT, TP_PASS_LATENCY,
                                      TP_PASS_USAGE | TP_PASS_FITS, TP_PASS_ALL};
    for (size_t i = 0; i < COUNT(passes); i++)
        for (uint16_t devices = 1; devices <= 2; devices++) {
            expect_same_of(devices, "lru", passes[i]);
            expect_same_of(devices, "direct", passes[i]);
        }
}
