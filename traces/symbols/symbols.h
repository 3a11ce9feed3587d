/* What an address in a program or library is called: its function, file and line, from the debug
 * information, else from the table of symbols. */
#ifndef TP_SYMBOLS_H
#define TP_SYMBOLS_H

#include "alloc/base/err.h"

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of C++ in words, by the C++ library where the machine has one; it is loaded for the first
 * such name. A part of such a name that came before is a few bytes in it, and all of its words in
 * what becomes of it: a short name can stand for gigabytes. Names that could are left alone. */

#define TP_CXX_STEPS ((uint64_t)1 << 26) /* the most that a name may take */

#define TP_CXX_BYTES 40 /* the most that a step writes: "Ss" is std::basic_string<char, .. */

/* No fewer steps than it takes to write the name out; above TP_CXX_STEPS: some number above. */
uint64_t tp_cxx_steps(const char *name);

/* All zero to begin with. */
struct tp_cxx_names {
    bool asked;
    void *library;
    char *(*demangle)(const char *name, char *room, size_t *size, int *status);
    char *words;
    int64_t spent_ns; /* of processor time */
};

/* The name in words, valid until the next call; the name itself where there are none. */
const char *tp_cxx_words(struct tp_cxx_names *n, const char *name);
void tp_cxx_close(struct tp_cxx_names *n);

/* What the code at an address of a file is called in its tables of symbols. libdw goes through all
 * symbols for each address; here they are sorted once.
 *
 *     symbols   |---- parse ----|   |- grow -|  _start (no size)
 *                    |- cold -|
 *     pieces    | p |  cold   |p|   |  grow  |  | _start, up to the next symbol
 */

struct tp_code_piece {
    GElf_Addr start, end; /* in the addresses that dwfl gives */
    const char *name;     /* of the file */
};

/* Zeroed memory: not looked at yet. */
struct tp_code_symbols {
    struct tp_code_piece *pieces; /* owned; by address, and none overlaps another */
    size_t count, room;
    bool found;
};

/* The symbol around an address: where several are, the one that begins last. One without a size
 * reaches to the next, within its section. NULL: there is none. */
const char *tp_code_symbols_name(struct tp_code_symbols *s, Dwfl_Module *module, GElf_Addr address);
void tp_code_symbols_release(struct tp_code_symbols *s);

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
