/* The subcommands and the help topics.
 *
 * To add a subcommand: one file that exports one `const struct tp_command`, and one line in
 * cmd/registry.c. Its option rows feed the parser and `tapool COMMAND --help`. Both tables are
 * NULL-terminated. */
#ifndef TP_COMMANDS_H
#define TP_COMMANDS_H

#include "alloc/base/opt.h"

#include <stdbool.h>
#include <stdio.h>

struct tp_origin;

struct tp_args {
    const void *opts; /* the command's option struct, defaults filled in */
    char **words;     /* what is left when options are taken */
    int count;
    int flags; /* options that stand on the command line itself, repeated ones each time */
    const struct tp_origin *origins; /* where each option has its value from: config.h */
};

struct tp_command {
    const char *name;
    const char *usage;   /* after "tapool ": "replay TRACE... [-s STRATEGY]..." */
    const char *summary; /* one line of the command list */
    const char *about;   /* paragraphs of --help; may be "" */
    bool hidden;         /* for tapool itself */
    size_t opts_size;
    const struct tp_opt *options;
    /* Who else is told of a command line that is wrong; NULL: nobody. */
    void (*refused)(const void *opts, const struct tp_err *err, FILE *out);
    int (*run)(const struct tp_args *args, FILE *out, struct tp_err *err); /* a status */
};

extern const struct tp_command *const tp_commands[];

/* By name, any case; NULL with err set (TP_EUSAGE, nearest as hint). */
const struct tp_command *tp_find_command(const char *name, struct tp_err *err);

/* A help topic: `tapool help NAME`. */
struct tp_topic {
    const char *name;
    const char *summary;
    const char *also;         /* words with blanks between them that lead here too */
    const char *texts[5];     /* the page, piece by piece, or */
    void (*print)(FILE *out); /* what prints it */
};
void tp_topic_print(const struct tp_topic *topic, FILE *out);
extern const struct tp_topic *const tp_topics[];

/* The topic of that name, or of which it is another word, any case; NULL: there is none. */
const struct tp_topic *tp_find_topic(const char *name);

#endif
