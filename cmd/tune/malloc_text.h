/* What `tapool tune` prints of a host trace: the screen, and the document tapool.tune-malloc/1. */
#ifndef TP_MALLOC_TEXT_H
#define TP_MALLOC_TEXT_H

#include "cmd/tune/malloc_tune.h"
#include "cmd/ui/text.h"

/* `all`: all settings, and not those on the front only. */
void tp_malloc_text(const struct tp_malloc_tune *t, bool all, struct tp_page *page);
int tp_malloc_json(const struct tp_malloc_tune *t, FILE *out, struct tp_err *err);

#endif
