/* Results that are read back: real ones (the seeds of fuzz_stored), then the same damaged in every
 * way that a file can be. */
#include "tests/unit/stored_rig.h"

#include <math.h>

#define SEEDS TAPOOL_ROOT "/tests/fuzz/corpus/stored/"

/* ---- whole ones ---- */

static double value_of(const struct tp_record *r, const char *metric, uint16_t device)
{
    return tp_record_value(r, tp_metric_find(metric, NULL), device);
}

TEST(test_host)
{
    struct tp_stored s;
    assert_int_equal(tp_stored_read(SEEDS "one-host-run.json", &s, NULL), TP_OK);
    const struct tp_record *r = &s.runs[0];
    assert_int_equal(s.count, 1);
    assert_string_equal(s.version, "0.1.0");
    assert_string_equal(s.cpu, "a processor");
    assert_string_equal(r->trace_path, "sample:sqlite");
    assert_string_equal(r->kind, "host");
    assert_int_equal(r->events, 60);
    assert_string_equal(r->label, "arena");
    assert_string_equal(r->scope, "strategy_and_source");
    assert_true(r->usage && r->throughput && r->latency && r->exact);
    assert_true(r->options.count > 1 && r->repeat_count >= 1);
    assert_true(value_of(r, "peak_reserved", 0) > 4096);
    assert_true(value_of(r, "ns_per_op", 0) > 0);
    assert_true(isnan(value_of(r, "min_capacity", 0))); /* null: not looked for */
    assert_true(isnan(value_of(r, "instructions", 0))); /* not there */
    assert_true(isnan(value_of(r, "peak_reserved", 1)));
    tp_stored_release(&s);
}

TEST(test_devices)
{
    struct tp_stored s;
    assert_int_equal(tp_stored_read(SEEDS "two-devices.json", &s, NULL), TP_OK);
    const struct tp_record *r = &s.runs[0];
    assert_int_equal(r->devices, 2);
    assert_true(value_of(r, "peak_requested", 0) == 22000000 / 512 * 512 + 512 ||
                value_of(r, "peak_requested", 0) == 22001000);
    assert_true(value_of(r, "peak_requested", 1) == 3145728);
    assert_true(value_of(r, "ns_per_op", 0) == value_of(r, "ns_per_op", 1)); /* of the run */
    tp_stored_release(&s);
}

TEST(test_wrappers)
{
    struct tp_stored s;
    int seen = 0;
    assert_int_equal(tp_stored_read(SEEDS "wrapped-source.json", &s, NULL), TP_OK);
    for (size_t i = 0; i < s.runs[0].source_options.count; i++) {
        const struct tp_record_option *o = &s.runs[0].source_options.items[i];
        seen += !strcmp(o->name, "shuffle.seed") && !strcmp(o->value, "3");
        seen += !strcmp(o->name, "limit.capacity") && !strcmp(o->value, "1GiB");
    }
    assert_int_equal(seen, 2);
    assert_string_equal(s.runs[0].label, "small");
    assert_string_equal(s.runs[0].strategy, "arena");
    tp_stored_release(&s);
}

TEST(test_some_passes)
{
    struct tp_stored s;
    assert_int_equal(tp_stored_read(SEEDS "usage-only.json", &s, NULL), TP_OK);
    assert_true(s.runs[0].usage && !s.runs[0].throughput && !s.runs[0].latency);
    assert_true(isnan(value_of(&s.runs[0], "ns_per_op", 0)));
    tp_stored_release(&s);
    assert_int_equal(tp_stored_read(SEEDS "times-only.json", &s, NULL), TP_OK);
    assert_true(!s.runs[0].usage && s.runs[0].throughput && s.runs[0].latency && !s.runs[0].exact);
    assert_true(isnan(value_of(&s.runs[0], "peak_reserved", 0)));
    assert_true(isnan(value_of(&s.runs[0], "failed_allocations", 0)));
    tp_stored_release(&s);
}

/* A member that nobody knows, of a minor version to come, does no harm; digits are a number. */
TEST(test_newer)
{
    struct tp_stored s;
    cJSON *tree = load(SEEDS "one-host-run.json");
    cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(tree, "runs"), 0);
    cJSON *memory = cJSON_GetObjectItem(run, "memory");
    cJSON_AddStringToObject(memory, "something_new", "!");
    cJSON_AddStringToObject(cJSON_GetObjectItem(tree, "tool"), "commit", "84a1a8a");
    cJSON_ReplaceItemInObject(memory, "peak_reserved_bytes",
                              cJSON_CreateString("18446744073709551615"));
    cJSON_ReplaceItemInObject(tree, "schema", cJSON_CreateString("tapool.result/2.4"));
    assert_int_equal(parse_tree(tree, &s, NULL), TP_OK);
    assert_true(value_of(&s.runs[0], "peak_reserved", 0) == 0x1p64);
    assert_string_equal(s.commit, "84a1a8a");
    tp_stored_release(&s);
    cJSON_Delete(tree);
}

/* ---- damaged ones ---- */

static void expect(const char *text, const char *message)
{
    struct tp_stored s;
    struct tp_err err = {0};
    assert_int_equal(tp_stored_parse(text, strlen(text), "a.json", &s, &err), TP_EINPUT);
    assert_string_equal(err.text, message);
}

TEST(test_no_json)
{
    expect("", "a.json is empty");
    expect(" \n", "a.json is empty");
    expect("{\"schema\": nonsense}", "a.json: byte 12: not JSON, or over 1,000 levels deep");
    expect("{\"schema\": NaN}", "a.json: byte 12: 'NaN' is not a JSON number");
    expect("{\"a\": [1, -Infinity], \"b\": 2}",
           "a.json: byte 11: '-Infinity' is not a JSON number");
    expect("{\"a\": inf, \"b\": 2}", "a.json: byte 7: 'inf' is not a JSON number");
    expect("{\"a\": nano, \"b\": 2}", "a.json: byte 7: not JSON, or over 1,000 levels deep");
    expect("{\"a\": NaN", "a.json is cut off: it ends after 9 bytes");
    expect("{} {}", "a.json: byte 4: something follows the document");
    expect("[]", "a.json: the document is not an object");
    expect("{}", "a.json: schema is missing");
    expect("{\"schema\": 1}", "a.json: schema is not text");
    expect("{\"schema\": \"tapool.result/1\"}",
           "a.json is 'tapool.result/1'; this tapool reads 'tapool.result/2'");
    expect("{\"schema\": \"tapool.result/20\"}",
           "a.json is 'tapool.result/20'; this tapool reads 'tapool.result/2'");
    expect("{\"schema\": \"tapool.info/2\"}",
           "a.json is 'tapool.info/2'; this tapool reads 'tapool.result/2'");
    struct tp_stored s;
    struct tp_err err;
    assert_int_equal(tp_stored_parse("{\"a\0\":1}", 8, "a.json", &s, &err), TP_EINPUT);
    assert_string_equal(err.text, "a.json: byte 4: a NUL, which no JSON has");
    assert_int_equal(tp_stored_read("/nonexistent/a.json", &s, &err), TP_EINPUT);
    assert_int_equal(tp_stored_read("/", &s, &err), TP_EINPUT);
}

/* Cut anywhere it is said to be cut, but for its last newline, which nobody misses. */
TEST(test_truncated)
{
    static const char *const files[] = {SEEDS "two-devices.json", SEEDS "one-host-run.json"};
    for (size_t f = 0; f < 2; f++) {
        cJSON *tree = load(files[f]);
        char *text = cJSON_PrintUnformatted(tree), message[64];
        size_t length = strlen(text);
        for (size_t cut = 1; cut < length; cut += f ? 13 : 5) {
            struct tp_stored s;
            struct tp_err err = {0};
            snprintf(message, sizeof message, "a.json is cut off: it ends after %zu bytes", cut);
            char *part = malloc(cut); /* exactly so much, for the sanitizer */
            memcpy(part, text, cut);
            assert_int_equal(tp_stored_parse(part, cut, "a.json", &s, &err), TP_EINPUT);
            assert_string_equal(err.text, message);
            free(part);
        }
        cJSON_free(text);
        cJSON_Delete(tree);
    }
}

/* ---- each member ---- */

/* Members that the reader uses beside metrics and settings, and by what name a result lacks them;
 * NULL: without them it is none. */
static const struct {
    const char *path, *lacks;
} used[] = {{"schema", NULL},
            {"tool", "tool"},
            {"tool.version", "tool.version"},
            {"tool.build", "tool.build"},
            {"tool.compiler", "tool.compiler"},
            {"machine", "machine"},
            {"machine.arch", "machine.arch"},
            {"machine.cpu", "machine.cpu"},
            {"machine.libc", "machine.libc"},
            {"clock", "clock"},
            {"clock.step_ns", "clock.step_ns"},
            {"partial", "partial"},
            {"runs", NULL},
            {"runs[0].trace", NULL},
            {"runs[0].trace.path", "trace.path"},
            {"runs[0].trace.name", NULL},
            {"runs[0].trace.kind", NULL},
            {"runs[0].trace.program_hash", NULL},
            {"runs[0].trace.events", "trace.events"},
            {"runs[0].trace.operations", "trace.operations"},
            {"runs[0].trace.devices", NULL},
            {"runs[0].trace.frees", "trace.frees"},
            {"runs[0].trace.loop", "trace.loop"},
            {"runs[0].strategy", NULL},
            {"runs[0].strategy.name", NULL},
            {"runs[0].strategy.label", NULL},
            {"runs[0].strategy.options", "strategy.options"},
            {"runs[0].source", NULL},
            {"runs[0].source.name", NULL},
            {"runs[0].source.options", "source.options"},
            {"runs[0].source.wrappers", "source.wrappers"},
            {"runs[0].source.wrappers[1].name", "source.wrappers"},
            {"runs[0].source.wrappers[1].options", "source.wrappers"},
            {"runs[0].touch", NULL},
            {"runs[0].latency_scope", NULL},
            {"runs[0].memory", "memory"},
            {"runs[0].memory.class", "memory.class"},
            {"runs[0].driver_calls", "driver_calls"},
            {"runs[0].throughput", "throughput"},
            {"runs[0].throughput.ci95_low_ns_per_op", "throughput.ci95_low_ns_per_op"},
            {"runs[0].throughput.ci95_high_ns_per_op", "throughput.ci95_high_ns_per_op"},
            {"runs[0].throughput.replayed_once", "throughput.replayed_once"},
            {"runs[0].throughput.runs_ns_per_op", "throughput.runs_ns_per_op"},
            {"runs[0].latency", "latency"},
            {"runs[0].instructions", "instructions"},
            {"runs[0].resident", "resident"},
            {"runs[0].mapped", "mapped"},
            {"runs[0].warnings", "warnings"}};

static void expect_damage(const cJSON *tree, const char *path, const char *what)
{
    struct tp_stored s;
    struct tp_err err = {0};
    char message[256];
    int status = parse_tree(tree, &s, &err);
    snprintf(message, sizeof message, "a.json: %s %s", path, what);
    if (status != TP_EINPUT || strncmp(err.text, message, strlen(message)))
        fail_msg("expected '%s', got %d: %s", message, status, status ? err.text : "no error");
}

/* The member that was taken out of `in`, put back twice, and as another kind of value. */
static void expect_spoilt(cJSON *tree, cJSON *in, cJSON *item, const char *path)
{
    char name[64];
    snprintf(name, sizeof name, "%s", item->string);
    cJSON_AddItemToObject(in, name, cJSON_Duplicate(item, true));
    cJSON_AddItemToObject(in, name, item);
    expect_damage(tree, path, "stands there twice");
    cJSON_DeleteItemFromObjectCaseSensitive(in, name);
    cJSON_DeleteItemFromObjectCaseSensitive(in, name);
    cJSON_AddItemToObject(in, name, cJSON_Parse("-1.5"));
    expect_damage(tree, path, "is ");
    cJSON_Delete(tree);
}

/* Without it, and whatever lies in it, the result lacks it by that name and nothing else. */
static void check_member(const char *path, const char *lacks)
{
    struct tp_stored s;
    struct tp_err err = {0};
    char name[64], text[200];
    cJSON *tree = load(SEEDS "whole-one-device.json"), *in = find(tree, path, name, sizeof name);
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(in, name);
    assert_non_null(item);
    if (lacks) {
        if (parse_tree(tree, &s, &err))
            fail_msg("without %s: %s", path, err.text);
        tp_stored_lacks(&s, false, text, sizeof text);
        assert_string_equal(text, lacks);
        tp_stored_release(&s);
    } else {
        expect_damage(tree, path, "is missing");
    }
    expect_spoilt(tree, in, item, path);
}

TEST(test_members)
{
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        check_member(used[i].path, used[i].lacks);
}

/* A figure that is not there is unknown; one of the same name as another member is that one. */
TEST(test_figures)
{
    for (size_t i = 0; i < tp_metric_count; i++) {
        struct tp_stored s;
        char path[128], name[64];
        snprintf(path, sizeof path, "runs[0].%s", tp_metrics[i].path);
        check_member(path, tp_metrics[i].of_threads ? "" : tp_metrics[i].name);
        cJSON *tree = load(SEEDS "whole-one-device.json"),
              *in = find(tree, path, name, sizeof name);
        cJSON_DeleteItemFromObjectCaseSensitive(in, name);
        assert_int_equal(parse_tree(tree, &s, NULL), TP_OK);
        assert_true(isnan(tp_record_value(s.runs, &tp_metrics[i], 0)));
        tp_stored_release(&s);
        cJSON_Delete(tree);
    }
}

/* What a pass would have measured that was not replayed is not lacking. */
TEST(test_lacking)
{
    static const char *const passes[] = {"throughput", "latency", "instructions", "resident",
                                         "mapped"};
    struct tp_stored s;
    char text[200], name[64];
    for (size_t i = 0; i <= sizeof passes / sizeof *passes; i++) {
        cJSON *tree = load(SEEDS "whole-one-device.json"),
              *run = find(tree, "runs[0].touch", name, 64);
        if (i)
            cJSON_DeleteItemFromObjectCaseSensitive(run, passes[i - 1]);
        if (i)
            cJSON_ReplaceItemInObjectCaseSensitive(run, "passes", cJSON_Parse("[\"usage\"]"));
        assert_int_equal(parse_tree(tree, &s, NULL), TP_OK);
        tp_stored_lacks(&s, true, text, sizeof text);
        assert_string_equal(text, "");
        tp_stored_release(&s);
        cJSON_Delete(tree);
    }
}

/* ---- settings ---- */

static void set_settings(cJSON *tree)
{
    char name[64];
    cJSON *settings = find(tree, "runs[0].settings.limit", name, sizeof name);
    for (int i = 0; i < cJSON_GetArraySize(settings); i++)
        cJSON_ReplaceItemInObjectCaseSensitive(settings, cJSON_GetArrayItem(settings, i)->string,
                                               cJSON_CreateString("old"));
}

/* Every row of the table is read, compared by its option's name, and where it is absent unknown, or
 * what it was before there was such a setting. */
TEST(test_settings)
{
    struct tp_stored a, b;
    char text[400], expected[400];
    for (size_t i = 0; i < TP_SETTINGS; i++) {
        const struct tp_setting *row = &tp_settings[i];
        char path[128], name[64];
        snprintf(path, sizeof path, "%s%s", row->document ? "" : "runs[0].", row->path);
        cJSON *tree = load(SEEDS "whole-one-device.json");
        set_settings(tree);
        assert_int_equal(parse_tree(tree, &a, NULL), TP_OK);
        const char *was = a.runs[0].settings[i];
        assert_non_null(was);
        cJSON *in = find(tree, path, name, sizeof name);
        cJSON_ReplaceItemInObjectCaseSensitive(in, name, cJSON_CreateString("new"));
        assert_int_equal(parse_tree(tree, &b, NULL), TP_OK);
        tp_stored_settings_differ(a.runs, b.runs, false, text, sizeof text);
        snprintf(expected, sizeof expected, "--%s %s and new", row->option, was);
        assert_string_equal(text, expected);
        tp_stored_settings_differ(a.runs, b.runs, true, text, sizeof text);
        assert_int_equal(*text != '\0', row->reads);
        tp_stored_release(&b);
        cJSON_ReplaceItemInObjectCaseSensitive(in, name, cJSON_CreateNull());
        assert_int_equal(parse_tree(tree, &b, NULL), TP_OK);
        tp_stored_settings_differ(a.runs, b.runs, false, text, sizeof text);
        snprintf(expected, sizeof expected, "--%s %s and not given", row->option, was);
        assert_string_equal(text, expected);
        tp_stored_release(&b);
        cJSON_ReplaceItemInObjectCaseSensitive(in, name, cJSON_CreateBool(true));
        expect_damage(tree, path, "is neither a text nor a number nor null");
        cJSON_DeleteItemFromObjectCaseSensitive(in, name);
        assert_int_equal(parse_tree(tree, &b, NULL), TP_OK);
        tp_stored_settings_differ(a.runs, b.runs, false, text, sizeof text);
        snprintf(expected, sizeof expected, "--%s %s and %s", row->option, was, row->before);
        assert_string_equal(text, row->before ? expected : "");
        tp_stored_lacks(&b, true, text, sizeof text);
        snprintf(expected, sizeof expected, "--%s", row->option);
        assert_string_equal(text, row->before ? "" : expected);
        tp_stored_release(&a);
        tp_stored_release(&b);
        cJSON_Delete(tree);
    }
}

/* Values that are none, in the place of one that is used. */
TEST(test_values)
{
    static const struct {
        const char *path, *value, *what;
    } rows[] = {
        {"runs[0].memory.peak_reserved_bytes", "1e999", "is beyond all numbers"},
        {"runs[0].memory.peak_reserved_bytes", "-1", "is out of its range"},
        {"runs[0].memory.peak_reserved_bytes", "1.5", "is not a whole number"},
        {"runs[0].memory.peak_reserved_bytes", "\"many\"", "is neither a number nor null"},
        {"runs[0].memory.peak_reserved_bytes", "{}", "is neither a number nor null"},
        {"runs[0].memory.unused_reserved", "1.01", "is out of its range"},
        {"runs[0].memory.class", "\"X\"", "is not a known word"},
        {"runs[0].trace.devices", "0", "is not from 1 to 256"},
        {"runs[0].trace.devices", "1000000000", "is not from 1 to 256"},
        {"runs[0].trace.events", "0.5", "is not a whole number from 0"},
        {"runs[0].trace.frees", "[]", "is not a whole number from 0"},
        {"runs[0].trace.program_hash", "\"abc\"", "is not a SHA-256"},
        {"runs[0].latency_scope", "\"both\"", "is not a known word"},
        {"runs[0].throughput.replayed_once", "1", "is neither true nor false"},
        {"runs[0].throughput.replay_overhead_ns_per_op", "true", "is neither a number nor null"},
        {"runs", "{}", "is not a list"},
        {"runs", "[[]]", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[64];
        cJSON *tree = load(SEEDS "whole-one-device.json"),
              *in = find(tree, rows[i].path, name, sizeof name);
        cJSON *value = cJSON_Parse(rows[i].value);
        if (!strcmp(rows[i].value, "1e999")) { /* a tree that is printed has null for it */
            cJSON_Delete(value);
            value = cJSON_CreateRaw("1e999");
        }
        cJSON_ReplaceItemInObjectCaseSensitive(in, name, value);
        if (*rows[i].what)
            expect_damage(tree, rows[i].path, rows[i].what);
        cJSON_Delete(tree);
    }
}

/* A sum of which a part is not known is not known. */
TEST(test_devices_missing)
{
    struct tp_stored s;
    const struct tp_metric *peak = tp_metric_find("peak_reserved", NULL);
    char name[64], text[200];
    cJSON *tree = load(SEEDS "whole-two-devices.json");
    cJSON *second = find(tree, "runs[0].devices[1].memory", name, sizeof name);
    cJSON_DeleteItemFromObject(second, "memory");
    assert_int_equal(parse_tree(tree, &s, NULL), TP_OK);
    assert_true(tp_record_value(s.runs, peak, 0) > 0);
    assert_true(isnan(tp_record_total(s.runs, peak)));
    assert_false(s.runs[0].exact);
    tp_stored_lacks(&s, true, text, sizeof text);
    assert_string_equal(text, "memory");
    tp_stored_release(&s);
    cJSON *calls = find(tree, "runs[0].devices[0].driver_calls.allocations", name, sizeof name);
    cJSON_DeleteItemFromObject(calls, name);
    assert_int_equal(parse_tree(tree, &s, NULL), TP_OK);
    tp_stored_lacks(&s, true, text, sizeof text);
    assert_string_equal(text, "driver_calls.allocations, memory");
    tp_stored_release(&s);
    cJSON *run = find(tree, "runs[0].devices", name, sizeof name);
    cJSON_DeleteItemFromArray(cJSON_GetObjectItem(run, "devices"), 1);
    expect_damage(tree, "runs[0].devices", "has another number of devices than its trace");
    cJSON_Delete(tree);
}

/* ---- comparing ---- */

static void expect_refused(const char *path, const char *value, const char *part)
{
    struct tp_stored a, b;
    struct tp_err err = {0};
    char name[64];
    cJSON *tree = load(SEEDS "one-host-run.json"), *in = find(tree, path, name, sizeof name);
    assert_int_equal(parse_tree(tree, &a, &err), TP_OK);
    assert_int_equal(tp_stored_comparable(&a, a.runs, &a, a.runs, &err), TP_OK);
    cJSON_ReplaceItemInObjectCaseSensitive(in, name, cJSON_CreateString(value));
    assert_int_equal(parse_tree(tree, &b, &err), TP_OK);
    assert_int_equal(tp_stored_comparable(&a, a.runs, &b, b.runs, &err), TP_EINPUT);
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in: %s", part, err.text);
    tp_stored_release(&a);
    tp_stored_release(&b);
    cJSON_Delete(tree);
}

TEST(test_comparable)
{
    expect_refused("runs[0].latency_scope", "strategy",
                   "their times hold 'strategy_and_source' and 'strategy'");
    expect_refused("runs[0].touch", "none", "blocks were touched 'first' and 'none'");
    expect_refused("runs[0].trace.kind", "device", "the kind of trace is 'host' and 'device'");
    expect_refused("runs[0].trace.program_hash",
                   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                   "replayed different programs: ");
}

/* A limit is a setting; all other layers make another source. */
TEST(test_sources)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {{"virtual", "virtual", true},
                {"virtual", "virtual+limit", true},
                {"virtual+limit", "virtual+shuffle", false},
                {"virtual+limit+shuffle", "virtual+shuffle", true},
                {"virtual+shuffle+limit", "virtual+shuffle+shuffle", false},
                {"virtual+limits", "virtual", false},
                {"virtual+", "virtual", true},
                {"", "limit", true},
                {"virtual", "host", false},
                {"virtua", "virtual", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tp_record a = {.source = (char *)(uintptr_t)rows[i].a},
                               b = {.source = (char *)(uintptr_t)rows[i].b};
        assert_int_equal(tp_stored_same_source(&a, &b), rows[i].same);
        assert_int_equal(tp_stored_same_source(&b, &a), rows[i].same);
    }
}

TEST(test_differences)
{
    struct tp_stored a = {.version = (char[]){"0.1.0"},
                          .build = (char[]){"release"},
                          .compiler = (char[]){"GNU 12"},
                          .arch = (char[]){"x86_64"},
                          .cpu = (char[]){"X"},
                          .libc = (char[]){"glibc 2.36"},
                          .step_ns = 10};
    struct tp_stored b = a;
    char text[200];
    tp_stored_differences(&a, &b, true, text, sizeof text);
    assert_string_equal(text, "");
    b.step_ns = 10.0149; /* calibrated anew: no difference */
    tp_stored_differences(&a, &b, true, text, sizeof text);
    assert_string_equal(text, "");
    b.commit = (char[]){"84a1a8a"}; /* that of the other is not known */
    tp_stored_differences(&a, &b, false, text, sizeof text);
    assert_string_equal(text, "");
    a.commit = (char[]){"84a1a8a-dirty"};
    tp_stored_differences(&a, &b, false, text, sizeof text);
    assert_string_equal(text, "tapool built from 84a1a8a-dirty and 84a1a8a");
    b.version = (char[]){"0.2.0"};
    b.build = (char[]){"debug"};
    b.cpu = (char[]){""};
    b.step_ns = 1;
    tp_stored_differences(&a, &b, false, text, sizeof text);
    assert_string_equal(text, "tapool 0.1.0 and 0.2.0");
    tp_stored_differences(&a, &b, true, text, sizeof text);
    assert_string_equal(text, "tapool 0.1.0 and 0.2.0, builds release and debug, X and unknown, "
                              "clock steps of 10 and 1 ns");
    tp_stored_differences(&a, &b, true, text, 20);
    assert_int_equal(strlen(text), 19);
}
