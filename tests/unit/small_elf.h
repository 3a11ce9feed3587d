/* A library of a few pages that is written here: code, and a table of symbols. */
#ifndef TP_SMALL_ELF_H
#define TP_SMALL_ELF_H

#include <assert.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CODE_AT = 0x1000, CODE_BYTES = 0x1000, ELF_SYMBOLS = 256, ELF_NAMES = 4096 };

struct small_elf {
    Elf64_Ehdr head;
    Elf64_Phdr code;
    Elf64_Shdr sections[4]; /* none, .text, .symtab, .strtab; their names are none */
    Elf64_Sym symbols[ELF_SYMBOLS];
    char names[ELF_NAMES];
    size_t count, used;
};

static inline void begin_elf(struct small_elf *e)
{
    memset(e, 0, sizeof *e);
    memcpy(e->head.e_ident, ELFMAG, SELFMAG);
    e->head.e_ident[EI_CLASS] = ELFCLASS64;
    e->head.e_ident[EI_DATA] = ELFDATA2LSB;
    e->head.e_ident[EI_VERSION] = EV_CURRENT;
    e->head.e_type = ET_DYN;
    e->head.e_machine = EM_X86_64;
    e->head.e_version = EV_CURRENT;
    e->head.e_ehsize = sizeof e->head;
    e->head.e_phoff = offsetof(struct small_elf, code);
    e->head.e_phentsize = sizeof e->code;
    e->head.e_phnum = 1;
    e->head.e_shoff = offsetof(struct small_elf, sections);
    e->head.e_shentsize = sizeof e->sections[0];
    e->head.e_shnum = 4;
    e->head.e_shstrndx = 3;
    e->code = (Elf64_Phdr){.p_type = PT_LOAD,
                           .p_flags = PF_R | PF_X,
                           .p_memsz = CODE_AT + CODE_BYTES,
                           .p_filesz = CODE_AT,
                           .p_align = 0x1000};
    e->sections[1] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
                                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                  .sh_addr = CODE_AT,
                                  .sh_size = CODE_BYTES};
    e->count = e->used = 1;
}

static inline void add_elf_symbol(struct small_elf *e, const char *name, uint64_t at, uint64_t size,
                                  unsigned binding)
{
    size_t bytes = strlen(name) + 1;
    assert(e->count < ELF_SYMBOLS && e->used + bytes <= ELF_NAMES);
    memcpy(e->names + e->used, name, bytes);
    e->symbols[e->count++] = (Elf64_Sym){.st_name = (Elf64_Word)e->used,
                                         .st_info = (unsigned char)ELF64_ST_INFO(binding, STT_FUNC),
                                         .st_shndx = 1,
                                         .st_value = CODE_AT + at,
                                         .st_size = size};
    e->used += bytes;
}

/* Writes it to a file in memory, whose path is put into `path`. The descriptor is to be closed. */
static inline int end_elf(struct small_elf *e, char *path, size_t size)
{
    e->sections[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                  .sh_offset = offsetof(struct small_elf, symbols),
                                  .sh_size = e->count * sizeof e->symbols[0],
                                  .sh_link = 3,
                                  .sh_info = 1,
                                  .sh_entsize = sizeof e->symbols[0]};
    e->sections[3] = (Elf64_Shdr){
        .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct small_elf, names), .sh_size = e->used};
    int fd = memfd_create("small", MFD_CLOEXEC);
    bool written = fd >= 0 && write(fd, e, sizeof *e) == (ssize_t)sizeof *e;
    assert(written);
    (void)written;
    snprintf(path, size, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
