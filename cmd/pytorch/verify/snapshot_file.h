/* A PyTorch snapshot that is read in the file's own terms, not as a trace. */
#ifndef TP_SNAPSHOT_FILE_H
#define TP_SNAPSHOT_FILE_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* It must not move while it is open. */
struct tp_snapshot_file {
    struct tp_read_opts opts;
    struct tp_budget budget;
    struct tp_reading reading;
    struct tp_pytorch *snapshot;
};

/* Opens a file, or "-" for standard input. It must be closed in every case. */
int tp_snapshot_open(struct tp_snapshot_file *f, const char *path, uint64_t max_memory,
                     struct tp_err *err);
void tp_snapshot_close(struct tp_snapshot_file *f);

/* TP_EINPUT: the snapshot has no events of a GPU. */
int tp_snapshot_silent(const struct tp_pytorch *s, struct tp_err *err);

#endif
