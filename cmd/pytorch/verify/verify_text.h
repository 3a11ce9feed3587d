/* What `tapool verify` prints. */
#ifndef TP_VERIFY_TEXT_H
#define TP_VERIFY_TEXT_H

#include "cmd/pytorch/verify/verify.h"
#include "cmd/ui/text.h"

/* Prints the certificate of one device, by the rules of `allocator`. `several`: the file has more
 * than one device. */
void tp_verify_text(const struct tp_verified *v, const struct tp_torch_device *allocator,
                    bool several, struct tp_page *page);

#endif
