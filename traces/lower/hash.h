/* SHA-256, fed piece by piece: the hash of a program. */
#ifndef TP_HASH_H
#define TP_HASH_H

#include "alloc/program/program.h"

struct tp_hash;

int tp_hash_new(struct tp_hash **out, struct tp_err *err);
void tp_hash_free(struct tp_hash *h); /* NULL is fine */

/* A tp_hash_fn: `ctx` is the struct tp_hash. A failure is kept for tp_hash_finish. */
void tp_hash_add(void *ctx, const void *data, size_t size);

/* Writes TP_HASH_SIZE bytes; once, and nothing may be added after. */
int tp_hash_finish(struct tp_hash *h, uint8_t *digest, struct tp_err *err);

#endif
