/* An instance of `torch` whose heap is put where a recording had it, for a comparison with what the
 * recorded allocator did. Nothing else calls this, tp_torch_choose_pool aside.
 *
 * `st` is the state of an instance, on which tp_torch_follow was called before the first request.
 * From then on the place of a block among others is its address, as in PyTorch. */
#ifndef TP_TORCH_PLACE_H
#define TP_TORCH_PLACE_H

#include "alloc/memory.h"
#include "alloc/strategies/torch/torch_rules.h"

/* A live block of a segment; all sizes in bytes. */
struct tp_torch_at {
    tp_addr addr;
    uint64_t size;      /* of the block */
    uint64_t requested; /* by the program; requests of a recording have an alignment of 1 */
};

struct tp_torch_segment {
    tp_addr base;
    uint64_t size;
    uint64_t pool; /* tp_torch_look: its private pool, 0: that of all others; else the chosen one */
    uint16_t stream;
    bool small; /* of the small pool */
};

/* TP_EINVAL: the instance has segments already. */
int tp_torch_follow(void *st);

/* From now on requests are served from a private pool with this number (tp_pool_number), and
 * segments placed and compared there; 0: from the pool of all others. Cached memory of private
 * pools never goes back by itself. */
int tp_torch_choose_pool(void *st, uint64_t pool);

/* The rules of the instance, which may be changed. */
struct tp_torch_rules *tp_torch_rules_of(void *st);

/* Adds a segment that the source is taken to have given, with these live blocks, which ascend;
 * between them lie free ones. TP_EINVAL: blocks or segments overlap; nothing has changed. */
int tp_torch_place(void *st, const struct tp_torch_segment *segment,
                   const struct tp_torch_at *blocks, size_t count);

/* Whether a segment could be placed there: it overlaps no other. */
bool tp_torch_is_vacant(void *st, tp_addr base, uint64_t size);

/* Makes a live block of free bytes, whatever the rules would choose; a rest that they do not split
 * off is part of it. TP_EINVAL: the bytes are not all free, and nothing has changed. */
int tp_torch_force(void *st, const struct tp_torch_at *block);

/* Gives the segment at `base` back. TP_EINVAL: there is none of this size, or it is not wholly
 * free. */
int tp_torch_drop(void *st, tp_addr base, uint64_t size);

/* What a request chooses among: writes the first free blocks of at least its rounded size, `most`
 * at most, in the order of choice, and returns their number. */
struct tp_torch_free {
    tp_addr addr;
    uint64_t size;
};
size_t tp_torch_choices(void *st, uint64_t requested, uint16_t stream, struct tp_torch_free *out,
                        size_t most);

/* The free block that would serve a request; 0: none. *unused: bytes that would go back to the
 * driver if memory were short now. */
tp_addr tp_torch_serves(void *st, uint64_t requested, uint16_t stream, uint64_t *unused);

/* Compares the segment at `base` with what a recording had there. `free_blocks` is the number of
 * its free blocks. */
bool tp_torch_is_at(void *st, const struct tp_torch_segment *segment,
                    const struct tp_torch_at *blocks, size_t count, uint64_t free_blocks);

/* ---- segments that grow: of one, what is mapped side by side ---- */

/* Where the segment begins that grows where this part is; 0: none of its stream and pool does. */
tp_addr tp_torch_grows_at(void *st, const struct tp_torch_segment *part);

/* Whether a part of one could be mapped: it lies between what is, or behind it. */
bool tp_torch_is_unmapped(void *st, tp_addr addr, uint64_t size);

/* Maps a part of the segment that begins at `base`, which is made where there is none, and places
 * live blocks there as tp_torch_place does. TP_EINVAL: these are no whole units, something is
 * mapped there, or blocks overlap. */
int tp_torch_place_mapped(void *st, tp_addr base, const struct tp_torch_segment *part,
                          const struct tp_torch_at *blocks, size_t count);

/* Unmaps a part that is free. *whole: it is all that can be unmapped of its free block. TP_EINVAL:
 * it is not free, or not in whole units of a segment that grows. */
int tp_torch_unmap_at(void *st, tp_addr addr, uint64_t size, bool *whole);

/* As tp_torch_is_at for what is mapped side by side from `part->base` on. */
bool tp_torch_is_mapped_at(void *st, const struct tp_torch_segment *part,
                           const struct tp_torch_at *blocks, size_t count, uint64_t free_blocks);

/* Segments, and of those that grow each stretch that is mapped. */
uint64_t tp_torch_stretches(void *st);

/* The addresses that a segment which grows reserves, and the bytes that it grows by. */
struct tp_torch_space {
    tp_addr base;
    uint64_t unit; /* 0, as the base: it does not grow */
};

/* Calls `fn` for every block: those of a segment one behind the other, without a gap. Of a segment
 * that grows each stretch that is mapped is one, and they come one behind the other. `requested` is
 * 0 for a free block. A status other than TP_OK ends it and is returned. */
typedef int tp_torch_look_fn(void *ctx, const struct tp_torch_segment *segment,
                             const struct tp_torch_space *space, const struct tp_torch_at *block);
int tp_torch_look(void *st, tp_torch_look_fn *fn, void *ctx);

/* Segments that there are. */
uint64_t tp_torch_segments(void *st);

#endif
