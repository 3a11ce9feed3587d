/* Settings of a replay that change its figures, beside the options of the strategy and the source.
 * The writer of the result, its reader and `tapool compare` share this table. */
#ifndef TP_SETTINGS_H
#define TP_SETTINGS_H

#include <stdbool.h>

struct tp_setting {
    const char *option; /* option of tapool replay without its dashes */
    const char *path;   /* path in a run of the result: "settings.on_oom" */
    const char *before; /* its value in results older than the setting; NULL: not known */
    bool document;      /* `path` begins at the document, not at the run */
    bool reads;         /* the setting decides which program is read from a trace */
    bool memory;        /* the setting changes memory and counts, so a baseline stores it */
};

/* --touch is not in the table, because results with different --touch do not compare at all.
 * --capacity is not in the table either, because it is an option of the source; it is compared
 * together with the settings (tp_stored_settings_differ). */
enum { TP_SETTINGS = 10 };
extern const struct tp_setting tp_settings[TP_SETTINGS];

#endif
