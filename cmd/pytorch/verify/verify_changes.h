/* Where addresses differ: do other settings, set while the program ran, explain them? */
#ifndef TP_VERIFY_CHANGES_H
#define TP_VERIFY_CHANGES_H

#include "cmd/pytorch/verify/verify.h"

/* Looks for them, in a table of settings that programs are known to set, and fills in v->search and
 * v->changes. `v` is what tp_verify found by these rules. Does nothing where it agrees, or where
 * the start could not be placed. What is played is bounded: some 20 million events and 8 times
 * those of the device. `recorded` (NULL: "") is the text whose settings the rules have; it is
 * borrowed by v->changes. */
int tp_verify_changes(const struct tp_pytorch *s, const struct tp_torch_rules *rules,
                      const char *recorded, struct tp_verified *v, struct tp_err *err);

#endif
