/* Would it help? What some settings of PYTORCH_CUDA_ALLOC_CONF would do to the program of a
 * snapshot, played by the strategy `torch`. `tapool tune` tries them all. */
#ifndef TP_WHY_TRY_H
#define TP_WHY_TRY_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_WHY_TRIES = 4 };

struct tp_why_try {
    const char *conf; /* "": as recorded, which is the first one */
    uint64_t peak_reserved, failed;
};

struct tp_why_tries {
    struct tp_why_try rows[TP_WHY_TRIES];
    size_t count; /* 0: not tried, or it could not be played */
};

struct tp_why_try_cfg {
    const char *path;
    uint32_t device;
    const char *conf;    /* as recorded; may be NULL */
    uint64_t capacity;   /* bytes of the device; 0: no limit */
    uint64_t max_memory; /* bytes, for reading */
};

/* Settings that the strategy refuses are left out. TP_ESTOP, TP_ENOMEM. */
int tp_why_try(const struct tp_why_try_cfg *cfg, struct tp_why_tries *out, struct tp_err *err);

#endif
