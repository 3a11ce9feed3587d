/* The page of `tapool why`: an article for each device. */
#ifndef TP_WHY_PAGE_H
#define TP_WHY_PAGE_H

#include "alloc/base/opt.h"
#include "cmd/pytorch/why/why_answer.h"

#include <stdio.h>

struct tp_why_page {
    const struct tp_why *list; /* at least one, each with a picture */
    size_t count;
    const char *file; /* the snapshot as it was named, clean */
    bool exact;       /* sizes are shown in bytes */
    const struct tp_opt *rows;
    const void *opts; /* of the command line */
};

/* Writes the page. TP_ENOMEM: a part is missing. */
int tp_why_page(const struct tp_why_page *p, FILE *out, struct tp_err *err);

#endif
