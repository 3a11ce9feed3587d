/* The command line. */
#ifndef TP_CLI_H
#define TP_CLI_H

#include "cmd/cli/commands.h"

/* Runs the whole program: parses the command line and runs the command. Returns the exit code. */
int tp_cli_main(int argc, char **argv);

/* The help pages of a command: -h has the options that people use, --help all but the rare ones,
 * --help-all every option with its details. */
enum tp_help_page { TP_HELP_NONE, TP_HELP_SHORT, TP_HELP_USUAL, TP_HELP_ALL };
extern const char *const tp_help_titles[TP_OPT_GROUPS]; /* headings of groups of options */
void tp_cli_help(const struct tp_command *cmd, enum tp_help_page which, FILE *out);

/* The commit of the source tree, or "". The build writes it for the program alone
 * (scripts/commit.cmake), so only main() has it. */
extern const char tp_commit_built[];

#endif
