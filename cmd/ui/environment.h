/* The environment variables of tapool, as `tapool help` and the man page document them, and the
 * environment of child processes. */
#ifndef TP_ENVIRONMENT_H
#define TP_ENVIRONMENT_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TP_CONFIG_NAME     ".tapool.ini"
#define TP_CONFIG_VARIABLE "TAPOOL_CONFIG" /* path of another file; empty: no file is read */

/* A list of folders, separated by colons, in which lib:NAME is looked for instead of where the
 * dynamic linker looks. Empty: nowhere. */
#define TP_LIBRARY_VARIABLE "TAPOOL_LIBRARY_PATH"

/* A name and its explanation in the documentation. */
struct tp_fact {
    const char *name;
    const char *help; /* a few words, lower case */
};

/* Variables that do not set an option, in the order of the help; the last name is NULL. */
extern const struct tp_fact tp_environment[];

/* Whether tp_environment has the name, which is `length` bytes long. */
bool tp_environment_names(const char *name, size_t length);

/* If this variable is set, an error on stderr ends with a line such as "reason: unknown", by which
 * a tapool that started another one learns why that failed. tp_reason_words has the words in the
 * order of the enum; NULL for TP_REASON_OTHER, which has no such line. */
#define TP_REASONS_VARIABLE "_TAPOOL_REASONS"
extern const char *const tp_reason_words[TP_REASON_COUNT];

/* The environment of a child process that measures or is asked something: that of the user without
 * variables that set options, and without a configuration file. So both sides of a comparison get
 * the same options, and an older build gets none that it does not know. `extra` are `count` more
 * texts "NAME=VALUE", borrowed, each instead of a variable of that name. The caller frees the array
 * but not its texts; NULL: out of memory. */
char **tp_environment_for_child(char *const *extra, size_t count);

/* Takes out of this process's environment what sets a malloc, and libraries that are preloaded: it
 * would be set for each replay that this process starts. */
void tp_environment_forget_mallocs(void);

#endif
