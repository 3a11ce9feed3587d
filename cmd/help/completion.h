/* Completion in shells: which words may stand where. `tapool __generate` derives the scripts from
 * the tables of the registry, so a new command, option or strategy is completed without further
 * work.
 *
 *     generate_cmd.c       the hidden command: bash, zsh, man, man-trace
 *     completion_words.c   the lists of words, and which list an option or argument takes
 *     completion_bash.c    completion_zsh.c    the script for each shell */
#ifndef TP_COMPLETION_H
#define TP_COMPLETION_H

#include "cmd/cli/commands.h"

/* The lists of words that can complete a value or an argument. */
enum tp_list {
    TP_LIST_NONE, /* no list: any word, such as a number or a time */
    TP_LIST_FILE,
    TP_LIST_TRACE, /* a file, or a sample */
    TP_LIST_STRATEGY,
    TP_LIST_SOURCE,
    TP_LIST_WRAPPER, /* after the '+' of a source */
    TP_LIST_FORMAT,
    TP_LIST_PROFILE,
    TP_LIST_METRIC, /* metrics that can be compared */
    TP_LIST_COMMAND,
    TP_LIST_TOPIC, /* topics, commands, words for commands and ids of warnings */
    TP_LIST_COUNT
};
/* Names of the lists in the scripts: "strategy", "trace". */
extern const char *const tp_list_names[TP_LIST_COUNT];

/* Whether tapool knows the words of a list, so that tp_list_print can write them. */
bool tp_list_has_words(enum tp_list list);

/* Writes the words of a list, separated by blanks. */
void tp_list_print(enum tp_list list, FILE *out);

/* Writes the names of the sections of a topic that has some, separated by blanks. */
void tp_sections_print(const struct tp_topic *topic, FILE *out);

/* The list for the value of an option. TP_LIST_NONE also if the row has choices of its own. */
enum tp_list tp_list_of_option(const struct tp_opt *row);

/* The list for the arguments of a command, by the names in its usage: TRACE, PROFILE, [NAME]. */
enum tp_list tp_list_of_words(const struct tp_command *cmd);

/* Writes the start of a help text up to its first ';', ':', '(' or newline, for a line of a menu.
 */
void tp_short_help(const char *help, char *out, size_t size);

/* Whether users see the command. */
bool tp_is_listed(const struct tp_command *cmd);

void tp_completion_bash(FILE *out);
void tp_completion_zsh(FILE *out);

#endif
