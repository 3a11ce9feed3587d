/* See elf_file.h. Only what is needed to find one symbol is read:
 *
 *     header --> sections --> .dynsym, its names --> symbol --> the section that holds its bytes
 *
 * Every number of the file is checked against its size before it is used. Known weakness: a library
 * whose sections were stripped has symbols all the same, but then they are not known here. */
#include "cmd/jobs/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OWN_MACHINE EM_S390
#else
#define OWN_MACHINE EM_NONE /* any machine passes here; the dynamic linker refuses a wrong one */
#endif

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258 /* glibc has it since 2.36 */
#endif

static const struct {
    unsigned machine;
    const char *name;
} machines[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"},    {EM_386, "i386"},
                {EM_ARM, "arm"},       {EM_RISCV, "riscv"},        {EM_PPC64, "ppc64"},
                {EM_S390, "s390"},     {EM_LOONGARCH, "loongarch"}};

enum { SYMBOL_CHUNK = 256, NAME_MAX_BYTES = 256 };

/* A file that is open, and its size. */
struct elf_bytes {
    int fd;
    uint64_t size;
};

static const char *machine_name(unsigned machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].machine == machine)
            return machines[i].name;
    return "an unknown one";
}

/* Reads exactly `size` bytes. */
static bool read_at(const struct elf_bytes *f, uint64_t at, void *out, size_t size)
{
    if (at > f->size || size > f->size - at)
        return false;
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(f->fd, (char *)out + done, size - done, (off_t)(at + done));
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

int tp_hint_home(struct tp_err *err, int status, const char *path)
{
    return path[0] == '~'
               ? tp_hint(err, status, "a shell replaces ~ only where a word begins: write $HOME%s",
                         path + 1)
               : status;
}

static int open_file(const char *path, const char *what, struct elf_bytes *f, struct tp_err *err)
{
    struct stat st;
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (f->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return tp_hint_home(err, tp_fail(err, TP_EINPUT, "%s is not there", what), path);
    if (f->fd < 0 || fstat(f->fd, &st))
        return tp_fail(err, TP_EINPUT, "%s cannot be read: %s", what, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return tp_fail(err, TP_EINPUT, "%s is not a regular file", what);
    f->size = (uint64_t)st.st_size;
    return TP_OK;
}

/* A library for this processor whose addresses are of another size (x32). `e_machine` lies at the
 * same place in files of 32 bits. */
static int fail_class(const Elf64_Ehdr *h, const char *what, struct tp_err *err)
{
    const char *name = machine_name(h->e_machine);
    if (h->e_ident[EI_CLASS] == ELFCLASS32)
        return tp_fail(err, TP_EINPUT,
                       "%s is for programs of 32 bits on %s%s, this one has 64 bits", what, name,
                       h->e_machine == EM_X86_64 ? " (x32)" : "");
    return tp_fail(err, TP_EINPUT, "%s is of a class that ELF does not have", what);
}

static const char *type_name(unsigned type)
{
    if (type == ET_REL)
        return "an object file";
    return type == ET_EXEC ? "a program" : "another kind of file";
}

static int check_header(const Elf64_Ehdr *h, const char *what, struct tp_err *err)
{
    const unsigned own_data = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if (h->e_ident[EI_DATA] != own_data || (OWN_MACHINE != EM_NONE && h->e_machine != OWN_MACHINE))
        return tp_fail(err, TP_EINPUT, "%s is for another machine: %s, this one is %s", what,
                       h->e_ident[EI_DATA] == own_data ? machine_name(h->e_machine)
                                                       : "of another byte order",
                       OWN_MACHINE == EM_NONE ? "another" : machine_name(OWN_MACHINE));
    if (h->e_ident[EI_CLASS] != ELFCLASS64)
        return fail_class(h, what, err);
    if (h->e_type != ET_DYN)
        return tp_hint(
            err, tp_fail(err, TP_EINPUT, "%s is %s, no shared library", what, type_name(h->e_type)),
            "link it with -shared");
    return TP_OK;
}

/* The segments that are loaded must be there: the dynamic linker maps what is not, and dies of it.
 */
static int check_segments(const struct elf_bytes *f, const Elf64_Ehdr *h, const char *what,
                          struct tp_err *err)
{
    for (unsigned i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        if (h->e_phentsize != sizeof p || h->e_phoff > f->size ||
            !read_at(f, h->e_phoff + i * sizeof p, &p, sizeof p) ||
            (p.p_type == PT_LOAD && (p.p_offset > f->size || p.p_filesz > f->size - p.p_offset)))
            return tp_fail(err, TP_EINPUT, "%s is cut off: it has %llu bytes", what,
                           (unsigned long long)f->size);
    }
    return TP_OK;
}

/* The sections of the file, in new memory; NULL: it has none that can be read. */
static Elf64_Shdr *read_sections(const struct elf_bytes *f, const Elf64_Ehdr *h)
{
    size_t size = (size_t)h->e_shnum * sizeof(Elf64_Shdr);
    Elf64_Shdr *list = h->e_shnum && h->e_shentsize == sizeof(Elf64_Shdr) ? malloc(size) : NULL;
    if (list && read_at(f, h->e_shoff, list, size))
        return list;
    free(list);
    return NULL;
}

static bool is_named(const struct elf_bytes *f, const Elf64_Shdr *names, const Elf64_Sym *s,
                     const char *name)
{
    char text[NAME_MAX_BYTES];
    size_t size = strlen(name) + 1;
    return size <= sizeof text && s->st_name < names->sh_size &&
           size <= names->sh_size - s->st_name &&
           read_at(f, names->sh_offset + s->st_name, text, size) && !memcmp(text, name, size);
}

static bool is_exported(const Elf64_Sym *s)
{
    unsigned bind = ELF64_ST_BIND(s->st_info), type = ELF64_ST_TYPE(s->st_info);
    return s->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK) && type != STT_TLS;
}

/* More symbols than any library has: a sparse file could name so many that the search never ends.
 */
enum { SYMBOLS_MOST = 1 << 24 };

/* Looks through a table of symbols. False: it cannot be read. */
static bool find_symbol(const struct elf_bytes *f, const Elf64_Shdr *table, const Elf64_Shdr *names,
                        const char *name, Elf64_Sym *found, bool *there)
{
    Elf64_Sym chunk[SYMBOL_CHUNK];
    uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    if (table->sh_entsize != sizeof(Elf64_Sym) || count > SYMBOLS_MOST ||
        table->sh_offset > f->size || table->sh_size > f->size - table->sh_offset ||
        names->sh_offset > f->size)
        return false;
    for (uint64_t at = 0; at < count && !*there; at += SYMBOL_CHUNK) {
        size_t n = count - at < SYMBOL_CHUNK ? (size_t)(count - at) : SYMBOL_CHUNK;
        if (!read_at(f, table->sh_offset + at * sizeof *chunk, chunk, n * sizeof *chunk))
            return false;
        for (size_t i = 0; i < n && !*there; i++)
            if (is_exported(&chunk[i]) && is_named(f, names, &chunk[i], name)) {
                *found = chunk[i];
                *there = true;
            }
    }
    return true;
}

/* Copies the first bytes of a symbol; returns how many there are in the file. */
static size_t read_symbol(const struct elf_bytes *f, const Elf64_Shdr *sections, unsigned count,
                          const Elf64_Sym *s, void *data, size_t size)
{
    size_t wanted = s->st_size < size ? (size_t)s->st_size : size;
    if (s->st_shndx >= count)
        return 0;
    const Elf64_Shdr *in = &sections[s->st_shndx];
    uint64_t offset = s->st_value - in->sh_addr;
    bool held = in->sh_type == SHT_PROGBITS && s->st_value >= in->sh_addr &&
                offset <= in->sh_size && wanted <= in->sh_size - offset &&
                in->sh_offset <= UINT64_MAX - offset;
    return held && read_at(f, in->sh_offset + offset, data, wanted) ? wanted : 0;
}

static void look_for(const struct elf_bytes *f, const Elf64_Ehdr *h, const char *symbol, void *data,
                     size_t size, struct tp_elf_symbol *out)
{
    Elf64_Shdr *sections = read_sections(f, h);
    for (unsigned i = 0; sections && i < h->e_shnum && !out->known; i++) {
        const Elf64_Shdr *table = &sections[i];
        Elf64_Sym found;
        if (table->sh_type != SHT_DYNSYM || table->sh_link >= h->e_shnum)
            continue;
        out->known = find_symbol(f, table, &sections[table->sh_link], symbol, &found, &out->there);
        if (out->known && out->there)
            out->size = read_symbol(f, sections, h->e_shnum, &found, data, size);
    }
    free(sections);
}

int tp_elf_look(const char *path, const char *what, const char *symbol, void *data, size_t size,
                struct tp_elf_symbol *out, struct tp_err *err)
{
    struct elf_bytes f = {.fd = -1};
    Elf64_Ehdr h;
    *out = (struct tp_elf_symbol){.known = false};
    int status = open_file(path, what, &f, err);
    if (!status && (!read_at(&f, 0, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0))
        status = tp_fail(err, TP_EINPUT, "%s is not a shared library", what);
    if (!status)
        status = check_header(&h, what, err);
    if (!status)
        status = check_segments(&f, &h, what, err);
    if (!status)
        look_for(&f, &h, symbol, data, size, out);
    if (f.fd >= 0)
        close(f.fd);
    return status;
}
