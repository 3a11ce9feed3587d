/* The bytes of a trace: a file, stdin or a pipe, read once from front to back, with the position.
 * Input packed with gzip or zstd is unpacked while it is read: bytes, lines and offsets are always
 * those of the unpacked trace. */
#ifndef TP_INPUT_H
#define TP_INPUT_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_input;

#define TP_MAX_MEMORY (UINT64_C(1) << 30) /* default for the bytes that reading may take */

/* Opens a file, or stdin for "-". TP_EINPUT: missing, a directory, empty, not readable, damaged
 * packing, or packed twice. Packed data are refused when they unpack to more than `max_memory`
 * bytes (0: TP_MAX_MEMORY) and to more than 200 times their size, or need a zstd window above
 * `max_memory`; reading itself takes constant memory. `stop`, which may be NULL, is called before
 * bytes are read and while waiting for them; a status other than TP_OK ends reading. */
int tp_input_open(const char *path, uint64_t max_memory, int (*stop)(struct tp_err *err),
                  struct tp_input **out, struct tp_err *err);

/* Opens `size` bytes of memory, which must outlive the input, as tests and fuzzers do. `name` is
 * for messages. Other arguments and errors are those of tp_input_open. */
int tp_input_memory(const char *name, const void *data, size_t size, uint64_t max_memory,
                    struct tp_input **out, struct tp_err *err);
void tp_input_close(struct tp_input *in); /* NULL is fine */

/* tp_input_taken: bytes read from the file so far, before unpacking; all, after tp_input_file.
 * tp_input_is_bomb: whether `made` bytes are too many for that. This applies the rule for packed
 * data to anything that grows with a trace. */
uint64_t tp_input_taken(const struct tp_input *in);
bool tp_input_is_bomb(const struct tp_input *in, uint64_t made);

/* The input in messages: its path, "stdin", or the name given. */
const char *tp_input_name(const struct tp_input *in);

/* The packing of the input: "gzip" or "zstd"; NULL: not packed. */
const char *tp_input_packing(const struct tp_input *in);

/* Looks at up to `want` bytes without taking them. *got is less only at the end of the input. *data
 * is valid until the next call. `want` is at most 64 KiB. */
int tp_input_peek(struct tp_input *in, size_t want, const unsigned char **data, size_t *got,
                  struct tp_err *err);

/* Looks at the buffered bytes, and reads more only when there are none: for scanning in blocks.
 * *got is 0 only at the end of the input. *data is valid until the next call that is not
 * tp_input_take. */
int tp_input_block(struct tp_input *in, const unsigned char **data, size_t *got,
                   struct tp_err *err);

/* Whether `text` occurs in the bytes that a probe is shown. */
bool tp_input_shows(const unsigned char *data, size_t size, const char *text);

/* Takes `n` of the bytes that the last tp_input_peek or tp_input_block showed. */
void tp_input_take(struct tp_input *in, size_t n);

/* Takes the next byte. Returns -1 at the end of the input, -2 after a read error; tp_input_error
 * has its status and message. */
int tp_input_byte(struct tp_input *in);
int tp_input_error(const struct tp_input *in, struct tp_err *err);

uint64_t tp_input_line(const struct tp_input *in);   /* line of the next byte, from 1 */
uint64_t tp_input_offset(const struct tp_input *in); /* offset of the next byte, from 0 */

/* Puts "FILE:LINE: " or "FILE: byte N: " before the message of a TP_EINPUT that has no place.
 * Leaves the message of any other status alone. Returns `rc`. */
int tp_input_at_line(const struct tp_input *in, uint64_t line, int rc, struct tp_err *err);
int tp_input_at_byte(const struct tp_input *in, uint64_t offset, int rc, struct tp_err *err);

/* Fails with TP_EINPUT and a message that begins with the place. */
#define tp_input_fail_line(in, line, err, ...)                                                     \
    tp_input_at_line(in, line, tp_fail(err, TP_EINPUT, __VA_ARGS__), err)
#define tp_input_fail_byte(in, offset, err, ...)                                                   \
    tp_input_at_byte(in, offset, tp_fail(err, TP_EINPUT, __VA_ARGS__), err)

/* Fails with TP_ENOMEM: "out of memory while reading FILE". */
int tp_input_no_memory(const struct tp_input *in, struct tp_err *err);

/* Reads the rest of a packed input and returns the error of the packing, if any. Damage can lie
 * behind the last byte that a reader needs, and damage explains nonsense that a reader has met. */
int tp_input_finish(struct tp_input *in, struct tp_err *err);

/* Sets *fd to a descriptor, which the caller closes, with all unpacked bytes of the input from its
 * beginning: the file itself if it is an unpacked regular file, else an unlinked copy in $TMPDIR.
 * Must be called before any byte is taken (a peek is fine), else TP_EUNSUP. Reading from `in` is
 * not affected. TP_EIO: no room for the copy. */
int tp_input_file(struct tp_input *in, int *fd, struct tp_err *err);

/* Sets *fd as tp_input_file does, but at any time, by reading the file again from its beginning.
 * TP_EUNSUP for stdin and pipes, which can be read only once, unless tp_input_file has made a
 * copy. */
int tp_input_reopen(const struct tp_input *in, int *fd, struct tp_err *err);

#endif
