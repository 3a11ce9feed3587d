/* A list that may be longer than memory: items of one size, in memory up to a limit and then in an
 * unlinked file in $TMPDIR. */
#ifndef TP_SPILL_H
#define TP_SPILL_H

#include "alloc/base/grow.h"

struct tp_spill {
    size_t item;          /* bytes of one item */
    size_t limit;         /* bytes kept in memory */
    unsigned char *items; /* the last items, which are not in the file */
    size_t count, room;
    uint64_t written;         /* items in the file */
    int fd;                   /* -1: none */
    struct tp_budget *budget; /* charged for items in memory; NULL: no budget */
};

void tp_spill_init(struct tp_spill *l, size_t item, size_t limit);
void tp_spill_release(struct tp_spill *l);
int tp_spill_add(struct tp_spill *l, const void *item, struct tp_err *err);
uint64_t tp_spill_count(const struct tp_spill *l);

/* Copies `count` items from number `first` on; all of them must exist. */
int tp_spill_read(const struct tp_spill *l, uint64_t first, size_t count, void *out,
                  struct tp_err *err);

/* Reads items in order, from number `next` up to but not including `end`. The list must not change
 * meanwhile. */
struct tp_spill_cursor {
    const struct tp_spill *list;
    uint64_t next, end;
    size_t at, there; /* items of the batch: returned so far, and read */
    _Alignas(8) unsigned char batch[(size_t)16 << 10];
};

/* The next item, valid until the next call. NULL at the end (*rc is TP_OK) or on an error (*rc). */
const void *tp_spill_next(struct tp_spill_cursor *c, int *rc, struct tp_err *err);

#endif
