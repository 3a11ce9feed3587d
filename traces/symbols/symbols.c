/* See symbols.h. libdw reads the files, and finds debug information that lies apart by its build id
 * (/usr/lib/debug/.build-id); no server is asked.
 *
 * Known weakness: of functions that were inlined only the one that they are in is named, with the
 * line of the innermost. */
#include "traces/symbols/symbols.h"

#include "alloc/base/ascending.h"
#include "alloc/base/grow.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- code units ---- */

/* Which compilation unit of a file has the code at an address. libdw itself looks that up in a
 * table
 * (.debug_aranges) that some compilers leave out, clang among them. */

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

enum { RANGES_MOST = 1 << 20 };

static int by_start(const void *a, const void *b)
{
    const struct tp_unit_range *x = a, *y = b;
    return tp_order(x->start, y->start);
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

static void units_release(struct tp_units *u)
{
    TP_GROW_END(&u->ranges, &u->room, .what = "units of code");
}

const bool tp_symbols_built = true;

struct tp_symbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    struct tp_units units;
    struct tp_code_symbols symbols;
    GElf_Addr bias; /* of the addresses that dwfl gives to the file */
    char *name;     /* of the last symbol, without its version */
};

/* Only a regular file is looked at, for a pipe or a device would be waited for; and only one that
 * is ELF itself, for libdw would unpack others. */
static int open_elf(const char *path)
{
    struct stat st;
    char magic[SELFMAG];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 &&
        (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || pread(fd, magic, SELFMAG, 0) != SELFMAG ||
         memcmp(magic, ELFMAG, SELFMAG) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool has_id(Dwfl_Module *module, const unsigned char *id, size_t id_bytes)
{
    const unsigned char *found = NULL;
    GElf_Addr at = 0;
    int bytes = dwfl_module_build_id(module, &found, &at);
    return !id_bytes || (bytes > 0 && (size_t)bytes == id_bytes && !memcmp(found, id, id_bytes));
}

enum tp_symbols_state tp_symbols_open(const char *path, const unsigned char *id, size_t id_bytes,
                                      struct tp_symbols **out)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_build_id_find_debuginfo,
                                             .section_address = dwfl_offline_section_address};
    struct tp_symbols *s = calloc(1, sizeof *s);
    int fd = s ? open_elf(path) : -1;
    enum tp_symbols_state state = TP_SYMBOLS_MISSING;
    *out = NULL;
    if (fd >= 0)
        s->dwfl = dwfl_begin(&callbacks);
    if (s && s->dwfl)
        s->module = dwfl_report_offline(s->dwfl, path, path, fd);
    if (fd >= 0 && !(s->dwfl && s->module))
        close(fd); /* else it is the module's */
    if (s && s->module) {
        dwfl_report_end(s->dwfl, NULL, NULL);
        if (dwfl_module_getelf(s->module, &s->bias))
            state = has_id(s->module, id, id_bytes) ? TP_SYMBOLS_GOOD : TP_SYMBOLS_OTHER;
    }
    if (state == TP_SYMBOLS_GOOD)
        *out = s;
    else
        tp_symbols_close(s);
    return state;
}

void tp_symbols_close(struct tp_symbols *s)
{
    if (!s)
        return;
    units_release(&s->units);
    tp_code_symbols_release(&s->symbols);
    if (s->dwfl)
        dwfl_end(s->dwfl);
    free(s->name);
    free(s);
}

/* A name of C++ in words; any other without its version ("@@GLIBC_2.34"). */
static const char *in_words(struct tp_symbols *s, struct tp_cxx_names *cxx, const char *name)
{
    size_t plain = strcspn(name, "@");
    if (!name[plain])
        return tp_cxx_words(cxx, name);
    free(s->name);
    s->name = strndup(name, plain);
    return s->name ? s->name : name;
}

struct tp_symbol tp_symbols_find(struct tp_symbols *s, struct tp_cxx_names *cxx, uint64_t address)
{
    struct tp_symbol found = {0};
    Dwarf_Addr at = address + s->bias;
    int line = 0;
    const char *name = tp_code_symbols_name(&s->symbols, s->module, at);
    Dwarf_Line *info = tp_units_line(&s->units, s->module, at);
    if (name)
        found.function = in_words(s, cxx, name);
    found.file = info ? dwarf_linesrc(info, NULL, NULL) : NULL;
    found.line = info && !dwarf_lineno(info, &line) && line > 0 ? (uint32_t)line : 0;
    return found;
}
