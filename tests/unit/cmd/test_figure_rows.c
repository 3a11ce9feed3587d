/* The registry of figures agrees with itself, and the schema of results also: what a row says is
 * there, of that kind, and what the schema says of an object that rows make has a row. */
#include "cmd/results/metrics.h"
#include "tests/unit/stored_rig.h"

#define SCHEMA TAPOOL_ROOT "/cmd/results/result.schema.json"

static size_t times_listed(const struct tp_metric *m)
{
    size_t times = 0;
    for (size_t i = 0; i < tp_figure_count; i++)
        times += tp_figures[i] == m;
    return times;
}

/* A rank that is left out would be a row of zeros. */
TEST(every_rank_is_taken)
{
    assert_true(tp_metric_count > 40 && tp_figure_count > 2 * tp_metric_count);
    for (size_t i = 0; i < tp_metric_count; i++) {
        assert_non_null(tp_metrics[i].name);
        assert_non_null(tp_metrics[i].path);
        assert_int_equal(times_listed(&tp_metrics[i]), 1);
    }
}

TEST(no_two_rows_are_the_same_member)
{
    for (size_t i = 0; i < tp_figure_count; i++)
        for (size_t k = 0; tp_figures[i]->path && k < i; k++)
            if (tp_figures[k]->path && tp_figures[i]->per_device == tp_figures[k]->per_device)
                assert_string_not_equal(tp_figures[i]->path, tp_figures[k]->path);
}

/* ---- the schema ---- */

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *reference(const cJSON *node)
{
    const cJSON *ref = member(node, "$ref");
    return ref ? strrchr(ref->valuestring, '/') + 1 : "";
}

static const cJSON *resolve(const cJSON *schema, const cJSON *node)
{
    return member(node, "$ref") ? member(member(schema, "$defs"), reference(node)) : node;
}

/* What the schema says of a member of a run or device: "memory.overhead"; NULL: nothing. */
static const cJSON *described(const cJSON *schema, const struct tp_metric *f)
{
    char name[96];
    const cJSON *at = member(member(schema, "$defs"), f->per_device ? "device" : "run");
    for (const char *path = f->path; at && *path;) {
        size_t length = strcspn(path, ".[");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        at = member(member(resolve(schema, at), "properties"), name);
        path += path[length] == '.' ? length + 1 : strlen(path);
    }
    return at;
}

/* As the schema calls what it may be. */
static const char *const kinds[] = {[TP_UNIT_BYTES] = "bytes mean_bytes",
                                    [TP_UNIT_COUNT] = "count event",
                                    [TP_UNIT_SHARE] = "share",
                                    [TP_UNIT_RATIO] = "ratio",
                                    [TP_UNIT_NS] = "ns real_ns",
                                    [TP_UNIT_INSTRUCTIONS] = "ratio"};

static bool is_word_of(const char *words, const char *word, size_t length)
{
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && !strncmp(at, word, length))
            return true;
    return false;
}

static bool is_kind(const struct tp_metric *f, const cJSON *node)
{
    const char *kind = reference(node), *or_null = strstr(kind, "_or_null");
    if (f->type == TP_FIGURE_FLAG)
        return !strcmp(kind, "flag");
    if (f->type == TP_FIGURE_TEXT)
        return member(node, "enum") || member(node, "type");
    return is_word_of(kinds[f->unit], kind, or_null ? (size_t)(or_null - kind) : strlen(kind));
}

TEST(the_schema_describes_every_row)
{
    cJSON *schema = load(SCHEMA);
    size_t seen = 0;
    for (size_t i = 0; i < tp_figure_count; i++) {
        const struct tp_metric *f = tp_figures[i];
        const cJSON *node = f->path ? described(schema, f) : NULL;
        if (f->path && !node)
            fail_msg("the schema does not know '%s'", f->path);
        if (node && f->type && !is_kind(f, node))
            fail_msg("the schema has another kind of value for '%s'", f->path);
        seen += node != NULL;
    }
    assert_true(seen > 90);
    cJSON_Delete(schema);
}

/* Objects and lists are written by code of their own. */
static bool is_single(const cJSON *schema, const cJSON *node)
{
    const cJSON *of = resolve(schema, node), *type = member(of, "type");
    const char *word = cJSON_IsString(type) ? type->valuestring : "";
    return strcmp(word, "object") && strcmp(word, "array") &&
           strcmp(reference(node), "range_or_null");
}

static bool has_row(const char *object, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s", object, name);
    for (size_t i = 0; i < tp_figure_count; i++)
        if (tp_figures[i]->path && tp_figures[i]->type && !strcmp(tp_figures[i]->path, path))
            return true;
    return false;
}

TEST(every_member_of_the_schema_has_a_row)
{
    static const struct {
        const char *definition, *object;
    } objects[] = {{"memory", "memory."},
                   {"at_trace_peak", "memory.at_trace_peak."},
                   {"driver_calls", "driver_calls."},
                   {"measured", "measured."},
                   {"driver", "measured.driver."},
                   {"failed_by", "failed_by."},
                   {"resident", "resident."},
                   {"mapped", "mapped."},
                   {"throughput", "throughput."},
                   {"instructions", "instructions."}};
    cJSON *schema = load(SCHEMA);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        const cJSON *node, *all = member(member(schema, "$defs"), objects[i].definition);
        assert_non_null(all);
        cJSON_ArrayForEach(node, member(all, "properties"))
        {
            if (is_single(schema, node) && !has_row(objects[i].object, node->string))
                fail_msg("'%s%s' has no row", objects[i].object, node->string);
        }
        /* what rows make is always there; --no-curves leaves one list out */
        int may_lack = member(member(all, "properties"), "curve") != NULL;
        assert_int_equal(cJSON_GetArraySize(member(all, "required")) + may_lack,
                         cJSON_GetArraySize(member(all, "properties")));
    }
    cJSON_Delete(schema);
}
