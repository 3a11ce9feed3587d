/* Parses the text of a configuration file.
 *
 *     # for every command that has the option
 *     min-time = 200ms
 *
 *     [replay]
 *     strategy = arena            ; a list: each line adds an item
 *     strategy = big=lru:cap=1GiB
 *     verify = yes
 *
 * libinih splits lines into sections, names and values. It reads through give_line(), which counts
 * lines, because libinih does not tell its handler the line number; removes indentation, which
 * libinih would take for the continuation of the line before; and finds what libinih does not
 * report: unknown sections without options, lines longer than its buffer, bytes that are not text.
 *
 * Known weakness: the buffer of libinih limits the length of a line, usually to 197 bytes. */
#include "alloc/base/grow.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"

#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAMES_MAX = 512 };

struct reading {
    const char *next, *end; /* the rest of the text */
    const char *path;
    bool named; /* the user named the file */
    int line;   /* number of the last line given to libinih, from 1 */
    struct tp_config *config;
    struct tp_err *err;
    int status; /* status of the first error, which is in `line` */
};

static int place(struct reading *r, int status)
{
    r->status = tp_prefix(r->err, status, "%s:%d", r->path, r->line);
    return r->status;
}

/* ---- names ---- */

static const struct tp_command *find_section(const char *name, size_t length)
{
    for (size_t i = 0; tp_commands[i]; i++)
        if (!tp_commands[i]->hidden && strlen(tp_commands[i]->name) == length &&
            strncasecmp(tp_commands[i]->name, name, length) == 0)
            return tp_commands[i];
    return NULL;
}

/* Finds the row of an option of `command`. If that is NULL, the line is before any section and
 * means every command that has the option: the row of the first one is returned, and `from` is the
 * strictest of all. TP_OPT_TYPED counts only if no other command takes the line, because it is
 * refused when its command runs. */
static const struct tp_opt *find_row(const struct tp_command *command, const char *name,
                                     enum tp_opt_from *from)
{
    const struct tp_opt *first = NULL;
    bool typed_only = true;
    *from = TP_OPT_ANYWHERE;
    for (size_t i = 0; tp_commands[i]; i++) {
        bool meant = !command || tp_commands[i] == command;
        const struct tp_opt *row = meant ? tp_opt_find(tp_commands[i]->options, name) : NULL;
        first = first ? first : row;
        if (!row || row->from == TP_OPT_TYPED)
            continue;
        typed_only = false;
        if (row->from > *from)
            *from = row->from;
    }
    if (first && typed_only)
        *from = TP_OPT_TYPED;
    return first;
}

/* The command whose row this is. */
static const struct tp_command *command_of(const struct tp_opt *row)
{
    for (size_t i = 0; tp_commands[i]; i++)
        if (tp_opt_find(tp_commands[i]->options, row->name) == row)
            return tp_commands[i];
    return NULL;
}

static const char *nearest_option(const struct tp_command *command, const char *name)
{
    const char *names[NAMES_MAX] = {0};
    size_t n = 0;
    for (size_t i = 0; tp_commands[i]; i++) {
        if (command && tp_commands[i] != command)
            continue;
        const struct tp_opt *row = tp_commands[i]->options;
        for (; row && row->name && n < NAMES_MAX - 1; row++)
            if (tp_config_allows(row))
                names[n++] = row->name;
    }
    return tp_nearest(name, names);
}

static int fail_section(struct reading *r, const char *name, size_t length)
{
    const char *names[NAMES_MAX] = {0};
    char text[64];
    size_t n = 0;
    for (size_t i = 0; tp_commands[i] && n < NAMES_MAX - 1; i++)
        if (!tp_commands[i]->hidden)
            names[n++] = tp_commands[i]->name;
    snprintf(text, sizeof text, "%.*s", (int)(length < 60 ? length : 60), name);
    const char *near = tp_nearest(text, names);
    int status = tp_fail(r->err, TP_EUSAGE, "section '%s' is not a command", text);
    if (near)
        tp_hint(r->err, status, "did you mean [%s]? 'tapool help' lists the commands", near);
    else
        tp_hint(r->err, status, "sections are named like commands: 'tapool help' lists them");
    return place(r, status);
}

static int fail_option(struct reading *r, const struct tp_command *command, const char *name)
{
    const char *near = nearest_option(command, name);
    const char *help = command ? command->name : "COMMAND";
    enum tp_opt_from from;
    int status = tp_fail(r->err, TP_EUSAGE, "unknown option '%s'%s%s%s", name,
                         command ? " of '" : "", command ? command->name : "", command ? "'" : "");
    if (near)
        tp_hint(r->err, status, "did you mean '%s'? 'tapool %s --help' lists all", near, help);
    else if (command && find_row(NULL, name, &from))
        tp_hint(r->err, status, "other commands have it: set it in their sections");
    else if (command && !command->options)
        tp_hint(r->err, status, "'%s' has no options", command->name);
    else
        tp_hint(r->err, status, "'tapool %s --help' lists all", help);
    return place(r, status);
}

/* Fails because this file may not set the option; `value`: to this value. */
static int fail_from(struct reading *r, const struct tp_opt *row, enum tp_opt_from from,
                     const char *value)
{
    char variable[TP_VARIABLE_TEXT];
    if (from == TP_OPT_TYPED)
        return place(r, tp_config_fail_typed(command_of(row), row, r->err));
    if (from == TP_OPT_CALL)
        return place(
            r, tp_fail(r->err, TP_EUSAGE, "option '%s' is for the command line only", row->name));
    int status =
        value ? tp_fail(r->err, TP_EUSAGE,
                        "'%s' runs code from a file: a " TP_CONFIG_NAME " may not name it", value)
              : tp_fail(r->err, TP_EUSAGE,
                        "'%s' runs a program, writes or names a file: a " TP_CONFIG_NAME
                        " may not set it",
                        row->name);
    tp_hint(r->err, status,
            "give it on the command line or as %s; a file of yours that may: " TP_CONFIG_VARIABLE
            "=FILE",
            tp_config_variable(row->name, variable));
    return place(r, status);
}

/* ---- entries ---- */

static int add_entry(struct tp_config *config, struct tp_config_entry entry, struct tp_err *err)
{
    int status =
        entry.value ? TP_ONE_MORE(&config->entries, config->count, err, .what = "the configuration")
                    : tp_fail(err, TP_ENOMEM, "out of memory for the configuration");
    if (status)
        free(entry.value);
    else
        config->entries[config->count++] = entry;
    return status;
}

/* Handler for libinih; it returns 0 after an error. */
static int take_entry(void *user, const char *section, const char *name, const char *value)
{
    struct reading *r = user;
    const struct tp_command *command = *section ? find_section(section, strlen(section)) : NULL;
    enum tp_opt_from from;
    const struct tp_opt *row = find_row(command, name, &from);
    if (!row || (*section && !command))
        return fail_option(r, command, name), 0;
    const enum tp_opt_from most = r->named ? TP_OPT_USER : TP_OPT_ANYWHERE;
    if (from > most)
        return fail_from(r, row, from, NULL), 0;
    if (row->value_from && row->value_from(value) > most)
        return fail_from(r, row, row->value_from(value), value), 0;
    if (!*value)
        return place(r, tp_fail(r->err, TP_EUSAGE, "option '%s' has no value", row->name)), 0;
    r->status = add_entry(
        r->config, (struct tp_config_entry){command, row->name, strdup(value), r->line}, r->err);
    return r->status == TP_OK;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Fails if the line contains a control character other than a tab. */
static int check_text(struct reading *r, const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if ((c >= 0x20 && c != 0x7f) || c == '\t')
            continue;
        int status = tp_fail(r->err, TP_EUSAGE, "byte 0x%02x: not text", c);
        return place(r, tp_hint(r->err, status, "a configuration file is text in UTF-8"));
    }
    return TP_OK;
}

/* Takes the next line, without its line end and without blanks around it. Returns its length. */
static size_t next_line(struct reading *r, const char **line)
{
    const char *start = r->next;
    const char *stop = memchr(start, '\n', (size_t)(r->end - start));
    r->next = stop ? stop + 1 : r->end;
    stop = stop ? stop : r->end;
    r->line++;
    if (r->line == 1 && stop - start >= 3 && !memcmp(start, "\xef\xbb\xbf", 3))
        start += 3;
    if (stop > start && stop[-1] == '\r')
        stop--;
    while (start < stop && is_blank(*start))
        start++;
    while (start < stop && is_blank(stop[-1]))
        stop--;
    *line = start;
    return (size_t)(stop - start);
}

/* Reader for libinih, called like fgets. */
static char *give_line(char *out, int room, void *stream)
{
    struct reading *r = stream;
    const char *line;
    if (r->status || r->next >= r->end)
        return NULL;
    size_t length = next_line(r, &line);
    if (check_text(r, line, length))
        return NULL;
    if (length && (*line == '#' || *line == ';'))
        length = 0; /* the length of a comment does not matter */
    if (length && *line == '[') {
        const char *close = memchr(line, ']', length);
        if (close && !find_section(line + 1, (size_t)(close - line) - 1))
            return fail_section(r, line + 1, (size_t)(close - line) - 1), NULL;
    }
    if (length + 3 > (size_t)room) { /* libinih counts "\r\n" and the NUL */
        place(r, tp_fail(r->err, TP_EUSAGE, "a line of %zu bytes: at most %d can be read", length,
                         room - 3));
        return NULL;
    }
    memcpy(out, line, length);
    memcpy(out + length, "\n", 2);
    return out;
}

void tp_config_release(struct tp_config *config)
{
    for (size_t i = 0; i < config->count; i++)
        free(config->entries[i].value);
    free(config->entries);
    free(config->path);
    *config = (struct tp_config){0};
}

int tp_config_parse(const char *text, size_t size, const char *path, bool named,
                    struct tp_config *out, struct tp_err *err)
{
    *out = (struct tp_config){.path = strdup(path)};
    if (!out->path)
        return tp_fail(err, TP_ENOMEM, "out of memory for the configuration");
    struct reading r = {
        .next = text, .end = text + size, .path = path, .named = named, .config = out, .err = err};
    int wrong = ini_parse_stream(give_line, &r, take_entry, &r);
    if (wrong > 0 && (!r.status || wrong < r.line)) { /* the first error is reported */
        r.line = wrong;
        int status = tp_fail(err, TP_EUSAGE, "neither [COMMAND] nor OPTION = VALUE");
        place(&r, tp_hint(err, status, "flags too have a value: verify = yes"));
    } else if (wrong < 0 && !r.status) {
        r.status = tp_fail(err, TP_ENOMEM, "out of memory for the configuration");
    }
    if (r.status)
        tp_config_release(out);
    return r.status;
}
