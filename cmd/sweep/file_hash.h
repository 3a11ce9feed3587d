/* Hashes of files and texts, as 32 hexadecimal digits: the first half of SHA-256. */
#ifndef TP_FILE_HASH_H
#define TP_FILE_HASH_H

#include "alloc/base/err.h"

#include <stddef.h>

enum { TP_FILE_HASH = 32 };

/* Hashes a list of texts, which ends with NULL. */
int tp_texts_hash(const char *const *texts, char out[TP_FILE_HASH + 1], struct tp_err *err);

/* Hashes the bytes of a file. TP_EIO: it cannot be read. */
int tp_file_hash(const char *path, char out[TP_FILE_HASH + 1], struct tp_err *err);

#endif
