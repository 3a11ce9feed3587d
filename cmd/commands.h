/* The subcommands and the help topics. Both tables are NULL-terminated; cmd/registry.c fills them. */
#ifndef TP_COMMANDS_H
#define TP_COMMANDS_H

#include "cmd/cli.h"

extern const struct tp_command *const tp_commands[];

/* By name, any case; NULL with err set (TP_EUSAGE, nearest as hint). */
const struct tp_command *tp_find_command(const char *name, struct tp_err *err);

/* A help topic: `tapool help NAME`. */
struct tp_topic {
    const char *name;
    const char *summary;
    void (*print)(FILE *out);
    const char *also; /* words with blanks between them that lead here too; NULL: none */
};
extern const struct tp_topic *const tp_topics[];

/* The topic of that name, or of which it is another word, any case; NULL: there is none. */
const struct tp_topic *tp_find_topic(const char *name);

#endif
