/* Room where segments grow (expandable_segments).
 *
 *     units   |   0   |   1   |   2   |   -   |   4   |   5   |   -   | ...      -: not mapped
 *     blocks  | A | B    |    |       |       |   |    C      |
 *                        '------ a request -------'
 *
 * Before a request fails, PyTorch gives the units back that serve nothing. Then the request gets
 * addresses behind a live block: bytes of units that hold others too, and whole units, which are
 * mapped anew. The driver must have these.
 *
 * So without some live blocks there is room for two reasons that add up: more units serve nothing,
 * and a request that lies where they lay needs fewer of them.
 *
 * Known weakness: PyTorch tries the lowest addresses with room alone; here a request lies where it
 * needs the fewest units. Blocks that lie apart are not tried together: real
 * snapshots replayed on smaller devices never needed it (297 failures), and in small heaps made by
 * chance it would spare one block in sixteen. */
#ifndef TP_WHY_GROWING_H
#define TP_WHY_GROWING_H

#include "cmd/why/why_layout.h"

enum { TP_WHY_BLOCKS_MOST = 256 }; /* more blocks are looked for only where the request would lie */

/* Where segments do not grow, each is a unit, `need` the bytes of a new one, and `unit` 1. */
struct tp_why_growing_cfg {
    const struct tp_why_layout *layout;
    uint64_t need;   /* bytes of the block for the request, at most 2^62 */
    uint64_t unit;   /* bytes of one in its pool */
    uint64_t driver; /* bytes that the driver has once unused memory went back */
    uint16_t stream; /* of the request */
    bool small;      /* its pool */
};

struct tp_why_growing;

/* TP_ENOMEM. It uses the layout. */
int tp_why_growing_new(const struct tp_why_growing_cfg *cfg, struct tp_why_growing **out,
                       struct tp_err *err);
void tp_why_growing_free(struct tp_why_growing *g); /* NULL: nothing happens */

/* The least bytes that are to be mapped for the request. */
uint64_t tp_why_growing_least(const struct tp_why_growing *g);

/* The largest block for which the driver has enough; 0: none. */
uint64_t tp_why_growing_largest(const struct tp_why_growing *g);

/* A set of live blocks. */
struct tp_why_set {
    size_t *blocks; /* owned: numbers in the layout, ascending */
    size_t count;
    bool side_by_side; /* the request would lie where they lie, and nothing else need go */
};

/* The fewest live blocks, fewer than `below`, without which the request finds room, at least one:
 * of units side by side, or those that lie where the request would. count 0: there are no such, or
 * more than TP_WHY_BLOCKS_MOST. TP_ENOMEM. */
int tp_why_growing_set(const struct tp_why_growing *g, size_t below, struct tp_why_set *out,
                       struct tp_err *err);

#endif
