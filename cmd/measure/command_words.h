/* Text that grows, above all commands that tapool tells people to type: words that a shell would
 * take apart are quoted. Each adds to the text at `text`, of `size` bytes; what does not fit is
 * cut.
 */
#ifndef TP_COMMAND_WORDS_H
#define TP_COMMAND_WORDS_H

#include <stddef.h>

void tp_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* " word", in single quotes where a shell would not take it as it stands. */
void tp_append_word(char *text, size_t size, const char *word);

/* " --name value"; nothing of a NULL. */
void tp_append_option(char *text, size_t size, const char *name, const char *value);

void tp_append_strategy(char *text, size_t size, const char *name); /* " -s name" */

#endif
