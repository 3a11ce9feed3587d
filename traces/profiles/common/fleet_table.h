/* The tables of the profiles `fleet-0` to `fleet-9`. */
#ifndef TP_FLEET_TABLE_H
#define TP_FLEET_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Of all allocations and of all live objects, those of this size, in parts per billion. */
struct tp_fleet_row {
    uint64_t size;
    uint32_t allocs, live;
};

enum { TP_FLEET_PROFILES = 10 };

struct tp_fleet_table {
    const struct tp_fleet_row *rows; /* sizes ascend */
    size_t count;
};

extern const struct tp_fleet_table tp_fleet_tables[TP_FLEET_PROFILES];

#endif
