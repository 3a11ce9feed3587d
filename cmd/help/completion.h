/* What shells are told: which words may stand where. All of it is derived from the registry's
 * tables when `tapool __generate` runs, so that a new command, option or strategy is completed by
 * itself.
 *
 *     generate_cmd.c       the hidden command: bash, zsh, man, man-trace
 *     completion_words.c   the lists, and which list an option or an argument draws from
 *     completion_bash.c    completion_zsh.c    a script for each shell */
#ifndef TP_COMPLETION_H
#define TP_COMPLETION_H

#include "cmd/cli/commands.h"

/* A list of words. */
enum tp_list {
    TP_LIST_NONE, /* any word: a number, a time */
    TP_LIST_FILE,
    TP_LIST_TRACE, /* a file, or one of the samples */
    TP_LIST_STRATEGY,
    TP_LIST_SOURCE,
    TP_LIST_DECORATOR, /* behind a '+' of a source */
    TP_LIST_FORMAT,
    TP_LIST_PROFILE,
    TP_LIST_METRIC, /* that can be compared */
    TP_LIST_COMMAND,
    TP_LIST_TOPIC, /* topics, commands, warnings */
    TP_LIST_COUNT
};
extern const char *const tp_list_names[TP_LIST_COUNT]; /* "strategy", ... */

/* True of lists that have words of their own: tp_list_print writes them. */
bool tp_list_has_words(enum tp_list list);

/* Writes the words of a list with blanks between them. */
void tp_list_print(enum tp_list list, FILE *out);

/* What the value of an option is; choices are not among the lists. */
enum tp_list tp_list_of_option(const struct tp_opt *row);

/* What the words of a command are, by the names in its usage: TRACE, PROFILE, [NAME], ... */
enum tp_list tp_list_of_words(const struct tp_command *cmd);

/* The beginning of a help text, up to where it explains: for one line of a menu. */
void tp_short_help(const char *help, char *out, size_t size);

/* The commands that users see. */
bool tp_is_listed(const struct tp_command *cmd);

void tp_completion_bash(FILE *out);
void tp_completion_zsh(FILE *out);

#endif
