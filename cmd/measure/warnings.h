/* Warnings: a closed list. Each says when tapool's own numbers are doubtful, and what to do about
 * it; each id is a help topic. */
#ifndef TP_WARNINGS_H
#define TP_WARNINGS_H

#include "cmd/measure/figures.h"

enum { TP_WARNING_TEXT = 400 };

struct tp_warning {
    const char *id;
    const char *summary; /* a few words for the list */
    const char *help;    /* paragraphs of `tapool help ID` */

    /* Writes the sentence and returns true when it applies to this result. */
    bool (*applies)(const struct tp_result *r, char *text, size_t size);
};

extern const struct tp_warning *const tp_warnings[]; /* NULL-terminated */

/* The same warning on several results is one: the first one's sentence, and who else it is about.
 * false: it applies to none. */
enum { TP_WARNINGS_TEXT = TP_WARNING_TEXT + 300 };
bool tp_warning_of_all(const struct tp_warning *w, const struct tp_result *results, size_t count,
                       char text[TP_WARNINGS_TEXT]);

const struct tp_warning *tp_find_warning(const char *id); /* NULL: no such id */

#endif
