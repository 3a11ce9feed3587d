/* What the files of offline packing share. */
#ifndef TP_OFFLINE_INTERNAL_H
#define TP_OFFLINE_INTERNAL_H

#include "alloc/base/random.h"
#include "alloc/packing/offline.h"

/* An object begins or ends. Ends come before begins at the same time. */
struct offline_moment {
    uint64_t time;
    uint32_t object;
    bool begins;
};

/* Sections are moments at which an object is about to end after others have begun: two objects live
 * together if and only if they share a section. */
struct offline {
    struct tp_offline_object *objects;
    struct offline_moment *moments; /* two of each object, in the order of time */
    uint32_t count;
    uint32_t sections;
    uint64_t *load;    /* bytes live in each section */
    uint64_t *weight;  /* of each object: the highest load of its sections */
    uint32_t *order;   /* a permutation of the objects */
    uint64_t *offsets; /* of the placement that is being tried */
    uint64_t steps;    /* left */
    const volatile sig_atomic_t *interrupted;
    uint64_t least, best;
    struct tp_random random;
};

static inline uint64_t offline_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

static inline bool offline_is_interrupted(const struct offline *p)
{
    return p->interrupted && *p->interrupted;
}

/* Takes steps off those left. False: there are not enough, or the user asked to stop, and none are
 * left. */
static inline bool offline_spend(struct offline *p, uint64_t steps)
{
    bool enough = steps <= p->steps && !offline_is_interrupted(p);
    p->steps = enough ? p->steps - steps : 0;
    return enough;
}

/* ---- offline_fit.c ---- */

/* Fills in p->weight. False: out of memory. */
bool tp_offline_weigh(struct offline *p);

/* Whether no two objects of the best placement overlap; n log n steps. False too where there is no
 * memory to see it. */
bool tp_offline_is_sound(struct offline *p);

/* Each of the two returns the height, or UINT64_MAX: not lower than `best`, out of steps or of
 * memory.
 *
 * In the order, each object on top of all that was placed in its sections: n log n steps. */
uint64_t tp_offline_stack(struct offline *p);

/* In the order, each object at the lowest offset where it fits. */
uint64_t tp_offline_first_fit(struct offline *p);

/* ---- offline_time.c ---- */

/* In the order of time, each object where it fits when it begins: n log n steps. At the lowest
 * place, or in the smallest gap. Returns the height; UINT64_MAX: out of memory. */
uint64_t tp_offline_in_time(struct offline *p, bool tightest_first);

/* ---- offline_search.c ---- */

enum offline_found { OFFLINE_FOUND, OFFLINE_NONE, OFFLINE_UNKNOWN };
enum { OFFLINE_SEARCHED = 2048 }; /* objects, at most */

struct offline_search;

struct offline_search *tp_offline_search_new(const struct offline *p); /* NULL: out of memory */
void tp_offline_search_free(struct offline_search *s);

struct offline_try {
    uint64_t height; /* bytes, at most */
    uint64_t nodes;  /* partial placements, after which it is given up */
    bool fresh;      /* learns anew where it is difficult, and else from those not fresh before */
    bool fullest;    /* where all else is equal, the section with least room goes first */
};

/* Looks for a placement, trying objects in the order. OFFLINE_NONE: there is none.
 * OFFLINE_UNKNOWN: given up, or out of steps. */
enum offline_found tp_offline_search(struct offline_search *s, struct offline *p,
                                     const struct offline_try *how);

#endif
