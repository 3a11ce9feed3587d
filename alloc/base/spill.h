/* A list that may be longer than memory: items of one size, in memory up to a limit and then in an
 * unlinked file in $TMPDIR. */
#ifndef TP_SPILL_H
#define TP_SPILL_H

#include "alloc/base/grow.h"

struct tp_spill {
    size_t item;          /* bytes of one */
    size_t limit;         /* bytes kept in memory */
    unsigned char *items; /* those behind what is in the file */
    size_t count, room;
    uint64_t written;         /* items in the file */
    int fd;                   /* -1: none */
    struct tp_budget *budget; /* of what is in memory; NULL: it is not counted */
};

void tp_spill_init(struct tp_spill *l, size_t item, size_t limit);
void tp_spill_release(struct tp_spill *l);
int tp_spill_add(struct tp_spill *l, const void *item, struct tp_err *err);
uint64_t tp_spill_count(const struct tp_spill *l);

/* `count` items from `first` on, which must be there. */
int tp_spill_read(const struct tp_spill *l, uint64_t first, size_t count, void *out,
                  struct tp_err *err);

/* One item after the other, from `next` to before `end`; the list must not change meanwhile. */
struct tp_spill_cursor {
    const struct tp_spill *list;
    uint64_t next, end;
    size_t at, there; /* of the batch: what was given, what was read */
    _Alignas(8) unsigned char batch[(size_t)16 << 10];
};

/* The next item, valid until the call after; NULL: there is none, or *rc says why. */
const void *tp_spill_next(struct tp_spill_cursor *c, int *rc, struct tp_err *err);

#endif
