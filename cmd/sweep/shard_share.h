/* The share of a shard: cells that no other shard has, of about the same cost. */
#ifndef TP_SHARD_SHARE_H
#define TP_SHARD_SHARE_H

#include "cmd/sweep/sweep_plan.h"

/* Chooses the cells of shard `shard` of `shards`, from 1, which depend on the plan and the sizes of
 * its files alone; with the path of a store in `costs` (NULL: none) also on the times in it. `mine`
 * is an array of the plan's cells that the caller frees. A cell costs the bytes of its trace times
 * the usual time of its setting. TP_EINPUT: `costs` is no store. */
int tp_sweep_share(const struct tp_sweep_plan *plan, uint64_t shard, uint64_t shards,
                   const char *costs, bool **mine, struct tp_err *err);

#endif
