/* Spaces of a source: addresses that are reserved first and get memory later, unit by unit.
 *
 *     space   | unit 0 | unit 1 |   -    | unit 3 |   -    |   -    | ...      -: nothing mapped
 *     parts   |      part       |        |  part  |
 *
 * A table knows each space by its base. What is mapped in them lies in a second table, as parts
 * that are as long as they can be, so that mapping a terabyte takes the time and the memory of
 * mapping one unit. Any whole units can be unmapped, however they were mapped. */
#ifndef TP_MAPPINGS_H
#define TP_MAPPINGS_H

#include "alloc/base/addr_map.h"
#include "alloc/base/range_table.h"

struct tp_mapping {
    uint64_t size, unit; /* bytes */
    uint64_t mapped;     /* bytes, those of aliases too */
};

/* Memory that is mapped a second time. */
struct tp_mapping_alias {
    struct tp_tree_node by_memory; /* by `of`, then `addr`; its end is in the summary */
    uint64_t addr, size;
    uint64_t of;   /* where the memory is mapped in the first place */
    uint64_t most; /* the highest end of the memory of this subtree */
};

struct tp_mappings {
    struct tp_addr_map spaces;     /* base -> struct tp_mapping */
    struct tp_range_table parts;   /* that are mapped; tag_addr: the base of their space */
    uint64_t mapped;               /* bytes in all spaces */
    struct tp_range_table aliases; /* tag_addr: the base, tag_size: its struct tp_mapping_alias */
    struct tp_tree_node *aliased;  /* those by their memory */
};

void tp_mappings_init(struct tp_mappings *s);

struct tp_mapping *tp_mappings_find(const struct tp_mappings *s, uint64_t base);

/* Is `size` a number of whole units, and are these whole pages? */
bool tp_mappings_fits(uint64_t size, uint64_t unit, uint64_t page);

/* Makes room for one more space, so that tp_mappings_add cannot fail. TP_ENOMEM. */
int tp_mappings_room(struct tp_mappings *s, struct tp_mapping **room);

void tp_mappings_add(struct tp_mappings *s, struct tp_mapping *room, uint64_t base, uint64_t size,
                     uint64_t unit);

/* TP_EINVAL: this is no space of `size` bytes, or something is mapped in it. */
int tp_mappings_empty(const struct tp_mappings *s, uint64_t base, uint64_t size);

void tp_mappings_remove(struct tp_mappings *s, uint64_t base);

/* TP_EINVAL unless these are whole units of a space, and all of them mapped, none of them a second
 * time, or all unmapped. */
int tp_mappings_are(const struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size,
                    bool mapped);

/* Makes sure that the next tp_mappings_map or tp_mappings_unmap cannot fail. TP_ENOMEM. */
int tp_mappings_reserve(struct tp_mappings *s);

/* Notes whole units, of which none is mapped, as mapped. */
void tp_mappings_map(struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size);

/* Notes whole units, of which each is mapped, as unmapped. */
void tp_mappings_unmap(struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size);

/* TP_EINVAL unless whole units can get the memory from `of` on (alias in source.h). */
int tp_mappings_can_alias(const struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size,
                          uint64_t of);

/* Notes that they have it. TP_ENOMEM: nothing has changed. */
int tp_mappings_alias(struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size,
                      uint64_t of);

/* TP_EINVAL unless these are aliases of a space, each as a whole. */
int tp_mappings_are_aliases(const struct tp_mappings *s, uint64_t base, uint64_t from,
                            uint64_t size);

/* Notes that they are gone. */
void tp_mappings_unalias(struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size);

void tp_mappings_fini(struct tp_mappings *s);

#endif
