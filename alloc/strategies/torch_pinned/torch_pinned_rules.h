/* What PYTORCH_ALLOC_CONF says to PyTorch's allocator of pinned host memory. */
#ifndef TP_TORCH_PINNED_RULES_H
#define TP_TORCH_PINNED_RULES_H

#include "alloc/base/err.h"
#include "alloc/base/str.h"

#include <stdint.h>

/* What the settings say. All sizes in bytes. */
struct tp_torch_pinned_rules {
    uint64_t round_most;  /* larger requests are not rounded */
    uint64_t cached_most; /* larger blocks go back at once when they are free; not rounded either */
    uint64_t reserve;     /* of the segment that is taken before all others; 0: none */
    uint64_t background;  /* bool: a thread looks for events that have passed */
};

extern const struct tp_torch_pinned_rules tp_torch_pinned_defaults;

/* Sets the rules that a text names. TP_EUSAGE: a key or a value that PyTorch does not have. */
int tp_torch_pinned_conf(struct tp_torch_pinned_rules *rules, const char *text, struct tp_err *err);

/* As tp_torch_conf_kept: the parts that decide nothing about pinned memory. */
void tp_torch_pinned_conf_kept(const char *text, struct tp_str *out);

#endif
