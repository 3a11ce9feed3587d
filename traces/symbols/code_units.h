/* Which compilation unit of a file has the code at an address. libdw itself looks that up in a
 * table
 * (.debug_aranges) that some compilers leave out, clang among them. */
#ifndef TP_CODE_UNITS_H
#define TP_CODE_UNITS_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stddef.h>

struct tp_unit_range {
    Dwarf_Addr start, end; /* of code, in the file's addresses */
    Dwarf_Die unit;
};

/* Zeroed memory: not looked at yet. */
struct tp_units {
    struct tp_unit_range *ranges; /* owned; by their start, once `found` is true */
    size_t count, room;
    Dwarf_Addr bias; /* of the addresses that dwfl gives */
    bool found;
};

/* The line of the code at an address of dwfl's; NULL: it is not known. */
Dwarf_Line *tp_units_line(struct tp_units *u, Dwfl_Module *module, Dwarf_Addr address);
void tp_units_release(struct tp_units *u);

#endif
