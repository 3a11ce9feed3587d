/* What `tapool verify` prints. */
#ifndef TP_VERIFY_TEXT_H
#define TP_VERIFY_TEXT_H

#include "cmd/ui/text.h"
#include "cmd/verify/verify.h"

/* Prints the certificate of one device. `several`: the file has more than one. */
void tp_verify_text(const struct tp_verified *v, bool several, struct tp_page *page);

#endif
