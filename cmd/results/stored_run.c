/* Reads what was replayed: program, strategy, source, settings and warnings of a run; see
 * stored_read.h. A missing member is an error if it identifies the experiment. Any other member may
 * be missing, because an older tapool did not write it. */
#include "cmd/results/stored_read.h"

#include "alloc/base/clean.h"
#include "alloc/base/str.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 256 };

/* ---- options, layers, warnings ---- */

static bool has_twin(const cJSON *item)
{
    for (const cJSON *other = item->next; other; other = other->next)
        if (!strcmp(item->string, other->string))
            return true;
    return false;
}

static void add_option(const struct tp_member *value, const char *prefix,
                       struct tp_record_options *list)
{
    char name[256];
    snprintf(name, sizeof name, "%.120s%s%.120s", prefix, *prefix ? "." : "", value->item->string);
    if (!cJSON_IsString(value->item))
        tp_member_fail(value, "is not text");
    else
        tp_member_had_memory(
            value, tp_record_options_add(list, tp_clean_copy(name, sizeof name),
                                         tp_clean_copy(value->item->valuestring, TP_MEMBER_TEXT)));
}

/* Reads the member `options`, in which each value is a text and no name occurs twice. */
static void read_options(const struct tp_member *in, const char *prefix,
                         struct tp_record_options *list)
{
    const struct tp_member options = tp_member_seek(in, "options");
    struct tp_member value = {0};
    list->partial |= !options.item;
    tp_member_object(&options, OPTIONS_MAX, "has more members than any strategy has options");
    while (tp_member_next(&options, &value))
        if (has_twin(value.item))
            tp_member_fail(&value, "stands there twice");
        else if (cJSON_IsNull(value.item))
            tp_stored_lack_member(&options);
        else
            add_option(&value, prefix, list);
}

/* Reads the wrappers of the source, of which that of a real allocator, one with a library, has
 * none to tell. Without its name the options of a wrapper mean nothing, so they count as not
 * known. */
static void read_wrappers(const struct tp_member *source, struct tp_record *run)
{
    const struct tp_member list =
        run->library ? tp_member_find(source, "wrappers") : tp_member_seek(source, "wrappers");
    struct tp_member layer = {0};
    tp_member_list(&list, OPTIONS_MAX, "has more layers than any source");
    while (tp_member_next(&list, &layer)) {
        if (cJSON_IsNull(layer.item)) {
            tp_stored_lack_member(&list);
            continue;
        }
        struct tp_member name = tp_member_find(&layer, "name");
        if (name.item && tp_member_find(&layer, "options").item) {
            char *prefix = tp_member_text(&name);
            if (prefix)
                read_options(&layer, prefix, &run->source_options);
            free(prefix);
        } else if (!layer.document->status) {
            run->source_options.partial = true;
            tp_stored_lack_member(&list);
        }
    }
}

/* Reads the warnings. A warning without id or text is left out and noted as a lack. */
static void read_warnings(const struct tp_member *in, struct tp_record *run)
{
    const struct tp_member list = tp_member_seek(in, "warnings");
    struct tp_member one = {0};
    tp_member_list(&list, OPTIONS_MAX, "has more warnings than there are");
    while (tp_member_next(&list, &one)) {
        bool null = cJSON_IsNull(one.item);
        struct tp_member id = null ? one : tp_member_find(&one, "id");
        struct tp_member text = null ? one : tp_member_find(&one, "text");
        if (null || !id.item || !text.item) {
            tp_stored_lack_member(&list);
            continue;
        }
        char *name = tp_member_text(&id), *value = tp_member_text(&text);
        tp_member_had_memory(&one, tp_record_options_add(&run->warnings, name, value));
    }
}

/* ---- what was replayed ---- */

static const char *const kinds[] = {"host", "device", NULL};
static const char *const touches[] = {"none", "first", "all", NULL};
static const char *const scopes[] = {"strategy", "strategy_and_source", NULL};

#define ROW(...) TP_MEMBER_ROW(tp_record, __VA_ARGS__)
static const struct tp_member_row trace_rows[] = {
    {ROW(trace_name, "trace.name", TEXT, REQUIRED)},
    {ROW(kind, "trace.kind", WORD, REQUIRED), .words = kinds},
    {ROW(hash, "trace.program_hash", SHA256, REQUIRED)},
    {ROW(trace_path, "trace.path", TEXT, EXPECTED)},
    {ROW(events, "trace.events", COUNT, EXPECTED)},
    {ROW(operations, "trace.operations", COUNT, EXPECTED)},
    {ROW(frees, "trace.frees", COUNT, EXPECTED)},
    {ROW(loop, "trace.loop", FLAG, EXPECTED)},
};

/* The optional members are written only if they apply. */
static const struct tp_member_row strategy_rows[] = {
    {ROW(strategy, "strategy.name", TEXT, REQUIRED)},
    {ROW(label, "strategy.label", TEXT, REQUIRED)},
    {ROW(library, "strategy.library", TEXT, OPTIONAL)},
    {ROW(source, "source.name", TEXT, REQUIRED)},
    {ROW(touch, "touch", WORD, REQUIRED), .words = touches},
    {ROW(scope, "latency_scope", WORD, REQUIRED), .words = scopes},
    {ROW(failed_initial, "failed_initial_blocks", COUNT, OPTIONAL)},
};

static void read_devices(const struct tp_member *in, struct tp_record *run)
{
    struct tp_member m = tp_member_follow(in, "trace.devices", true, NULL);
    uint64_t devices = tp_member_count(&m);
    static_assert(TP_STORED_DEVICES == 256, "as the sentence says");
    if (!devices || devices > TP_STORED_DEVICES)
        tp_member_fail(&m, "is not from 1 to 256");
    run->devices = (uint16_t)devices;
}

static void read_strategy(const struct tp_member *in, struct tp_record *run)
{
    tp_member_rows(in, strategy_rows, sizeof strategy_rows / sizeof *strategy_rows, run);
    const struct tp_member strategy = tp_member_find(in, "strategy");
    const struct tp_member source = tp_member_find(in, "source");
    read_options(&strategy, "", &run->options);
    read_options(&source, "", &run->source_options);
    read_wrappers(&source, run);
}

/* ---- settings ---- */

/* Joins a list with commas, as --passes accepts it; NULL: one of its elements is null, so the list
 * is not known. */
static char *join_texts(const struct tp_member *list)
{
    struct tp_str text = {0};
    struct tp_member one = {0};
    bool known = true;
    while (tp_member_next(list, &one)) {
        known &= !cJSON_IsNull(one.item);
        if (cJSON_IsString(one.item))
            tp_str_item(&text, ",", "%s", one.item->valuestring);
        else if (known)
            tp_member_fail(list, "has an item that is not text");
    }
    known &= !list->document->status;
    char *out = known && !tp_str_status(&text, NULL)
                    ? tp_clean_copy(tp_str_text(&text), TP_MEMBER_TEXT)
                    : NULL;
    tp_str_drop(&text);
    return known ? tp_member_memory(list, out) : NULL;
}

static char *read_setting(const struct tp_member *m)
{
    char digits[40];
    if (cJSON_IsArray(m->item))
        return join_texts(m);
    bool number = cJSON_IsNumber(m->item), text = cJSON_IsString(m->item);
    if (!text && !number && !cJSON_IsNull(m->item))
        tp_member_fail(m, "is neither a text nor a number nor null");
    snprintf(digits, sizeof digits, "%.17g", m->item->valuedouble);
    const char *setting = text ? m->item->valuestring : "";
    if (number)
        setting = digits;
    return tp_member_memory(m, tp_clean_copy(setting, TP_MEMBER_TEXT));
}

static void read_settings(const struct tp_member *root, const struct tp_member *run_at,
                          struct tp_record *run)
{
    for (size_t i = 0; i < TP_SETTINGS; i++) {
        char name[64];
        const struct tp_setting *row = &tp_settings[i];
        struct tp_member m =
            tp_member_follow(row->document ? root : run_at, row->path, false, NULL);
        snprintf(name, sizeof name, "--%s", row->option);
        if (m.item)
            run->settings[i] = read_setting(&m);
        else if (row->before)
            run->settings[i] = tp_member_memory(run_at, strdup(row->before));
        if (!root->document->status && !run->settings[i])
            tp_stored_lack(root->document, TP_LACKS_SETTING, name);
    }
}

void tp_stored_read_run(const struct tp_member *root, const struct tp_member *in,
                        struct tp_record *run)
{
    tp_member_rows(in, trace_rows, sizeof trace_rows / sizeof *trace_rows, run);
    read_devices(in, run);
    read_strategy(in, run);
    read_settings(root, in, run);
    tp_stored_read_values(in, run);
    read_warnings(in, run);
}
