/* Values of options that do not stand on the command line.
 *
 *     flag                   --min-time 1s
 *     environment            TAPOOL_MIN_TIME=1s
 *     .tapool.ini, section   [replay] and below it: min-time = 1s
 *     .tapool.ini, top       min-time = 1s   before any section: every command that has it
 *     default                of the option's row
 *
 * An option has its value from the highest of these levels at which it is given, and from that one
 * alone: lists are not merged. All of it comes from the rows of the commands; nothing here knows an
 * option by name. */
#ifndef TP_CONFIG_H
#define TP_CONFIG_H

#include "cmd/cli/commands.h"
#include "cmd/ui/environment.h"

#include <stddef.h>

enum { TP_CONFIG_BYTES = 64 << 10, TP_VARIABLE_TEXT = 80 };

/* One line `option = value` of a file. */
struct tp_config_entry {
    const struct tp_command *command; /* NULL: it stands before any section */
    const char *option;               /* its name in the rows; static */
    char *value;                      /* owned, never empty */
    int line;                         /* from 1 */
};

struct tp_config {
    char *path; /* absolute where it was searched for, else as named; NULL: no file is used */
    struct tp_config_entry *entries;
    size_t count;
};

/* Reads the file that TAPOOL_CONFIG names, else the .tapool.ini of the current folder or of the
 * nearest one above. No file is no error. TP_EUSAGE: it cannot be read, names an unknown command or
 * option, or belongs to a stranger. */
int tp_config_load(struct tp_config *out, struct tp_err *err);

/* Parses the text of a file; `path` is its name in messages and is copied. One that was `named` by
 * the user may also set the rows that are TP_OPT_USER. On failure nothing is left to release. */
int tp_config_parse(const char *text, size_t size, const char *path, bool named,
                    struct tp_config *out, struct tp_err *err);

void tp_config_release(struct tp_config *config);

/* ---- levels ---- */

enum tp_level {
    TP_LEVEL_DEFAULT,
    TP_LEVEL_FILE,    /* before any section */
    TP_LEVEL_SECTION, /* in the section of the command */
    TP_LEVEL_ENVIRONMENT,
    TP_LEVEL_FLAG
};

/* Where the value of an option comes from; one for each row of a command. */
struct tp_origin {
    enum tp_level level;
    const struct tp_config_entry *entry; /* FILE, SECTION: the last one that counts; else NULL */
    /* A value for every command that has the option, and none that this one takes: passed over. */
    enum tp_level unfit;                       /* ENVIRONMENT or FILE; DEFAULT: there was none */
    const struct tp_config_entry *unfit_entry; /* FILE: which */
};

/* Sets, in the option struct of `cmd` that already holds defaults and flags, what the other levels
 * say of options whose origin is not TP_LEVEL_FLAG, and fills in the origins. TP_EUSAGE names the
 * file and line or the variable. */
int tp_config_apply(const struct tp_config *config, const struct tp_command *cmd, void *opts,
                    struct tp_origin *origins, struct tp_err *err);

/* Parts of it: an option is as if it had not been given; of options that exclude each other those
 * from lower levels are. */
int tp_config_forget(const struct tp_opt *row, void *opts, struct tp_origin *origin,
                     struct tp_err *err);
int tp_config_settle(const struct tp_opt *rows, void *opts, struct tp_origin *origins,
                     struct tp_err *err);

/* After it, before a command runs: what is another word for a value sets that; what needs something
 * that is not there is an error where it was typed, and else as if it had not been given; what is
 * excluded still contradicts. TP_EUSAGE names the options. */
int tp_config_agree(const struct tp_opt *rows, void *opts, struct tp_origin *origins,
                    struct tp_err *err);

/* Empties a list before its first value from a level: it replaces what lower levels said. */
void tp_config_raise(const struct tp_opt *row, void *opts, struct tp_origin *origin,
                     enum tp_level level);

/* The rows of a table. */
size_t tp_config_rows(const struct tp_opt *rows);

/* May come from somewhere else than the command line. */
bool tp_config_allows(const struct tp_opt *row);

/* Stands on the command line of this call. What comes from elsewhere is meant for the calls that it
 * fits: only of what was typed does a command say that it goes with something else. */
bool tp_config_typed(const struct tp_args *args, const struct tp_opt *rows, const char *option);

/* True of a command that takes values from files and the environment: none that is tapool's own. */
bool tp_config_concerns(const struct tp_command *cmd);

/* "min-time" -> "TAPOOL_MIN_TIME" */
const char *tp_config_variable(const char *option, char out[TP_VARIABLE_TEXT]);

/* ---- tapool doctor --config ---- */

/* Every option of `only`, or of every command where that is NULL: value and origin. */
int tp_config_print(const struct tp_command *only, bool json, FILE *out, struct tp_err *err);

#endif
