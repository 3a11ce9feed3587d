/* Where real PyTorch snapshots are: some in tests/data, the others beside the repository. */
#ifndef TP_TEST_SNAPSHOT_FILES_H
#define TP_TEST_SNAPSHOT_FILES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Where a file is, or false. `root` is the folder of the repository. */
static inline bool find_snapshot(const char *root, const char *name, char *out, size_t size)
{
    const char *shared = getenv("TAPOOL_SHARED");
    snprintf(out, size, "%s/tests/data/pytorch/%s", root, name);
    if (access(out, R_OK) == 0)
        return true;
    snprintf(out, size, "%s%s/corpus/pytorch/%s", shared ? shared : root,
             shared ? "" : "/../shared", name);
    return access(out, R_OK) == 0;
}

#endif
