/* The vocabulary of all screens and pages: `tapool help terms`. Other texts point to a row of this
 * table instead of explaining its word again. */
#ifndef TP_TERMS_H
#define TP_TERMS_H

#include "cmd/ui/text.h"

enum tp_term_group {
    TP_TERMS_MEMORY,
    TP_TERMS_TIME,
    TP_TERMS_REPLAY,
    TP_TERMS_CHECK,
    TP_TERM_GROUPS
};

struct tp_term {
    enum tp_term_group group;
    const char *word;
    const char *meaning;
    const char *origin; /* a tool that uses the word in this sense; NULL: none */
    /* How a text shows that it uses the term, several forms separated by '|'. NULL: by the word. */
    const char *forms;
};

extern const struct tp_term tp_terms[];
extern const size_t tp_term_count;
extern const char *const tp_term_group_names[TP_TERM_GROUPS];

/* Finds a term by its word; NULL: there is none. */
const struct tp_term *tp_find_term(const char *word);

/* Prints the row of a term: its word, its meaning, and who else uses it. */
void tp_term_put(struct tp_page *page, const struct tp_term *term);

/* Whether a text uses the term. */
bool tp_term_is_in(const struct tp_term *term, const char *text);

/* Prints the rows of the terms that a text uses, in the order of the table. Prints nothing if there
 * are none. */
void tp_terms_put_used(struct tp_page *page, const char *text);

#endif
