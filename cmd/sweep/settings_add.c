/* See settings.h. */
#include "cmd/sweep/settings.h"

#include "alloc/base/grow.h"
#include "alloc/base/str.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/libraries.h"
#include "cmd/jobs/spec.h"
#include "cmd/tune/grid.h"
#include "cmd/tune/malloc_settings.h"
#include "cmd/tune/tunable.h"
#include "cmd/ui/option_words.h"

#include <stdlib.h>
#include <string.h>

/* Settings that are being added. */
struct adding_settings {
    struct tp_sweep_settings *list;
    const struct tp_opt_list *capacities;
    const char *place;
    const char *name;   /* of the strategy, or the library */
    const char *before; /* options that have no grid: "./mine.so"; "": none */
    const char *conf;   /* the option that the grid is the value of; NULL: the grid is of options */
};

/* ---- one setting ---- */

static void release_setting(struct tp_sweep_setting *s)
{
    for (size_t i = 0; s->options && s->options[i]; i++)
        free(s->options[i]);
    free(s->options);
    free(s->text);
    free(s->spec);
    free(s->whole);
    free(s->files.items);
}

struct option_list {
    char **items;
    size_t count;
};

static int take_option(void *ctx, const char *part, struct tp_err *err)
{
    struct option_list *list = ctx;
    size_t key = strcspn(part, ":=");
    int status = TP_ONE_MORE(&list->items, list->count, err, .what = "options");
    if (status)
        return status;
    if (asprintf(&list->items[list->count], "%.*s=%s", (int)key, part,
                 part[key] ? part + key + 1 : "yes") < 0)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    list->count++;
    return TP_OK;
}

/* The options of a grid's setting, and the capacity, as a list that ends with NULL. */
static int list_options(struct tp_sweep_setting *s, const char *grid, const char *capacity,
                        struct tp_err *err)
{
    struct option_list list = {0};
    char text[64];
    int status = tp_grid_parts(grid, take_option, &list, err);
    snprintf(text, sizeof text, "capacity=%s", capacity ? capacity : "");
    if (!status && capacity)
        status = take_option(&list, text, err);
    if (!status)
        status = TP_ONE_MORE(&list.items, list.count, err, .what = "options");
    s->options = list.items;
    if (!status)
        list.items[list.count] = NULL;
    else if (list.count)
        free(list.items[--list.count]), list.items[list.count] = NULL;
    return status;
}

/* All that decides on the figures beside the trace and the source. */
static int describe_whole(struct tp_sweep_setting *s, struct tp_setting_files *files,
                          const struct tp_strategy_spec *spec, const char *text, struct tp_err *err)
{
    struct tp_str whole = {0};
    tp_strategy_spec_add(&whole, spec, NULL);
    int status = tp_setting_files_add(files, spec, text, &whole, &s->files, err);
    if (s->capacity != TP_OPT_KEYWORD(0))
        tp_str_add(&whole, " capacity=%llu", (unsigned long long)s->capacity);
    if (!status)
        status = tp_str_status(&whole, err);
    s->whole = status ? NULL : strdup(tp_str_text(&whole));
    tp_str_drop(&whole);
    return status || s->whole ? status : tp_fail(err, TP_ENOMEM, "out of memory");
}

/* Equal settings have equal texts, of which each has the number of its setting. */
static int check_new(struct tp_sweep_settings *list, const struct tp_sweep_setting *s,
                     struct tp_err *err)
{
    uint32_t same = tp_texts_find(&list->wholes, s->whole, strlen(s->whole));
    if (same == TP_NO_TEXT)
        return tp_texts_add(&list->wholes, s->whole, strlen(s->whole), err);
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE, "'%.150s' is the same setting as '%.150s' of %s",
                           s->text, list->items[same].text, list->items[same].place),
                   "options that are left out have their defaults");
}

static int fill(struct tp_sweep_setting *s, const struct adding_settings *a,
                const struct tp_strategy_spec *spec, const char *spec_text, const char *grid,
                const char *capacity, struct tp_err *err)
{
    s->strategy = spec->plugin ? TP_PLUGIN_WORD : spec->strategy->name;
    s->own_memory = !tp_strategy_takes_source(spec->strategy);
    s->place = a->place;
    s->spec = strdup(spec_text);
    if (!s->spec ||
        asprintf(&s->text, capacity ? "%s --capacity %s" : "%s", spec_text, capacity) < 0)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = describe_whole(s, &a->list->files, spec, spec_text, err);
    return status ? status : list_options(s, grid, capacity, err);
}

/* Adds a strategy under a capacity; NULL: as recorded. */
static int add_one(const struct adding_settings *a, const struct tp_strategy_spec *spec,
                   const char *spec_text, const char *grid, const char *capacity,
                   struct tp_err *err)
{
    static const struct tp_opt row = TP_SIZE_AT("capacity", 0, .max = UINT64_C(1) << 60);
    struct tp_sweep_setting s = {.capacity = TP_OPT_KEYWORD(0)};
    int status = capacity ? tp_opt_set(&row, &s.capacity, capacity, err) : TP_OK;
    if (!status && a->list->count == TP_SWEEP_SETTINGS)
        status = tp_fail(err, TP_EUSAGE, "more than %d settings", TP_SWEEP_SETTINGS);
    if (!status)
        status = fill(&s, a, spec, spec_text, grid, capacity, err);
    if (!status)
        status = TP_ONE_MORE(&a->list->items, a->list->count, err, .what = "settings");
    if (!status)
        status = check_new(a->list, &s, err);
    if (status)
        release_setting(&s);
    else
        a->list->items[a->list->count++] = s;
    return status;
}

/* Adds a strategy under each capacity. A real allocator takes its memory from the system: it has
 * none. */
static int add_each(const struct adding_settings *a, const char *spec_text, const char *grid,
                    struct tp_err *err)
{
    struct tp_strategy_spec spec = {0};
    int status = tp_strategy_spec_parse(&spec, spec_text, err);
    bool once = !status && (!tp_strategy_takes_source(spec.strategy) || !a->capacities->count);
    if (once)
        status = add_one(a, &spec, spec_text, grid, NULL, err);
    for (size_t i = 0; !status && !once && i < a->capacities->count; i++)
        status = add_one(a, &spec, spec_text, grid, a->capacities->items[i], err);
    tp_strategy_spec_release(&spec);
    return status;
}

/* ---- grids ---- */

/* A setting "key:value,key:value" of a grid, as the strategy's options. */
static int add_setting(void *ctx, const char *setting, struct tp_err *err)
{
    const struct adding_settings *a = ctx;
    struct tp_str options = {0}, text = {0};
    if (*a->before)
        tp_str_add(&options, "%s", a->before);
    tp_setting_add_options(&options, a->conf, setting);
    tp_str_add(&text, options.length ? "%s:%s" : "%s", a->name, tp_str_text(&options));
    int status = tp_str_status(&text, err);
    if (!status)
        status = add_each(a, tp_str_text(&text), setting, err);
    tp_str_drop(&options);
    tp_str_drop(&text);
    return status;
}

/* The settings that tapool tune tries of a recorded allocator. */
static int add_tuned(struct adding_settings *a, const struct tp_tunable *target, struct tp_err *err)
{
    struct tp_texts texts = {0};
    const struct tp_tune_whose whose = {target, NULL, true};
    int status = target
                     ? tp_tunable_add(&texts, "", whose, err)
                     : tp_fail(err, TP_EUSAGE, "'%.60s' has no settings of tapool tune", a->name);
    for (size_t i = 0; !status && target->usual[i]; i++)
        status = tp_tunable_add(&texts, target->usual[i], whose, err);
    for (uint32_t i = 0; !status && i < texts.count; i++)
        status = add_setting(a, tp_texts_get(&texts, i), err);
    tp_texts_release(&texts);
    return status;
}

/* ---- malloc libraries ---- */

static int add_malloc_list(const struct adding_settings *a, const struct tp_malloc_settings *found,
                           const char *grid, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < found->count; i++)
        status = add_each(a, found->items[i].strategy, grid, err);
    return status;
}

static int add_library_setting(void *ctx, const char *setting, struct tp_err *err)
{
    const struct adding_settings *a = ctx;
    struct tp_malloc_settings found = {0};
    struct tp_str grid = {0};
    tp_str_add(&grid, "%s:%s", a->name, setting);
    int status = tp_str_status(&grid, err);
    if (!status)
        status = tp_malloc_settings_add(&found, tp_str_text(&grid), err);
    if (!status)
        status = add_malloc_list(a, &found, setting, err);
    tp_malloc_settings_release(&found);
    tp_str_drop(&grid);
    return status;
}

static int add_usual_mallocs(const struct adding_settings *a, struct tp_err *err)
{
    struct tp_malloc_settings found = {0};
    int status = tp_malloc_settings_usual(&found, true, true, err);
    if (!status)
        status = add_malloc_list(a, &found, "", err);
    tp_malloc_settings_release(&found);
    return status;
}

/* Whether it is the name of a malloc library, and not that of a strategy. */
static bool is_library(const char *name)
{
    struct tp_err ignored;
    if (tp_find_strategy(name, &ignored))
        return false;
    for (size_t i = 0; tp_libraries[i].name; i++)
        if (!strcmp(tp_libraries[i].name, name))
            return true;
    return !strcmp(name, "glibc");
}

/* ---- the text of a plan ---- */

/* The length of the first part of a list of options, without its comma. */
static size_t first_part(const char *options)
{
    size_t length = 0;
    for (int depth = 0; options[length] && (depth || options[length] != ','); length++)
        depth += (options[length] == '{') - (options[length] == '}');
    return length;
}

/* Whether a part has a name before its value. */
static bool is_named(const char *part, size_t length)
{
    return memchr(part, '=', length) && part[0] != '{';
}

/* The allocator whose settings a strategy has; NULL: there is none. */
static const struct tp_tunable *tunable_of(const char *name)
{
    struct tp_err ignored;
    const struct tp_strategy *s = tp_find_strategy(name, &ignored);
    return s ? tp_tunable_strategy(s) : NULL;
}

/* "conf=tune" or "conf={GRID}" at the end of the options: the grid is of the allocator's own
 * settings. */
static int add_conf(struct adding_settings *a, char *value, struct tp_err *err)
{
    size_t length = strlen(value);
    a->conf = "conf";
    if (!strcmp(value, "tune"))
        return add_tuned(a, tunable_of(a->name), err);
    size_t first = value[0] == '{' ? first_part(value) : length;
    if (value[first])
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE, "options of '%.60s' follow its conf: '%.100s'",
                               a->name, value + first + 1),
                       "write them before conf={...}");
    if (value[0] == '{' && value[length - 1] == '}') {
        value[length - 1] = '\0';
        value++;
    }
    return tp_grid_each(value, add_setting, a, err);
}

/* Adds what stands behind the colon. What has no name stays as it is, and so does `conf` with what
 * stands before it. */
static int add_options(struct adding_settings *a, char *options, struct tp_err *err)
{
    char *conf = !strncmp(options, "conf=", 5) ? options : strstr(options, ",conf=");
    size_t bare = first_part(options);
    const struct tp_tunable *target = tunable_of(a->name);
    if (target && !target->of->option && !strcmp(options, "tune"))
        return add_tuned(a, target, err);
    if (conf) {
        char *value = strchr(conf, '=') + 1;
        a->before = conf == options ? "" : options;
        *conf = '\0';
        return add_conf(a, value, err);
    }
    if (!is_named(options, bare)) {
        a->before = options;
        options += bare;
        if (*options)
            *options++ = '\0';
    }
    return tp_grid_each(options, add_setting, a, err);
}

int tp_sweep_settings_add(struct tp_sweep_settings *list, const char *text,
                          const struct tp_opt_list *capacities, const char *place,
                          struct tp_err *err)
{
    struct adding_settings a = {
        .list = list, .capacities = capacities, .place = place, .before = ""};
    char *name = strdup(text);
    if (!name)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    size_t length = strcspn(name, ":=");
    char *options = name[length] == ':' ? name + length + 1 : name + strlen(name);
    int status = TP_OK;
    a.name = name;
    if (name[length] == '=')
        status = tp_hint(err, tp_fail(err, TP_EUSAGE, "'%.100s' has a label", text),
                         "leave 'LABEL=' out: a sweep names settings by their options");
    name[length] = '\0';
    if (!status && !strcmp(name, "malloc") && !strcmp(options, "tune"))
        status = add_usual_mallocs(&a, err);
    else if (!status && is_library(name))
        status = tp_grid_each(options, add_library_setting, &a, err);
    else if (!status)
        status = add_options(&a, options, err);
    free(name);
    return status && status != TP_ENOMEM ? tp_prefix(err, status, "%s", place) : status;
}

void tp_sweep_settings_release(struct tp_sweep_settings *list)
{
    for (size_t i = 0; i < list->count; i++)
        release_setting(&list->items[i]);
    free(list->items);
    tp_texts_release(&list->wholes);
    tp_setting_files_release(&list->files);
    *list = (struct tp_sweep_settings){0};
}
