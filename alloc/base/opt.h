/* Options that are described by rows (opt_row.h): set from text, checked, written as text. */
#ifndef TP_OPT_H
#define TP_OPT_H

#include "alloc/base/err.h"
#include "alloc/base/opt_row.h"
#include "alloc/base/str.h"

/* In every function `rows` may be NULL, a table without rows, and `base` is the option struct. */

/* Fills a zeroed struct with the defaults. */
int tp_opts_defaults(const struct tp_opt *rows, void *base, struct tp_err *err);

/* Sets one option from text; TP_EUSAGE names the option, the value and the range or the choices. */
int tp_opt_set(const struct tp_opt *row, void *base, const char *value, struct tp_err *err);

/* Sets options from "a=1,b=yes,flag"; a value may stand in braces: "conf={a:1,b:2}". The first item
 * is the value of the bare row, if there is one, unless it reads "NAME=" with the name of a row or
 * is the name of a flag. `owner` is the subject of messages ("strategy 'arena'"). An unknown name
 * is TP_EUSAGE with the nearest as hint. */
int tp_opts_parse(const struct tp_opt *rows, void *base, const char *spec, const char *owner,
                  struct tp_err *err);

/* Whether the text can be given as the value of an option: not if it has a comma, so that it needs
 * braces, and a brace of its own without its match. */
bool tp_opt_can_be_value(const char *text);

/* The hint to those who gave one. */
#define TP_OPT_BRACES                                                                              \
    "braces stand around a value with a comma, and those in it must match; a file takes a link "   \
    "without them"

/* Cuts the value that such a text begins with, which may stand in braces, off *rest, which it
 * modifies; *rest is NULL at the end. False: the braces do not match. */
bool tp_opt_cut_value(char **rest, char **value);

/* The row with this name, or NULL. */
const struct tp_opt *tp_opt_find(const struct tp_opt *rows, const char *name);

/* Writes the value as text that tp_opt_set reads back ("64MiB", "fine"); "" when unset. */
void tp_opt_format(const struct tp_opt *row, const void *base, char *out, size_t size);

/* The row whose value may stand first without its name, or NULL. */
const struct tp_opt *tp_opt_bare(const struct tp_opt *rows);

/* Adds all options as "a=1,b=2", or "value,b=2" where a row is bare. tp_opts_parse reads it back to
 * the same values. */
void tp_opts_add(struct tp_str *out, const struct tp_opt *rows, const void *base);

/* Adds one option of the table as tp_opts_add does, after the separator unless `out` is empty. An
 * option that is unset adds nothing, a list one item for each of its values. */
void tp_opt_add(struct tp_str *out, const char *separator, const struct tp_opt *rows,
                const struct tp_opt *row, const void *base);

/* The same for a value that is given as text. */
void tp_opt_add_value(struct tp_str *out, const char *separator, const struct tp_opt *rows,
                      const struct tp_opt *row, const char *value);

/* Sets the option back to the default of its row. */
int tp_opt_reset(const struct tp_opt *row, void *base, struct tp_err *err);

/* Does the value differ from the row's default? */
bool tp_opt_differs(const struct tp_opt *row, const void *base);

/* Frees what TEXT and LIST members own, and sets them to NULL or empty. */
void tp_opts_release(const struct tp_opt *rows, void *base);

/* Checks a table, for tests and plug-ins: members lie within `opts_size` bytes, names are unique,
 * choices and help are there, defaults can be set. TP_EBROKEN names the option. */
int tp_opts_check(const struct tp_opt *rows, size_t opts_size, const char *owner,
                  struct tp_err *err);

/* The candidate (NULL-terminated list) nearest to `word` by edit distance, ignoring case; NULL when
 * none is near enough to be a typing error. */
const char *tp_nearest(const char *word, const char *const *candidates);

#endif
