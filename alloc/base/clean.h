/* Text from traces and the command line, made safe for terminals, JSON and logs. */
#ifndef TP_CLEAN_H
#define TP_CLEAN_H

#include <stddef.h>
#include <stdint.h>

/* Copies `in` (NULL counts as "") into `out`, which is always ended by a NUL and holds valid UTF-8:
 * control characters, marks that change the direction of text, invalid bytes, and the first
 * character of text that a CI service would take for a command ("::error::", "##[error]") become
 * '?'. Text is cut at `size` bytes, never inside a character. */
void tp_clean_text(const char *in, char *out, size_t size);

/* Like tp_clean_text, into new memory of at most `limit` bytes that the caller frees. NULL: out of
 * memory. */
char *tp_clean_copy(const char *in, size_t limit);

#endif
