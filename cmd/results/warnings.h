/* The closed list of warnings. A warning says that tapool's own numbers are doubtful, and what to
 * do about it. Each id is a help topic. */
#ifndef TP_WARNINGS_H
#define TP_WARNINGS_H

#include "cmd/results/figures.h"

enum { TP_WARNING_TEXT = 400 };

struct tp_warning {
    const char *id;
    const char *summary; /* a few words for the list */
    const char *help;    /* paragraphs of `tapool help ID` */

    /* Writes the sentence and returns true when it applies to this result. */
    bool (*applies)(const struct tp_result *r, char *text, size_t size);
};

extern const struct tp_warning *const tp_warnings[]; /* NULL-terminated */

/* Merges one warning over several results: writes the sentence of the first result that it applies
 * to, and names the others with another sentence. false: the warning applies to no result. */
enum { TP_WARNINGS_TEXT = TP_WARNING_TEXT + 300 };
bool tp_warning_of_all(const struct tp_warning *w, const struct tp_result *results, size_t count,
                       char text[TP_WARNINGS_TEXT]);

const struct tp_warning *tp_find_warning(const char *id); /* NULL: no such id */

#endif
