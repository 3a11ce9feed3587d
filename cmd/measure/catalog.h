/* What can be played, read and written: the tables of strategies, sources, formats and profiles.
 * All are NULL-terminated; cmd/registry.c fills them. */
#ifndef TP_CATALOG_H
#define TP_CATALOG_H

#include "alloc/strategy.h"
#include "traces/format.h"
#include "traces/profile.h"
#include "traces/trace_writer.h"

extern const struct tp_strategy *const tp_strategies[];
extern const struct tp_source_ops *const tp_sources[];
extern const struct tp_format *const tp_formats[];
extern const struct tp_trace_writer *const tp_trace_writers[];
extern const struct tp_profile *const tp_profiles[];

/* What is played without -s: the comparable set of a kind of trace. */
enum { TP_DEFAULT_MAX = 16 };
extern const struct tp_strategy *const tp_default_host[];
extern const struct tp_strategy *const tp_default_device[];

/* By name, any case; NULL with err set (TP_EUSAGE, nearest as hint). */
const struct tp_strategy *tp_find_strategy(const char *name, struct tp_err *err);
const struct tp_source_ops *tp_find_source(const char *name, bool decorator, struct tp_err *err);
const struct tp_profile *tp_find_profile(const char *name, struct tp_err *err);

/* Where shipped samples are looked for, in order; `list` is NULL-terminated and points into itself.
 */
struct tp_sample_dirs {
    const char *list[4];
    char installed[4096];
};
void tp_sample_dirs(struct tp_sample_dirs *out);

#endif
