/* Which level decides about an option; see config.h.
 *
 * Options that exclude each other are one question with several answers: of the two in a pair the
 * one from the higher level stands, and the other is as if it had not been given. TAPOOL_REPAIR=yes
 * in the environment of a job does not break `--strict` of a call. From the same level both stay,
 * and the command says that they contradict each other. */
#include "cmd/config.h"

#include <stdlib.h>
#include <string.h>

static const char *const exclusive[][2] = {
    {"json", "format"}, {"strict", "repair"}, {"fits", "no-fits"}, {"base-bin", "base-strategy"},
    {"update", "plan"}, {"update", "aa"},     {"plan", "aa"}};

/* --config asks one call of doctor for a page; its variable is the name of the file. */
static const char *const never[] = {"config", NULL};

bool tp_config_allows(const char *option)
{
    for (size_t i = 0; never[i]; i++)
        if (!strcmp(never[i], option))
            return false;
    return true;
}

bool tp_config_concerns(const struct tp_command *cmd)
{
    return !cmd->hidden && cmd->options;
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
    for (char *c = out; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c == '-' ? '_' : *c;
    return out;
}

/* ---- values ---- */

/* Back to what the row says, whatever was there. */
static int set_default(const struct tp_opt *row, void *opts, struct tp_err *err)
{
    const struct tp_opt one[] = {*row, {.name = NULL}};
    tp_opts_release(one, opts);
    if (row->type == TP_OPT_FLAG)
        *(bool *)((char *)opts + row->offset) = false;
    return tp_opts_defaults(one, opts, err);
}

void tp_config_raise(const struct tp_opt *row, void *opts, struct tp_origin *origin,
                     enum tp_level level)
{
    const struct tp_opt one[] = {*row, {.name = NULL}};
    if (row->type == TP_OPT_LIST && origin->level != level)
        tp_opts_release(one, opts);
    *origin = (struct tp_origin){.level = level};
}

/* A variable holds a list with blanks or ';' between its items: options of a strategy are full of
 * commas. */
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

static int set_from_variable(const struct tp_opt *row, void *opts, struct tp_origin *origin,
                             struct tp_err *err)
{
    char variable[TP_VARIABLE_TEXT];
    const char *text = getenv(tp_config_variable(row->name, variable));
    if (!text || !*text)
        return TP_OK;
    tp_config_raise(row, opts, origin, TP_LEVEL_ENVIRONMENT);
    int status = set_from_text(row, opts, text, err);
    return status ? tp_prefix(err, status, "%s", variable) : TP_OK;
}

/* The entries of one level: those of a section, or, where `section` is NULL, those before any. */
static int set_from_file(const struct tp_config *config, const struct tp_command *section,
                         const struct tp_opt *row, void *opts, struct tp_origin *origin,
                         struct tp_err *err)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct tp_config_entry *e = &config->entries[i];
        if (e->command != section || strcmp(e->option, row->name) != 0)
            continue;
        tp_config_raise(row, opts, origin, section ? TP_LEVEL_SECTION : TP_LEVEL_FILE);
        origin->entry = e;
        int status = tp_opt_set(row, opts, e->value, err);
        if (status)
            return tp_prefix(err, status, "%s:%d", config->path, e->line);
    }
    return TP_OK;
}

static int set_row(const struct tp_config *config, const struct tp_command *cmd,
                   const struct tp_opt *row, void *opts, struct tp_origin *origin,
                   struct tp_err *err)
{
    if (origin->level == TP_LEVEL_FLAG || !tp_config_allows(row->name))
        return TP_OK;
    int status = set_from_variable(row, opts, origin, err);
    if (!status && origin->level == TP_LEVEL_DEFAULT)
        status = set_from_file(config, cmd, row, opts, origin, err);
    if (!status && origin->level == TP_LEVEL_DEFAULT)
        status = set_from_file(config, NULL, row, opts, origin, err);
    return status;
}

/* ---- pairs ---- */

/* A flag that is off says nothing about its counterpart. */
static bool speaks(const struct tp_opt *row, const void *opts, const struct tp_origin *origin)
{
    return origin->level != TP_LEVEL_DEFAULT &&
           (row->type != TP_OPT_FLAG || *(const bool *)((const char *)opts + row->offset));
}

static int settle_pair(const struct tp_opt *rows, const char *const pair[2], void *opts,
                       struct tp_origin *origins, struct tp_err *err)
{
    const struct tp_opt *a = tp_opt_find(rows, pair[0]), *b = tp_opt_find(rows, pair[1]);
    if (!a || !b)
        return TP_OK;
    struct tp_origin *of_a = &origins[a - rows], *of_b = &origins[b - rows];
    if (!speaks(a, opts, of_a) || !speaks(b, opts, of_b) || of_a->level == of_b->level)
        return TP_OK;
    struct tp_origin *lower = of_a->level < of_b->level ? of_a : of_b;
    *lower = (struct tp_origin){TP_LEVEL_DEFAULT, NULL};
    return set_default(lower == of_a ? a : b, opts, err);
}

int tp_config_apply(const struct tp_config *config, const struct tp_command *cmd, void *opts,
                    struct tp_origin *origins, struct tp_err *err)
{
    size_t count = tp_config_rows(cmd->options);
    int status = TP_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = set_row(config, cmd, &cmd->options[i], opts, &origins[i], err);
    for (size_t i = 0; i < sizeof exclusive / sizeof *exclusive && !status; i++)
        status = settle_pair(cmd->options, exclusive[i], opts, origins, err);
    return status;
}
