/* A model of the memory that a device gives up for ranges from cudaMalloc: pages of 2 MiB.
 *
 *     page 1   | a | a | b |     free     | c |         requests below 2 MiB share pages, in units
 *     page 2   | d |            free          |         of 512 bytes
 *              |         e          | rest |            others have whole pages of their own
 *
 * A small request goes to the lowest free place of the first shared page with room. Where no page
 * has room, one is taken from the device and gets the lowest free number. A shared page goes back
 * when it is empty. So the memory given up follows from the order and the sizes of the calls alone,
 * not from addresses. A tree over the pages knows the longest free stretch of each: finding a page
 * takes log n steps, and searching one page at most its 4,096 units.
 *
 * Known weakness: drivers do not tell where they put small requests, and a different placement
 * could take a page more or less. A large alignment costs nothing but the units skipped in a shared
 * page. */
#ifndef TP_DEVICE_PAGES_H
#define TP_DEVICE_PAGES_H

#include "alloc/base/addr_map.h"

#define TP_DEVICE_PAGE UINT64_C(2097152)
#define TP_DEVICE_UNIT UINT64_C(512) /* granularity of requests */

enum {
    TP_PAGE_UNITS = TP_DEVICE_PAGE / TP_DEVICE_UNIT,
    TP_PAGE_WORDS = TP_PAGE_UNITS / 64,
    TP_PAGES_FIRST = 16
};

struct tp_shared_page {
    uint64_t used[TP_PAGE_WORDS]; /* a bit per unit */
    uint32_t used_count;          /* units */
    uint32_t longest;             /* longest free stretch, units */
};

/* A node of the tree; sums up the pages below it. */
struct tp_pages_node {
    uint16_t longest; /* longest free stretch of any page below, units */
    bool vacant;      /* a page number below is free */
};

struct tp_device_pages {
    uint64_t taken; /* bytes that the device gives up */
    /* array of `room` pages by number; NULL: the number is free. `room` is 0 or a power of two */
    struct tp_shared_page **pages;
    struct tp_pages_node *tree; /* array of 2 * room nodes; the leaf of page i is `room + i` */
    uint64_t room;
    /* address of a small range -> page number * TP_PAGE_UNITS + first unit */
    struct tp_addr_map places;
};

void tp_device_pages_init(struct tp_device_pages *p);
void tp_device_pages_fini(struct tp_device_pages *p);

/* Sizes are multiples of TP_DEVICE_UNIT, alignments powers of two. */

/* Bytes of the device that one more range would take. */
uint64_t tp_device_pages_cost(const struct tp_device_pages *p, uint64_t size, uint64_t align);

/* Accounts for a range that was allocated. TP_ENOMEM: nothing has changed. */
int tp_device_pages_take(struct tp_device_pages *p, uint64_t addr, uint64_t size, uint64_t align);

/* Accounts for giving back a range; `size` must be that of tp_device_pages_take. */
void tp_device_pages_give(struct tp_device_pages *p, uint64_t addr, uint64_t size);

#endif
