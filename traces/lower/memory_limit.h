/* What memory the recorded device had, or the program's share of it, as far as the recording tells:
 * PyTorch frees its cache and tries once more when cudaMalloc fails, and that shows as segments
 * that go back right before a new one.
 *
 *     notes     | take | take | give give | take |        retry: what was reserved, and the new
 *     reserved  |      |      ^           |               segment, were more than there was
 *
 * So the limit is at least what was ever reserved, and less than what failed. */
#ifndef TP_MEMORY_LIMIT_H
#define TP_MEMORY_LIMIT_H

#include "alloc/program/program.h"

/* What of the recorded allocator's rules decides. */
struct tp_limit_rules {
    uint64_t (*segment)(uint64_t size); /* bytes of a new segment for a request; never NULL */
    uint64_t unit;                      /* bytes that segments grow by; 0: they do not */
    double collect_above; /* the share of the limit above which garbage is collected; 0: never */
    /* Names for sentences: of the setting that is this share, and of the one with which, where the
     * device is full, only a part of what is cached goes back. Static; NULL: there is none, which
     * `garbage` is only with a `collect_above` of 0. */
    const char *garbage, *partial;
};

/* Of one device, in bytes. */
struct tp_memory_limit {
    uint64_t retries; /* times that cudaMalloc failed and what was cached was freed, if anything */
    uint64_t first_retry; /* event; 0: there was none */
    uint64_t collections; /* times that garbage_collection_threshold freed cached memory */
    uint64_t undecided;   /* times that it was one of these two */
    uint64_t below;       /* the limit is less than this; UINT64_MAX: not known */
};

/* Follows one device. At first all members are 0 but `rules` and `out`, whose `below` is
 * UINT64_MAX. */
struct tp_limit_scan {
    const struct tp_limit_rules *rules; /* those of the recording */
    struct tp_memory_limit *out;
    uint64_t before;      /* bytes reserved before the group that goes back */
    uint64_t taken;       /* bytes mapped since then */
    uint64_t collected;   /* the limit is less than this, if undecided groups were garbage */
    uint64_t first_group; /* event of the first of these */
    uint64_t event;       /* of the group's beginning */
    bool giving, asked, mapping;
};

/* The next instruction of the device, before which `reserved` bytes were. */
void tp_limit_follow(struct tp_limit_scan *s, const struct tp_insn *in, uint64_t event,
                     uint64_t reserved);

/* Behind the last one; `peak`: most bytes that were reserved; `garbage`: undecided groups were seen
 * to be garbage. */
void tp_limit_end(struct tp_limit_scan *s, uint64_t peak, bool garbage);

#endif
