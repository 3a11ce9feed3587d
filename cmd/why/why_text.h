/* What `tapool why` prints. */
#ifndef TP_WHY_TEXT_H
#define TP_WHY_TEXT_H

#include "cmd/ui/text.h"
#include "cmd/why/why_answer.h"

/* Prints the screen of one device. `several`: there are more. */
void tp_why_text(const struct tp_why *w, bool several, struct tp_page *page);

#endif
