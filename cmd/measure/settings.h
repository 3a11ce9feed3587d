/* Settings of a replay that change its figures, beside those of the strategy and of the source:
 * one table, which the result's writer, its reader and `tapool compare` share. */
#ifndef TP_SETTINGS_H
#define TP_SETTINGS_H

#include <stdbool.h>

struct tp_setting {
    const char *option; /* of tapool replay, without its dashes */
    const char *path;   /* in a run of the result: "settings.on_oom" */
    bool document;      /* the path begins at the document instead */
    bool reads;         /* decides which program is read from a trace */
    bool memory;        /* changes memory and counts of the same program: a baseline holds it */
};

/* --touch is not in it: results that differ in that do not compare at all. Nor is --capacity, which
 * is an option of the source; stored results compare it beside these. */
enum { TP_SETTINGS = 9 };
extern const struct tp_setting tp_settings[TP_SETTINGS];

#endif
