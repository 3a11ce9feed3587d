/* Bytes of a trace: a file, stdin or a pipe, read once, front to back, with its position. */
#ifndef TP_INPUT_H
#define TP_INPUT_H

#include "alloc/err.h"

#include <stddef.h>
#include <stdint.h>

struct tp_input;

/* "-" is stdin. TP_EINPUT: missing, a directory, empty, not readable. */
int tp_input_open(const char *path, struct tp_input **out, struct tp_err *err);

/* Reads from memory, which must outlive the input: tests and fuzzers. `name` is for messages. */
int tp_input_memory(const char *name, const void *data, size_t size, struct tp_input **out,
                    struct tp_err *err);
void tp_input_close(struct tp_input *in); /* NULL is fine */

/* What messages call it: the path, "stdin", the name. */
const char *tp_input_name(const struct tp_input *in);

/* Looks at up to `want` bytes without taking them; fewer only at the end of the input. *data is
 * valid until the next call. `want` is at most 64 KiB. */
int tp_input_peek(struct tp_input *in, size_t want, const unsigned char **data, size_t *got,
                  struct tp_err *err);

/* Looks at what is buffered, reading more only when nothing is: for scanning in blocks. *got is 0
 * only at the end of the input. *data is valid until the next call that is not tp_input_take. */
int tp_input_block(struct tp_input *in, const unsigned char **data, size_t *got,
                   struct tp_err *err);

/* Takes `n` bytes of those that the last peek or block showed. */
void tp_input_take(struct tp_input *in, size_t n);

/* The next byte, or -1 at the end of the input, or -2 after a read error (tp_input_error). */
int tp_input_byte(struct tp_input *in);
int tp_input_error(const struct tp_input *in, struct tp_err *err);

uint64_t tp_input_line(const struct tp_input *in);   /* of the next byte, from 1 */
uint64_t tp_input_offset(const struct tp_input *in); /* of the next byte, from 0 */

#endif
