/* Options that depend on each other, as their rows say: `excludes`, `needs` and `same`.
 *
 * Of two options that exclude each other, the one from the higher level counts and the other is
 * reset. So TAPOOL_REPAIR=yes in the environment of a job does not break a call with `--strict`.
 * Two such options from the same level contradict each other, which is an error. */
#include "cmd/cli/config.h"

#include <string.h>

enum { NAME_SIZE = 32, VALUE_SIZE = 320 };

/* Copies the first word to `name` and returns the rest of the words. */
static const char *take_word(const char *words, char name[NAME_SIZE])
{
    size_t length = strcspn(words, " ");
    snprintf(name, NAME_SIZE, "%.*s", (int)length, words);
    return words + length + strspn(words + length, " ");
}

/* Takes the next name and returns its row; NULL: this command has no such option. */
static const struct tp_opt *next_row(const struct tp_opt *rows, const char **names)
{
    char name[NAME_SIZE];
    *names = take_word(*names, name);
    return tp_opt_find(rows, name);
}

/* ---- levels ---- */

int tp_config_forget(const struct tp_opt *row, void *opts, struct tp_origin *origin,
                     struct tp_err *err)
{
    *origin = (struct tp_origin){.level = TP_LEVEL_DEFAULT};
    return tp_opt_reset(row, opts, err);
}

/* Whether the option takes part in an exclusion: it was set, and it is no flag that is off. */
static bool speaks(const struct tp_opt *row, const void *opts, const struct tp_origin *origin)
{
    return origin->level != TP_LEVEL_DEFAULT &&
           (row->type != TP_OPT_FLAG || tp_opt_differs(row, opts));
}

static int settle_pair(const struct tp_opt *rows, const struct tp_opt *a, const struct tp_opt *b,
                       void *opts, struct tp_origin *origins, struct tp_err *err)
{
    if (!b)
        return TP_OK;
    struct tp_origin *of_a = &origins[a - rows], *of_b = &origins[b - rows];
    if (!speaks(a, opts, of_a) || !speaks(b, opts, of_b) || of_a->level == of_b->level)
        return TP_OK;
    bool lower = of_a->level < of_b->level;
    return tp_config_forget(lower ? a : b, opts, lower ? of_a : of_b, err);
}

int tp_config_settle(const struct tp_opt *rows, void *opts, struct tp_origin *origins,
                     struct tp_err *err)
{
    int status = TP_OK;
    for (const struct tp_opt *row = rows; row && row->name && !status; row++) {
        const char *same = row->same;
        if (same)
            status = settle_pair(rows, row, next_row(rows, &same), opts, origins, err);
        for (const char *names = row->excludes; names && *names && !status;)
            status = settle_pair(rows, row, next_row(rows, &names), opts, origins, err);
    }
    return status;
}

/* ---- contradictions ---- */

/* Whether a condition such as "format json" is met. A condition without a value, such as "repair",
 * is met if the option does not have its default. */
static bool holds(const struct tp_opt *rows, const char *words, const void *opts)
{
    char now[VALUE_SIZE];
    const char *value = words;
    const struct tp_opt *row = next_row(rows, &value);
    if (!row || !*value)
        return row && tp_opt_differs(row, opts);
    tp_opt_format(row, opts, now, sizeof now);
    return !strcmp(now, value);
}

static int set_same(const struct tp_opt *rows, const struct tp_opt *row, void *opts,
                    struct tp_err *err)
{
    char now[VALUE_SIZE];
    const char *value = row->same;
    const struct tp_opt *other = next_row(rows, &value);
    if (!tp_opt_differs(row, opts) || holds(rows, row->same, opts))
        return TP_OK;
    if (!tp_opt_differs(other, opts))
        return tp_opt_set(other, opts, value, err);
    tp_opt_format(other, opts, now, sizeof now);
    return tp_fail(err, TP_EUSAGE, "--%s and --%s %s exclude each other", row->name, other->name,
                   now);
}

static int check_excludes(const struct tp_opt *rows, const struct tp_opt *row, const void *opts,
                          struct tp_err *err)
{
    for (const char *names = row->excludes; names && *names && tp_opt_differs(row, opts);) {
        const struct tp_opt *other = next_row(rows, &names);
        if (other && tp_opt_differs(other, opts))
            return tp_fail(err, TP_EUSAGE, "--%s and --%s exclude each other", row->name,
                           other->name);
    }
    return TP_OK;
}

int tp_config_agree(const struct tp_opt *rows, void *opts, struct tp_origin *origins,
                    struct tp_err *err)
{
    int status = TP_OK;
    for (const struct tp_opt *row = rows; row && row->name && !status; row++)
        status = row->same ? set_same(rows, row, opts, err) : TP_OK;
    for (const struct tp_opt *row = rows; row && row->name && !status; row++) {
        struct tp_origin *origin = &origins[row - rows];
        if (!row->needs || origin->level == TP_LEVEL_DEFAULT || holds(rows, row->needs, opts))
            continue;
        status = origin->level == TP_LEVEL_FLAG
                     ? tp_fail(err, TP_EUSAGE, "--%s goes with --%s", row->name, row->needs)
                     : tp_config_forget(row, opts, origin, err);
    }
    for (const struct tp_opt *row = rows; row && row->name && !status; row++)
        status = check_excludes(rows, row, opts, err);
    return status;
}
