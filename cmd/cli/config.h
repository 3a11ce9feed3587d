/* Values of options that were not given on the command line.
 *
 *     flag                   --min-time 1s
 *     environment            TAPOOL_MIN_TIME=1s
 *     .tapool.ini, section   [replay] and below it: min-time = 1s
 *     .tapool.ini, top       min-time = 1s   before any section: every command that has it
 *     default                of the option's row
 *
 * An option takes its value from the highest of these levels that sets it. Lists are not merged
 * across levels. No option is known by name here: everything comes from the rows of the commands.
 */
#ifndef TP_CONFIG_H
#define TP_CONFIG_H

#include "cmd/cli/commands.h"
#include "cmd/ui/environment.h"

#include <stddef.h>

enum { TP_CONFIG_BYTES = 64 << 10, TP_VARIABLE_TEXT = 80 };

/* One line `option = value` of a file. */
struct tp_config_entry {
    const struct tp_command *command; /* the section; NULL: the line is before any section */
    const char *option;               /* name in the rows; static */
    char *value;                      /* owned, never empty */
    int line;                         /* line number, from 1 */
};

struct tp_config {
    char *path; /* absolute if tapool searched for it, else as named; NULL: no file is used */
    struct tp_config_entry *entries;
    size_t count;
};

/* Reads the file that TAPOOL_CONFIG names, else the .tapool.ini of the current folder or of the
 * nearest parent that has one. It is no error if there is no file. TP_EUSAGE: the file cannot be
 * read, names an unknown command or option, or belongs to a user who is not trusted. */
int tp_config_load(struct tp_config *out, struct tp_err *err);

/* Reads a file that the user names, which may set what is the user's to set. TP_EUSAGE as above. */
int tp_config_read(const char *path, struct tp_config *out, struct tp_err *err);

/* Parses the text of a file; messages call it `path`, which is copied. `named`: the user named the
 * file, so it may also set rows that are TP_OPT_USER. After an error there is nothing to release.
 */
int tp_config_parse(const char *text, size_t size, const char *path, bool named,
                    struct tp_config *out, struct tp_err *err);

void tp_config_release(struct tp_config *config);

/* ---- levels ---- */

enum tp_level {
    TP_LEVEL_DEFAULT,
    TP_LEVEL_FILE,    /* in the file, before any section */
    TP_LEVEL_SECTION, /* in the file, in the section of the command */
    TP_LEVEL_ENVIRONMENT,
    TP_LEVEL_FLAG
};

/* Where the value of an option comes from; one for each row of a command. */
struct tp_origin {
    enum tp_level level;
    const struct tp_config_entry *entry; /* FILE, SECTION: the last line that set it; else NULL */
    /* Level of a value that was skipped because this command cannot take it while another command
     * can, or takes it from its command line only: ENVIRONMENT or FILE. DEFAULT: none was. */
    enum tp_level unfit;
    const struct tp_config_entry *unfit_entry; /* the skipped line if `unfit` is FILE; else NULL */
};

/* Applies the environment and the file to `opts`, the option struct of `cmd`, which already holds
 * defaults and flags. Options with the origin TP_LEVEL_FLAG are left alone. Fills in the origins.
 * TP_EUSAGE names the file and line, or the variable. */
int tp_config_apply(const struct tp_config *config, const struct tp_command *cmd, void *opts,
                    struct tp_origin *origins, struct tp_err *err);

/* Fails because something else than the command line sets a row that is TP_OPT_TYPED. */
int tp_config_fail_typed(const struct tp_command *cmd, const struct tp_opt *row,
                         struct tp_err *err);

/* Fails if a row that is TP_OPT_TYPED has a value elsewhere that the command line does not replace.
 * Called after tp_config_apply and before the command runs. TP_EUSAGE names the file and line, or
 * the variable. */
int tp_config_refuse(const struct tp_config *config, const struct tp_command *cmd,
                     const struct tp_origin *origins, struct tp_err *err);

/* Resets an option to its default, as if it had not been given. */
int tp_config_forget(const struct tp_opt *row, void *opts, struct tp_origin *origin,
                     struct tp_err *err);
/* If two options exclude each other and come from different levels, resets the one from the lower
 * level. */
int tp_config_settle(const struct tp_opt *rows, void *opts, struct tp_origin *origins,
                     struct tp_err *err);

/* Applies what rows say about other rows; called after tp_config_apply and before the command runs.
 * An option with `same` sets the value that it is another word for. An option whose `needs` is not
 * met is an error if it was typed, else it is reset. Options that still exclude each other are an
 * error. TP_EUSAGE names the options. */
int tp_config_agree(const struct tp_opt *rows, void *opts, struct tp_origin *origins,
                    struct tp_err *err);

/* Sets the origin to `level`. A list is emptied first if its items come from another level, because
 * a higher level replaces the items of lower ones. */
void tp_config_raise(const struct tp_opt *row, void *opts, struct tp_origin *origin,
                     enum tp_level level);

/* The number of rows of a table. */
size_t tp_config_rows(const struct tp_opt *rows);

/* Whether the option may be set outside the command line. */
bool tp_config_allows(const struct tp_opt *row);

/* Whether the option is on the command line of this call. Commands ask this before they refuse an
 * option that does not fit: a value from the file or the environment is only meant for calls that
 * it fits, so it is ignored instead. */
bool tp_config_typed(const struct tp_args *args, const struct tp_opt *rows, const char *option);

/* The first option on the command line that is not among these names, the last of which is NULL;
 * NULL: there is none. */
const char *tp_config_typed_other(const struct tp_args *args, const struct tp_opt *rows,
                                  const char *const *names);

/* Whether the command takes values from the file and the environment: it is not hidden, and has an
 * option that not only the command line may set. */
bool tp_config_concerns(const struct tp_command *cmd);

/* The environment variable of an option: "min-time" gives "TAPOOL_MIN_TIME". Returns `out`. */
const char *tp_config_variable(const char *option, char out[TP_VARIABLE_TEXT]);

/* ---- tapool doctor --config ---- */

/* Prints value and origin of every option of `only`, or of all commands if `only` is NULL. */
int tp_config_print(const struct tp_command *only, bool json, FILE *out, struct tp_err *err);

#endif
