/* What was played: program, policy, source, settings, and what is said of the run; see
 * stored_read.h. What says which experiment it was is damage where it is missing; nothing else is:
 * an older tapool did not have it. */
#include "cmd/measure/stored_read.h"

#include "alloc/base/clean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 256 };

/* A text that must be one of these; the first NULL ends them. */
static int read_word(const struct tp_member *in, const char *name, const char *const *words,
                     char **out, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_text(in, name, out, err);
    for (size_t i = 0; !status && words[i]; i++)
        if (!strcmp(*out, words[i]))
            return TP_OK;
    if (!status)
        status = tp_member_get(in, name, true, &m, err);
    return status ? status : tp_member_fail(&m, "is no word that is known here", err);
}

static int add_option(struct tp_stored_option **list, size_t *count, const char *prefix,
                      const struct tp_member *value, struct tp_err *err)
{
    char name[256];
    snprintf(name, sizeof name, "%.120s%s%.120s", prefix, *prefix ? "." : "", value->item->string);
    if (!cJSON_IsString(value->item))
        return tp_member_fail(value, "is no text", err);
    struct tp_stored_option *more = realloc(*list, (*count + 1) * sizeof *more);
    if (!more)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    *list = more;
    more[*count] =
        (struct tp_stored_option){.name = tp_clean_copy(name, sizeof name),
                                  .value = tp_clean_copy(value->item->valuestring, TP_MEMBER_TEXT)};
    (*count)++;
    return more[*count - 1].name && more[*count - 1].value
               ? TP_OK
               : tp_fail(err, TP_ENOMEM, "out of memory");
}

static bool has_twin(const cJSON *item)
{
    for (const cJSON *other = item->next; other; other = other->next)
        if (!strcmp(item->string, other->string))
            return true;
    return false;
}

/* The member `options`, each a text, none twice; `known`: it is there. */
static int read_options(struct tp_stored *s, const struct tp_member *in, const char *prefix,
                        struct tp_stored_option **list, size_t *count, bool *known,
                        struct tp_err *err)
{
    struct tp_member options, value;
    int status = tp_stored_seek(s, in, "options", &options, err);
    *known &= !status && options.item;
    if (status || !options.item)
        return status;
    status = tp_member_is_object(&options, err);
    if (!status && cJSON_GetArraySize(options.item) > OPTIONS_MAX)
        status = tp_member_fail(&options, "has more members than any policy has options", err);
    for (const cJSON *item = status ? NULL : options.item->child; !status && item;
         item = item->next) {
        tp_member_child(&options, item, &value);
        status = has_twin(item)       ? tp_member_fail(&value, "stands there twice", err)
                 : cJSON_IsNull(item) ? tp_stored_lack_member(s, &options, err)
                                      : add_option(list, count, prefix, &value, err);
    }
    return status;
}

/* One of the layers upon the source; of which kind cannot be told where it has no name. */
static int read_decorator(struct tp_stored *s, const struct tp_member *list,
                          const struct tp_member *layer, struct tp_stored_run *run,
                          struct tp_err *err)
{
    struct tp_member name, options;
    char *prefix = NULL;
    if (cJSON_IsNull(layer->item))
        return tp_stored_lack_member(s, list, err);
    int status = tp_member_find(layer, "name", &name, err);
    if (!status)
        status = tp_member_find(layer, "options", &options, err);
    if (status)
        return status;
    if (!name.item || !options.item) {
        run->source_options_known = false;
        status = tp_stored_lack_member(s, list, err);
    }
    if (!status && name.item)
        status = tp_member_as_text(&name, &prefix, err);
    if (!status && name.item && options.item)
        status = read_options(s, layer, prefix, &run->source_options, &run->source_option_count,
                              &run->source_options_known, err);
    free(prefix);
    return status;
}

static int read_decorators(struct tp_stored *s, const struct tp_member *source,
                           struct tp_stored_run *run, struct tp_err *err)
{
    struct tp_member list, layer;
    size_t i = 0;
    int status = tp_stored_seek(s, source, "decorators", &list, err);
    if (status || !list.item)
        return status;
    status = tp_member_is_array(&list, err);
    for (const cJSON *item = status ? NULL : list.item->child; !status && item; item = item->next) {
        if (i == OPTIONS_MAX)
            return tp_member_fail(&list, "has more layers than any source", err);
        tp_member_element(&list, item, i++, &layer);
        status = read_decorator(s, &list, &layer, run, err);
    }
    return status;
}

/* One without its id or its text says nothing. */
static int read_warning(struct tp_stored *s, const struct tp_member *list,
                        const struct tp_member *at, struct tp_stored_run *run, struct tp_err *err)
{
    struct tp_stored_option *w = &run->warnings[run->warning_count];
    struct tp_member id, text;
    if (cJSON_IsNull(at->item))
        return tp_stored_lack_member(s, list, err);
    int status = tp_member_find(at, "id", &id, err);
    if (!status)
        status = tp_member_find(at, "text", &text, err);
    if (!status && (!id.item || !text.item))
        return tp_stored_lack_member(s, list, err);
    run->warning_count += !status;
    if (!status)
        status = tp_member_as_text(&id, &w->name, err);
    return status ? status : tp_member_as_text(&text, &w->value, err);
}

static int read_warnings(struct tp_stored *s, const struct tp_member *in, struct tp_stored_run *run,
                         struct tp_err *err)
{
    struct tp_member list, one;
    size_t i = 0;
    int status = tp_stored_seek(s, in, "warnings", &list, err);
    if (status || !list.item)
        return status;
    status = tp_member_is_array(&list, err);
    int count = status ? 0 : cJSON_GetArraySize(list.item);
    if (!status && count > OPTIONS_MAX)
        status = tp_member_fail(&list, "has more warnings than there are", err);
    if (!status && count)
        run->warnings = calloc((size_t)count, sizeof *run->warnings);
    if (!status && count && !run->warnings)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (const cJSON *item = status ? NULL : list.item->child; !status && item; item = item->next) {
        tp_member_element(&list, item, i++, &one);
        status = read_warning(s, &list, &one, run, err);
    }
    return status;
}

/* ---- what was played ---- */

static int read_trace(struct tp_stored *s, const struct tp_member *in, struct tp_stored_run *run,
                      struct tp_err *err)
{
    static const char *const kinds[] = {"host", "device", NULL};
    struct tp_member t;
    uint64_t devices = 0;
    int status = tp_member_get(in, "trace", true, &t, err);
    if (!status)
        status = tp_member_text(&t, "name", &run->trace_name, err);
    if (!status)
        status = read_word(&t, "kind", kinds, &run->kind, err);
    if (!status)
        status = tp_member_sha256(&t, "program_hash", &run->hash, err);
    if (!status)
        status = tp_member_count(&t, "devices", &devices, err);
    if (!status)
        status = tp_stored_text(s, &t, "path", &run->trace_path, err);
    if (!status)
        status = tp_stored_count(s, &t, "events", &run->events, err);
    if (!status)
        status = tp_stored_count(s, &t, "operations", &run->operations, err);
    if (!status)
        status = tp_stored_count(s, &t, "frees", &run->frees, err);
    if (!status)
        status = tp_stored_flag(s, &t, "loop", &run->loop, err);
    if (!status && (!devices || devices > TP_STORED_DEVICES))
        return tp_fail(err, TP_EINPUT, "%s: %s.devices is not from 1 to %d", t.file, t.path,
                       TP_STORED_DEVICES);
    run->devices = (uint16_t)devices;
    return status;
}

/* These two are there only where there is something to say. */
static int read_library(const struct tp_member *strategy, struct tp_stored_run *run,
                        struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_find(strategy, "library", &m, err);
    return status || !m.item ? status : tp_member_as_text(&m, &run->library, err);
}

static int read_failed_initial(const struct tp_member *in, struct tp_stored_run *run,
                               struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_find(in, "failed_initial_blocks", &m, err);
    return status || !m.item ? status : tp_member_as_count(&m, &run->failed_initial, err);
}

static int read_policy(struct tp_stored *s, const struct tp_member *in, struct tp_stored_run *run,
                       struct tp_err *err)
{
    static const char *const touches[] = {"none", "first", "all", NULL};
    static const char *const scopes[] = {"policy", "policy_and_source", NULL};
    struct tp_member strategy, source;
    int status = tp_member_get(in, "strategy", true, &strategy, err);
    run->options_known = run->source_options_known = true;
    if (!status)
        status = tp_member_text(&strategy, "name", &run->strategy, err);
    if (!status)
        status = tp_member_text(&strategy, "label", &run->label, err);
    if (!status)
        status = read_library(&strategy, run, err);
    if (!status)
        status = read_options(s, &strategy, "", &run->options, &run->option_count,
                              &run->options_known, err);
    if (!status)
        status = tp_member_get(in, "source", true, &source, err);
    if (!status)
        status = tp_member_text(&source, "name", &run->source, err);
    if (!status)
        status = read_options(s, &source, "", &run->source_options, &run->source_option_count,
                              &run->source_options_known, err);
    if (!status)
        status = read_decorators(s, &source, run, err);
    if (!status)
        status = read_word(in, "touch", touches, &run->touch, err);
    if (!status)
        status = read_word(in, "latency_scope", scopes, &run->scope, err);
    return status ? status : read_failed_initial(in, run, err);
}

/* ---- settings ---- */

/* A list as --passes takes it; without one of its words it is not known. */
static int join_texts(const struct tp_member *list, char **out, struct tp_err *err)
{
    struct tp_str text = {0};
    bool known = true;
    int status = TP_OK;
    for (const cJSON *item = list->item->child; !status && item; item = item->next) {
        known &= !cJSON_IsNull(item);
        if (cJSON_IsString(item))
            tp_str_item(&text, ",", "%s", item->valuestring);
        else if (known)
            status = tp_member_fail(list, "holds what is no text", err);
    }
    status = status ? status : tp_str_status(&text, err);
    *out = !status && known ? tp_clean_copy(tp_str_text(&text), TP_MEMBER_TEXT) : NULL;
    if (!status && known && !*out)
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    tp_str_drop(&text);
    return status;
}

static int read_setting(const struct tp_member *m, char **out, struct tp_err *err)
{
    char digits[40];
    if (cJSON_IsArray(m->item))
        return join_texts(m, out, err);
    if (!cJSON_IsString(m->item) && !cJSON_IsNumber(m->item) && !cJSON_IsNull(m->item))
        return tp_member_fail(m, "is neither a text nor a number nor null", err);
    snprintf(digits, sizeof digits, "%.17g", m->item->valuedouble);
    *out = tp_clean_copy(cJSON_IsString(m->item)   ? m->item->valuestring
                         : cJSON_IsNumber(m->item) ? digits
                                                   : "",
                         TP_MEMBER_TEXT);
    return *out ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static int read_settings(struct tp_stored *s, const struct tp_member *root,
                         const struct tp_member *run_at, struct tp_stored_run *run,
                         struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < TP_SETTINGS; i++) {
        struct tp_member m;
        bool last;
        char name[64];
        const struct tp_setting *row = &tp_settings[i];
        status = tp_stored_follow(row->document ? root : run_at, row->path, &m, &last, err);
        snprintf(name, sizeof name, "--%s", row->option);
        if (!status && m.item)
            status = read_setting(&m, &run->settings[i], err);
        if (!status && !run->settings[i])
            status = tp_stored_lack(s, TP_LACKS_SETTING, name, err);
    }
    return status;
}

bool tp_stored_says_played(const struct tp_stored_run *run, const char *pass)
{
    const char *list = NULL;
    for (size_t i = 0; i < TP_SETTINGS; i++)
        if (!strcmp(tp_settings[i].path, "passes"))
            list = run->settings[i];
    const size_t length = strlen(pass);
    while (list && *list) {
        size_t word = strcspn(list, ",");
        if (word == length && !strncmp(list, pass, length))
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

int tp_stored_read_run(struct tp_stored *s, const struct tp_member *root,
                       const struct tp_member *in, struct tp_stored_run *run, struct tp_err *err)
{
    int status = read_trace(s, in, run, err);
    if (!status)
        status = read_policy(s, in, run, err);
    if (!status)
        status = read_settings(s, root, in, run, err);
    if (!status)
        status = tp_stored_read_values(s, in, run, err);
    return status ? status : read_warnings(s, in, run, err);
}
