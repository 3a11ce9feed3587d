/* Looks into a shared library without loading it: nothing of the file runs, and what is wrong with
 * it can be said in words of tapool's own. */
#ifndef TP_ELF_FILE_H
#define TP_ELF_FILE_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct tp_elf_symbol {
    bool known; /* false: the file's table of symbols cannot be read without loading it */
    bool there;
    size_t size; /* bytes at the start of `data` that are those of the symbol */
};

/* Checks that the file is a shared library for this machine and looks for a symbol that it exports;
 * copies its first bytes, as they are in the file, to `data`. TP_EINPUT: it is no such library;
 * `what` is the subject of the sentence ("plug-in './mine.so'"). */
int tp_elf_look(const char *path, const char *what, const char *symbol, void *data, size_t size,
                struct tp_elf_symbol *out, struct tp_err *err);

/* Hint where a file is not there whose path begins with ~, in an argument such as lib:~/my.so. */
int tp_hint_home(struct tp_err *err, int status, const char *path);

#endif
