/* Turns the members of a snapshot's dicts into events and blocks. One table lists the containers
 * that matter, another the members that matter and their types.
 *
 * The members of a segment come behind its blocks, because a pickle fills inner containers first.
 * So blocks wait for the device and the stream of their segment, and in old files for its address.
 *
 * empty_cache() returns unused segments, and of an expandable segment the whole pages within
 * each free block. Known weakness: pages of large blocks are assumed to have 20 MiB, the default of
 * large_segment_size_mb. */
#include "traces/formats/pytorch/pytorch_snapshot.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_IN_MEMORY ((size_t)32 << 20)
#define ALIGNMENT        512                 /* bytes, of every PyTorch block */
#define SMALL_PAGE       (UINT64_C(2) << 20) /* bytes; unit of mapping small blocks */
#define LARGE_PAGE       (UINT64_C(20) << 20)
/* bytes allocated or returned by all segment events */
#define SEGMENTS_MAX (TP_MAX_LIVE_BYTES / 4)

enum snapshot_role {
    ROLE_TOP = 1,
    ROLE_SEGMENTS,
    ROLE_SEGMENT,
    ROLE_BLOCKS,
    ROLE_BLOCK,
    ROLE_DEVICES,
    ROLE_TRACE,
    ROLE_EVENT,
    ROLE_SETTINGS,
    ROLE_ANNOTATIONS,
    ROLE_ANNOTATION,
    ROLE_HOST_SEGMENTS,
    ROLE_HOST_TRACES,
    ROLES
};
static_assert((int)ROLES <= (int)TP_PICKLE_ROLES, "roles are bits of a word");

/* clang-format off */
enum member {
    SEGMENTS = TP_MEMO_WORDS, DEVICE_TRACES, SETTINGS, ANNOTATIONS, BLOCKS,
    ADDRESS, ADDR, SIZE, REQUESTED, TOTAL, DEVICE, STREAM, TIME, DEVICE_FREE, ACTION, FRAMES, STATE,
    TYPE, STAGE, NAME, CONF, CONF_OLD, EXPANDABLE,
    IS_EXPANDABLE, POOL_ID, SEGMENT_POOL_ID, HOST_SEGMENTS, HOST_TRACES,
    USER_METADATA, INTERNAL_METADATA,
    MEMBERS_END,
    /* values of "action", in the order of enum tp_pytorch_action */
    ALLOC = MEMBERS_END, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP,
    SEGMENT_UNMAP, OOM, SNAPSHOT, ANNOTATE,
    ACTIVE, PENDING, AWAITING, INACTIVE, LARGE, SMALL, START, END, EMPTY,
    WORDS_END
};

static const char *const words[] = {
    "segments", "device_traces", "allocator_settings", "external_annotations", "blocks",
    "address", "addr", "size", "requested_size", "total_size", "device", "stream", "time_us",
    "device_free", "action", "frames", "state", "segment_type", "stage", "name",
    "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments",
    "is_expandable", "pool_id", "segment_pool_id", "host_segments", "host_traces",
    "user_metadata", "internal_metadata",
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "oom", "snapshot", "annotate",
    "active_allocated", "active_pending_free", "active_awaiting_free", "inactive", "large", "small",
    "START", "END", "", NULL};
/* clang-format on */
static_assert(sizeof words / sizeof *words - 1 == (int)WORDS_END - (int)TP_MEMO_WORDS,
              "a text for each word");
#define INDEX(word) ((word)-TP_MEMO_WORDS)
static_assert(INDEX(MEMBERS_END) <= TP_PYTORCH_MEMBERS, "members are bits of a word");

static const struct tp_pickle_row rows[] = {
    {0, 0, TP_PICKLE_DICT, ROLE_TOP},
    {0, 0, TP_PICKLE_LIST, ROLE_SEGMENTS}, /* torch.cuda.memory_snapshot() */
    {ROLE_TOP, SEGMENTS, TP_PICKLE_LIST, ROLE_SEGMENTS},
    {ROLE_SEGMENTS, 0, TP_PICKLE_DICT, ROLE_SEGMENT},
    {ROLE_SEGMENT, BLOCKS, TP_PICKLE_LIST, ROLE_BLOCKS},
    {ROLE_BLOCKS, 0, TP_PICKLE_DICT, ROLE_BLOCK},
    {ROLE_TOP, DEVICE_TRACES, TP_PICKLE_LIST, ROLE_DEVICES},
    {ROLE_DEVICES, 0, TP_PICKLE_LIST, ROLE_TRACE},
    {ROLE_TRACE, 0, TP_PICKLE_DICT, ROLE_EVENT},
    {ROLE_TOP, HOST_SEGMENTS, TP_PICKLE_LIST, ROLE_HOST_SEGMENTS},
    {ROLE_HOST_SEGMENTS, 0, TP_PICKLE_DICT, ROLE_SEGMENT},
    {ROLE_TOP, HOST_TRACES, TP_PICKLE_LIST, ROLE_HOST_TRACES},
    {ROLE_HOST_TRACES, 0, TP_PICKLE_LIST, ROLE_TRACE},
    {ROLE_HOST_TRACES, 0, TP_PICKLE_DICT, ROLE_EVENT},
    {ROLE_TOP, SETTINGS, TP_PICKLE_DICT, ROLE_SETTINGS},
    {ROLE_TOP, ANNOTATIONS, TP_PICKLE_LIST, ROLE_ANNOTATIONS},
    {ROLE_ANNOTATIONS, 0, TP_PICKLE_DICT, ROLE_ANNOTATION},
    {0, 0, TP_PICKLE_NONE, 0}};

static const char *const names[ROLES] = {"the file",
                                         "the snapshot",
                                         "'segments'",
                                         "a segment",
                                         "'blocks'",
                                         "a block",
                                         "'device_traces'",
                                         "the events of a device",
                                         "an event",
                                         "the settings",
                                         "'external_annotations'",
                                         "an annotation",
                                         "'host_segments'",
                                         "'host_traces'"};

/* Types that members must have. */
enum type { ANYTHING, COUNT, NUMBER, TEXT, TRUTH, PLACE, LIST, DICT, POOL, LABEL };

static const uint8_t types[ROLES][TP_PYTORCH_MEMBERS] = {
    [ROLE_TOP] = {[INDEX(SEGMENTS)] = LIST,
                  [INDEX(DEVICE_TRACES)] = LIST,
                  [INDEX(HOST_SEGMENTS)] = LIST,
                  [INDEX(HOST_TRACES)] = LIST,
                  [INDEX(SETTINGS)] = DICT,
                  [INDEX(ANNOTATIONS)] = LIST},
    [ROLE_SEGMENT] = {[INDEX(ADDRESS)] = COUNT,
                      [INDEX(TOTAL)] = COUNT,
                      [INDEX(DEVICE)] = COUNT,
                      [INDEX(STREAM)] = NUMBER,
                      [INDEX(TYPE)] = TEXT,
                      [INDEX(IS_EXPANDABLE)] = TRUTH,
                      [INDEX(SEGMENT_POOL_ID)] = POOL,
                      [INDEX(BLOCKS)] = LIST},
    [ROLE_BLOCK] = {[INDEX(ADDRESS)] = COUNT,
                    [INDEX(SIZE)] = COUNT,
                    [INDEX(REQUESTED)] = COUNT,
                    [INDEX(STATE)] = TEXT,
                    [INDEX(FRAMES)] = PLACE},
    [ROLE_EVENT] = {[INDEX(ACTION)] = TEXT,
                    [INDEX(ADDR)] = COUNT,
                    [INDEX(SIZE)] = COUNT,
                    [INDEX(STREAM)] = NUMBER,
                    [INDEX(TIME)] = COUNT,
                    [INDEX(DEVICE_FREE)] = COUNT,
                    [INDEX(POOL_ID)] = POOL,
                    [INDEX(USER_METADATA)] = LABEL,
                    [INDEX(INTERNAL_METADATA)] = LABEL,
                    [INDEX(FRAMES)] = PLACE},
    [ROLE_SETTINGS] = {[INDEX(CONF)] = TEXT, [INDEX(CONF_OLD)] = TEXT, [INDEX(EXPANDABLE)] = TRUTH},
    [ROLE_ANNOTATION] = {[INDEX(STAGE)] = TEXT,
                         [INDEX(NAME)] = TEXT,
                         [INDEX(DEVICE)] = NUMBER,
                         [INDEX(TIME)] = COUNT}};

static bool has(const struct tp_pytorch_values *v, enum member word)
{
    return v->has >> INDEX(word) & 1;
}

/* The value of a member; 0: absent. */
static int64_t get(const struct tp_pytorch_values *v, enum member word)
{
    return has(v, word) ? v->of[INDEX(word)] : 0;
}

static uint64_t bytes_of(const struct tp_pytorch_values *v, enum member word)
{
    return (uint64_t)get(v, word);
}

/* ---- members ---- */

static bool fits(enum type type, const struct tp_pickle_value *value)
{
    switch (type) {
    case COUNT:
        return value->kind == TP_PICKLE_INT && value->number >= 0;
    case NUMBER:
        return value->kind == TP_PICKLE_INT;
    case TEXT:
        return value->kind == TP_PICKLE_TEXT;
    case TRUTH:
        return value->kind == TP_PICKLE_BOOL;
    case LIST:
        return value->kind == TP_PICKLE_LIST && (value->role || value->empty);
    case DICT:
        return value->kind == TP_PICKLE_DICT && value->role;
    default:
        return true;
    }
}

static int wrong_type(const struct tp_pytorch *s, unsigned role, uint16_t word,
                      const struct tp_pickle_value *value, struct tp_err *err)
{
    static const char *const wanted[] = {
        [COUNT] = "a whole number from 0 to 2^63-1",
        [NUMBER] = "a whole number of 64 bits",
        [TEXT] = "a text",
        [TRUTH] = "True or False",
        [LIST] = "a list",
        [DICT] = "a dict",
    };
    enum type type = types[role][INDEX(word)];
    const char *kind = tp_pickle_kind_names[value->kind];
    if (value->shared && (type == LIST || type == DICT))
        return tp_input_fail_byte(s->reading->in, value->offset, err,
                                  "'%s' of %s refers back to %s that was there before",
                                  words[INDEX(word)], names[role], kind);
    if (value->kind == TP_PICKLE_INT && type == COUNT)
        kind = "a negative number";
    return tp_input_fail_byte(s->reading->in, value->offset, err, "'%s' of %s is %s, not %s",
                              words[INDEX(word)], names[role], kind, wanted[type]);
}

/* A pool has two numbers. Those that PyTorch gives are small; others are taken for not known. */
static bool is_pool(const struct tp_pickle_value *value)
{
    return value->pair && value->number >= 0 && value->second >= 0 &&
           value->number <= TP_POOL_MOST && value->second <= TP_POOL_MOST;
}

/* Most events have an empty one. */
static bool is_label(const struct tp_pickle_value *value)
{
    return value->kind == TP_PICKLE_TEXT && value->word != EMPTY;
}

static int on_field(void *ctx, unsigned role, uint16_t word, const struct tp_pickle_value *value,
                    struct tp_err *err)
{
    struct tp_pytorch *s = ctx;
    if (word < TP_MEMO_WORDS || word >= MEMBERS_END || types[role][INDEX(word)] == ANYTHING ||
        (s->host && word == DEVICE))
        return TP_OK;
    enum type type = types[role][INDEX(word)];
    if (!fits(type, value))
        return wrong_type(s, role, word, value, err);
    s->noted |= word == USER_METADATA;
    s->numbered |= word == POOL_ID;
    struct tp_pytorch_values *v = &s->values[role];
    if ((type == POOL && !is_pool(value)) || (type == LABEL && !is_label(value)))
        return TP_OK;
    v->has |= UINT32_C(1) << INDEX(word);
    int64_t *of = &v->of[INDEX(word)];
    if (type == TEXT || type == LABEL)
        *of = value->word;
    else if (type == PLACE)
        *of = value->kind == TP_PICKLE_LIST && !value->empty ? (int64_t)value->offset : 0;
    else if (type == POOL)
        *of = (int64_t)tp_pool_number((uint64_t)value->number, (uint64_t)value->second);
    else
        *of = value->number;
    return TP_OK;
}

static int missing(const struct tp_pytorch *s, enum snapshot_role role, enum member word,
                   struct tp_err *err)
{
    return tp_input_fail_byte(s->reading->in, s->offset[role], err, "%s has no '%s'", names[role],
                              words[INDEX(word)]);
}

/* ---- blocks and segments ---- */

int tp_pytorch_add_block(const struct tp_reading *r, struct tp_pytorch_blocks *to,
                         const struct tp_pytorch_block *block, struct tp_err *err)
{
    int rc = TP_READ_GROW(r, &to->items, &to->room, to->count + 1, "blocks", err);
    if (rc != TP_OK)
        return rc;
    to->items[to->count++] = *block;
    return TP_OK;
}

void tp_pytorch_free_blocks(const struct tp_reading *r, struct tp_pytorch_blocks *blocks)
{
    TP_GROW_END(&blocks->items, &blocks->room, .budget = r->budget);
    blocks->count = 0;
}

/* Bytes of the pages that lie wholly in [begin, end). Offsets and pages count from the segment's
 * beginning. */
static uint64_t whole_pages(uint64_t begin, uint64_t end, uint64_t page)
{
    uint64_t first = (begin + page - 1) / page, last = end / page;
    return last > first ? (last - first) * page : 0;
}

static int end_block(struct tp_pytorch *s, struct tp_err *err)
{
    const struct tp_pytorch_values *v = &s->values[ROLE_BLOCK];
    if (!has(v, SIZE) || !has(v, STATE))
        return missing(s, ROLE_BLOCK, has(v, SIZE) ? STATE : SIZE, err);
    uint64_t size = bytes_of(v, SIZE), offset = s->segment.size;
    int64_t state = get(v, STATE);
    if (size > TP_MAX_LIVE_BYTES - offset)
        return tp_input_fail_byte(s->reading->in, s->offset[ROLE_BLOCK], err,
                                  "a block of %" PRIu64 " bytes", size);
    s->segment.size += size;
    if (state == INACTIVE) {
        s->segment.free_bytes += size;
        s->segment.free_blocks++;
        s->segment.small_pages += whole_pages(offset, offset + size, SMALL_PAGE);
        s->segment.large_pages += whole_pages(offset, offset + size, LARGE_PAGE);
        s->segment.largest = size > s->segment.largest ? size : s->segment.largest;
        return TP_OK;
    }
    if (state != ACTIVE && state != PENDING && state != AWAITING)
        return tp_input_fail_byte(s->reading->in, s->offset[ROLE_BLOCK], err,
                                  "the state of a block is none that is known");
    s->segment.active = true;
    uint64_t asked = bytes_of(v, REQUESTED), frames = bytes_of(v, FRAMES);
    s->framed_blocks += frames != 0;
    return tp_pytorch_add_block(
        s->reading, &s->blocks,
        &(struct tp_pytorch_block){.address = has(v, ADDRESS) ? bytes_of(v, ADDRESS) : offset,
                                   .size = asked ? asked : size,
                                   .bytes = size,
                                   .frames = frames,
                                   .relative = !has(v, ADDRESS)},
        err);
}

/* Adds the open segment with its content. */
static int add_segment(struct tp_pytorch *s, const struct tp_pytorch_block *span,
                       struct tp_err *err)
{
    int rc = TP_READ_GROW(s->reading, &s->contents, &s->content_room, s->spans.count + 1,
                          "segments", err);
    if (rc != TP_OK)
        return rc;
    s->contents[s->spans.count] =
        (struct tp_pytorch_content){.first = s->segment.first_block,
                                    .count = s->blocks.count - s->segment.first_block,
                                    .free_blocks = s->segment.free_blocks};
    s->private_spans += span->pool != 0;
    s->grown |= span->expandable;
    return tp_pytorch_add_block(s->reading, &s->spans, span, err);
}

static int end_segment(struct tp_pytorch *s, struct tp_err *err)
{
    const struct tp_pytorch_values *v = &s->values[ROLE_SEGMENT];
    if (!has(v, TOTAL))
        return missing(s, ROLE_SEGMENT, TOTAL, err);
    enum member needed = !has(v, ADDRESS) || s->host ? ADDRESS : DEVICE;
    if (!has(v, needed))
        return missing(s, ROLE_SEGMENT, needed, err);
    uint64_t device = s->host ? TP_PYTORCH_HOST : bytes_of(v, DEVICE), total = bytes_of(v, TOTAL);
    if ((device >= TP_PYTORCH_DEVICES && !s->host) || total > TP_MAX_LIVE_BYTES / 2)
        return tp_input_fail_byte(s->reading->in, s->offset[ROLE_SEGMENT], err,
                                  "a segment of %" PRIu64 " bytes on device %" PRIu64, total,
                                  device);
    for (size_t i = s->segment.first_block; i < s->blocks.count; i++) {
        struct tp_pytorch_block *b = &s->blocks.items[i];
        b->address += b->relative ? bytes_of(v, ADDRESS) : 0;
        b->stream = get(v, STREAM);
        b->device = (uint32_t)device;
    }
    struct tp_recorded_device *end = &s->devices[device].end;
    if (total > TP_MAX_LIVE_BYTES / 2 - end->end_reserved ||
        s->segment.free_bytes > TP_MAX_LIVE_BYTES - end->end_free)
        return tp_input_fail_byte(s->reading->in, s->offset[ROLE_SEGMENT], err,
                                  "the segments of device %" PRIu64 " are larger than any memory",
                                  device);
    s->segments += !s->host;
    end->end_segments++;
    end->end_reserved += total;
    end->end_large += get(v, TYPE) == LARGE;
    end->end_small += get(v, TYPE) == SMALL;
    end->end_free += s->segment.free_bytes;
    end->end_free_blocks += s->segment.free_blocks;
    if (s->segment.largest > end->end_largest)
        end->end_largest = s->segment.largest;
    if (get(v, IS_EXPANDABLE))
        end->end_returnable +=
            get(v, TYPE) == SMALL ? s->segment.small_pages : s->segment.large_pages;
    else
        end->end_returnable += s->segment.active ? 0 : total;
    return add_segment(s,
                       &(struct tp_pytorch_block){.address = bytes_of(v, ADDRESS),
                                                  .size = total,
                                                  .stream = get(v, STREAM),
                                                  .device = (uint32_t)device,
                                                  .pool = bytes_of(v, SEGMENT_POOL_ID),
                                                  .expandable = get(v, IS_EXPANDABLE) != 0,
                                                  .small = get(v, TYPE) == SMALL},
                       err);
}

/* ---- events ---- */

/* Index of the device whose events are being read. */
static uint64_t device_of(const struct tp_pytorch *s)
{
    return s->host ? TP_PYTORCH_HOST : s->device_lists;
}

static int event_fail(const struct tp_pytorch *s, struct tp_err *err, const char *what)
{
    char name[32] = TP_PYTORCH_HOST_SPACE;
    if (!s->host)
        snprintf(name, sizeof name, "device %" PRIu64, s->device_lists);
    return tp_input_fail_byte(s->reading->in, s->offset[ROLE_EVENT], err, "event %s of %s %s",
                              tp_count(s->devices[device_of(s)].count + 1).s, name, what);
}

/* Checks that an event has the members that its action requires. */
static int check_event(const struct tp_pytorch *s, const struct tp_pytorch_event *ev,
                       struct tp_err *err)
{
    const struct tp_pytorch_values *v = &s->values[ROLE_EVENT];
    bool placed = ev->action <= TP_PYTORCH_FREE_COMPLETED;
    bool sized = ev->action <= TP_PYTORCH_OOM;
    if (s->device_lists >= TP_PYTORCH_DEVICES && !s->host)
        return tp_input_fail_byte(s->reading->in, ev->offset, err, "events of more than %d devices",
                                  TP_PYTORCH_DEVICES);
    if (!has(v, ACTION))
        return event_fail(s, err, "has no 'action'");
    if (placed && !has(v, ADDR))
        return event_fail(s, err, "has no 'addr'");
    if (sized && !has(v, SIZE))
        return event_fail(s, err, "has no 'size'");
    if (sized && ev->size > TP_MAX_SIZE && !tp_pytorch_too_large(ev))
        return event_fail(s, err, "has a size of more than 2^48 bytes");
    const struct tp_pytorch_device *d = &s->devices[device_of(s)];
    if (d->taken > SEGMENTS_MAX || d->returned > SEGMENTS_MAX)
        return event_fail(s, err, "follows segments that are together larger than any memory");
    return TP_OK;
}

static void count_event(struct tp_pytorch *s, const struct tp_pytorch_event *ev)
{
    struct tp_pytorch_device *d = &s->devices[device_of(s)];
    bool taken = ev->action == TP_PYTORCH_SEGMENT_ALLOC || ev->action == TP_PYTORCH_SEGMENT_MAP;
    bool back = ev->action == TP_PYTORCH_SEGMENT_FREE || ev->action == TP_PYTORCH_SEGMENT_UNMAP;
    d->count++;
    d->snapshots += ev->action == TP_PYTORCH_SNAPSHOT;
    d->allocs += ev->action == TP_PYTORCH_SEGMENT_ALLOC;
    d->frees += ev->action == TP_PYTORCH_SEGMENT_FREE;
    d->taken += taken ? ev->size : 0;
    d->returned += back ? ev->size : 0;
    int64_t level = (int64_t)d->taken - (int64_t)d->returned;
    d->highest = level > d->highest ? level : d->highest;
    d->completed += ev->action == TP_PYTORCH_FREE_COMPLETED;
    d->requested += ev->action == TP_PYTORCH_FREE_REQUESTED;
    if (ev->action == TP_PYTORCH_ALLOC && __builtin_add_overflow(d->asked, ev->size, &d->asked))
        d->asked = UINT64_MAX;
    s->grown |= ev->action == TP_PYTORCH_SEGMENT_MAP;
    s->framed += ev->frames != 0;
    s->framed_frees += ev->frames && (ev->action == TP_PYTORCH_FREE_REQUESTED ||
                                      ev->action == TP_PYTORCH_FREE_COMPLETED);
    s->pooled += ev->has_pool;
    s->pressed += ev->action == TP_PYTORCH_SEGMENT_FREE || ev->action == TP_PYTORCH_SEGMENT_UNMAP ||
                  ev->action == TP_PYTORCH_OOM;
    s->labelled += ev->user || ev->internal;
    s->annotates += ev->action == TP_PYTORCH_ANNOTATE;
    s->too_large += tp_pytorch_too_large(ev);
    s->unaligned += ev->action == TP_PYTORCH_ALLOC && !s->host && ev->address % ALIGNMENT;
    if (ev->action == TP_PYTORCH_UNKNOWN && s->unknown++ == 0)
        s->unknown_action = (uint16_t)get(&s->values[ROLE_EVENT], ACTION);
}

static int end_event(struct tp_pytorch *s, struct tp_err *err)
{
    const struct tp_pytorch_values *v = &s->values[ROLE_EVENT];
    int64_t action = get(v, ACTION);
    struct tp_pytorch_event ev = {.time_us = get(v, TIME),
                                  .address = bytes_of(v, ADDR),
                                  .size = bytes_of(v, SIZE),
                                  .device_free = bytes_of(v, DEVICE_FREE),
                                  .stream = get(v, STREAM),
                                  .offset = s->offset[ROLE_EVENT],
                                  .frames = bytes_of(v, FRAMES),
                                  .pool = bytes_of(v, POOL_ID),
                                  .user = (uint16_t)get(v, USER_METADATA),
                                  .internal = (uint16_t)get(v, INTERNAL_METADATA),
                                  .action = TP_PYTORCH_UNKNOWN,
                                  .has_time = has(v, TIME),
                                  .has_free = has(v, DEVICE_FREE),
                                  .has_pool = has(v, POOL_ID)};
    if (action >= ALLOC && action <= ANNOTATE)
        ev.action = (uint8_t)(action - ALLOC);
    int rc = check_event(s, &ev, err);
    if (rc != TP_OK)
        return rc;
    rc = tp_spill_add(&s->events, &ev, err);
    if (rc == TP_EINPUT)
        rc = tp_prefix(err, rc, "%s", tp_input_name(s->reading->in));
    if (rc == TP_OK)
        count_event(s, &ev);
    return rc;
}

static int end_annotation(struct tp_pytorch *s, struct tp_err *err)
{
    const struct tp_pytorch_values *v = &s->values[ROLE_ANNOTATION];
    int64_t stage = get(v, STAGE);
    if (!has(v, TIME) || (stage != START && stage != END))
        return missing(s, ROLE_ANNOTATION, has(v, TIME) ? STAGE : TIME, err);
    int rc = TP_READ_GROW(s->reading, &s->annotations, &s->annotation_room, s->annotation_count + 1,
                          "annotations", err);
    if (rc != TP_OK)
        return rc;
    int64_t device = has(v, DEVICE) ? get(v, DEVICE) : -1;
    s->annotations[s->annotation_count] = (struct tp_pytorch_annotation){
        .time_us = get(v, TIME),
        .order = (uint32_t)s->annotation_count,
        .device = device < 0 || device >= TP_PYTORCH_DEVICES ? -1 : (int32_t)device,
        .name = has(v, NAME) ? (uint16_t)get(v, NAME) : TP_MEMO_TEXT,
        .begins = stage == START};
    s->annotation_count++;
    return TP_OK;
}

/* ---- containers ---- */

static bool is_host(unsigned role)
{
    return role == ROLE_HOST_SEGMENTS || role == ROLE_HOST_TRACES;
}

static int on_begin(void *ctx, unsigned role, uint64_t offset, struct tp_err *err)
{
    static const uint32_t once = 1u << ROLE_TOP | 1u << ROLE_SEGMENTS | 1u << ROLE_BLOCKS |
                                 1u << ROLE_DEVICES | 1u << ROLE_SETTINGS | 1u << ROLE_ANNOTATIONS |
                                 1u << ROLE_HOST_SEGMENTS | 1u << ROLE_HOST_TRACES;
    static const uint32_t tops = 1u << ROLE_SEGMENTS | 1u << ROLE_DEVICES | 1u << ROLE_ANNOTATIONS;
    struct tp_pytorch *s = ctx;
    if (once >> role & s->seen >> role & 1)
        return tp_input_fail_byte(s->reading->in, offset, err, "%s is there twice", names[role]);
    s->seen |= 1u << role;
    s->offset[role] = offset;
    s->values[role].has = 0;
    if (role == ROLE_SEGMENT) {
        memset(&s->segment, 0, sizeof s->segment);
        s->segment.first_block = s->blocks.count;
        s->seen &= ~(1u << ROLE_BLOCKS);
    }
    if (is_host(role) || tops >> role & 1)
        s->host = is_host(role);
    if (role == ROLE_HOST_TRACES ||
        (role == ROLE_TRACE && !s->host && s->device_lists < TP_PYTORCH_DEVICES))
        s->devices[device_of(s)].first = tp_spill_count(&s->events);
    return TP_OK;
}

static int on_end(void *ctx, unsigned role, struct tp_err *err)
{
    static int (*const ends[TP_PICKLE_ROLES])(struct tp_pytorch *, struct tp_err *) = {
        [ROLE_SEGMENT] = end_segment,
        [ROLE_BLOCK] = end_block,
        [ROLE_EVENT] = end_event,
        [ROLE_ANNOTATION] = end_annotation,
    };
    struct tp_pytorch *s = ctx;
    s->device_lists += role == ROLE_TRACE && !s->host;
    return ends[role] ? ends[role](s, err) : TP_OK;
}

static const struct tp_pickle_schema schema = {
    .words = words,
    .rows = rows,
    .names = names,
    .hint = "a memory snapshot holds only data; this looks like a saved model",
    .wanted = UINT64_C(1) << ROLE_ANNOTATION | UINT64_C(1) << ROLE_SETTINGS,
    .begin = on_begin,
    .field = on_field,
    .end = on_end,
};

static void find_freeing(struct tp_pytorch *s)
{
    uint64_t completed[2] = {0, 0}, requested[2] = {0, 0};
    for (uint32_t i = 0; i < TP_PYTORCH_LISTS; i++) {
        completed[i == TP_PYTORCH_HOST] += s->devices[i].completed;
        requested[i == TP_PYTORCH_HOST] += s->devices[i].requested;
    }
    for (int i = 0; i < 2; i++)
        s->freeing[i] =
            !completed[i] && requested[i] ? TP_PYTORCH_FREE_REQUESTED : TP_PYTORCH_FREE_COMPLETED;
}

int tp_pytorch_read(struct tp_pytorch *s, struct tp_err *err)
{
    const struct tp_reading *r = s->reading;
    size_t share = (size_t)(tp_max_memory(r->opts) / 4);
    tp_spill_init(&s->events, sizeof(struct tp_pytorch_event),
                  share < EVENTS_IN_MEMORY ? share : EVENTS_IN_MEMORY);
    s->events.budget = r->budget;
    int rc = tp_pickle_new(r->in, &schema, s, tp_max_memory(r->opts), &s->pickle, err);
    if (rc == TP_OK)
        tp_pickle_count(s->pickle, r->budget);
    if (rc == TP_OK)
        rc = tp_pickle_read(s->pickle, err);
    if (rc != TP_OK)
        return rc;
    find_freeing(s);
    const struct tp_pytorch_values *v = &s->values[ROLE_TOP];
    if (has(v, SEGMENTS) || has(v, DEVICE_TRACES) || has(v, HOST_TRACES) || s->segments)
        return TP_OK;
    rc =
        tp_fail(err, TP_EINPUT, "%s: a pickle, but not of a memory snapshot", tp_input_name(r->in));
    return tp_hint(err, rc, "torch.cuda.memory._dump_snapshot() writes a snapshot");
}

void tp_pytorch_release(struct tp_pytorch *s)
{
    tp_pickle_free(s->pickle);
    tp_spill_release(&s->events);
    tp_pytorch_free_blocks(s->reading, &s->blocks);
    tp_pytorch_free_blocks(s->reading, &s->spans);
    TP_GROW_END(&s->contents, &s->content_room, .budget = s->reading->budget);
    TP_GROW_END(&s->annotations, &s->annotation_room, .budget = s->reading->budget);
}

bool tp_pytorch_has_end(const struct tp_pytorch *s, uint32_t device)
{
    return device == TP_PYTORCH_HOST ? s->devices[device].end.end_segments > 0 : s->segments > 0;
}

/* A snapshot with events has a list of them for each device, if it is an empty one. Blocks have
 * stack frames only where PyTorch was recording when they were allocated. */
struct tp_pytorch_silence tp_pytorch_silence(const struct tp_pytorch *s)
{
    if (!(s->seen >> ROLE_TOP & 1))
        return (struct tp_pytorch_silence){
            "torch.cuda.memory_snapshot() gives segments, without events",
            "_record_memory_history() and then torch.cuda.memory._dump_snapshot() write both"};
    if (has(&s->values[ROLE_TOP], DEVICE_TRACES) && !s->device_lists && s->segments)
        return (struct tp_pytorch_silence){
            "they were left out of the snapshot (include_traces=False)",
            "take it with include_traces=True"};
    if (s->framed_blocks)
        return (struct tp_pytorch_silence){
            "PyTorch was recording (blocks have stack frames) with enabled=\"state\", or was "
            "stopped before the dump, or they were left out (include_traces=False)",
            "record with enabled=\"all\", and dump while it records, with include_traces=True"};
    return (struct tp_pytorch_silence){"PyTorch was not recording when this snapshot was dumped",
                                       "call torch.cuda.memory._record_memory_history() first"};
}

/* ---- the meta ---- */

static enum member conf_of(const struct tp_pytorch *s)
{
    return has(&s->values[ROLE_SETTINGS], CONF) ? CONF : CONF_OLD;
}

const char *tp_pytorch_conf(const struct tp_pytorch *s)
{
    const struct tp_pytorch_values *v = &s->values[ROLE_SETTINGS];
    enum member conf = conf_of(s);
    return has(v, conf) ? tp_pickle_text(s->pickle, (uint16_t)get(v, conf)) : NULL;
}

bool tp_pytorch_grows(const struct tp_pytorch *s)
{
    const struct tp_pytorch_values *v = &s->values[ROLE_SETTINGS];
    return has(v, EXPANDABLE) ? get(v, EXPANDABLE) != 0 : s->grown;
}

static void describe_settings(struct tp_pytorch *s)
{
    struct tp_meta *meta = s->reading->meta;
    const struct tp_pytorch_values *v = &s->values[ROLE_SETTINGS];
    enum member conf = conf_of(s);
    const char *text = tp_pytorch_conf(s);
    /* a later text without the key leaves segments growing */
    bool beside = get(v, EXPANDABLE) && text && *text && !strstr(text, "expandable_segments");
    const char *comma = beside && text[strlen(text) - 1] != ',' ? "," : "";
    if (has(v, conf) && text && *text)
        tp_meta_set(meta, &meta->settings, "%s=%s%s%s", words[INDEX(conf)], text, comma,
                    beside ? "expandable_segments:True" : "");
    else if (has(v, conf) && text && has(v, EXPANDABLE))
        tp_meta_set(meta, &meta->settings, "%s is empty: defaults, expandable_segments %s",
                    words[INDEX(conf)], get(v, EXPANDABLE) ? "on" : "off");
    else if (has(v, conf) && text)
        tp_meta_set(meta, &meta->settings, "%s is empty: defaults", words[INDEX(conf)]);
    else if (has(v, conf))
        tp_meta_set(meta, &meta->settings, "%s is set to a long text", words[INDEX(conf)]);
    else if (s->grown)
        tp_meta_set(meta, &meta->settings,
                    "no setting is recorded: segments grow, so expandable_segments on");
}

void tp_pytorch_describe(struct tp_pytorch *s)
{
    struct tp_meta *meta = s->reading->meta;
    tp_meta_set(meta, &meta->capture, TP_PYTORCH_CAPTURE " (pickle %u)",
                tp_pickle_protocol(s->pickle));
    tp_meta_set(meta, &meta->unknown, "threads, alignment, GPU size");
    describe_settings(s);
    if (s->unaligned)
        tp_meta_remark(meta, "Blocks lie at addresses that are no multiples of 512 bytes: "
                             "PyTorch's allocator did not place them.");
    if (s->labelled)
        tp_meta_remark(meta, "%s with metadata of the program (user_metadata).",
                       tp_plural(s->labelled, "event").s);
    if (s->annotates)
        tp_meta_remark(meta, "%s of live blocks (annotate), without effect on memory.",
                       tp_plural(s->annotates, "annotation").s);
    if (s->unknown) {
        const char *action = tp_pickle_text(s->pickle, s->unknown_action);
        tp_meta_remark(meta, "%s events are of a kind that is not known ('%.63s'): left out.",
                       tp_count(s->unknown).s, action ? action : "?");
    }
    tp_meta_too_large(meta, s->too_large);
}
