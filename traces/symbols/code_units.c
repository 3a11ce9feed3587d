/* See code_units.h. */
#include "traces/symbols/code_units.h"

#include "alloc/base/grow.h"

#include <stdlib.h>

enum { RANGES_MOST = 1 << 20 };

static int by_start(const void *a, const void *b)
{
    const struct tp_unit_range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* What memory does not hold is not known. */
static bool add_range(struct tp_units *u, Dwarf_Addr start, Dwarf_Addr end, const Dwarf_Die *unit)
{
    if (start >= end)
        return true;
    if (u->count == RANGES_MOST ||
        TP_GROW(&u->ranges, &u->room, u->count + 1, NULL, .what = "units of code"))
        return false;
    u->ranges[u->count++] = (struct tp_unit_range){start, end, *unit};
    return true;
}

static void find_units(struct tp_units *u, Dwfl_Module *module)
{
    Dwarf *dwarf = dwfl_module_getdwarf(module, &u->bias);
    Dwarf_Addr bias = 0, base = 0, start = 0, end = 0;
    bool room = true;
    u->found = true;
    for (Dwarf_Die *unit = NULL; dwarf && room && (unit = dwfl_module_nextcu(module, unit, &bias));)
        for (ptrdiff_t at = 0; room && (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0;)
            room = add_range(u, start, end, unit);
    if (u->count)
        qsort(u->ranges, u->count, sizeof *u->ranges, by_start);
}

Dwarf_Line *tp_units_line(struct tp_units *u, Dwfl_Module *module, Dwarf_Addr address)
{
    if (!u->found)
        find_units(u, module);
    Dwarf_Addr at = address - u->bias;
    size_t low = 0, high = u->count;
    while (low < high) { /* the first range that begins behind the address */
        size_t middle = low + (high - low) / 2;
        if (u->ranges[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || at >= u->ranges[low - 1].end)
        return NULL;
    return dwarf_getsrc_die(&u->ranges[low - 1].unit, at);
}

void tp_units_release(struct tp_units *u)
{
    TP_GROW_END(&u->ranges, &u->room, .what = "units of code");
}
