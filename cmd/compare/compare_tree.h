/* The JSON of a comparison before it is written, for documents that add to it. */
#ifndef TP_COMPARE_TREE_H
#define TP_COMPARE_TREE_H

#include "cmd/ui/json_out.h"

struct tp_compare;

/* The caller deletes the tree, or has it printed. */
cJSON *tp_compare_tree(struct tp_json *j, const struct tp_compare *c);

#endif
