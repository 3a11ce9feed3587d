/* The inside of traces/spaces: what it keeps until it is known which space is replayed. */
#ifndef TP_SPACES_RECORDS_H
#define TP_SPACES_RECORDS_H

#include "alloc/base/id_map.h"
#include "alloc/base/spill.h"
#include "alloc/base/texts.h"
#include "traces/format.h"

/* An event without its name. */
struct tp_space_record {
    int64_t id, stream, device;
    uint64_t size;
    uint64_t align; /* or free_bytes, or the index of a mark's name */
    uint64_t thread, time_ns;
    uint64_t place; /* line, or offset where OFFSET is set */
    uint32_t space;
    uint8_t op; /* enum tp_event_op, or TP_SPACE_SKIP */
    uint8_t has, note, reserved;
};
static_assert(sizeof(struct tp_space_record) == 72, "written without padding");

enum { TP_SPACE_SKIP = TP_EV_COUNT }; /* a number, and nothing made of it */

struct tp_space {
    char *name;
    enum tp_kind kind;
    uint64_t bytes, events; /* allocated (UINT64_MAX: or more); all but the initial ones */
};

struct tp_spaces {
    const struct tp_reading *reading;
    struct tp_spill records; /* struct tp_space_record */
    struct tp_space *spaces;
    uint32_t space_count;
    size_t space_room;
    struct tp_texts marks; /* names of them */
    uint64_t events;
    bool some_initial;
    bool lowered;
    uint32_t chosen; /* a space; space_count: all */
    /* Numbers of the file to dense ones; a pair of two of them is one key:
     * devices by (space, number), streams by (device, number). */
    struct tp_id_map device_numbers, devices, stream_numbers;
};

/* The event of a record; its stream is still that of the file. */
struct tp_event tp_spaces_restore(const struct tp_spaces *sp, const struct tp_space_record *r);

int tp_spaces_no_memory(const struct tp_spaces *sp, struct tp_err *err);

#endif
