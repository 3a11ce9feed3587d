/* What `tapool tune` prints: the screen, its sentences, and the document tapool.tune/1. */
#ifndef TP_TUNE_TEXT_H
#define TP_TUNE_TEXT_H

#include "cmd/pytorch/tune/tune.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"

/* The environment variable that the recorded programs read; static. */
const char *tp_tune_variable(const struct tp_tune *t);

/* Words of enum tp_tune_verdict in the document. */
extern const char *const tp_tune_verdicts[];

/* Of an answer that says to set something: adds "Set NAME=TEXT", which can be pasted and is never
 * to be wrapped, and what that does. */
void tp_tune_order(const struct tp_tune *t, const struct tp_tune_answer *a, struct tp_str *out);
void tp_tune_effect(const struct tp_tune_answer *a, bool exact, struct tp_str *out);

/* Adds the sentence that answers. */
void tp_tune_sentence(const struct tp_tune *t, const struct tp_tune_answer *a, bool exact,
                      struct tp_str *out);

/* Adds a setting as a reader knows it: "defaults (as recorded)". */
void tp_tune_name(const struct tp_tune *t, const struct tp_tune_setting *x, struct tp_str *out);

/* The peak that is shown of a setting; TP_NONE where a request fails, so that less is held for that
 * reason. */
uint64_t tp_tune_peak(const struct tp_tune_setting *s);

/* Whether the device's size is known of a file; then, whether a setting fits: "no, event 17". */
bool tp_tune_limited(const struct tp_tune *t);
struct tp_text tp_tune_fit(const struct tp_tune *t, const struct tp_tune_figures *f);

/* Orders pointers to settings, for qsort: the lowest peak first, then the fewest calls. */
int tp_tune_by_peak(const void *a, const void *b);

/* Parts of the screen: the i-th file, how far the rules did what PyTorch did there, how each
 * starts, what was tried, what was left out and why, how the replay as recorded differs from the
 * recording, the lower bound, and the answer with its doubts. */
void tp_tune_file_print(const struct tp_tune *t, size_t i, struct tp_page *page);
void tp_tune_fidelity_print(const struct tp_tune *t, size_t i, struct tp_page *page);
void tp_tune_start_print(const struct tp_tune *t, struct tp_page *page);
void tp_tune_tried_print(const struct tp_tune *t, struct tp_page *page);
void tp_tune_refused_print(const struct tp_tune *t, struct tp_page *page);
void tp_tune_difference_print(const struct tp_tune *t, const struct tp_tune_setting *base,
                              struct tp_page *page);
void tp_tune_bound_print(const struct tp_tune *t, struct tp_page *page);
void tp_tune_answer_print(const struct tp_tune *t, const struct tp_tune_answers *a,
                          struct tp_page *page);

/* `all`: all settings, and not those on the front only. */
void tp_tune_text(const struct tp_tune *t, const struct tp_tune_answers *a, bool all,
                  struct tp_page *page);
/* The document as a tree, which the caller owns. */
cJSON *tp_tune_tree(struct tp_json *j, const struct tp_tune *t, const struct tp_tune_answers *a);
int tp_tune_json(const struct tp_tune *t, const struct tp_tune_answers *a, FILE *out,
                 struct tp_err *err);

#endif
