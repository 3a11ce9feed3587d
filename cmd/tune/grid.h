/* Grids of settings: products of values, as texts.
 *
 *     max_split_size_mb:default|64|128,roundup_power2_divisions:default|8
 *         -->  (empty)  roundup_power2_divisions:8  max_split_size_mb:64  ...     6 texts
 *
 * `default` leaves the key out. A value may be a list in brackets. key=value is read as key:value.
 * Of grids the settings of PYTORCH_CUDA_ALLOC_CONF are made, and those of malloc libraries
 * (malloc_settings.h). */
#ifndef TP_GRID_H
#define TP_GRID_H

#include "alloc/base/str.h"
#include "alloc/base/texts.h"

#include <stdbool.h>
#include <stddef.h>

enum { TP_GRID_MOST = 4096 }; /* settings */

/* The grids that are tried where the user names none; ends with NULL. */
extern const char *const tp_grid_default[];

/* An allocator of PyTorch whose settings are tried. */
struct tp_grid_target {
    const char *by;           /* its name in recordings (struct tp_recorded) */
    const char *strategy;     /* that replays it */
    const char *variable;     /* to be set; NULL: that of the recorded device */
    const char *const *usual; /* the grids that are tried where the user names none */
    /* TP_EUSAGE: PyTorch refuses it on this device (struct tp_torch_device, may be NULL), or it is
     * not simulated */
    int (*check)(const char *conf, const char *device, struct tp_err *err);
    const char *(*danger)(const char *conf, const char *device); /* as tp_grid_danger */
    void (*kept)(const char *conf, struct tp_str *out);          /* as tp_torch_conf_kept */
    bool gpu;
};

/* The one that made a recording; of GPUs where that is not known. */
const struct tp_grid_target *tp_grid_target(const char *recorded_by);

/* Visits the settings of a grid without blanks, the last key the fastest. TP_EUSAGE: it is no grid,
 * or has too many settings. Errors of the visit end it. */
typedef int tp_grid_visit(void *ctx, const char *setting, struct tp_err *err);
int tp_grid_each(const char *grid, tp_grid_visit *visit, void *ctx, struct tp_err *err);

/* Visits the parts "key:value" of a setting. */
int tp_grid_parts(const char *setting, tp_grid_visit *visit, void *ctx, struct tp_err *err);

/* Whose settings are added. */
struct tp_grid_whose {
    const struct tp_grid_target *target;
    const char *device; /* name of a struct tp_torch_device; NULL: not known */
    bool usual;         /* settings that `check` refuses are left out, and no error */
};

/* Adds the settings of a grid of PYTORCH_CUDA_ALLOC_CONF that are not in the set yet; the text that
 * leaves out all keys is "". TP_EUSAGE: the grid names a key that PyTorch does not have, a value
 * that it refuses, what is not simulated, or has too many settings. */
int tp_grid_add(struct tp_texts *set, const char *grid, struct tp_grid_whose whose,
                struct tp_err *err);

/* Keys in a setting without blanks. */
size_t tp_grid_keys(const char *conf);

/* Whether a setting without blanks has a part that begins so. */
bool tp_grid_has(const char *conf, const char *start);
#define TP_GRID_GROWS "expandable_segments:True"

/* Why a setting without blanks must not be used on a device; NULL: no reason is known. */
const char *tp_grid_danger(const char *conf, const char *device);

/* The first key of a setting that only PyTorch from 2026 on has; NULL: none. */
const char *tp_grid_newer(const char *conf, const char *device);

#endif
