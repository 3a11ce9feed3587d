/* The command line. */
#ifndef TP_CLI_H
#define TP_CLI_H

#include "cmd/cli/commands.h"

/* Runs the whole program: parses the command line and runs the command. Returns the exit code. */
int tp_cli_main(int argc, char **argv);

/* Prints the command's --help page. */
void tp_cli_help(const struct tp_command *cmd, FILE *out);

#endif
