/* What an address in a program or library is called: its function, file and line, from the debug
 * information, else from the table of symbols. */
#ifndef TP_SYMBOLS_H
#define TP_SYMBOLS_H

#include "alloc/base/err.h"
#include "traces/symbols/cxx_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this tapool can look at all. */
extern const bool tp_symbols_built;

enum tp_symbols_state {
    TP_SYMBOLS_GOOD,
    TP_SYMBOLS_MISSING, /* there is no such file, it cannot be read, or it is no program */
    TP_SYMBOLS_OTHER,   /* it is not the file that was recorded: its build id is another */
    TP_SYMBOLS_FAILED   /* reading it crashed, or took more than it may (naming.h) */
};

struct tp_symbols;

/* Opens a file that has this build id, or, where `id_bytes` is 0, any. *out is NULL unless it is
 * good. */
enum tp_symbols_state tp_symbols_open(const char *path, const unsigned char *id, size_t id_bytes,
                                      struct tp_symbols **out);
void tp_symbols_close(struct tp_symbols *s); /* NULL is fine */

/* A text is valid until the next call, with the same `cxx` or of the same file; NULL: not known. */
struct tp_symbol {
    const char *function; /* as it is written in C++, where that can be told */
    const char *file;
    uint32_t line;
};
struct tp_symbol tp_symbols_find(struct tp_symbols *s, struct tp_cxx_names *cxx, uint64_t address);

#endif
