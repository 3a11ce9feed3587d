/* What the code at an address of a file is called in its tables of symbols. libdw goes through all
 * symbols for each address; here they are sorted once.
 *
 *     symbols   |---- parse ----|   |- grow -|  _start (no size)
 *                    |- cold -|
 *     pieces    | p |  cold   |p|   |  grow  |  | _start, up to the next symbol
 */
#ifndef TP_CODE_SYMBOLS_H
#define TP_CODE_SYMBOLS_H

#include <elfutils/libdwfl.h>
#include <stddef.h>

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

#endif
