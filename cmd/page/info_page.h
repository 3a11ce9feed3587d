/* The pages of `tapool info`: of one trace, and of two beside each other. */
#ifndef TP_INFO_PAGE_H
#define TP_INFO_PAGE_H

#include "alloc/base/opt.h"
#include "cmd/info/info.h"

/* The command line that makes a page again. */
struct tp_info_command {
    char *const *words; /* the traces: as many as the page has */
    const struct tp_opt *rows;
    const void *opts;
};

int tp_info_html(const struct tp_info_report *r, const struct tp_info_command *command, FILE *out,
                 struct tp_err *err);
int tp_info_pair_html(const struct tp_trace_pair *pair, const struct tp_info_command *command,
                      FILE *out, struct tp_err *err);

#endif
