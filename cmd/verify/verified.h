/* What a comparison of the rules with a recording found on one device. */
#ifndef TP_VERIFIED_H
#define TP_VERIFIED_H

#include "alloc/memory.h"

#include <stdbool.h>
#include <stddef.h>

enum { TP_VERIFY_CHOICES = 8 };

/* How the rules and the file can differ. */
enum tp_verify_kind {
    TP_NO_DIFFERENCE,
    TP_OTHER_ADDRESS,       /* a request is served elsewhere */
    TP_NOT_SERVED,          /* a request is not served at all */
    TP_NEEDS_SEGMENT,       /* the rules take a segment, and the file has none there */
    TP_NEEDS_MAPPING,       /* the rules map memory, and the file maps none, or other memory */
    TP_NEEDS_NONE,          /* the file takes a segment, and the rules have room */
    TP_NOT_ITS_UNITS,       /* the file unmaps a part of what the rules would */
    TP_MAPPED_IN_USE,       /* the file unmaps what is not free */
    TP_SEGMENT_IN_USE,      /* the file gives a segment back that is not wholly free */
    TP_HAS_ROOM,            /* a request failed that the rules serve from what is free */
    TP_NOT_LIVE,            /* the file frees what is not live */
    TP_START_UNPLACED,      /* what was there at the start does not fit together */
    TP_OTHER_LAYOUT,        /* a segment at the end */
    TP_OTHER_SIZE,          /* the block of a request has another size; both sides are bytes */
    TP_OTHER_FRAGMENTATION, /* both sides are parts of 1,000,000 */
    TP_DIFFERENCE_KINDS
};

/* A free block that a request could choose. */
struct tp_verify_choice {
    tp_addr addr;
    uint64_t size;
};

/* The first difference of a device. */
struct tp_verify_difference {
    enum tp_verify_kind kind;
    uint64_t event; /* number among the device's events, from 1; 0: none */
    uint64_t size;  /* requested, or of the segment */
    int64_t stream;
    uint64_t expected, got; /* addresses, unless its kind says otherwise; 0: none */
    struct tp_verify_choice choices[TP_VERIFY_CHOICES];
    size_t choice_count;
};

/* `good` of `all` are as in the file. */
struct tp_agreement {
    uint64_t good, all;
};

/* A change of settings that explains the addresses from an event on. */
struct tp_verify_change {
    uint64_t event;     /* number among the device's events, from 1: the first that it holds for */
    const char *conf;   /* the text that was set: "max_split_size_mb:20"; "": the defaults */
    uint64_t addresses; /* up to the next change, or to the end */
    unsigned others;    /* settings that were tried and explain as much */
};
enum { TP_VERIFY_CHANGES = 6 };

/* Whether changes of settings were looked for (verify.h), and what came of it. */
enum tp_verify_search {
    TP_NOT_SEARCHED,
    TP_CHANGES_FOUND, /* with them all agrees */
    TP_NO_CHANGE_FITS,
    TP_SEARCH_CUT, /* it would have taken too long */
};

/* How what was there at the start is known. */
enum tp_verify_start_known {
    TP_START_REBUILT,   /* from what the file has of the end, and its events */
    TP_START_INFERRED,  /* from the events alone */
    TP_START_EMPTY,     /* nothing was: the recording begins with the allocator */
    TP_START_ALL_FREE,  /* regions, and nothing live in them */
    TP_START_ONE_CHUNK, /* all that was not in use was one free block */
    TP_STARTS
};

struct tp_verified {
    uint32_t device;
    const char *name; /* of the device; borrowed from the file; NULL: it has none */
    uint64_t events;
    struct tp_agreement addresses;     /* of requests */
    struct tp_agreement sizes;         /* of their blocks, where the events say them */
    struct tp_agreement fragmentation; /* after an event, where it says that */
    struct tp_agreement segments;      /* at the end, with all their blocks */
    struct tp_agreement taken;         /* segments taken from the driver */
    struct tp_agreement returned;      /* segments given back */
    struct tp_agreement mapped;        /* times that memory was mapped in segments that grow */
    struct tp_agreement unmapped;      /* times that it was unmapped */
    uint64_t blocks;                   /* at the end, in the segments that agree */
    uint64_t with_base;                /* addresses that agree and are a base from the file */
    enum tp_verify_start_known start_known;
    uint64_t start_segments, start_blocks;
    uint64_t start_rounded;   /* of start_blocks: those whose size follows from their request */
    uint64_t start_shown;     /* of those: how many are larger, as an event shows */
    uint64_t start_stretches; /* of start_segments: what was mapped of segments that grow */
    uint64_t start_inferred;  /* of those: their pool is not in the file */
    uint64_t start_lasting;   /* bytes in use that no event frees, where is not known */
    bool least_reserved;      /* how much was reserved is not known: at least what is shown */
    const char *reserved_how; /* assumed: how memory was reserved; NULL: the file shows it */
    uint64_t pools_returned;  /* segments of private pools that were given back */
    uint64_t switches;        /* changes of expandable_segments that the events show */
    uint64_t unpooled; /* requests in private pools whose events do not say them: not compared */
    uint64_t breaks;   /* events behind which the recorded bytes in use do not add up */
    uint64_t not_live; /* frees that the rules refuse */
    uint64_t unknown;  /* events of another kind */
    struct tp_agreement failed; /* requests that failed in the recording */
    uint64_t failed_unused;     /* of those: while unused memory had not gone back */
    struct tp_verify_difference first;
    enum tp_verify_search search;
    struct tp_verify_change changes[TP_VERIFY_CHANGES]; /* with TP_CHANGES_FOUND; they ascend */
    size_t change_count;
};

/* Whether the two sides of a difference are addresses. */
static inline bool tp_differs_in_place(const struct tp_verify_difference *d)
{
    return d->kind != TP_OTHER_SIZE && d->kind != TP_OTHER_FRAGMENTATION;
}

static inline bool tp_agrees(const struct tp_verified *v)
{
    return v->first.kind == TP_NO_DIFFERENCE;
}

#endif
