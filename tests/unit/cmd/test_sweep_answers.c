/* The answers of a sweep, from small stores that are written as a sweep writes them, against
 * figures that can be checked by hand. Peaks are in units of the best packing, 100. */
#include "cmd/sweep/sweep_answers.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct answers_rig {
    char folder[32], path[64];
    struct tp_store *store;
    struct tp_sweep_opts opts;
    struct tp_sweep_asking asking;
    struct tp_sweep_answers answers;
    unsigned cells;
};

static void begin_store(struct answers_rig *r)
{
    struct tp_err err;
    *r = (struct answers_rig){.folder = "/tmp/tapool-sweep-XXXXXX"};
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->path, sizeof r->path, "%s/s.sqlite", r->folder);
    assert_int_equal(tp_store_write(r->path, &r->store, &err), TP_OK);
}

static void take_line(struct answers_rig *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void take_line(struct answers_rig *r, const char *format, ...)
{
    char line[2000];
    struct tp_err err;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_int_equal(tp_store_take(r->store, line, (size_t)length, &err), TP_OK);
}

static void add_trace(struct answers_rig *r, unsigned trace)
{
    take_line(r,
              "{\"trace\":{\"identity\":\"%032x\",\"path\":\"/c/t%u\",\"reading\":\"\",\"bytes\":1,"
              "\"modified_ns\":1,\"kind\":\"host\",\"events\":10,\"operations\":10,\"devices\":1,"
              "\"threads\":1,\"trace_peak\":90,\"lower_bound\":90,\"best_packing\":100}}\n",
              trace, trace);
}

static void add_setting(struct answers_rig *r, const char *text, const char *option)
{
    struct tp_err err;
    const char *options[] = {option, NULL};
    const struct tp_store_setting s = {text, "arena", options};
    assert_int_equal(tp_store_setting(r->store, &s, &err), TP_OK);
}

static void add_values(struct answers_rig *r, unsigned trace, const char *setting,
                       const char *values)
{
    take_line(r,
              "{\"cell\":{\"name\":\"%032x\",\"identity\":\"%032x\",\"setting\":\"%s\","
              "\"passes\":\"usage\",\"tool\":\"t\",\"machine\":\"\",\"seconds\":1,"
              "\"values\":{%s}}}\n",
              ++r->cells, trace, setting, values);
}

/* A cell with a peak and calls of the driver. */
static void add_peak(struct answers_rig *r, unsigned trace, const char *setting, int peak,
                     int calls)
{
    char values[128];
    snprintf(values, sizeof values, "\"peak_reserved\":%d,\"driver_calls.total\":%d", peak, calls);
    add_values(r, trace, setting, values);
}

static int evaluate(struct answers_rig *r, struct tp_err *err)
{
    assert_int_equal(tp_store_commit(r->store, err), TP_OK);
    r->asking = (struct tp_sweep_asking){.opts = &r->opts, .store = r->store, .path = r->path};
    return tp_sweep_evaluate(&r->asking, &r->answers, err);
}

static void end_store(struct answers_rig *r)
{
    struct tp_err err;
    tp_sweep_answers_drop(&r->answers);
    assert_int_equal(tp_store_close(r->store, &err), TP_OK);
    unlink(r->path);
    assert_int_equal(rmdir(r->folder), 0);
}

static const char *ranked(const struct answers_rig *r, size_t place)
{
    const struct tp_sweep_answer *a = &r->answers.list[0];
    return place < a->ranked ? r->answers.picked.settings[a->order[place]].text : "";
}

TEST(the_lowest_geometric_mean_is_the_best)
{
    static const char *const names[] = {"arena", "arena:x=1", "arena:x=2"};
    static const int peaks[3][3] = {{200, 200, 200}, {100, 100, 900}, {400, 100, 150}};
    struct answers_rig r;
    struct tp_err err;
    begin_store(&r);
    for (unsigned t = 0; t < 3; t++)
        add_trace(&r, t);
    for (unsigned s = 0; s < 3; s++) {
        add_setting(&r, names[s], s ? names[s] + 6 : NULL);
        for (unsigned t = 0; t < 3; t++)
            add_peak(&r, t, names[s], peaks[s][t], (int)(10 * (s + 1)));
    }
    assert_int_equal(evaluate(&r, &err), TP_OK);
    const struct tp_sweep_answer *a = &r.answers.list[0];
    assert_string_equal(ranked(&r, 0), "arena:x=2"); /* cube root of 6 */
    assert_string_equal(ranked(&r, 1), "arena");     /* 2 */
    assert_string_equal(ranked(&r, 2), "arena:x=1"); /* cube root of 9 */
    assert_true(fabs(tp_sweep_mean(&a->scores[a->order[0]]) - cbrt(6)) < 1e-9);
    assert_true(fabs(tp_sweep_mean(&a->scores[a->order[2]]) - cbrt(9)) < 1e-9);
    assert_string_equal(tp_sweep_trace_name(&r.answers, a->scores[a->order[2]].worst_trace), "t2");
    assert_fields(*a, competing, 3, traces, 3, better, 2, worse, 1, equal, 0, draws, 0);
    /* arena:x=2 and arena:x=1 are the best of one trace each, and share another one */
    assert_fields(a->scores[a->order[0]], within, 2, factors[0], 2, factors[6], 2);
    assert_fields(a->scores[a->order[1]], within, 0, factors[5], 1, factors[6], 3);
    /* on the front of calls: arena (30 calls), arena:x=2 (90), not arena:x=1 (60) */
    assert_int_equal(a->front_count, 1);
    assert_fields(a->fronts[0], count, 2, settings[0], 0, settings[1], 2);
    assert_true(tp_sweep_cost(&r.answers.picked, a, 2, 0) == 90);
    assert_int_equal(a->effect_count, 1);
    assert_fields(a->effects[0], count, 3, groups, 1, affected, 3, values[0], 2, values[1], 0);
    end_store(&r);
}

TEST(equal_settings_go_by_fewer_options_and_then_by_name)
{
    static const char *const names[] = {"arena:x=2", "arena:x=1", "arena"};
    struct answers_rig r;
    struct tp_err err;
    begin_store(&r);
    add_trace(&r, 1);
    for (unsigned s = 0; s < 3; s++) {
        add_setting(&r, names[s], s < 2 ? names[s] + 6 : NULL);
        add_peak(&r, 1, names[s], 120, 5);
    }
    assert_int_equal(evaluate(&r, &err), TP_OK);
    assert_string_equal(ranked(&r, 0), "arena");
    assert_string_equal(ranked(&r, 1), "arena:x=1");
    assert_string_equal(ranked(&r, 2), "arena:x=2");
    assert_fields(r.answers.list[0], equal, 1, better, 0, worse, 0, fronts[0].count, 1);
    end_store(&r);
}

TEST(settings_that_failed_or_lack_a_trace_are_last)
{
    struct answers_rig r;
    struct tp_err err;
    begin_store(&r);
    for (unsigned t = 0; t < 2; t++)
        add_trace(&r, t);
    add_setting(&r, "a", NULL);
    add_setting(&r, "b", NULL);
    add_setting(&r, "c", NULL);
    add_setting(&r, "d", NULL);
    add_peak(&r, 0, "a", 100, 1);
    add_values(&r, 1, "a", "\"peak_reserved\":50,\"failed_allocations\":1");
    add_peak(&r, 0, "b", 300, 1);
    add_peak(&r, 1, "b", 300, 1);
    add_peak(&r, 0, "c", 100, 1);
    add_peak(&r, 0, "d", 100, 1);
    add_peak(&r, 1, "d", 100, 1);
    take_line(&r, "{\"failure\":{\"path\":\"/elsewhere\",\"setting\":\"d\",\"passes\":\"usage\","
                  "\"status\":4,\"error\":\"timed out\"}}\n");
    assert_int_equal(evaluate(&r, &err), TP_OK);
    const struct tp_sweep_answer *a = &r.answers.list[0];
    assert_string_equal(ranked(&r, 0), "b");
    assert_fields(*a, competing, 1, ranked, 4, traces, 2, front_count, 1);
    /* what failed is no best of its trace */
    assert_fields(a->scores[1], within, 0, failed, 0, traces, 2);
    assert_fields(a->scores[0], within, 1, failed, 1, traces, 1);
    assert_int_equal(r.answers.picked.settings[3].unread, 1);
    end_store(&r);
}

TEST(effects_are_of_traces_that_have_all_values)
{
    struct answers_rig r;
    struct tp_err err;
    begin_store(&r);
    for (unsigned t = 0; t < 3; t++)
        add_trace(&r, t);
    add_setting(&r, "arena:x=1", "x=1");
    add_setting(&r, "arena:x=2", "x=2");
    add_setting(&r, "arena:x=3", "x=3");
    add_peak(&r, 0, "arena:x=1", 100, 1);
    add_peak(&r, 0, "arena:x=2", 200, 1);
    add_peak(&r, 1, "arena:x=1", 100, 1);
    add_peak(&r, 1, "arena:x=2", 100, 1);
    add_peak(&r, 2, "arena:x=1", 900, 1);
    add_values(&r, 0, "arena:x=3", "\"peak_reserved\":10,\"failed_allocations\":2");
    assert_int_equal(evaluate(&r, &err), TP_OK);
    assert_int_equal(r.answers.list[0].effect_count, 1);
    const struct tp_sweep_effect *e = &r.answers.list[0].effects[0];
    assert_fields(*e, count, 2, groups, 1, pairs, 2, traces, 2, affected, 1, values[0], 1);
    assert_true(fabs(exp(e->means[1] - e->means[0]) - sqrt(2)) < 1e-9);
    end_store(&r);
}

TEST(counts_are_compared_plus_one_and_shares_the_other_way_round)
{
    struct answers_rig r;
    struct tp_err err;
    char *metrics[] = {"driver_calls.total", "hit_rate"};
    begin_store(&r);
    r.opts.metrics = (struct tp_opt_list){metrics, 2};
    add_trace(&r, 1);
    add_setting(&r, "a", NULL);
    add_setting(&r, "b", NULL);
    add_values(&r, 1, "a", "\"driver_calls.total\":0,\"hit_rate\":0.25");
    add_values(&r, 1, "b", "\"driver_calls.total\":3,\"hit_rate\":0.5");
    assert_int_equal(evaluate(&r, &err), TP_OK);
    const struct tp_sweep_answer *calls = &r.answers.list[0], *hits = &r.answers.list[1];
    assert_int_equal(calls->order[0], 0);
    assert_true(fabs(tp_sweep_mean(&calls->scores[1]) - 4) < 1e-9);
    assert_int_equal(hits->order[0], 1);
    assert_true(fabs(tp_sweep_mean(&hits->scores[0]) - 2) < 1e-9);
    end_store(&r);
}

TEST(a_store_without_cells_or_without_the_metric_is_refused)
{
    struct answers_rig r;
    struct tp_err err;
    begin_store(&r);
    assert_int_equal(evaluate(&r, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "no cells yet"));
    end_store(&r);
    begin_store(&r);
    add_trace(&r, 1);
    add_setting(&r, "a", NULL);
    add_values(&r, 1, "a", "\"hit_rate\":0.25");
    assert_int_equal(evaluate(&r, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "no cell has the metric 'peak_reserved'"));
    end_store(&r);
}
