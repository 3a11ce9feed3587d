/* The page of `tapool tune`. Its data is the document of --json without the figures of each file.
 */
#ifndef TP_TUNE_PAGE_H
#define TP_TUNE_PAGE_H

#include "alloc/base/opt.h"
#include "cmd/pytorch/tune/tune.h"

#include <stdio.h>

struct tp_tune_page {
    const struct tp_tune *t;
    const struct tp_tune_answers *answers;
    bool exact; /* sizes are shown in bytes */
    const struct tp_opt *rows;
    const void *opts; /* of the command line */
};

/* Writes the page. TP_ENOMEM: a part is missing. */
int tp_tune_page(const struct tp_tune_page *p, FILE *out, struct tp_err *err);

#endif
