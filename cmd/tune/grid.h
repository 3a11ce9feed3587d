/* Grids of settings: products of values, as texts.
 *
 *     max_split_size_mb:default|64|128,roundup_power2_divisions:default|8
 *         -->  (empty)  roundup_power2_divisions:8  max_split_size_mb:64  ...     6 texts
 *
 * `default` leaves the key out. A value may be a list in brackets. key=value is read as key:value.
 * Of grids the settings of recorded allocators are made (tunable.h), and those of malloc libraries
 * (malloc_settings.h). */
#ifndef TP_GRID_H
#define TP_GRID_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { TP_GRID_MOST = 4096 }; /* settings */

/* Visits the settings of a grid without blanks, the last key the fastest. TP_EUSAGE: it is no grid,
 * or has too many settings. Errors of the visit end it. */
typedef int tp_grid_visit(void *ctx, const char *setting, struct tp_err *err);
int tp_grid_each(const char *grid, tp_grid_visit *visit, void *ctx, struct tp_err *err);

/* TP_EUSAGE, as all say it who count settings. */
int tp_grid_too_many(struct tp_err *err);

/* Visits the parts "key:value" of a setting. */
int tp_grid_parts(const char *setting, tp_grid_visit *visit, void *ctx, struct tp_err *err);

/* Keys in a setting without blanks. */
size_t tp_grid_keys(const char *conf);

/* Whether a setting without blanks has a part that begins so. */
bool tp_grid_has(const char *conf, const char *start);

#endif
