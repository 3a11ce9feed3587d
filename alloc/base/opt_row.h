/* Options as data rows. One row serves the parser, the range check, --help and the list of options
 * in a report. This header is installed: its layout is part of the interface for plug-ins.
 *
 *   struct arena_opts { uint64_t arena_size; uint32_t classes; };
 *   static const char *const classes[] = {"fine", "coarse6", NULL};
 *   static const struct tp_opt rows[] = {
 *       TP_SIZE_ROW(struct arena_opts, arena_size, .def = "64MiB", .min = 4096,
 *                   .help = "largest source range"),
 *       TP_CHOICE_ROW(struct arena_opts, classes, .def = "fine", .choices = classes,
 *                     .arg = "TABLE", .help = "the table of size classes"),
 *       {.name = NULL}}; */
#ifndef TP_OPT_ROW_H
#define TP_OPT_ROW_H

#include "alloc/base/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TP_API_BEGIN

/* Type of an option. Each value names the C type of the member at `offset`. */
enum tp_opt_type {
    TP_OPT_FLAG,     /* bool: yes/no, on/off, true/false, 1/0; as a bare word: yes */
    TP_OPT_UINT,     /* uint64_t */
    TP_OPT_SIZE,     /* uint64_t, bytes; 64MiB */
    TP_OPT_DURATION, /* uint64_t, nanoseconds; 50us */
    TP_OPT_CHOICE,   /* uint32_t, index into `choices` */
    TP_OPT_REAL,     /* double, above 0 */
    TP_OPT_SHARE,    /* double, above 0 and below `max`; written as 5% or 0.05 */
    /* uint32_t, a bit for each of `choices`; the value names some of them, separated by commas */
    TP_OPT_SET,
    TP_OPT_TEXT, /* char *, owned by the option struct (tp_opts_release), NULL when unset */
    /* struct tp_opt_list: may be given more than once; values are from `choices` if these are set
     */
    TP_OPT_LIST
};

/* Who may set an option; each value is stricter than the one before. An option that runs a program,
 * or writes or names a file, must be set by the user: a configuration file found in a folder may
 * have been written by somebody else. */
enum tp_opt_from {
    TP_OPT_ANYWHERE, /* also a configuration file that was found */
    TP_OPT_USER,     /* the command line, the environment, a file that the environment names */
    TP_OPT_CALL,     /* only the command line */
    /* only the command line, and a value from elsewhere is an error of the command: what decides
     * whether a gate passes */
    TP_OPT_TYPED
};

/* The heading under which --help lists an option of a command. */
enum tp_opt_group {
    TP_GROUP_OTHER,
    TP_GROUP_TRACES,
    TP_GROUP_STRATEGIES,
    TP_GROUP_DEVICE,
    TP_GROUP_MEASURING,
    TP_GROUP_OUTPUT,
    TP_GROUP_LIMITS,
    TP_OPT_GROUPS
};

/* Which help pages of a command list an option: --help and --help-all; -h too; --help-all alone. */
enum tp_opt_listed { TP_LISTED, TP_LISTED_FIRST, TP_LISTED_LAST };

struct tp_opt_list {
    char **items; /* owned */
    size_t count;
};

/* A number may have keywords such as `auto`: with `choices` set on UINT, SIZE or DURATION, the i-th
 * word is read as this value, which min and max do not limit. */
#define TP_OPT_KEYWORD(i) (UINT64_MAX - (uint64_t)(i))

/* A table ends with a row whose name is NULL. */
struct tp_opt {
    const char *name; /* name, as written in key=value or after -- */
    char letter;      /* -x on the command line, or 0 */
    enum tp_opt_type type;
    enum tp_opt_from from;
    size_t offset;              /* of the member in the option struct */
    const char *def;            /* default as text; NULL: unset (TEXT, LIST) or no/0 */
    uint64_t min, max;          /* for UINT, SIZE and DURATION; both inclusive; max 0: no limit */
    const char *const *choices; /* NULL-terminated words */
    const char *arg;            /* what --help calls the value: SIZE, N, FILE; NULL for flags */
    /* A few words, lower case. For an option of a command the first line says what it does, in
     * --help; further ones are its details, in --help-all. */
    const char *help;
    /* The value may stand first in the text of tp_opts_parse without the name, as in
     * "./mine.so,key=value". Only the first row of a table, and no FLAG, SET or LIST. */
    bool bare;

    /* who may set this value, where that is stricter than `from` for some; NULL: it never is */
    enum tp_opt_from (*value_from)(const char *value);

    /* How the option relates to others of the table (cmd/cli/config_pairs.c). Names are separated
     * by blanks. */
    const char *excludes; /* options that contradict this one; named in one row of the two */
    /* the option that this one requires: "update", or with a value: "occupy spin" */
    const char *needs;
    const char *same; /* the option and value that the flag stands for: "format json" */

    enum tp_opt_group group;
    enum tp_opt_listed listed;
};

TP_API_END

/* A row by type: the option's name, the offset of its member, then further members of struct
 * tp_opt. */
#define TP_OPT_AT(label, row_type, at, ...)                                                        \
    {                                                                                              \
        .name = label, .type = row_type, .offset = (at), __VA_ARGS__                               \
    }
#define TP_FLAG_AT(label, at, ...)   TP_OPT_AT(label, TP_OPT_FLAG, at, __VA_ARGS__)
#define TP_UINT_AT(label, at, ...)   TP_OPT_AT(label, TP_OPT_UINT, at, .arg = "N", __VA_ARGS__)
#define TP_SIZE_AT(label, at, ...)   TP_OPT_AT(label, TP_OPT_SIZE, at, .arg = "SIZE", __VA_ARGS__)
#define TP_TIME_AT(label, at, ...)   TP_OPT_AT(label, TP_OPT_DURATION, at, .arg = "TIME", __VA_ARGS__)
#define TP_CHOICE_AT(label, at, ...) TP_OPT_AT(label, TP_OPT_CHOICE, at, __VA_ARGS__)
#define TP_REAL_AT(label, at, ...)   TP_OPT_AT(label, TP_OPT_REAL, at, __VA_ARGS__)
#define TP_SHARE_AT(label, at, ...)  TP_OPT_AT(label, TP_OPT_SHARE, at, __VA_ARGS__)
#define TP_SET_AT(label, at, ...)    TP_OPT_AT(label, TP_OPT_SET, at, .arg = "LIST", __VA_ARGS__)
#define TP_TEXT_AT(label, at, ...)   TP_OPT_AT(label, TP_OPT_TEXT, at, __VA_ARGS__)
#define TP_LIST_AT(label, at, ...)   TP_OPT_AT(label, TP_OPT_LIST, at, __VA_ARGS__)
#define TP_FILE_AT(label, at, ...)   /* a file that is written, or read unasked */                 \
    TP_TEXT_AT(label, at, .from = TP_OPT_USER, .arg = "FILE", __VA_ARGS__)

/* Members of the row of a command's option: TP_IN(TRACES), TP_FIRST(TRACES), TP_LAST(TRACES). */
#define TP_IN(the_group)    .group = TP_GROUP_##the_group
#define TP_FIRST(the_group) TP_IN(the_group), .listed = TP_LISTED_FIRST
#define TP_LAST(the_group)  TP_IN(the_group), .listed = TP_LISTED_LAST

/* A row by type for an option that has the name of its member. */
#define TP_FLAG_ROW(opts, member, ...)   TP_FLAG_AT(#member, offsetof(opts, member), __VA_ARGS__)
#define TP_UINT_ROW(opts, member, ...)   TP_UINT_AT(#member, offsetof(opts, member), __VA_ARGS__)
#define TP_SIZE_ROW(opts, member, ...)   TP_SIZE_AT(#member, offsetof(opts, member), __VA_ARGS__)
#define TP_TIME_ROW(opts, member, ...)   TP_TIME_AT(#member, offsetof(opts, member), __VA_ARGS__)
#define TP_CHOICE_ROW(opts, member, ...) TP_CHOICE_AT(#member, offsetof(opts, member), __VA_ARGS__)

#endif
