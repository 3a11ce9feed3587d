/* The settings of a sweep: each strategy of the plan times the values of its grid, times the
 * capacities.
 *
 *     arena:arena_size=1MiB|4MiB,max_arenas=0|4     4 settings of a strategy
 *     torch:conf={max_split_size_mb=default|64}     2, of PYTORCH_CUDA_ALLOC_CONF
 *     torch:conf=tune                               those of tapool tune; NAME:tune where they are
 *                                                   options of the strategy
 *     jemalloc:narenas=1|2                          2 of a malloc library
 *     malloc:tune                                   those of tapool tune */
#ifndef TP_SETTINGS_H
#define TP_SETTINGS_H

#include "alloc/base/opt.h"
#include "alloc/base/texts.h"
#include "cmd/sweep/settings_files.h"

enum { TP_SWEEP_SETTINGS = 100000 }; /* at most */

struct tp_sweep_setting {
    char *text; /* owned; as tapool replay takes it: "arena:arena_size=4MiB --capacity 8GiB" */
    char *spec; /* owned; the value of -s */
    /* owned; all options with their values, and the hashes of files: equal for settings that are
     * the same */
    char *whole;
    struct tp_setting_file_numbers files;
    const char *strategy; /* its name; static */
    char **options;       /* owned; "name=value", as the plan gave them; ends with NULL */
    uint64_t capacity;    /* TP_OPT_KEYWORD(0): as recorded */
    bool own_memory;      /* a real allocator, which takes no source and no capacity */
    const char *place;    /* in the plan, for sentences; borrowed */
};

struct tp_sweep_settings {
    struct tp_sweep_setting *items; /* owned */
    size_t count;
    struct tp_texts wholes; /* of the items, in their order */
    struct tp_setting_files files;
};

/* Adds the settings of a strategy with its grid. `capacities` are sizes as texts; with none of them
 * the capacity is the recorded one. `place` names the text in sentences, "plan.ini:7", and is
 * borrowed. TP_EUSAGE: unknown strategy, option or value, or a setting that is there already. */
int tp_sweep_settings_add(struct tp_sweep_settings *list, const char *text,
                          const struct tp_opt_list *capacities, const char *place,
                          struct tp_err *err);

void tp_sweep_settings_release(struct tp_sweep_settings *list);

#endif
