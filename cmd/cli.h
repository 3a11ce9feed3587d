/* The command line's contracts.
 *
 * To add a subcommand: one file that exports one `const struct tp_command`, and one line in
 * cmd/registry.c. Its option rows feed the parser and `tapool COMMAND --help`. */
#ifndef TP_CLI_H
#define TP_CLI_H

#include "alloc/opt.h"

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
    int (*run)(const struct tp_args *args, FILE *out, struct tp_err *err); /* a status */
};

/* Parses and runs: the whole program. Returns the exit code. */
int tp_cli_main(int argc, char **argv);

/* Prints the command's --help page. */
void tp_cli_help(const struct tp_command *cmd, FILE *out);

#endif
