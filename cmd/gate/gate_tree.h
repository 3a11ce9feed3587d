/* The JSON of a gate before it is written, for documents that add to it. */
#ifndef TP_GATE_TREE_H
#define TP_GATE_TREE_H

#include "cmd/gate/gate.h"
#include "cmd/ui/json_out.h"

/* The caller deletes the tree, or has it printed. */
cJSON *tp_gate_tree(struct tp_json *j, const struct tp_gate *g);

#endif
