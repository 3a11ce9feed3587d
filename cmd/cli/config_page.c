/* tapool doctor --config: prints every option, its value and where the value comes from.
 *
 *     replay
 *       strategy        arena                  .tapool.ini:4
 *                       lru                    .tapool.ini:5
 *       min-time        1s                     TAPOOL_MIN_TIME
 *       seed            1                      default
 */
#include "cmd/cli/config.h"

#include "alloc/base/clean.h"
#include "alloc/base/units.h"
#include "cmd/cli/commands.h"
#include "cmd/ui/environment.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"

#include <stdlib.h>
#include <string.h>

enum { NAME = 2, VALUE = 24, FROM = 52, HEAD = 16, WORD = 512, UNUSED_MAX = 64 };

extern char **environ;

/* The values that a command would run with if it got no flags. */
struct settings {
    const struct tp_command *cmd;
    void *opts;
    struct tp_origin *origins;
};

static void settings_release(struct settings *s)
{
    if (s->opts)
        tp_opts_release(s->cmd->options, s->opts);
    free(s->opts);
    free(s->origins);
}

static int settle(const struct tp_config *config, const struct tp_command *cmd,
                  struct settings *out, struct tp_err *err)
{
    *out = (struct settings){.cmd = cmd};
    out->opts = calloc(1, cmd->opts_size);
    out->origins = calloc(tp_config_rows(cmd->options) + 1, sizeof *out->origins);
    int status = out->opts && out->origins ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status)
        status = tp_opts_defaults(cmd->options, out->opts, err);
    if (!status)
        status = tp_config_apply(config, cmd, out->opts, out->origins, err);
    if (status)
        settings_release(out);
    return status;
}

static const char *file_name(const struct tp_config *config)
{
    const char *slash = strrchr(config->path, '/');
    return slash ? slash + 1 : config->path;
}

/* Writes ".tapool.ini:4", "TAPOOL_MIN_TIME", or "" for the default. */
static void place_text(const struct tp_config *config, const struct tp_opt *row,
                       enum tp_level level, const struct tp_config_entry *entry, char *out,
                       size_t size)
{
    char variable[TP_VARIABLE_TEXT];
    if (entry)
        snprintf(out, size, "%s:%d", file_name(config), entry->line);
    else
        snprintf(out, size, "%s",
                 level == TP_LEVEL_ENVIRONMENT ? tp_config_variable(row->name, variable) : "");
}

static void origin_text(const struct tp_config *config, const struct tp_opt *row,
                        const struct tp_origin *origin, char *out, size_t size)
{
    char unfit[WORD / 2];
    place_text(config, row, origin->level, origin->entry, out, size);
    if (*out)
        return;
    place_text(config, row, origin->unfit, origin->unfit_entry, unfit, sizeof unfit);
    if (*unfit)
        snprintf(out, size, "default; %s %s", unfit,
                 row->from == TP_OPT_TYPED ? "is an error" : "does not fit");
    else if (row->from == TP_OPT_TYPED)
        snprintf(out, size, "default, command line only");
    else
        snprintf(out, size, "default%s",
                 row->from == TP_OPT_ANYWHERE ? "" : ", never from a " TP_CONFIG_NAME);
}

/* ---- variables that nobody reads ---- */

static bool is_option(const char *name, const struct tp_command *cmd)
{
    char variable[TP_VARIABLE_TEXT];
    for (const struct tp_opt *row = cmd->options; row && row->name; row++)
        if (tp_config_allows(row) && !strcmp(tp_config_variable(row->name, variable), name))
            return true;
    return false;
}

static bool is_used(const char *name)
{
    if (tp_environment_names(name, strlen(name)))
        return true;
    for (size_t i = 0; tp_commands[i]; i++)
        if (tp_config_concerns(tp_commands[i]) && is_option(name, tp_commands[i]))
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Collects the variables TAPOOL_... of the environment that nothing reads, sorted. Returns their
 * number, at most UNUSED_MAX. */
static size_t find_unused(char names[UNUSED_MAX][TP_VARIABLE_TEXT])
{
    size_t count = 0;
    for (char **entry = environ; *entry && count < UNUSED_MAX; entry++) {
        char name[TP_VARIABLE_TEXT];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        if (strncmp(name, "TAPOOL_", 7) == 0 && !is_used(name))
            tp_clean_text(name, names[count++], TP_VARIABLE_TEXT);
    }
    qsort(names, count, TP_VARIABLE_TEXT, by_text);
    return count;
}

/* ---- text ---- */

static void print_cells(struct tp_page *page, const char *name, const char *value, const char *from)
{
    char clean[WORD];
    tp_clean_text(value, clean, sizeof clean);
    if (*name)
        tp_page_at(page, NAME, "%s", name);
    tp_page_at(page, VALUE, "%s", *clean ? clean : "-");
    tp_clean_text(from, clean, sizeof clean);
    tp_page_put(page, FROM, "%s", clean);
}

/* Prints one line for each item of a list, because each may come from another line of the file. */
static void print_list(struct tp_page *page, const struct tp_config *config,
                       const struct tp_opt *row, const struct tp_opt_list *list,
                       const struct tp_origin *origin)
{
    const struct tp_config_entry *e = config->entries;
    char from[WORD];
    for (size_t i = 0; i < list->count; i++) {
        struct tp_origin item = *origin;
        for (; origin->entry; e++)
            if (e->command == origin->entry->command && !strcmp(e->option, row->name)) {
                item.entry = e++;
                break;
            }
        origin_text(config, row, &item, from, sizeof from);
        print_cells(page, i ? "" : row->name, list->items[i], from);
    }
}

static void print_settings(struct tp_page *page, const struct tp_config *config,
                           const struct settings *s, int set[])
{
    char value[WORD], from[WORD];
    tp_page_line(page);
    tp_page_put(page, 0, "%s", s->cmd->name);
    for (size_t i = 0; s->cmd->options[i].name; i++) {
        const struct tp_opt *row = &s->cmd->options[i];
        const struct tp_opt_list *list = (const void *)((const char *)s->opts + row->offset);
        if (!tp_config_allows(row))
            continue;
        set[s->origins[i].level]++;
        if (row->type == TP_OPT_LIST && list->count) {
            print_list(page, config, row, list, &s->origins[i]);
            continue;
        }
        tp_opt_format(row, s->opts, value, sizeof value);
        origin_text(config, row, &s->origins[i], from, sizeof from);
        print_cells(page, row->name, value, from);
    }
}

static void print_head(struct tp_page *page, const struct tp_config *config)
{
    char path[WORD * 8];
    const char *named = getenv(TP_CONFIG_VARIABLE);
    tp_clean_text(config->path, path, sizeof path);
    tp_page_at(page, 0, "configuration");
    if (!config->path)
        tp_page_at(page, HEAD, "no file%s",
                   named ? ": " TP_CONFIG_VARIABLE " is empty"
                         : ": there is no " TP_CONFIG_NAME " in this folder or above it");
    else
        tp_page_at(page, HEAD, "%s%s", path, named ? ", named by " TP_CONFIG_VARIABLE : "");
    tp_page_line(page);
}

static void print_end(struct tp_page *page, const int set[])
{
    char names[UNUSED_MAX][TP_VARIABLE_TEXT];
    size_t count = find_unused(names);
    tp_page_line(page);
    if (count) {
        tp_page_at(page, 0, "ignored");
        tp_page_at(page, HEAD, "variables of no option:");
        for (size_t i = 0; i < count; i++)
            tp_page_more(page, HEAD, " %s%s", names[i], i + 1 < count ? "," : "");
        tp_page_line(page);
    }
    int file = set[TP_LEVEL_FILE] + set[TP_LEVEL_SECTION];
    tp_page_put(page, 0,
                "%d from the file, %d from the environment, %d by default. Rules: "
                "tapool help config",
                file, set[TP_LEVEL_ENVIRONMENT], set[TP_LEVEL_DEFAULT]);
}

/* ---- JSON: tapool.config/2 (config.schema.json) ---- */

static const char *const level_names[] = {"default", "file", "file", "environment", "flag"};

static void write_option(struct tp_json *j, cJSON *options, const struct tp_opt *row,
                         const void *opts, const struct tp_origin *origin)
{
    const struct tp_opt_list *list = (const void *)((const char *)opts + row->offset);
    char value[WORD], variable[TP_VARIABLE_TEXT];
    cJSON *o = tp_json_item(j, options);
    tp_opt_format(row, opts, value, sizeof value);
    tp_json_text(j, o, "name", row->name);
    if (row->type == TP_OPT_LIST) {
        cJSON *items = tp_json_array(j, o, "value");
        for (size_t i = 0; i < list->count; i++) {
            char *clean = tp_clean_copy(list->items[i], TP_CONFIG_BYTES);
            tp_json_push(j, items, clean ? cJSON_CreateString(clean) : NULL);
            free(clean);
        }
    } else {
        char clean[WORD];
        tp_clean_text(value, clean, sizeof clean);
        tp_json_text(j, o, "value", *clean ? clean : NULL);
    }
    tp_json_text(j, o, "from", level_names[origin->level]);
    tp_json_uint(j, o, "line", origin->entry ? (uint64_t)origin->entry->line : TP_NONE);
    tp_json_text(j, o, "variable", tp_config_variable(row->name, variable));
    tp_json_bool(j, o, "file_may_set", row->from == TP_OPT_ANYWHERE);
}

static void write_settings(struct tp_json *j, cJSON *commands, const struct settings *s)
{
    cJSON *o = tp_json_item(j, commands);
    tp_json_text(j, o, "name", s->cmd->name);
    cJSON *options = tp_json_array(j, o, "options");
    for (size_t i = 0; s->cmd->options[i].name; i++)
        if (tp_config_allows(&s->cmd->options[i]))
            write_option(j, options, &s->cmd->options[i], s->opts, &s->origins[i]);
}

static void write_unused(struct tp_json *j, cJSON *root)
{
    char names[UNUSED_MAX][TP_VARIABLE_TEXT];
    size_t count = find_unused(names);
    cJSON *unused = tp_json_array(j, root, "unused_variables");
    for (size_t i = 0; i < count; i++)
        tp_json_push(j, unused, cJSON_CreateString(names[i]));
}

/* ---- both ---- */

struct config_sheet {
    struct tp_page page;
    struct tp_json json;
    cJSON *root, *commands; /* NULL if text is printed */
    int set[TP_LEVEL_FLAG + 1];
};

static void begin(struct config_sheet *sheet, const struct tp_config *config, bool json, FILE *out)
{
    tp_page_init(&sheet->page, out, 0);
    if (!json) {
        print_head(&sheet->page, config);
        return;
    }
    char path[WORD * 8];
    tp_clean_text(config->path, path, sizeof path);
    sheet->root = tp_json_object(&sheet->json, NULL, NULL);
    tp_json_text(&sheet->json, sheet->root, "schema", "tapool.config/2");
    tp_json_tool(&sheet->json, sheet->root);
    tp_json_text(&sheet->json, sheet->root, "file", config->path ? path : NULL);
    sheet->commands = tp_json_array(&sheet->json, sheet->root, "commands");
}

static int finish(struct config_sheet *sheet, FILE *out, struct tp_err *err)
{
    if (!sheet->root) {
        print_end(&sheet->page, sheet->set);
        return TP_OK;
    }
    write_unused(&sheet->json, sheet->root);
    return tp_json_print(&sheet->json, sheet->root, out, err);
}

/* Finds the values of all commands before anything is printed, so that a wrong value prints an
 * error and no half page. */
static int settle_all(const struct tp_config *config, const struct tp_command *only,
                      struct settings *all, size_t *count, struct tp_err *err)
{
    for (size_t i = 0; tp_commands[i]; i++) {
        if ((only && only != tp_commands[i]) || !tp_config_concerns(tp_commands[i]))
            continue;
        int status = settle(config, tp_commands[i], &all[*count], err);
        if (status)
            return status;
        ++*count;
    }
    return TP_OK;
}

int tp_config_print(const struct tp_command *only, bool json, FILE *out, struct tp_err *err)
{
    struct config_sheet sheet = {0};
    struct tp_config config;
    struct settings all[32];
    size_t count = 0;
    int status = tp_config_load(&config, err);
    if (!status)
        status = settle_all(&config, only, all, &count, err);
    if (!status) {
        begin(&sheet, &config, json, out);
        for (size_t i = 0; i < count; i++) {
            if (json)
                write_settings(&sheet.json, sheet.commands, &all[i]);
            else
                print_settings(&sheet.page, &config, &all[i], sheet.set);
        }
        status = finish(&sheet, out, err);
    }
    while (count)
        settings_release(&all[--count]);
    tp_config_release(&config);
    return status;
}
