/* Settings of the malloc libraries of this machine: those worth trying, as rows of a table, and
 * those that a user names.
 *
 *     jemalloc:narenas=1|2,dirty_decay_ms=0
 *         -->  LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=narenas:1,dirty_decay_ms:0     and of 2
 *
 * Which names a library knows is read from its own file, as they change with its version. */
#ifndef TP_MALLOC_SETTINGS_H
#define TP_MALLOC_SETTINGS_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { TP_MALLOC_SETTINGS_MAX = 200 };

struct tp_malloc_setting {
    char *library;  /* owned; "glibc", or a name of tp_libraries */
    char *strategy; /* owned; as -s takes it: "lib:jemalloc,env={MALLOC_CONF=narenas:1}" */
    char *paste;    /* owned; what goes before a command; "": nothing, it is the C library */
    size_t keys;    /* 0: the library's defaults */
    bool recorded;  /* the program had it when it was recorded */
    bool asked;     /* a user's grid names it */
};

/* A zeroed list is empty. */
struct tp_malloc_settings {
    struct tp_malloc_setting *items; /* owned */
    size_t count;
};

/* Adds the defaults of each library of this machine, the C library's first, and with `grids` the
 * settings that are usually worth trying; those about threads only for `threads`. */
int tp_malloc_settings_usual(struct tp_malloc_settings *list, bool grids, bool threads,
                             struct tp_err *err);

/* Adds the settings of a grid "LIBRARY:NAME=VALUE|VALUE,NAME=VALUE". TP_EUSAGE: it is no grid, the
 * library is not here, or does not know a name. */
int tp_malloc_settings_add(struct tp_malloc_settings *list, const char *grid, struct tp_err *err);

/* Marks the setting that a recording had, which is added if it is missing: `library` as a trace
 * has it, "libjemalloc.so.2 5.3.0", and its variables "NAME=VALUE NAME=VALUE". Both may be NULL.
 * Marks nothing where the library is not known here. */
int tp_malloc_settings_recorded(struct tp_malloc_settings *list, const char *library,
                                const char *variables, struct tp_err *err);

/* The setting for people: what to paste, or a name. */
const char *tp_malloc_label(const struct tp_malloc_setting *s);

void tp_malloc_settings_release(struct tp_malloc_settings *list);

#endif
