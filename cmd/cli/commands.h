/* The subcommands and the help topics.
 *
 * To add a subcommand, write a file that exports one `const struct tp_command`, and add one line to
 * cmd/registry.c. The option rows of the command feed the parser and `tapool COMMAND --help`. The
 * tables tp_commands and tp_topics are NULL-terminated. */
#ifndef TP_COMMANDS_H
#define TP_COMMANDS_H

#include "alloc/base/opt.h"

#include <stdbool.h>
#include <stdio.h>

struct tp_origin;
struct tp_signals_found;

struct tp_args {
    const void *opts; /* the command's option struct, complete with defaults */
    char **words;     /* arguments that are not options */
    int count;        /* number of words */
    int flags; /* number of options on the command line itself; a repeated one counts again */
    const struct tp_origin *origins;        /* where each option got its value, see config.h */
    const struct tp_signals_found *signals; /* for a program that the command starts */
};

struct tp_command {
    const char *name;
    const char *usage;   /* after "tapool ": "replay TRACE... [-s STRATEGY]..." */
    const char *summary; /* one line of the command list */
    const char *about;   /* paragraphs of --help; may be "" */
    bool hidden;         /* only tapool itself and its build call this command */
    bool runs_program;   /* the first word is a program: what follows is its command line */
    size_t opts_size;    /* bytes, size of the option struct */
    const struct tp_opt *options;
    /* Called when the command line is wrong, before the error is printed; may be NULL. */
    void (*refused)(const void *opts, const struct tp_err *err, FILE *out);
    int (*run)(const struct tp_args *args, FILE *out, struct tp_err *err); /* returns a status */
};

extern const struct tp_command *const tp_commands[];

/* Finds a command by its name in any case. Returns NULL if there is none, with TP_EUSAGE in `err`
 * and the nearest name as the hint. */
const struct tp_command *tp_find_command(const char *name, struct tp_err *err);

/* A section of a topic: `tapool help TOPIC NAME`. */
struct tp_topic_section {
    const char *name;
    const char *summary;
    const char *also;     /* words that lead to the section, separated by blanks; or NULL */
    const char *texts[4]; /* the section in pieces */
    /* Prints what follows `texts`; NULL: nothing. */
    void (*print)(const struct tp_topic_section *section, FILE *out);
};

/* A help topic: `tapool help NAME`. */
struct tp_topic {
    const char *name;
    const char *summary;
    const char *also;         /* other names of the topic, separated by blanks */
    const char *texts[4];     /* the page in pieces */
    void (*print)(FILE *out); /* prints what follows `texts`; NULL: nothing */
    /* Ends at a row without a name. NULL: the topic is one page. */
    const struct tp_topic_section *sections;
};
/* Prints the page of the topic, which ends with the list of its sections. */
void tp_topic_print(const struct tp_topic *topic, FILE *out);
/* Prints the page of one of its sections. */
void tp_topic_print_section(const struct tp_topic *topic, const struct tp_topic_section *section,
                            FILE *out);
/* Prints the page of the topic, then its sections. */
void tp_topic_print_whole(const struct tp_topic *topic, FILE *out);
extern const struct tp_topic *const tp_topics[];

/* Finds a topic by its name or another word for it, in any case; NULL: there is none. If the word
 * leads to one of its sections, `*section` is that section, else NULL. */
const struct tp_topic *tp_find_topic(const char *name, const struct tp_topic_section **section);

/* Finds a section of a topic by its name in any case. NULL: there is none. */
const struct tp_topic_section *tp_find_section(const struct tp_topic *topic, const char *name);

/* Whether a name is one of several words separated by blanks, in any case. */
bool tp_is_among(const char *name, const char *words);

/* Words that `tapool help` answers with the page of a command; the last name is NULL. */
struct tp_command_word {
    const char *name;
    const char *command;
};
extern const struct tp_command_word tp_command_words[];

enum { TP_SECTIONS_MAX = 15 }; /* sections of a topic */

#endif
