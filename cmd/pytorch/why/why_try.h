/* Would it help? What some settings of PYTORCH_CUDA_ALLOC_CONF would do to the program of a
 * snapshot, played by the strategy `torch`. `tapool tune` tries them all. */
#ifndef TP_WHY_TRY_H
#define TP_WHY_TRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_WHY_TRIES = 5, TP_WHY_RETRIES_TEXT = 300 };

struct tp_why_try {
    const char *conf; /* "": as recorded */
    uint64_t peak_reserved, failed;
    bool recorded;  /* the recorded setting: the first row, and from a compacted start the second */
    bool compacted; /* it began compacted, although the initial heap is recorded */
};

struct tp_why_tries {
    struct tp_why_try rows[TP_WHY_TRIES];
    size_t count;      /* 0: not tried, or it could not be played */
    uint64_t capacity; /* bytes that PyTorch had in them; 0: no limit */
};

/* What the recording tells of the device. */
struct tp_why_recording {
    uint64_t retries, first_retry; /* times that cudaMalloc failed; event of the first one */
    uint64_t capacity;             /* bytes that PyTorch could have at least; 0: not known */
    uint64_t limit; /* of a limit of the process, bytes that it has at most; 0: there is none */
    bool ran_out;   /* requests failed for good */
    uint64_t peak;  /* most bytes that it reserved; 0: not known */
    char
        retries_text[TP_WHY_RETRIES_TEXT]; /* "cudaMalloc failed 39 times, ..."; "": it never did */
};

#endif
