/* An instance of `bfc` whose heap is put where a recording had it, for a comparison with what the
 * recorded allocator did. Nothing else calls this.
 *
 * `st` is the state of an instance, on which tp_bfc_follow was called before the first request.
 * From then on the place of a chunk among others is its address, as in the library. Regions may be
 * added at any time, and made larger, as a start that is known in part becomes known. All sizes are
 * bytes. */
#ifndef TP_BFC_PLACE_H
#define TP_BFC_PLACE_H

#include "alloc/memory.h"
#include "alloc/strategies/bfc/bfc_rules.h"

/* A live chunk of a region. */
struct tp_bfc_at {
    tp_addr addr;
    uint64_t size;      /* of the chunk */
    uint64_t requested; /* by the program; requests of a recording have an alignment of 1 */
};

struct tp_bfc_range {
    tp_addr base;
    uint64_t size;
    uint16_t stream; /* ort: of its chunks, which serve no other; else of no meaning */
};

/* TP_EINVAL: the instance has regions already. */
int tp_bfc_follow(void *st);

/* The rules of the instance, which may be changed. */
struct tp_bfc_rules *tp_bfc_rules_of(void *st);

/* ---- regions ---- */

/* Adds a region that the source is taken to have given, with these live chunks, which ascend;
 * between them lie free ones. TP_EINVAL: chunks or regions overlap; nothing has changed. */
int tp_bfc_place(void *st, const struct tp_bfc_range *region, const struct tp_bfc_at *chunks,
                 size_t count);

/* Adds free bytes behind the region at `base`. TP_EINVAL: there is none, or they are not vacant. */
int tp_bfc_lengthen(void *st, tp_addr base, uint64_t by);

/* Makes the region at `base` and the next one, which begins where it ends, one: a free chunk at the
 * seam is merged as any other. TP_EINVAL: there is no such pair. */
int tp_bfc_unite(void *st, tp_addr base);

/* Whether a region could be placed there: it overlaps no other. */
bool tp_bfc_is_vacant(void *st, tp_addr base, uint64_t size);

/* Gives the region at `base` back. TP_EINVAL: there is none of this size, or it is not wholly free;
 * TP_EIO: the source refused. */
int tp_bfc_drop(void *st, tp_addr base, uint64_t size);

/* The next region has so many bytes, or more, where its request asks for more. */
void tp_bfc_take_next(void *st, uint64_t bytes);

/* Regions that there are. */
uint64_t tp_bfc_regions(void *st);

/* ---- chunks ---- */

/* Makes a live chunk of exactly this size of free bytes, whatever the rules would choose: what lies
 * before and behind it in the free chunk is free still. TP_EINVAL: the bytes are not all of one
 * free chunk, and nothing has changed. */
int tp_bfc_force(void *st, const struct tp_bfc_at *chunk);

/* What a request chooses among: writes the first free chunks of at least its rounded size, `most`
 * at most, in the order of choice, and returns their number. */
struct tp_bfc_free_chunk {
    tp_addr addr;
    uint64_t size;
};
size_t tp_bfc_choices(void *st, uint64_t requested, uint16_t stream, struct tp_bfc_free_chunk *out,
                      size_t most);

/* The free chunk that would serve a request; 0: none. */
tp_addr tp_bfc_serves(void *st, uint64_t requested, uint16_t stream);

/* The free chunk that holds these bytes. False: they are not all of one. */
bool tp_bfc_is_free(void *st, tp_addr addr, uint64_t size, struct tp_bfc_free_chunk *out);

/* The live chunk at an address. False: there is none. */
bool tp_bfc_is_live(void *st, tp_addr addr, struct tp_bfc_at *out);

/* Calls `fn` for every chunk of all regions, by address. `requested` is 0 for a free one. A status
 * other than TP_OK ends it and is returned. */
typedef int tp_bfc_look_fn(void *ctx, const struct tp_bfc_range *region,
                           const struct tp_bfc_at *chunk);
int tp_bfc_look(void *st, tp_bfc_look_fn *fn, void *ctx);

/* The library says as fragmentation: (pool - in_use - largest) / (pool - in_use). */
struct tp_bfc_bytes {
    uint64_t pool;    /* of all regions */
    uint64_t in_use;  /* of all chunks that are not free */
    uint64_t largest; /* of the largest free chunk */
};
struct tp_bfc_bytes tp_bfc_bytes_of(void *st);

#endif
