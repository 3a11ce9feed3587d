/* Text from traces and the command line, made safe for terminals, JSON and logs. */
#ifndef TP_CLEAN_H
#define TP_CLEAN_H

#include <stddef.h>
#include <stdint.h>

/* Copies `in` (NULL counts as "") into `out`, which is always ended by a NUL and holds valid UTF-8:
 * control characters, marks that turn the direction of text, bytes that are no UTF-8, and the first
 * character of what a CI service would take for a command ("::error::", "##[error]") become '?'.
 * What does not fit into `size` bytes is left out, never half a character. */
void tp_clean_text(const char *in, char *out, size_t size);

/* The same into new memory, at most `limit` bytes; the caller frees it. NULL: out of memory. */
char *tp_clean_copy(const char *in, size_t limit);

#endif
