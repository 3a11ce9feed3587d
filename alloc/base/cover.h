/* Which bytes have been part of a block at some time, in steps of 8 bytes.
 *
 *     address    ... | 2 MiB | 2 MiB | ...       a part for each that has one: 32 KiB of bits
 *     bits           .###.##.                    one for each 8 bytes
 *
 * Parts lie in shared memory (own_pages.h), so that they are in no figure of this process's memory.
 * Several threads may add at once. Steps of an addition: one for each 512 bytes. */
#ifndef TP_COVER_H
#define TP_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_cover_part;

struct tp_cover {
    struct tp_cover_part *parts;
    unsigned char *bits;
    uint64_t used; /* parts; atomic */
    bool full;     /* atomic: something was not added, so nothing is known */
};

bool tp_cover_open(struct tp_cover *c); /* false: there is no memory, and nothing to close */
void tp_cover_close(struct tp_cover *c);

void tp_cover_add(struct tp_cover *c, uint64_t addr, uint64_t size);

/* The bytes that are covered of [addr, addr + size), both multiples of 512. No thread adds. */
uint64_t tp_cover_bytes(const struct tp_cover *c, uint64_t addr, uint64_t size);

#endif
