/* What is documented in more than one place: `tapool help` and the man page. */
#ifndef TP_ENVIRONMENT_H
#define TP_ENVIRONMENT_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TP_CONFIG_NAME     ".tapool.ini"
#define TP_CONFIG_VARIABLE "TAPOOL_CONFIG" /* another file; empty: none */

struct tp_fact {
    const char *name;
    const char *help; /* a few words, lower case */
};

/* Variables that are no option's, in the order of the help; ends with a NULL name. */
extern const struct tp_fact tp_environment[];

/* Whether `name` (of `length` bytes) is in that table: it says where things lie. */
bool tp_environment_names(const char *name, size_t length);

/* A tapool that another one started ends an error on stderr with "reason: unknown", in words of its
 * own protocol, where there is one: one in the enum's order, NULL of TP_REASON_OTHER. */
#define TP_REASONS_VARIABLE "_TAPOOL_REASONS"
extern const char *const tp_reason_words[TP_REASON_COUNT];

/* The environment of a tapool that is started to measure, or asked something: the user's, without
 * what sets options and without a configuration file, so that no side of a comparison gets what the
 * other does not, or an older build what it does not know. `extra` is one more "NAME=VALUE",
 * borrowed, or NULL. The array is for free(), its texts are not; NULL: out of memory. */
char **tp_environment_for_child(char *extra);

#endif
