/* Internals of traces/lower/spaces.h: the records that are kept until the space is chosen. */
#ifndef TP_SPACES_RECORDS_H
#define TP_SPACES_RECORDS_H

#include "alloc/base/id_map.h"
#include "alloc/base/spill.h"
#include "alloc/base/texts.h"
#include "traces/format.h"

/* An event as it is stored. The name of a mark is kept apart. */
struct tp_space_record {
    int64_t id, stream, device;
    uint64_t size;
    uint64_t align; /* also holds free_bytes, or the index of a mark's name */
    uint64_t thread, time_ns;
    uint64_t place; /* line, or offset if `has` contains OFFSET */
    uint32_t space;
    uint8_t op; /* enum tp_event_op */
    uint8_t has, note, repaired;
};
static_assert(sizeof(struct tp_space_record) == 72, "written without padding");

struct tp_space {
    char *name;
    enum tp_kind kind;
    /* allocated bytes, at most UINT64_MAX; events without the initial ones */
    uint64_t bytes, events;
};

struct tp_spaces {
    const struct tp_reading *reading;
    struct tp_spill records; /* list of struct tp_space_record */
    struct tp_space *spaces;
    uint32_t space_count;
    size_t space_room;
    struct tp_texts marks; /* names of marks */
    uint64_t events;
    bool some_initial;
    bool lowered;
    bool prefers;
    uint32_t preferred;
    uint32_t chosen; /* index of the chosen space; space_count: all */
    /* Maps from numbers of the file to dense ones. The key of a device is the pair (space, number).
     */
    struct tp_id_map device_numbers, devices;
};

/* The event of a record. Its stream is the number in the file. */
struct tp_event tp_spaces_restore(const struct tp_spaces *sp, const struct tp_space_record *r);

int tp_spaces_no_memory(const struct tp_spaces *sp, struct tp_err *err);

#endif
