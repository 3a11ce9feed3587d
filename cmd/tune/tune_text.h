/* What `tapool tune` prints: the screen, its sentences, and the document tapool.tune/1. */
#ifndef TP_TUNE_TEXT_H
#define TP_TUNE_TEXT_H

#include "cmd/tune/tune.h"
#include "cmd/ui/text.h"

#define TP_TUNE_VARIABLE "PYTORCH_CUDA_ALLOC_CONF"

/* Words of enum tp_tune_verdict in the document. */
extern const char *const tp_tune_verdicts[];

/* Adds the sentence that answers. */
void tp_tune_sentence(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                      struct tp_str *out);

/* `all`: all settings, and not those on the front only. */
void tp_tune_text(const struct tp_tune *t, const struct tp_tune_answers *a, bool all,
                  struct tp_page *page);
int tp_tune_json(const struct tp_tune *t, const struct tp_tune_answers *a, FILE *out,
                 struct tp_err *err);

#endif
