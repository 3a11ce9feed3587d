/* The variables of the environment by which a malloc is set. */
#ifndef TP_MALLOC_VARIABLES_H
#define TP_MALLOC_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether an entry "NAME=VALUE" of the environment is one of them. Calls nothing that allocates. */
static inline bool tp_is_malloc_variable(const char *entry)
{
    static const char *const names[] = {
        "MALLOC_", "GLIBC_TUNABLES=", "JE_MALLOC_CONF=", "MIMALLOC_", "TCMALLOC_", "RPMALLOC_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(entry, names[i], strlen(names[i])))
            return true;
    return false;
}

#endif
