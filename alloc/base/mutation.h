/* A rule that can be broken: it shows whether a comparison with a recording depends on that rule. A
 * table of them belongs to a struct of rules and ends with a name of NULL. */
#ifndef TP_MUTATION_H
#define TP_MUTATION_H

#include "alloc/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct tp_mutation {
    const char *name; /* "round-512" */
    const char *what; /* "sizes are rounded up to 512 bytes" */
    size_t offset;    /* of the member in the struct of the rules, a uint64_t */
    uint64_t value;   /* that it gets */
};

/* Breaks the rule of this name. TP_EUSAGE names the nearest, or says where all are listed. */
int tp_mutate(void *rules, const struct tp_mutation *list, const char *name, struct tp_err *err);

#endif
