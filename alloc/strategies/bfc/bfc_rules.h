/* The numbers that decide what BFC ("best fit with coalescing") does, the allocator of TensorFlow
 * and JAX (xla/tsl/framework/bfc_allocator.cc) and of ONNX Runtime (core/framework/bfc_arena.cc).
 *
 * An edge is kept as the number that makes it, so that every rule can be broken on purpose by
 * another number. */
#ifndef TP_BFC_RULES_H
#define TP_BFC_RULES_H

#include "alloc/base/mutation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_BFC_NO_LIMIT UINT64_MAX
#define TP_BFC_SPACE    (UINT64_C(1) << 62) /* bytes: no region has more */

/* Which of the free chunks that are large enough serves a request. Only TP_BFC_BEST is what BFC
 * does; the others show that a comparison with a recording can fail. */
enum tp_bfc_fit {
    TP_BFC_BEST,    /* the smallest, of equal ones the lowest address */
    TP_BFC_HIGHEST, /* the smallest, of equal ones the highest address */
    TP_BFC_FIRST,   /* the lowest address */
    TP_BFC_WORST,   /* the largest, of equal ones the lowest address */
};

/* Whose allocator it is. */
enum tp_bfc_flavour { TP_BFC_TF, TP_BFC_JAX, TP_BFC_ORT, TP_BFC_FLAVOURS };

/* All sizes in bytes. */
struct tp_bfc_rules {
    uint64_t flavour;      /* enum tp_bfc_flavour */
    uint64_t grain;        /* sizes are rounded up to multiples of this */
    uint64_t split_halves; /* a chunk is split if it has so many halves of the rounded size */
    uint64_t rest_most;    /* or if the rest has so many bytes */
    uint64_t merge_before; /* bool: a freed chunk is merged with the free one before it */
    uint64_t merge_behind;
    uint64_t fit;              /* enum tp_bfc_fit */
    uint64_t grows;            /* bool: regions come as they are needed; else one has all at once */
    uint64_t exact;            /* bool: a region has the rounded size of its request */
    uint64_t first_region;     /* at most the limit */
    uint64_t enlarges;         /* bool: the next region is doubled until a request fits */
    uint64_t doubles;          /* bool: behind a region that was not enlarged, it is doubled */
    uint64_t doubles_enlarged; /* bool: behind one that was enlarged too */
    uint64_t doubled_most;     /* bytes that doubling makes the next region at most */
    uint64_t doubles_refused;  /* bool: also where the source refused the region */
    uint64_t less_least;       /* a region that the source refused is asked for down to this */
    uint64_t limit;            /* of all regions, or TP_BFC_NO_LIMIT */
    uint64_t collects;         /* bool: unused regions go back before it is out of memory */
    uint64_t by_stream;        /* bool: a chunk serves the stream of its first request alone */
    uint64_t shrinks;          /* bool: unused regions go back where the program asks for it */
    uint64_t keeps_first;      /* bool: the first region does not go back then */
    uint64_t next_after_shrink; /* bytes of the next region behind that */
};

/* The rules of a flavour without options, and without a limit: regions grow. */
struct tp_bfc_rules tp_bfc_rules_for(enum tp_bfc_flavour flavour);

extern const struct tp_mutation tp_bfc_mutations[]; /* of struct tp_bfc_rules */

/* The rounded size of a request of at most 2^62 bytes: at least one grain. */
static inline uint64_t tp_bfc_rounded(const struct tp_bfc_rules *rules, uint64_t size)
{
    uint64_t grains = (size + rules->grain - 1) / rules->grain;
    return (grains ? grains : 1) * rules->grain;
}

/* The bytes of a free chunk of `size` bytes that serve a request of `rounded`, which fits: all, or
 * those that it asked for, and the rest is a free chunk behind them. */
static inline uint64_t tp_bfc_cut(const struct tp_bfc_rules *rules, uint64_t size, uint64_t rounded)
{
    uint64_t times = rules->split_halves;
    bool split = times && rounded > UINT64_MAX / times ? false : size * 2 >= rounded * times;
    return split || size - rounded >= rules->rest_most ? rounded : size;
}

/* The bytes of the next region, for a request of `rounded` bytes, where regions may have `left`
 * bytes more, at least that many. *next: what the allocator takes next, which it enlarges; above 0.
 * *enlarged: it did. tp_bfc_region_taken is to follow. */
static inline uint64_t tp_bfc_next_region(const struct tp_bfc_rules *rules, uint64_t *next,
                                          uint64_t rounded, uint64_t left, bool *enlarged)
{
    *enlarged = false;
    if (rules->exact)
        return rounded;
    for (; rounded > *next && rules->enlarges; *enlarged = true)
        *next *= 2;
    uint64_t bytes = *next > rounded ? *next : rounded;
    return bytes < left ? bytes : left;
}

/* What the allocator takes behind a region that it was given, or, with doubles_refused, asked for.
 */
static inline void tp_bfc_region_taken(const struct tp_bfc_rules *rules, uint64_t *next,
                                       bool enlarged)
{
    bool doubles = enlarged ? rules->doubles_enlarged : rules->doubles;
    if (doubles && !rules->exact && *next < TP_BFC_SPACE)
        *next = *next * 2 < rules->doubled_most ? *next * 2 : rules->doubled_most;
}

/* The bytes that are asked for where the source refused so many; 0: nothing more. Both libraries
 * multiply by a float. */
uint64_t tp_bfc_less(const struct tp_bfc_rules *rules, uint64_t bytes, uint64_t rounded);

#endif
