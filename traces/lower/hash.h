/* The hash of a program: SHA-256, computed piece by piece. */
#ifndef TP_HASH_H
#define TP_HASH_H

#include "alloc/program/program.h"

struct tp_hash;

int tp_hash_new(struct tp_hash **out, struct tp_err *err);
void tp_hash_free(struct tp_hash *h); /* NULL is fine */

/* Adds bytes to the hash. A tp_hash_fn with a struct tp_hash as `ctx`. */
void tp_hash_add(void *ctx, const void *data, size_t size);

/* Writes TP_HASH_SIZE bytes to `digest`. Must be called once; nothing may be added after it. */
void tp_hash_finish(struct tp_hash *h, uint8_t *digest);

#endif
