/* The malloc libraries of this machine: known names, and the files that they stand for. Nothing
 * here loads a library: its constructors would run in tapool. */
#ifndef TP_LIBRARIES_H
#define TP_LIBRARIES_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A library that people use as their malloc. */
struct tp_library {
    const char *name;             /* as in lib:NAME */
    const char *const sonames[6]; /* its files, the one to take first */
};

extern const struct tp_library tp_libraries[]; /* ends with a NULL name */

enum { TP_LIBRARY_PATH = 4096, TP_LIBRARIES_MAX = 16 };

/* The file of a library, in `path` (TP_LIBRARY_PATH bytes). `given` is a path, which contains a
 * slash and is taken as it stands, or a name: one of tp_libraries, or X of libX.so. TP_EUSAGE:
 * there is none. A file that is given by its path is not looked into. */
int tp_library_find(const char *given, char *path, struct tp_err *err);

/* Lists the known libraries that are on this machine, each file once; returns how many, at most
 * TP_LIBRARIES_MAX. */
size_t tp_libraries_here(const struct tp_library *out[TP_LIBRARIES_MAX]);

/* The version of a library from what its process said of it, as "libjemalloc.so.2 5.3.0", or else
 * from the end of its file's name; "" where neither tells. */
const char *tp_library_version(const char *library);

/* Whether the file is a shared library for this machine that has a malloc. TP_EINPUT: it is not, or
 * has none. */
int tp_library_check(const char *path, struct tp_err *err);

#endif
