/* Who holds the memory: live bytes at an event by the code place that asked for them, by phase, by
 * age or by size. A block belongs to the call that gave it its size: its allocation, or its last
 * realloc. By metadata: by what the program said of its allocation.
 *
 * Where only a share of the allocations has places, the figures by place are estimated: of the live
 * blocks of a size class (powers of two), those with a place stand for all. What each class holds
 * is known, so that the estimates add up to the whole. */
#ifndef TP_SITE_GROUPS_H
#define TP_SITE_GROUPS_H

#include "alloc/base/numbers.h"
#include "alloc/base/texts.h"
#include "traces/format.h"
#include "traces/places/moment.h"

enum { TP_SITES_MOST = 20, TP_SITE_CALLERS = 4, TP_SITE_LARGEST = 3, TP_SITE_DEPTH = 16 };

enum tp_sites_by { TP_BY_PLACE, TP_BY_PHASE, TP_BY_AGE, TP_BY_SIZE, TP_BY_METADATA };
extern const char *const tp_sites_by_words[]; /* "line", "annotation", "age", ... */

struct tp_sites_cfg {
    uint64_t at; /* after this event; TP_AT_PEAK: at the trace peak */
    enum tp_sites_by by;
    /* places of a call stack that tell rows apart: the innermost one, and so many callers but one;
     * 0 is 1, without asking for stacks that have to be read from the file first */
    unsigned depth;
    bool stacks; /* stacks are wanted for stack_bytes, whatever the depth */
    /* the number + 1 of the group of each block of the list, which is zeroed before; NULL: nobody
     * asks */
    uint32_t *of_block;
};

/* A place that called, and what was asked for from there. */
struct tp_site_caller {
    const char *place;
    double bytes;
};

struct tp_site {
    const char *place; /* "read", or "read < parse < main"; or the name of a phase or a class */
    double bytes;
    uint64_t blocks; /* live ones; not estimated */
    /* ages of those that are known, in the unit of the list; youngest > oldest: none is */
    uint64_t youngest, oldest;
    /* From where most of it was asked for: the caller, its caller, and so on, as long as more than
     * half of the bytes come from there. */
    struct tp_site_caller callers[TP_SITE_CALLERS];
    unsigned caller_count;
    struct tp_site_caller largest[TP_SITE_LARGEST]; /* of those that called it themselves */
    unsigned largest_count;
};

/* All blocks of a name. */
struct tp_site_group {
    double bytes;              /* estimated where the list is */
    uint64_t blocks;           /* live ones; not estimated */
    uint64_t youngest, oldest; /* as in struct tp_site */
};

struct tp_sites {
    struct tp_place_table *table; /* owned: the texts of places */
    struct tp_texts names;        /* owned: those of all groups */
    struct tp_site_group *groups; /* owned: all there are, by the number of their names */
    size_t group_count, group_room;
    double *stack_bytes; /* owned: of blocks with this stack of the table */
    double *text_bytes;  /* owned: of blocks with this place and no stack */
    struct tp_place_sampling sampling;
    enum tp_sites_by by;
    uint64_t at; /* this and `depth` as asked for */
    unsigned depth;
    bool timed;             /* ages are nanoseconds, else events */
    uint64_t bytes, blocks; /* live */
    double unknown;  /* bytes of no row: without a place, or of a class of which no block has one */
    double before;   /* of these, bytes of blocks from before the recording */
    bool estimated;  /* some of the rows' bytes are */
    uint32_t places; /* rows that there are */
    unsigned count;  /* of those that are kept, the largest first */
    struct tp_site rows[TP_SITES_MOST];
};

/* A block that is live at the moment. */
struct tp_held_block {
    uint64_t size;   /* bytes requested */
    uint64_t place;  /* number of the event by which `places` knows its place; 0: none */
    uint64_t age;    /* nanoseconds, or events where times are not known */
    uint32_t phase;  /* in which it was asked for, as the caller numbers them */
    uint32_t label;  /* of its metadata; 0: none */
    uint32_t slot;   /* of the program */
    bool from_start; /* was live when the recording began: its age is not known */
};

/* The name of a phase; NULL: that is none. */
typedef const char *tp_phase_fn(const void *ctx, uint32_t phase);

struct tp_held_list {
    struct tp_held_block *blocks; /* ascending by `place` */
    size_t count;
    bool timed; /* ages are nanoseconds */
    const struct tp_places *places;
    tp_phase_fn *phase; /* NULL: phases are not known */
    const void *ctx;
};

extern const char *const tp_site_rest_words[]; /* what has no name is, by enum tp_sites_by */

/* What is in no row, by the reason. Returns how many there are. */
enum { TP_SITE_RESTS = 2 };
struct tp_site_rest {
    const char *name;
    double bytes;
};
unsigned tp_site_rests(const struct tp_sites *h, struct tp_site_rest rests[TP_SITE_RESTS]);

struct tp_place_item;
struct tp_str;

/* Adds the name of the row by place that a block with this item of a table belongs to. */
void tp_site_name(const struct tp_place_table *t, const struct tp_place_item *item, unsigned depth,
                  struct tp_str *to);

/* Size classes are powers of two. */
enum { TP_SITE_SIZE_CLASSES = 65 };
static inline unsigned tp_site_size_class(uint64_t size)
{
    return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* The name of the row by size: "512 B to 1 KiB", where the upper end is not in it. */
struct tp_text tp_site_size_name(uint64_t size);

/* *out is NULL where nothing is known of any block. */
int tp_sites_of(const struct tp_held_list *list, const struct tp_sites_cfg *cfg,
                int (*stop)(struct tp_err *err), struct tp_sites **out, struct tp_err *err);
void tp_sites_free(struct tp_sites *h); /* NULL is fine */

#endif
