/* Two traces of one program, beside each other, as `tapool info` shows them. */
#ifndef TP_INFO_PAIR_H
#define TP_INFO_PAIR_H

#include "cmd/measure/trace_pair.h"
#include "cmd/ui/text.h"

/* Prints the figures of both and by how much the second differs. */
void tp_info_pair_text(const struct tp_trace_pair *pair, struct tp_page *page);

/* Writes tapool.info-pair/1, in which names never change and are only added. */
int tp_info_pair_json(const struct tp_trace_pair *pair, FILE *out, struct tp_err *err);

#endif
