/* See symbols.h. */
#include "traces/symbols/symbols.h"

#include "alloc/base/grow.h"

#include <elf.h>
#include <stdlib.h>

enum { SYMBOLS_MOST = 1 << 23 };

struct code_symbol {
    GElf_Addr start, end; /* end: of its section, where it has no size */
    const char *name;
    int nth;
    unsigned char binding; /* the higher, the better the name */
    bool sized;
};

struct code_symbol_list {
    struct code_symbol *items;
    size_t count, room;
};

/* Where symbols begin at one place, the last of them is taken. */
static int by_start(const void *a, const void *b)
{
    const struct code_symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->sized != y->sized)
        return x->sized ? 1 : -1;
    if (x->binding != y->binding)
        return x->binding < y->binding ? -1 : 1;
    return x->nth < y->nth ? 1 : -1;
}

static unsigned char rank_of(const GElf_Sym *symbol)
{
    static const unsigned char ranks[] = {[STB_LOCAL] = 1, [STB_GLOBAL] = 3, [STB_WEAK] = 2};
    unsigned binding = GELF_ST_BIND(symbol->st_info);
    return binding < sizeof ranks ? ranks[binding] : 0;
}

static bool is_code(const GElf_Sym *symbol, GElf_Word section)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    return section != SHN_UNDEF && type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

/* Bytes from a symbol to the end of its section; 0: it is in none. */
static GElf_Xword left_of_section(Elf *elf, const GElf_Sym *symbol, GElf_Word section)
{
    GElf_Shdr header;
    if (!gelf_getshdr(elf_getscn(elf, section), &header) || symbol->st_value < header.sh_addr)
        return 0;
    GElf_Xword within = symbol->st_value - header.sh_addr;
    return within < header.sh_size ? header.sh_size - within : 0;
}

/* What memory does not hold is not known. */
static bool add_symbol(struct code_symbol_list *all, Dwfl_Module *module, int nth)
{
    GElf_Sym symbol;
    GElf_Addr start = 0, end = 0;
    GElf_Word section = SHN_UNDEF;
    Elf *elf = NULL;
    const char *name = dwfl_module_getsym_info(module, nth, &symbol, &start, &section, &elf, NULL);
    if (!name || !*name || !is_code(&symbol, section))
        return true;
    GElf_Xword size = symbol.st_size ? symbol.st_size : left_of_section(elf, &symbol, section);
    if (__builtin_add_overflow(start, size, &end))
        end = UINT64_MAX;
    if (start == end)
        return true;
    if (TP_GROW(&all->items, &all->room, all->count + 1, NULL, .what = "symbols"))
        return false;
    all->items[all->count++] =
        (struct code_symbol){start, end, name, nth, rank_of(&symbol), symbol.st_size != 0};
    return true;
}

/* A symbol without a size ends where the next one begins, and is none within another. */
static void end_unsized(struct code_symbol_list *all)
{
    GElf_Addr reach = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct code_symbol *s = &all->items[i];
        if (s->sized)
            reach = s->end > reach ? s->end : reach;
        else if (reach > s->start)
            s->end = s->start;
        else if (i + 1 < all->count && s[1].start < s->end)
            s->end = s[1].start;
    }
}

static bool add_piece(struct tp_code_symbols *s, GElf_Addr start, GElf_Addr end, const char *name)
{
    if (start >= end)
        return true;
    if (TP_GROW(&s->pieces, &s->room, s->count + 1, NULL, .what = "symbols"))
        return false;
    s->pieces[s->count++] = (struct tp_code_piece){start, end, name};
    return true;
}

/* Goes through the symbols by address, with those that are open on a stack, which lies where the
 * symbols were that are done. `at` is the end of the last piece. */
static void cut_pieces(struct tp_code_symbols *s, struct code_symbol *symbols, size_t count)
{
    size_t depth = 0;
    GElf_Addr at = 0;
    bool room = true;
    for (size_t i = 0; room && i <= count; i++) {
        GElf_Addr start = i < count ? symbols[i].start : UINT64_MAX;
        for (; room && depth && symbols[depth - 1].end <= start; depth--) {
            const struct code_symbol *top = &symbols[depth - 1];
            room = add_piece(s, at, top->end, top->name);
            at = top->end > at ? top->end : at;
        }
        if (room && depth)
            room = add_piece(s, at, start, symbols[depth - 1].name);
        at = start;
        if (i < count)
            symbols[depth++] = symbols[i];
    }
}

static void find_symbols(struct tp_code_symbols *s, Dwfl_Module *module)
{
    struct code_symbol_list all = {0};
    int count = dwfl_module_getsymtab(module);
    s->found = true;
    for (int i = 0; i < count && i < SYMBOLS_MOST; i++)
        if (!add_symbol(&all, module, i))
            break;
    if (all.count)
        qsort(all.items, all.count, sizeof *all.items, by_start);
    end_unsized(&all);
    cut_pieces(s, all.items, all.count);
    TP_GROW_END(&all.items, &all.room, .what = "symbols");
}

const char *tp_code_symbols_name(struct tp_code_symbols *s, Dwfl_Module *module, GElf_Addr address)
{
    if (!s->found)
        find_symbols(s, module);
    size_t low = 0, high = s->count;
    while (low < high) { /* the first piece that begins behind the address */
        size_t middle = low + (high - low) / 2;
        if (s->pieces[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < s->pieces[low - 1].end ? s->pieces[low - 1].name : NULL;
}

void tp_code_symbols_release(struct tp_code_symbols *s)
{
    TP_GROW_END(&s->pieces, &s->room, .what = "symbols");
}
