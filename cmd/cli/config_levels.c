/* Chooses the level that an option takes its value from; see config.h.
 *
 * A variable, or a line before any section, is meant for every command that has the option. If a
 * command cannot take the value but another one can, the value is skipped for that command. If the
 * command takes the option from its command line only, because it decides what passes, the value is
 * an error: skipped silently, it would be one that somebody relies on. */
#include "cmd/cli/config.h"

#include "cmd/cli/commands.h"

#include <stdlib.h>
#include <string.h>

bool tp_config_allows(const struct tp_opt *row)
{
    return row->from != TP_OPT_CALL;
}

bool tp_config_typed(const struct tp_args *args, const struct tp_opt *rows, const char *option)
{
    const struct tp_opt *row = tp_opt_find(rows, option);
    return row && args->origins[row - rows].level == TP_LEVEL_FLAG;
}

const char *tp_config_typed_other(const struct tp_args *args, const struct tp_opt *rows,
                                  const char *const *names)
{
    for (const struct tp_opt *row = rows; row->name; row++) {
        const char *const *name = names;
        while (*name && strcmp(*name, row->name) != 0)
            name++;
        if (!*name && args->origins[row - rows].level == TP_LEVEL_FLAG)
            return row->name;
    }
    return NULL;
}

bool tp_config_concerns(const struct tp_command *cmd)
{
    const struct tp_opt *row = cmd->options;
    while (row && row->name && row->from >= TP_OPT_CALL)
        row++;
    return !cmd->hidden && row && row->name;
}

size_t tp_config_rows(const struct tp_opt *rows)
{
    size_t n = 0;
    while (rows && rows[n].name)
        n++;
    return n;
}

const char *tp_config_variable(const char *option, char out[TP_VARIABLE_TEXT])
{
    snprintf(out, TP_VARIABLE_TEXT, "TAPOOL_%s", option);
    for (char *c = out; *c; c++) {
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
        else if (*c == '-')
            *c = '_';
    }
    return out;
}

/* ---- values ---- */

void tp_config_raise(const struct tp_opt *row, void *opts, struct tp_origin *origin,
                     enum tp_level level)
{
    const struct tp_opt one[] = {*row, {.name = NULL}};
    if (row->type == TP_OPT_LIST && origin->level != level)
        tp_opts_release(one, opts);
    *origin = (struct tp_origin){.level = level};
}

/* In a variable, blanks or ';' separate the items of a list. Commas cannot, because they separate
 * the options of a strategy. */
static int set_from_text(const struct tp_opt *row, void *opts, const char *text, struct tp_err *err)
{
    static const char between[] = " \t\n;";
    if (row->type != TP_OPT_LIST)
        return tp_opt_set(row, opts, text, err);
    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        size_t length = strcspn(text, between);
        char *item = strndup(text, length);
        int status = item ? tp_opt_set(row, opts, item, err)
                          : tp_fail(err, TP_ENOMEM, "out of memory for option '%s'", row->name);
        free(item);
        if (status)
            return status;
        text += length;
    }
    return TP_OK;
}

/* ---- values for other commands ---- */

static bool takes(const struct tp_command *cmd, const struct tp_opt *row, const char *text)
{
    void *scratch = calloc(1, cmd->opts_size);
    bool good = scratch && set_from_text(row, scratch, text, NULL) == TP_OK;
    if (scratch)
        tp_opts_release(cmd->options, scratch);
    free(scratch);
    return good;
}

/* Whether another command can take the value. If none can, the value is wrong and an error. */
static bool is_for_another(const struct tp_command *cmd, const struct tp_opt *row, const char *text)
{
    for (size_t i = 0; tp_commands[i]; i++) {
        const struct tp_command *other = tp_commands[i];
        const struct tp_opt *its = tp_config_concerns(other) && other != cmd
                                       ? tp_opt_find(other->options, row->name)
                                       : NULL;
        if (its && takes(other, its, text))
            return true;
    }
    return false;
}

static int set_from_variable(const struct tp_command *cmd, const struct tp_opt *row, void *opts,
                             struct tp_origin *origin, struct tp_err *err)
{
    char variable[TP_VARIABLE_TEXT];
    const char *text = getenv(tp_config_variable(row->name, variable));
    if (!text || !*text)
        return TP_OK;
    if (!takes(cmd, row, text) && is_for_another(cmd, row, text)) {
        origin->unfit = TP_LEVEL_ENVIRONMENT;
        return TP_OK;
    }
    tp_config_raise(row, opts, origin, TP_LEVEL_ENVIRONMENT);
    int status = set_from_text(row, opts, text, err);
    return status ? tp_prefix(err, status, "%s", variable) : TP_OK;
}

/* Sets an option from the entries of `section`, or from those before any section if it is NULL. */
static int set_from_file(const struct tp_config *config, const struct tp_command *section,
                         const struct tp_command *cmd, const struct tp_opt *row, void *opts,
                         struct tp_origin *origin, struct tp_err *err)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct tp_config_entry *e = &config->entries[i];
        if (e->command != section || strcmp(e->option, row->name) != 0)
            continue;
        if (!section && !takes(cmd, row, e->value) && is_for_another(cmd, row, e->value)) {
            origin->unfit = TP_LEVEL_FILE;
            origin->unfit_entry = e;
            continue;
        }
        tp_config_raise(row, opts, origin, section ? TP_LEVEL_SECTION : TP_LEVEL_FILE);
        origin->entry = e;
        int status = tp_opt_set(row, opts, e->value, err);
        if (status)
            return tp_prefix(err, status, "%s:%d", config->path, e->line);
    }
    return TP_OK;
}

/* Notes the value of a TP_OPT_TYPED row that stands elsewhere, for tp_config_refuse. */
static void skip_row(const struct tp_config *config, const struct tp_opt *row,
                     struct tp_origin *origin)
{
    char variable[TP_VARIABLE_TEXT];
    const char *text = getenv(tp_config_variable(row->name, variable));
    if (text && *text) {
        origin->unfit = TP_LEVEL_ENVIRONMENT;
        return;
    }
    for (size_t i = 0; i < config->count; i++) {
        const struct tp_config_entry *e = &config->entries[i];
        if (e->command || strcmp(e->option, row->name) != 0)
            continue; /* a section that sets it was refused by tp_config_parse */
        origin->unfit = TP_LEVEL_FILE;
        origin->unfit_entry = e;
        return;
    }
}

int tp_config_refuse(const struct tp_config *config, const struct tp_command *cmd,
                     const struct tp_origin *origins, struct tp_err *err)
{
    char place[TP_ERR_TEXT], variable[TP_VARIABLE_TEXT];
    for (const struct tp_opt *row = cmd->options; row && row->name; row++) {
        const struct tp_origin *origin = &origins[row - cmd->options];
        if (row->from != TP_OPT_TYPED || origin->unfit == TP_LEVEL_DEFAULT)
            continue;
        bool file = origin->unfit == TP_LEVEL_FILE;
        if (file)
            snprintf(place, sizeof place, "%s:%d", config->path, origin->unfit_entry->line);
        int status = tp_config_fail_typed(cmd, row, err);
        tp_prefix(err, status, "%s", file ? place : tp_config_variable(row->name, variable));
        return tp_hint(err, status,
                       file ? "give it to '%s' as --%s; for other commands, put it in a section "
                              "such as [replay]"
                            : "give it to '%s' as --%s, and unset the variable",
                       cmd->name, row->name);
    }
    return TP_OK;
}

int tp_config_fail_typed(const struct tp_command *cmd, const struct tp_opt *row, struct tp_err *err)
{
    return tp_fail(err, TP_EUSAGE,
                   "option '%s' decides what '%s' passes: only its command line may set it",
                   row->name, cmd->name);
}

static int set_row(const struct tp_config *config, const struct tp_command *cmd,
                   const struct tp_opt *row, void *opts, struct tp_origin *origin,
                   struct tp_err *err)
{
    if (origin->level == TP_LEVEL_FLAG || !tp_config_allows(row))
        return TP_OK;
    if (row->from == TP_OPT_TYPED) {
        skip_row(config, row, origin);
        return TP_OK;
    }
    int status = set_from_variable(cmd, row, opts, origin, err);
    if (!status && origin->level == TP_LEVEL_DEFAULT)
        status = set_from_file(config, cmd, cmd, row, opts, origin, err);
    if (!status && origin->level == TP_LEVEL_DEFAULT)
        status = set_from_file(config, NULL, cmd, row, opts, origin, err);
    return status;
}

int tp_config_apply(const struct tp_config *config, const struct tp_command *cmd, void *opts,
                    struct tp_origin *origins, struct tp_err *err)
{
    size_t count = tp_config_rows(cmd->options);
    int status = TP_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = set_row(config, cmd, &cmd->options[i], opts, &origins[i], err);
    return status ? status : tp_config_settle(cmd->options, opts, origins, err);
}
