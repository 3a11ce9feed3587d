/* Parsing of strategy and source specifications; see spec.h. */
#include "cmd/jobs/spec.h"
#include "alloc/base/clean.h"
#include "alloc/base/str.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/libraries.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/option_words.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int make_options(const struct tp_opt *rows, size_t size, const char *text, const char *owner,
                        void **out, struct tp_err *err)
{
    char subject[128];
    snprintf(subject, sizeof subject, "%s", owner);
    *out = NULL;
    if (!rows)
        return text ? tp_because(err, tp_fail(err, TP_EUSAGE, "%s has no options", subject),
                                 TP_REASON_UNKNOWN)
                    : TP_OK;
    void *opts = calloc(1, size);
    if (!opts)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = tp_opts_defaults(rows, opts, err);
    if (!status && text)
        status = tp_because(err, tp_opts_parse(rows, opts, text, subject, err), TP_REASON_UNKNOWN);
    if (status) {
        tp_opts_release(rows, opts);
        free(opts);
        return status;
    }
    *out = opts;
    return TP_OK;
}

static void drop_options(const struct tp_opt *rows, void *opts)
{
    if (opts)
        tp_opts_release(rows, opts);
    free(opts);
}

/* ---- strategies ---- */

/* The value that stands first after the strategy's name, such as the library of `lib:jemalloc`;
 * NULL where the strategy has no such option. */
static const char *bare_value(const struct tp_strategy_spec *spec)
{
    const struct tp_opt *row = tp_opt_bare(spec->strategy->options);
    if (!row || row->type != TP_OPT_TEXT)
        return NULL;
    const char *value = *(char *const *)((const char *)spec->opts + row->offset);
    return value ? value : "";
}

/* Refuses a strategy that is nothing without its bare value. */
static int need_bare_value(const struct tp_strategy_spec *spec, struct tp_err *err)
{
    const struct tp_strategy *s = spec->strategy;
    const char *value = bare_value(spec);
    if (!value || *value)
        return TP_OK;
    const struct tp_opt *bare = tp_opt_bare(s->options);
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "strategy '%s' needs its %s", s->name, bare->name),
                   "write %s:%s", s->name, bare->arg);
}

const struct tp_opt_list *tp_strategy_spec_env(const struct tp_strategy_spec *spec)
{
    const struct tp_opt *row = tp_strategy_takes_source(spec->strategy)
                                   ? NULL
                                   : tp_opt_find(spec->strategy->options, "env");
    return row && row->type == TP_OPT_LIST ? (const void *)((const char *)spec->opts + row->offset)
                                           : NULL;
}

/* A variable that decides what is loaded, or what tapool itself does, is not for an allocator. */
static bool is_forbidden(const char *variable)
{
    static const char *const starts[] = {"LD_", "TAPOOL_", "_TAPOOL_", NULL};
    for (size_t i = 0; starts[i]; i++)
        if (!strncmp(variable, starts[i], strlen(starts[i])))
            return true;
    return false;
}

/* Refuses a variable that is set twice: the process would get only one of the values. `name` is how
 * long its name is. */
static int check_env_once(const struct tp_strategy_spec *spec, const struct tp_opt_list *env,
                          size_t at, size_t name, struct tp_err *err)
{
    for (size_t i = 0; i < at; i++)
        if (!strncmp(env->items[i], env->items[at], name + 1))
            return tp_fail(err, TP_EUSAGE, "env of '%s' sets %.*s twice: '%s' and '%s'",
                           spec->strategy->name, (int)name, env->items[at], env->items[i],
                           env->items[at]);
    return TP_OK;
}

static int check_env(const struct tp_strategy_spec *spec, struct tp_err *err)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const struct tp_opt_list *env = tp_strategy_spec_env(spec);
    for (size_t i = 0; env && i < env->count; i++) {
        const char *item = env->items[i];
        size_t name = strspn(item, letters);
        if (!name || item[name] != '=' || (*item >= '0' && *item <= '9'))
            return tp_hint(err,
                           tp_fail(err, TP_EUSAGE, "env of '%s' is '%s', which sets no variable",
                                   spec->strategy->name, item),
                           "write env=NAME=VALUE, as in env=MALLOC_ARENA_MAX=1");
        if (is_forbidden(item))
            return tp_fail(err, TP_EUSAGE,
                           "env of '%s' may not set %.*s, which is not the allocator's own",
                           spec->strategy->name, (int)name, item);
        int status = check_env_once(spec, env, i, name, err);
        if (status)
            return status;
    }
    return TP_OK;
}

static int find_preload(struct tp_strategy_spec *spec, struct tp_err *err)
{
    char path[TP_LIBRARY_PATH];
    if (!(spec->strategy->caps & TP_CAP_PRELOAD))
        return TP_OK;
    int status = tp_library_find(bare_value(spec), path, err);
    if (status)
        return status;
    spec->preload = strdup(path);
    return spec->preload ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

/* Starts the label of a strategy: its name, and the bare value, of which a path shows only the
 * file. */
static struct tp_str start_label(struct tp_strategy_spec *spec)
{
    struct tp_str label = TP_STR_IN(spec->label);
    const char *value = bare_value(spec), *slash = value ? strrchr(value, '/') : NULL;
    char name[TP_LABEL_MAX];
    tp_str_add(&label, "%s", spec->strategy->name);
    if (value) {
        tp_clean_text(slash ? slash + 1 : value, name, sizeof name);
        tp_str_add(&label, ":%s", name);
    }
    return label;
}

/* Takes the label off "LABEL=NAME"; *name is what follows it. */
static int take_label(struct tp_strategy_spec *spec, char *head, const char **name,
                      struct tp_err *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    char *equals = strchr(head, '=');
    *name = equals ? equals + 1 : head;
    if (!equals)
        return TP_OK;
    *equals = '\0';
    if (!*head || strlen(head) >= sizeof spec->label || strspn(head, letters) != strlen(head))
        return tp_fail(err, TP_EUSAGE, "label '%s' is not 1 to %d letters, digits or . _ -", head,
                       TP_LABEL_MAX - 1);
    snprintf(spec->label, sizeof spec->label, "%.*s", TP_LABEL_MAX - 1, head);
    spec->labelled = true;
    return TP_OK;
}

/* Finds the strategy called `name`. `text` is what follows the name, NULL: nothing; where the name
 * leads to a plug-in, whose path it begins with, *options is the rest of it. */
static int find_strategy(struct tp_strategy_spec *spec, const char *name, char *text,
                         char **options, struct tp_err *err)
{
    char *path = NULL;
    *options = text;
    if (strcasecmp(name, TP_PLUGIN_WORD) != 0) {
        spec->strategy = tp_find_strategy(name, err);
        return spec->strategy ? TP_OK : tp_because(err, TP_EUSAGE, TP_REASON_UNKNOWN);
    }
    if (!text || !*text)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "strategy '" TP_PLUGIN_WORD "' needs its PATH"),
                       "write " TP_PLUGIN_WORD ":PATH");
    if (!tp_opt_cut_value(options, &path))
        return tp_hint(
            err, tp_fail(err, TP_EUSAGE, "the braces around the path of a plugin do not match"),
            TP_OPT_BRACES);
    int status = tp_plugin_load(path, &spec->plugin, err);
    if (!status)
        spec->strategy = &spec->plugin->strategy;
    return status;
}

/* `text` is a copy that is cut into pieces. */
static int parse_spec(struct tp_strategy_spec *spec, char *text, struct tp_err *err)
{
    char owner[TP_SPEC_TEXT], *options = NULL;
    const char *name = text;
    size_t length = strcspn(text, ":");
    char *rest = text[length] ? &text[length + 1] : NULL;
    text[length] = '\0';
    if (length >= TP_SPEC_TEXT || !length)
        return tp_fail(err, TP_EUSAGE,
                       length ? "a strategy's name is too long" : "an empty strategy name");
    int status = take_label(spec, text, &name, err);
    if (!status)
        status = find_strategy(spec, name, rest, &options, err);
    if (status)
        return status;
    snprintf(owner, sizeof owner, "strategy '%s'", spec->strategy->name);
    status = make_options(spec->strategy->options, spec->strategy->opts_size, options, owner,
                          &spec->opts, err);
    if (!status)
        status = need_bare_value(spec, err);
    if (!status)
        status = check_env(spec, err);
    if (!status)
        status = find_preload(spec, err);
    if (!status && !spec->labelled)
        start_label(spec);
    return status;
}

int tp_strategy_spec_parse(struct tp_strategy_spec *spec, const char *text, struct tp_err *err)
{
    char *copy = strdup(text);
    *spec = (struct tp_strategy_spec){0};
    int status = copy ? parse_spec(spec, copy, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (status)
        tp_strategy_spec_release(spec);
    free(copy);
    return status;
}

int tp_strategy_spec_named(struct tp_strategy_spec *spec, const char *name, struct tp_err *err)
{
    char text[TP_SPEC_TEXT], begin[64];
    bool libc = !strcasecmp(name, "glibc") || !strcasecmp(name, "libc");
    snprintf(begin, sizeof begin, "%.*s", (int)strcspn(name, ":"), name);
    bool known = libc || tp_find_strategy(begin, NULL);
    if (strlen(name) >= sizeof text - 8)
        return tp_fail(err, TP_EUSAGE, "'%.40s...' is too long a name", name);
    snprintf(text, sizeof text, "%s%s", known ? "" : "lib:", libc ? "system" : name);
    return tp_strategy_spec_parse(spec, text, err);
}

void tp_strategy_spec_release(struct tp_strategy_spec *spec)
{
    if (spec->strategy)
        drop_options(spec->strategy->options, spec->opts);
    tp_plugin_drop(spec->plugin);
    free(spec->preload);
    *spec = (struct tp_strategy_spec){0};
}

void tp_strategy_spec_add_name(struct tp_str *s, const struct tp_strategy_spec *spec)
{
    const char *value = bare_value(spec);
    struct tp_str name = {0};
    tp_str_add(&name, "%s%s%s", spec->strategy->name, value ? ":" : "", value ? value : "");
    tp_str_strategy(s, tp_str_text(&name));
    tp_str_drop(&name);
}

const char *tp_strategy_library(const struct tp_strategy *s, char *text, size_t size)
{
    if (!s->library)
        return NULL;
    s->library(text, size);
    return text;
}

void tp_setting_add_options(struct tp_str *out, const char *option, const char *setting)
{
    bool key = true; /* a colon ends it */
    int depth = 0;
    if (*setting && option)
        tp_str_item(out, ",", "%s={%s}", option, setting);
    else if (*setting)
        tp_str_item(out, ",", "%s", "");
    for (; !option && *setting; setting++) {
        depth += (*setting == '{' || *setting == '[') - (*setting == '}' || *setting == ']');
        tp_str_add(out, "%c", key && *setting == ':' ? '=' : *setting);
        key = !depth && *setting != ':' && (key || *setting == ',');
    }
}

bool tp_strategy_spec_says(const struct tp_strategy_spec *spec, const char *name, const char *word)
{
    for (const struct tp_opt *row = spec->strategy->options; row && row->name; row++) {
        uint32_t chosen;
        if (row->type != TP_OPT_CHOICE || strcmp(row->name, name) != 0)
            continue;
        memcpy(&chosen, (const char *)spec->opts + row->offset, sizeof chosen);
        return !strcmp(row->choices[chosen], word);
    }
    return false;
}

/* Is it the same strategy? A plug-in that was loaded twice is. */
static bool is_same(const struct tp_strategy_spec *a, const struct tp_strategy_spec *b)
{
    return a->strategy == b->strategy ||
           (a->plugin && b->plugin && a->plugin->handle == b->plugin->handle);
}

/* Do the two need more than their name and bare value to be told apart? */
static bool are_twins(const struct tp_strategy_spec *a, const struct tp_strategy_spec *b)
{
    const char *mine = bare_value(a), *other = is_same(a, b) ? bare_value(b) : NULL;
    return is_same(a, b) && !a->labelled && !b->labelled && (!mine || !strcmp(mine, other));
}

/* Whether an option differs among the strategy's twins. */
static bool differs(const struct tp_opt *row, const struct tp_strategy_spec *specs, size_t count,
                    const struct tp_strategy_spec *self)
{
    char mine[TP_SPEC_TEXT], other[TP_SPEC_TEXT];
    tp_opt_format(row, self->opts, mine, sizeof mine);
    for (size_t i = 0; i < count; i++) {
        if (!are_twins(self, &specs[i]))
            continue;
        tp_opt_format(row, specs[i].opts, other, sizeof other);
        if (strcmp(mine, other) != 0)
            return true;
    }
    return false;
}

/* Labels a strategy with the options in which it differs from its twins. */
static void label_twin(struct tp_strategy_spec *specs, size_t count, size_t self)
{
    struct tp_strategy_spec *spec = &specs[self];
    struct tp_str label = start_label(spec);
    const char *separator = strchr(spec->label, ':') ? "," : ":";
    for (const struct tp_opt *row = spec->strategy->options; row && row->name; row++) {
        if (!differs(row, specs, count, spec))
            continue;
        tp_opt_add(&label, separator, spec->strategy->options, row, spec->opts);
        separator = ",";
    }
}

void tp_strategy_specs_label(struct tp_strategy_spec *specs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t twins = 0;
        for (size_t j = 0; j < count; j++)
            twins += are_twins(&specs[i], &specs[j]);
        if (twins > 1)
            label_twin(specs, count, i);
        else if (!specs[i].labelled)
            start_label(&specs[i]);
    }
    /* labels that are still equal get their number */
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            size_t used = strlen(specs[i].label);
            if (strcmp(specs[i].label, specs[j].label))
                continue;
            if (used > sizeof specs[i].label - 8)
                used = sizeof specs[i].label - 8;
            snprintf(specs[i].label + used, sizeof specs[i].label - used, "#%zu", i + 1);
            break;
        }
    }
}

void tp_strategy_spec_add(struct tp_str *out, const struct tp_strategy_spec *spec,
                          const char *library)
{
    const struct tp_opt *rows = spec->strategy->options;
    const char *separator = ":";
    tp_str_add(out, "%s", spec->strategy->name);
    if (library) {
        tp_opt_add_value(out, separator, rows, rows, library); /* the bare one */
        separator = ",";
        rows++;
    }
    for (const struct tp_opt *row = rows; row && row->name; row++) {
        size_t before = out->length;
        tp_opt_add(out, separator, rows, row, spec->opts);
        separator = out->length > before ? "," : separator;
    }
}

bool tp_opts_text(const struct tp_opt *rows, const void *opts, char *out, size_t size)
{
    struct tp_str s = tp_str_in(out, size);
    tp_opts_add(&s, rows, opts);
    return !s.cut;
}

/* ---- sources ---- */

const struct tp_source_spec tp_no_source = {.name = "host"};

static int add_layer(struct tp_source_spec *spec, char *text, struct tp_err *err)
{
    char owner[128];
    if (spec->count >= TP_SOURCE_LAYERS - 1)
        return tp_fail(err, TP_EUSAGE, "a source takes at most %d source wrappers",
                       TP_SOURCE_LAYERS - 2);
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    const struct tp_source_ops *ops = tp_find_source(text, spec->count > 0, err);
    if (!ops)
        return tp_because(err, TP_EUSAGE, TP_REASON_UNKNOWN);
    snprintf(owner, sizeof owner, "source '%s'", ops->name);
    void *opts;
    int status =
        make_options(ops->options, ops->opts_size, colon ? colon + 1 : NULL, owner, &opts, err);
    if (status)
        return status;
    tp_append(spec->name, sizeof spec->name, "%s%s", spec->count ? "+" : "", ops->name);
    spec->layers[spec->count++] = (struct tp_source_layer){ops, opts};
    return TP_OK;
}

bool tp_source_spec_is_limited(const struct tp_source_spec *spec)
{
    for (uint32_t i = 1; i < spec->count; i++)
        if (spec->layers[i].ops == &tp_source_limit)
            return true;
    return false;
}

int tp_source_spec_parse(struct tp_source_spec *spec, const char *text, struct tp_err *err)
{
    char copy[TP_SPEC_TEXT];
    *spec = (struct tp_source_spec){0};
    if (strlen(text) >= sizeof copy)
        return tp_fail(err, TP_EUSAGE, "a source's name is too long");
    snprintf(copy, sizeof copy, "%s", text);
    int status = TP_OK;
    for (char *part = copy, *next; !status && part; part = next) {
        next = strchr(part, '+');
        if (next)
            *next++ = '\0';
        status = add_layer(spec, part, err);
    }
    if (status)
        tp_source_spec_release(spec);
    return status;
}

void tp_source_spec_release(struct tp_source_spec *spec)
{
    for (uint32_t i = 0; i < spec->count; i++)
        drop_options(spec->layers[i].ops->options, (void *)(uintptr_t)spec->layers[i].opts);
    *spec = (struct tp_source_spec){0};
}
