/* Bytes of a trace: a file, stdin or a pipe, read once, front to back, with its position. What is
 * packed with gzip or zstd is unpacked on the way: bytes, lines and offsets here are always those
 * of the unpacked trace. */
#ifndef TP_INPUT_H
#define TP_INPUT_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_input;

#define TP_MAX_MEMORY (UINT64_C(1) << 30) /* bytes that reading may take where nobody says more */

/* "-" is stdin. TP_EINPUT: missing, a directory, empty, not readable; packed and damaged, packed
 * twice. Packed data that unpack to more than `max_memory` bytes (0: TP_MAX_MEMORY) and to more
 * than 200 times what they take are refused, as is a zstd window above it; reading itself takes
 * flat memory. `stop`, which may be NULL, is asked before bytes are read and while they are waited
 * for, and its status ends the reading. */
int tp_input_open(const char *path, uint64_t max_memory, int (*stop)(struct tp_err *err),
                  struct tp_input **out, struct tp_err *err);

/* The same from memory, which must outlive the input: only tests and fuzzers hold a trace there.
 * `name` is for messages. */
int tp_input_memory(const char *name, const void *data, size_t size, uint64_t max_memory,
                    struct tp_input **out, struct tp_err *err);
void tp_input_close(struct tp_input *in); /* NULL is fine */

/* Bytes taken of the file, as they lie there; and whether so many that were made of them are too
 * many: the rule for packed data, for whatever grows with a trace. */
uint64_t tp_input_taken(const struct tp_input *in);
bool tp_input_is_bomb(const struct tp_input *in, uint64_t made);

/* What messages call it: the path, "stdin", the name. */
const char *tp_input_name(const struct tp_input *in);

/* What the input is packed with: "gzip", "zstd"; NULL where it is not. */
const char *tp_input_packing(const struct tp_input *in);

/* Looks at up to `want` bytes without taking them; fewer only at the end of the input. *data is
 * valid until the next call. `want` is at most 64 KiB. */
int tp_input_peek(struct tp_input *in, size_t want, const unsigned char **data, size_t *got,
                  struct tp_err *err);

/* Looks at what is buffered, reading more only when nothing is: for scanning in blocks. *got is 0
 * only at the end of the input. *data is valid until the next call that is not tp_input_take. */
int tp_input_block(struct tp_input *in, const unsigned char **data, size_t *got,
                   struct tp_err *err);

/* Whether a text stands somewhere in the bytes that a probe is shown. */
bool tp_input_shows(const unsigned char *data, size_t size, const char *text);

/* Takes `n` bytes of those that the last peek or block showed. */
void tp_input_take(struct tp_input *in, size_t n);

/* The next byte, or -1 at the end of the input, or -2 after a read error (tp_input_error). */
int tp_input_byte(struct tp_input *in);
int tp_input_error(const struct tp_input *in, struct tp_err *err);

uint64_t tp_input_line(const struct tp_input *in);   /* of the next byte, from 1 */
uint64_t tp_input_offset(const struct tp_input *in); /* of the next byte, from 0 */

/* "FILE:LINE: " or "FILE: byte N: " before the sentence of an error that knows no place: TP_EINPUT;
 * any other status stays what it is. */
int tp_input_at_line(const struct tp_input *in, uint64_t line, int rc, struct tp_err *err);
int tp_input_at_byte(const struct tp_input *in, uint64_t offset, int rc, struct tp_err *err);

/* TP_EINPUT with such a place. */
#define tp_input_fail_line(in, line, err, ...)                                                     \
    tp_input_at_line(in, line, tp_fail(err, TP_EINPUT, __VA_ARGS__), err)
#define tp_input_fail_byte(in, offset, err, ...)                                                   \
    tp_input_at_byte(in, offset, tp_fail(err, TP_EINPUT, __VA_ARGS__), err)

/* TP_ENOMEM: "out of memory while reading FILE". */
int tp_input_no_memory(const struct tp_input *in, struct tp_err *err);

/* Reads what is left where the input is packed: damage behind the last byte that a reader needs is
 * seen only there, and damage explains nonsense that it met. An error is that of the packing. */
int tp_input_finish(struct tp_input *in, struct tp_err *err);

/* A descriptor, which the caller closes, that holds all unpacked bytes of the input from its
 * beginning: the file itself where it is an unpacked regular file, else a copy
 * without a name in $TMPDIR. The copy is made before anything is taken (a peek is fine), else
 * TP_EUNSUP; reading from `in` goes on as if nothing had happened. TP_EIO: no room for it. */
int tp_input_file(struct tp_input *in, int *fd, struct tp_err *err);

/* The same at any time, by reading once more from the beginning. TP_EUNSUP for what can be read
 * only once: stdin and pipes, unless tp_input_file made a copy of them. */
int tp_input_reopen(const struct tp_input *in, int *fd, struct tp_err *err);

#endif
