/* A trace of PyTorch's requests as a snapshot: what lay where is not recorded in it, as in one that
 * tapool predicted, and follows from a replay by the rules of PyTorch's allocator. */
#ifndef TP_WHY_REPLAYED_H
#define TP_WHY_REPLAYED_H

#include "alloc/base/err.h"

#include <stdint.h>

struct tp_why_replayed {
    int fd;        /* of an unlinked file with the snapshot; -1: none */
    char path[32]; /* by which it is opened */
    char *remarks; /* owned: of the trace, such as that it was predicted; NULL: none */
};

/* Replays the trace of `path` under the recorded settings, or `conf` if that is not NULL, on a
 * device of `capacity` bytes; 0: no limit; UINT64_MAX: what the recorded program could have. To be
 * closed in every case. TP_EINPUT: it is no trace of PyTorch's requests. */
int tp_why_replay(const char *path, const char *conf, uint64_t capacity, uint64_t max_memory,
                  struct tp_why_replayed *out, struct tp_err *err);
void tp_why_replayed_close(struct tp_why_replayed *r);

#endif
