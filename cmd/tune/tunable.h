/* What `tapool tune` and `tapool predict` ask of a recorded allocator: which settings it has, which
 * are worth a try, and how they are said to the user. All else about it is in its struct
 * tp_recorded_strategy, which replays it.
 *
 *     grid --> setting "key:value,key:value" --> options of the strategy --> a trial (trial.h)
 *                                            --> what the user pastes
 *
 * To add one: a file in the folder of the allocator exports `const struct tp_tunable
 * tp_tunable_NAME`; a line in cmd/registry.c. Where nothing else is said, NULL means that there is
 * nothing of the kind. `setting` is a text without blanks, "" for the allocator's defaults;
 * `device` is the name of struct tp_meta's allocator_device, and may be NULL. */
#ifndef TP_TUNABLE_H
#define TP_TUNABLE_H

#include "alloc/base/str.h"
#include "alloc/base/texts.h"
#include "cmd/jobs/catalog.h"

struct tp_meta;

/* A use of a program, a word of --for, in which a setting does not work. */
struct tp_tune_use {
    const char *use, *part; /* "windows", "key:value" */
};

struct tp_tunable {
    const struct tp_recorded_strategy *of;
    bool host;           /* it has memory of the host, so that a host trace may be of it */
    const char *flavour; /* the word of its device option; NULL: that of the recording */

    /* ---- settings ---- */

    const char *const *usual; /* grids (grid.h), tried where the user names none; ends with NULL */
    /* The setting that hands all requests to the driver's pool. Nobody knows its rules: it is
     * measured where there is a GPU, else said to be left out. */
    const char *pool;
    const struct tp_tune_use *uses; /* ends with a `use` of NULL */
    /* TP_EUSAGE: the allocator refuses it on this device, or it is not simulated. Never NULL. */
    int (*check)(const char *setting, const char *device, struct tp_err *err);
    /* Why it must not be used; static. NULL: no reason is known. */
    const char *(*danger)(const char *setting, const char *device);
    /* Why it says nothing where the size of the device is not known for sure; static. NULL: it
     * does. */
    const char *(*needs_size)(const char *setting);
    /* The same where the size is not known at all, nor `held` adds a limit. */
    const char *(*needs_any_size)(const char *setting);
    /* Its first key that only newer releases have; static. NULL: none. With it go the first such
     * release, and that release in words: "PyTorch from 2026 on". */
    const char *(*newer)(const char *setting, const char *device);
    unsigned newer_major, newer_minor;
    const char *since;
    /* Adds the parts of a recorded setting that decide nothing which is tried, to be kept. */
    void (*kept)(const char *setting, struct tp_str *out);
    /* Adds what the recording tells that holds with this setting too, such as a limit: ",key:value"
     * behind one that is not empty. */
    void (*held)(const struct tp_meta *m, const char *setting, struct tp_str *out);
    /* Whether a program would make the same kinds of segments and blocks with both settings, so
     * that the one may begin with the heap that the other made. Never NULL. */
    bool (*makes_alike)(const struct tp_meta *m, const char *one, const char *other);

    /* ---- words ---- */

    /* Whose settings they are on this device: files of different ones are not tuned together. NULL:
     * those of all devices are alike. */
    const char *(*title)(const char *device);
    /* The environment variable that a recorded program reads the setting from. `others`: what was
     * said for the files before this one, or NULL; the answer is read by all. NULL: there is no
     * such single variable. */
    const char *(*variable)(const struct tp_meta *m, const char *others);
    /* Adds a setting as it stands in tables. NULL: as it is. */
    void (*show)(const struct tp_meta *m, const char *setting, struct tp_str *out);
    /* Adds the sentence that says how to set it, "Set NAME=VALUE": one line, to be pasted. Never
     * NULL. */
    void (*order)(const struct tp_meta *m, const char *variable, const char *setting,
                  struct tp_str *out);
    /* What else is to be known of such an order; static. NULL: nothing. */
    const char *(*note)(const struct tp_meta *m, const char *variable);
};

extern const struct tp_tunable *const tp_tunables[]; /* ends with NULL */

/* The one that made a recording; where there is none, the first of the table. */
const struct tp_tunable *tp_tunable_of(const char *recorded_by);

/* Their names for --allocator, behind "recorded"; the one that was chosen, NULL with "recorded". */
extern const char *const tp_tunable_words[];
const struct tp_tunable *tp_tunable_chosen(uint32_t word);

/* The one whose settings a strategy has; NULL: there is none. */
const struct tp_tunable *tp_tunable_strategy(const struct tp_strategy *strategy);

/* Whose settings are added. */
struct tp_tune_whose {
    const struct tp_tunable *target;
    const char *device; /* NULL: not known */
    bool usual;         /* settings that `check` refuses are left out, and no error */
};

/* Adds the settings of a grid of a recorded allocator that are not in the set yet; the text that
 * leaves out all keys is "". TP_EUSAGE: the grid names a key that the allocator does not have, a
 * value that it refuses, what is not simulated, or has too many settings. */
int tp_tunable_add(struct tp_texts *set, const char *grid, struct tp_tune_whose whose,
                   struct tp_err *err);

/* ---- members that may be NULL ---- */

const char *tp_tunable_danger(const struct tp_tunable *t, const char *setting, const char *device);
const char *tp_tunable_needs_size(const struct tp_tunable *t, const char *setting);
const char *tp_tunable_newer(const struct tp_tunable *t, const char *setting, const char *device);

/* Whether a release, which may be NULL, is known not to have the newer keys. */
bool tp_tunable_is_older(const struct tp_tunable *t, const char *release);
void tp_tunable_show(const struct tp_tunable *t, const struct tp_meta *m, const char *setting,
                     struct tp_str *out);

#endif
