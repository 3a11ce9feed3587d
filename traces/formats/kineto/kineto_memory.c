/* Turns the memory events of a profiler trace into a program.
 *
 *     events of the file --> by time, then as they stand --> blocks of devices --> spaces
 *
 * A free of an address that was never seen belongs to a block that was live at the start; it is
 * placed first, with the freed size. `Total Allocated` of a device's first event gives all bytes
 * that were live at the start; the bytes that are never freed have no blocks in the file and are
 * placed as one block. A second free of an address stays in the trace as a free too many. Files of
 * 2021 have no addresses: there a free takes the most recent allocation of its size, as a stack of
 * temporaries does. Lifetimes depend on that choice; live bytes do only if a block of that size was
 * live at the start.
 *
 * `Total Reserved` is what the caching allocator holds after the event. Where it changes, a segment
 * was allocated or freed, and a note before the event says so. Known weakness: events of several
 * processes in one file are read as those of one process. */
#include "traces/formats/kineto/kineto_memory.h"

#include "alloc/base/ascending.h"
#include "alloc/base/numbers.h"
#include "traces/lower/block_ids.h"
#include "traces/lower/spaces.h"

#include <inttypes.h>
#include <stdlib.h>

struct kineto_device {
    struct tp_kineto_event first; /* first event of the device */
    uint32_t space;
    bool has_reserved;
    uint64_t start_reserved, reserved; /* bytes at the start and now */
    uint64_t initial;                  /* bytes of blocks that were live at the start */
    uint64_t too_large;                /* failed requests of more than 2^48 bytes */
};

/* An allocation without an address; such allocations form one stack per device and size. */
struct node {
    uint32_t id, below; /* `below`: index + 1 of the next older one; 0: none */
};

struct builder {
    const struct tp_kineto_memory *memory;
    struct tp_spaces *spaces;
    struct kineto_device *devices; /* indexed by space */
    size_t device_count, device_room;
    struct tp_id_map device_map; /* (type, id) -> space */
    struct tp_block_ids blocks;  /* block ids by address */
    struct tp_block_ids sizes;   /* by size: index + 1 of the top of its stack */
    struct node *nodes;
    size_t node_count, node_room;
    uint32_t node_free; /* index + 1 of the first unused node; 0: none */
    bool without_addresses;
};

void tp_kineto_release(struct tp_kineto_memory *m)
{
    TP_GROW_END(&m->events, &m->room, .budget = m->reading->budget);
    m->count = 0;
}

int tp_kineto_add(struct tp_kineto_memory *m, const struct tp_kineto_event *ev, struct tp_err *err)
{
    int rc = TP_READ_GROW(m->reading, &m->events, &m->room, m->count + 1, "memory events", err);
    if (rc != TP_OK)
        return rc;
    m->events[m->count++] = *ev;
    return TP_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct tp_kineto_event *x = a, *y = b;
    if (x->ts_ns != y->ts_ns)
        return x->ts_ns < y->ts_ns ? -1 : 1;
    return tp_order(x->offset, y->offset);
}

static void sort(struct tp_kineto_memory *m)
{
    size_t i = 1;
    while (i < m->count && by_time(&m->events[i - 1], &m->events[i]) <= 0)
        i++;
    if (i < m->count)
        qsort(m->events, m->count, sizeof *m->events, by_time);
}

/* ---- devices ---- */

static enum tp_kind kind_of(unsigned type)
{
    return type == 0 || type == 2 || type == 5 ? TP_KIND_HOST
                                               : TP_KIND_DEVICE; /* CPU, MKLDNN ... */
}

/* Names a device "CPU", "GPU 1" or "XPU 0", by the numbers of c10::DeviceType. */
static void name_device(const struct tp_kineto_event *ev, char *out, size_t size)
{
    static const char *const names[] = {
        [0] = "CPU", [1] = "GPU",  [2] = "MKLDNN", [5] = "IDEEP", [6] = "GPU",
        [9] = "XLA", [12] = "XPU", [13] = "MPS",   [15] = "HPU",  [19] = "MTIA",
    };
    char type[32];
    if (ev->device_type < sizeof names / sizeof *names && names[ev->device_type])
        snprintf(type, sizeof type, "%s", names[ev->device_type]);
    else
        snprintf(type, sizeof type, "device type %u", ev->device_type);
    if (ev->device_id < 0)
        snprintf(out, size, "%s", type);
    else
        snprintf(out, size, "%s %" PRId32, type, ev->device_id);
}

static int add_device(struct builder *b, const struct tp_kineto_event *ev, int64_t key,
                      struct tp_err *err)
{
    char name[64];
    struct tp_id_entry *entry = NULL;
    uint32_t space = 0;
    name_device(ev, name, sizeof name);
    int rc = tp_spaces_define(b->spaces, name, kind_of(ev->device_type), &space, err);
    if (rc == TP_OK)
        rc = TP_READ_GROW(b->memory->reading, &b->devices, &b->device_room, space + 1u, "devices",
                          err);
    if (rc != TP_OK)
        return rc;
    assert(space == b->device_count);
    b->devices[b->device_count++] = (struct kineto_device){.first = *ev, .space = space};
    return tp_id_map_need(&b->device_map, key, space, &entry, err);
}

static int find_device(struct builder *b, const struct tp_kineto_event *ev,
                       struct kineto_device **out, struct tp_err *err)
{
    int64_t key = (int64_t)((uint64_t)ev->device_type << 32 | (uint32_t)ev->device_id);
    const struct tp_id_entry *entry = tp_id_map_find(&b->device_map, key);
    int rc = entry ? TP_OK : add_device(b, ev, key, err);
    if (rc == TP_OK)
        *out = &b->devices[entry ? entry->index : b->device_count - 1];
    return rc;
}

/* ---- blocks ---- */

static int emit(struct builder *b, const struct kineto_device *d, const struct tp_kineto_event *ev,
                struct tp_event out, struct tp_err *err)
{
    out.has_time = true;
    out.time_ns = (uint64_t)ev->ts_ns - (uint64_t)b->memory->events[0].ts_ns;
    out.thread = ev->tid;
    out.has_offset = true;
    out.offset = ev->offset;
    return tp_spaces_event(b->spaces, d->space, 0, &out, err);
}

static int push(struct builder *b, uint32_t space, uint64_t size, uint32_t id, struct tp_err *err)
{
    int64_t top = 0;
    uint32_t index = b->node_free;
    if (index) {
        b->node_free = b->nodes[index - 1].below;
    } else {
        int rc = TP_READ_GROW(b->memory->reading, &b->nodes, &b->node_room, b->node_count + 1,
                              "memory events", err);
        if (rc != TP_OK)
            return rc;
        index = (uint32_t)++b->node_count;
    }
    bool some = tp_block_ids_look(&b->sizes, space, size, &top) == TP_BLOCK_LIVE;
    b->nodes[index - 1] = (struct node){.id = id, .below = some ? (uint32_t)top : 0};
    return tp_block_ids_bind(&b->sizes, space, size, index, err);
}

/* Pops the most recent allocation of a size. *id stays 0 if there is none. */
static int pop(struct builder *b, uint32_t space, uint64_t size, int64_t *id, struct tp_err *err)
{
    int64_t top = 0;
    if (tp_block_ids_look(&b->sizes, space, size, &top) != TP_BLOCK_LIVE)
        return TP_OK;
    struct node *node = &b->nodes[top - 1];
    uint32_t below = node->below;
    *id = node->id;
    node->below = b->node_free;
    b->node_free = (uint32_t)top;
    return below ? tp_block_ids_bind(&b->sizes, space, size, below, err)
                 : tp_block_ids_end(&b->sizes, space, size, err);
}

static int allocate(struct builder *b, const struct kineto_device *d,
                    const struct tp_kineto_event *ev, struct tp_err *err)
{
    int64_t id = 0;
    uint64_t size = (uint64_t)ev->bytes;
    bool live =
        ev->has_addr && tp_block_ids_look(&b->blocks, d->space, ev->addr, &id) == TP_BLOCK_LIVE;
    int rc = live ? TP_OK : tp_block_ids_fresh(&b->blocks, &id, err);
    if (rc == TP_OK && ev->has_addr)
        rc = tp_block_ids_bind(&b->blocks, d->space, ev->addr, id, err);
    else if (rc == TP_OK)
        rc = push(b, d->space, size, (uint32_t)id, err);
    const struct tp_event out = {.op = TP_EV_ALLOC, .id = id, .has_size = true, .size = size};
    return rc == TP_OK ? emit(b, d, ev, out, err) : rc;
}

/* Finds the block of a free. *before is set if it was live at the start; then its id is new. */
static int find_freed(struct builder *b, const struct kineto_device *d,
                      const struct tp_kineto_event *ev, int64_t *id, bool *before,
                      struct tp_err *err)
{
    enum tp_block_state state = TP_BLOCK_NEVER_SEEN;
    int rc = TP_OK;
    *id = 0;
    if (ev->has_addr) {
        state = tp_block_ids_look(&b->blocks, d->space, ev->addr, id);
        rc = tp_block_ids_end(&b->blocks, d->space, ev->addr, err);
    } else {
        rc = pop(b, d->space, 0 - (uint64_t)ev->bytes, id, err);
        state = *id ? TP_BLOCK_LIVE : TP_BLOCK_NEVER_SEEN;
    }
    *before = state == TP_BLOCK_NEVER_SEEN;
    return rc == TP_OK && state != TP_BLOCK_LIVE ? tp_block_ids_fresh(&b->blocks, id, err) : rc;
}

static int release(struct builder *b, struct kineto_device *d, const struct tp_kineto_event *ev,
                   struct tp_err *err)
{
    int64_t id = 0;
    bool before = false;
    uint64_t size = 0 - (uint64_t)ev->bytes;
    int rc = find_freed(b, d, ev, &id, &before, err);
    if (rc == TP_OK && before) {
        rc = emit(b, d, ev,
                  (struct tp_event){.op = TP_EV_INITIAL, .id = id, .has_size = true, .size = size},
                  err);
        if (__builtin_add_overflow(d->initial, size, &d->initial))
            d->initial = UINT64_MAX;
    }
    return rc == TP_OK ? emit(b, d, ev, (struct tp_event){.op = TP_EV_FREE, .id = id}, err) : rc;
}

static int note(struct builder *b, const struct kineto_device *d, const struct tp_kineto_event *ev,
                enum tp_note what, uint64_t bytes, struct tp_err *err)
{
    const struct tp_event out = {.op = TP_EV_NOTE,
                                 .note = what,
                                 .has_size = true,
                                 .size = bytes,
                                 .uncounted = what != TP_NOTE_OOM};
    return emit(b, d, ev, out, err);
}

static int follow_reserved(struct builder *b, struct kineto_device *d,
                           const struct tp_kineto_event *ev, struct tp_err *err)
{
    uint64_t was = d->reserved, now = ev->reserved;
    if (!ev->has_reserved)
        return TP_OK;
    d->reserved = now;
    if (!d->has_reserved)
        d->start_reserved = now;
    else if (now > was)
        return note(b, d, ev, TP_NOTE_SEGMENT_ALLOC, now - was, err);
    else if (now < was)
        return note(b, d, ev, TP_NOTE_SEGMENT_FREE, was - now, err);
    d->has_reserved = true;
    return TP_OK;
}

static int take_event(struct builder *b, struct kineto_device *d, const struct tp_kineto_event *ev,
                      struct tp_err *err)
{
    int rc = follow_reserved(b, d, ev, err);
    if (rc != TP_OK)
        return rc;
    if (ev->out_of_memory && ev->bytes > (int64_t)TP_MAX_SIZE) {
        d->too_large++;
        return tp_spaces_skip(b->spaces, d->space, 0, err);
    }
    if (ev->out_of_memory)
        return note(b, d, ev, TP_NOTE_OOM, ev->bytes < 0 ? 0 : (uint64_t)ev->bytes, err);
    b->without_addresses |= !ev->has_addr;
    if (ev->bytes == 0)
        return tp_spaces_skip(b->spaces, d->space, 0, err);
    return ev->bytes > 0 ? allocate(b, d, ev, err) : release(b, d, ev, err);
}

/* ---- blocks from before the recording ---- */

/* Bytes that were allocated before a device's first event and are in none of its blocks. */
static uint64_t unseen_bytes(const struct kineto_device *d)
{
    const struct tp_kineto_event *first = &d->first;
    uint64_t own = first->out_of_memory ? 0 : (uint64_t)first->bytes;
    uint64_t before = first->allocated - own;
    bool known = first->has_allocated && before <= TP_MAX_SIZE;
    return known && before > d->initial ? before - d->initial : 0;
}

static int place_unseen(struct builder *b, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < b->device_count; i++) {
        const struct kineto_device *d = &b->devices[i];
        struct tp_event out = {.op = TP_EV_INITIAL, .has_size = true, .size = unseen_bytes(d)};
        if (out.size == 0)
            continue;
        rc = tp_block_ids_fresh(&b->blocks, &out.id, err);
        if (rc == TP_OK)
            rc = emit(b, d, &d->first, out, err);
    }
    return rc;
}

/* ---- the meta ---- */

static void remark_unseen(const struct builder *b, const struct kineto_device *d)
{
    char name[64];
    uint64_t unseen = unseen_bytes(d);
    name_device(&d->first, name, sizeof name);
    if (unseen > 0)
        tp_meta_remark(b->memory->reading->meta,
                       "%s: %s were allocated before the first event and are never freed. Their "
                       "blocks are not in the file: they count as one block that was live before.",
                       name, tp_bytes(unseen, false).s);
}

static void remark(const struct builder *b)
{
    struct tp_meta *meta = b->memory->reading->meta;
    bool device = meta->kind == TP_KIND_DEVICE;
    uint64_t too_large = 0;
    unsigned said = 0;
    tp_meta_set(meta, &meta->unknown, "%s%salignment", device ? "streams, requested sizes, " : "",
                b->without_addresses ? "addresses, " : "");
    if (device)
        tp_meta_remark(meta, "Sizes are as rounded by PyTorch, not as requested.");
    if (b->without_addresses)
        tp_meta_remark(meta, "There are no addresses: each free was matched with the most recent "
                             "allocation of its size, so lifetimes are guesses.");
    for (size_t i = 0; i < b->device_count; i++)
        if (tp_spaces_chosen(b->spaces, b->devices[i].space))
            too_large += b->devices[i].too_large;
    tp_meta_too_large(meta, too_large);
    for (size_t i = 0; i < b->device_count && said < 8; i++)
        if (tp_spaces_chosen(b->spaces, b->devices[i].space)) {
            remark_unseen(b, &b->devices[i]);
            said++;
        }
}

/* Fills in the recorded state, indexed by the program's devices. */
static int record(const struct builder *b, struct tp_err *err)
{
    struct tp_recorded *r = b->memory->reading->recorded;
    int32_t last = -1;
    bool some = false;
    for (size_t i = 0; i < b->device_count; i++) {
        int32_t index = tp_spaces_device(b->spaces, b->devices[i].space, 0);
        last = index > last ? index : last;
        some |= index >= 0 && b->devices[i].has_reserved && b->devices[i].start_reserved > 0;
    }
    if (!some)
        return TP_OK;
    int rc = tp_recorded_init(r, "PyTorch", (uint32_t)last + 1, err);
    for (size_t i = 0; rc == TP_OK && i < b->device_count; i++) {
        const struct kineto_device *d = &b->devices[i];
        int32_t index = tp_spaces_device(b->spaces, d->space, 0);
        if (index < 0)
            continue;
        r->devices[index].number = d->first.device_id < 0 ? 0 : (uint64_t)d->first.device_id;
        r->devices[index].start_reserved = d->start_reserved;
    }
    return rc;
}

static int build(struct builder *b, struct tp_err *err)
{
    const struct tp_kineto_memory *m = b->memory;
    int rc = tp_spaces_new(m->reading, &b->spaces, err);
    for (size_t i = 0; rc == TP_OK && i < m->count; i++) {
        struct kineto_device *d = NULL;
        rc = find_device(b, &m->events[i], &d, err);
        if (rc != TP_OK)
            return rc;
        rc = take_event(b, d, &m->events[i], err);
        /* for errors of tp_block_ids, which have no place */
        rc = tp_input_at_byte(m->reading->in, m->events[i].offset, rc, err);
    }
    if (rc == TP_OK)
        rc = place_unseen(b, err);
    if (rc == TP_OK)
        rc = tp_spaces_lower(b->spaces, err);
    if (rc != TP_OK && rc != TP_ESTOP)
        return rc;
    remark(b);
    int said = record(b, err);
    return said == TP_OK ? rc : said;
}

int tp_kineto_lower(struct tp_kineto_memory *m, struct tp_err *err)
{
    struct builder b = {.memory = m};
    tp_block_ids_init(&b.blocks, m->reading->budget);
    tp_block_ids_init(&b.sizes, m->reading->budget);
    b.device_map.how = tp_reading_growth(m->reading, "devices");
    sort(m);
    int rc = build(&b, err);
    tp_spaces_free(b.spaces);
    tp_block_ids_release(&b.blocks);
    tp_block_ids_release(&b.sizes);
    tp_id_map_release(&b.device_map);
    TP_GROW_END(&b.devices, &b.device_room, .budget = m->reading->budget);
    TP_GROW_END(&b.nodes, &b.node_room, .budget = m->reading->budget);
    return rc;
}
