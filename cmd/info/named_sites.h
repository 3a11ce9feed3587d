/* The live memory of a moment by allocation site, with every site, and how two moments differ.
 *
 *     live blocks (site_groups.h) --> sites of the first  --\
 *                                   --> sites of the second --+--> rows by growth
 *
 * Bytes and blocks of the sites add up to what is live, and those of the rows to both sides. Where
 * sites are estimated, from the call stacks of a share of the blocks, bytes are rounded down to
 * whole ones, and the rest is in a site of its own. */
#ifndef TP_NAMED_SITES_H
#define TP_NAMED_SITES_H

#include "traces/places/site_groups.h"

#define TP_SITES_ALL SIZE_MAX

enum tp_site_kind {
    TP_SITE_KNOWN,         /* asked for during the recording */
    TP_SITE_UNKNOWN,       /* the same, without a name; or of sites that were left out */
    TP_SITE_INITIAL,       /* live when the recording began */
    TP_SITE_INITIAL_OTHER, /* the same, without a name */
    TP_SITE_KINDS
};
extern const char *const tp_site_kind_words[TP_SITE_KINDS]; /* in documents */

struct tp_named_site {
    uint32_t name; /* in tp_named_sites.names; TP_NO_TEXT: none */
    enum tp_site_kind kind;
    uint64_t bytes, blocks;
};

struct tp_named_sites {
    struct tp_texts names;
    struct tp_named_site *list; /* owned; each pair of name and kind once */
    size_t count, room;
    uint64_t bytes, blocks;                 /* live: all sites together */
    uint64_t initial_bytes, initial_blocks; /* of these, live when the recording began */
    bool known;                             /* some site has a name */
    bool estimated;
    size_t left_out; /* sites that are not kept: what they hold is in the one without a name */
};

struct tp_named_sites_cfg {
    enum tp_sites_by by;
    unsigned depth; /* as in struct tp_sites_cfg */
    bool apart; /* blocks of the initial heap have sites of their own; false: those of all blocks */
    size_t most; /* sites with a name that are kept, the largest; or TP_SITES_ALL */
    int (*stop)(struct tp_err *err);
};

/* Sorts the list. `out` must be released in every case. */
int tp_named_sites_of(struct tp_held_list *list, const struct tp_named_sites_cfg *cfg,
                      struct tp_named_sites *out, struct tp_err *err);
void tp_sites_release(struct tp_named_sites *s); /* a zeroed one is fine */

/* A site on both sides; 0 bytes and blocks: that side has none. */
struct tp_site_row {
    const char *name; /* NULL: none; owned by the sites */
    enum tp_site_kind kind;
    uint64_t bytes[2], blocks[2];
};

struct tp_site_rows {
    struct tp_site_row *rows; /* owned; the most growth in bytes first, then by name */
    size_t count;
    size_t changed; /* rows whose bytes or blocks differ */
    uint64_t bytes[2], blocks[2];
    uint64_t initial_bytes[2], initial_blocks[2];
    bool known[2], estimated;
    size_t left_out[2];
};

/* Pairs the sites of two moments, which must outlive the rows. TP_ENOMEM: `out` is empty. */
int tp_site_rows_of(const struct tp_named_sites *first, const struct tp_named_sites *second,
                    struct tp_site_rows *out, struct tp_err *err);
void tp_site_rows_release(struct tp_site_rows *r); /* a zeroed one is fine */

static inline bool tp_site_changed(const struct tp_site_row *r)
{
    return r->bytes[0] != r->bytes[1] || r->blocks[0] != r->blocks[1];
}

/* Orders by growth from the first to the second, the most first, for qsort. */
int tp_compare_growth(const uint64_t x[2], const uint64_t y[2]);

/* From the first to the second, without the sign. */
static inline uint64_t tp_apart(const uint64_t value[2])
{
    return value[1] > value[0] ? value[1] - value[0] : value[0] - value[1];
}

#endif
