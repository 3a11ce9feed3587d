/* Who holds the memory, as a part of a section, below its areas. */
#ifndef TP_HOLDERS_PART_H
#define TP_HOLDERS_PART_H

#include "alloc/base/err.h"
#include "traces/places/holders.h"

#include <stdio.h>

/* Writes when it was held and the table of who held it; TP_ENOMEM: a part is missing. */
int tp_holders_html(const struct tp_holders *h, FILE *out, struct tp_err *err);

#endif
