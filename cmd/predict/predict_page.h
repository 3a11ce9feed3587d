/* The page of `tapool predict`. Its data is the document of --json. */
#ifndef TP_PREDICT_PAGE_H
#define TP_PREDICT_PAGE_H

#include "alloc/base/opt.h"
#include "cmd/predict/predict_text.h"

struct tp_predict_page {
    const struct tp_predict_report *report;
    bool exact;         /* sizes are shown in bytes */
    char *const *words; /* the recordings as they were named */
    size_t word_count;
    const struct tp_opt *rows;
    const void *opts; /* of the command line */
};

/* TP_EINPUT: as tp_predict_chart_check. TP_ENOMEM: a part is missing. */
int tp_predict_page(const struct tp_predict_page *p, FILE *out, struct tp_err *err);

#endif
