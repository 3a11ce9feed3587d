/* Memory profiles of TensorBoard's profiler (memory_profile.json): the memory events of a capture
 * (*.xplane.pb), by allocator, as the JSON form of the message MemoryProfile.
 *
 *     {"memoryProfilePerAllocator": {"GPU_0_bfc": {"memoryProfileSnapshots": [
 *        {"timeOffsetPs": "123", "aggregationStats": {"heapAllocatedBytes": "256", ...},
 *         "activityMetadata": {"memoryActivity": "ALLOCATION", "address": "512", ...}}, ...],
 *      "sampledTimelineSnapshots": [...], ...}, ...}, "numHosts": 1, ...}
 *
 *     snapshots, one at a time --> events by allocator (xplane_file.h) --> program
 *
 * Numbers of 64 bits are strings there, or numbers; a member that is absent is 0. Where there are
 * sampledTimelineSnapshots, these are the events, and the other list has what was live at the peak.
 * Known weakness: of more than 1,000 events an allocator the profiler writes samples; then the
 * bytes in use do not add up, which is said. */
#include "alloc/base/numbers.h"
#include "traces/formats/xplane/xplane_file.h"
#include "traces/input/json_scan.h"

#include <string.h>

#define CAPTURE      "memory profile (JSON)"
#define MAP_KEY      "memoryProfilePerAllocator"
#define LIST_KEY     "memoryProfileSnapshots"
#define SAMPLED_KEY  "sampledTimelineSnapshots"
#define SNAPSHOT_MAX ((size_t)64 << 10) /* bytes of a snapshot, which has about 600 */

enum { KEY_ROOM = 256, OPERATION_ROOM = 2048 };

struct profile_reader {
    struct tp_xplane *x;
    struct tp_json_scan scan;
    char allocator[KEY_ROOM];
    size_t first;    /* events before those of the allocator */
    bool sampled;    /* its timeline was read */
    uint64_t others; /* snapshots of reservations, expansions and unknown activities */
};

/* ---- objects ---- */

/* Goes to the next member of an object, whose `{` has been taken, and takes its key and colon. */
static int next_member(struct tp_json_scan *s, bool *begun, char key[KEY_ROOM], bool *end,
                       struct tp_err *err)
{
    int byte = 0;
    int rc = *begun ? tp_json_take(s, ",}", "", &byte, err) : tp_json_need(s, &byte, err);
    *end = rc == TP_OK && byte == '}';
    if (*end && !*begun)
        tp_input_take(s->in, 1);
    *begun = true;
    if (rc == TP_OK && !*end)
        rc = tp_json_need(s, &byte, err);
    if (rc != TP_OK || *end)
        return rc;
    uint64_t offset = tp_input_offset(s->in);
    rc = byte == '"' ? tp_json_cut(s, SNAPSHOT_MAX, err) : TP_OK;
    if (rc == TP_OK &&
        (byte != '"' || !tp_span_text((struct tp_span){s->text, s->size}, key, KEY_ROOM)))
        return tp_input_fail_byte(s->in, offset, err, "a key is missing: not valid JSON");
    return rc == TP_OK ? tp_json_take(s, "::", " behind a key", &byte, err) : rc;
}

typedef int member_fn(struct profile_reader *rd, const char *key, struct tp_err *err);

/* Reads an object: `member` reads the value of each of its members. */
static int read_object(struct profile_reader *rd, member_fn *member, struct tp_err *err)
{
    char key[KEY_ROOM];
    bool begun = false, end = false;
    int byte = 0;
    int rc = tp_json_take(&rd->scan, "{{", "", &byte, err);
    while (rc == TP_OK && !end) {
        rc = next_member(&rd->scan, &begun, key, &end, err);
        if (rc == TP_OK && !end)
            rc = member(rd, key, err);
    }
    return rc;
}

/* ---- a snapshot ---- */

enum { TIME, STATS, METADATA, PARTS };
static const char *const part_names[PARTS] = {"timeOffsetPs", "aggregationStats",
                                              "activityMetadata"};

enum { IN_USE, AVAILABLE, RESERVED, FRAGMENTATION, STAT_COUNT };
static const char *const stat_names[STAT_COUNT] = {"heapAllocatedBytes", "freeMemoryBytes",
                                                   "stackReservedBytes", "fragmentation"};

enum { REQUESTED, CHUNK, ADDRESS, STEP, ACTIVITY, OPERATION, REGION, DATA_TYPE, SHAPE, FACTS };
static const char *const fact_names[FACTS] = {"requestedBytes", "allocationBytes", "address",
                                              "stepId",         "memoryActivity",  "tfOpName",
                                              "regionType",     "dataType",        "tensorShape"};

static struct tp_xplane_value number(struct tp_span s)
{
    struct tp_xplane_value v = {.kind = TP_XPLANE_WHOLE};
    if (s.at && !tp_span_uint(s, &v.whole))
        v.kind = TP_XPLANE_TEXT; /* which is none: the event is not readable */
    return v;
}

static struct tp_xplane_value text(struct tp_span s, char *out, size_t room)
{
    bool there = s.at && tp_span_text(s, out, room);
    return (struct tp_xplane_value){.kind = there ? TP_XPLANE_TEXT : TP_XPLANE_ABSENT,
                                    .text = {out, there ? strlen(out) : 0}};
}

/* TensorFlow's names of types, in the words that captures are read with. */
static struct tp_xplane_value data_type(struct tp_span s, char *out, size_t room)
{
    static const char *const names[][2] = {
        {"float", "float32"}, {"double", "float64"}, {"half", "float16"}};
    struct tp_xplane_value v = text(s, out, room);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (v.kind == TP_XPLANE_TEXT && strcmp(out, names[i][0]) == 0)
            v.text = (struct tp_xplane_text){names[i][1], strlen(names[i][1])};
    return v;
}

/* The bytes that an allocator may have, as far as a snapshot shows; 0: not recorded. Of an
 * allocator without any statistics the profiler writes zeros. */
static uint64_t take_stats(const struct tp_span stats[STAT_COUNT],
                           struct tp_xplane_value values[TP_XPLANE_STATS])
{
    struct tp_xplane_value in_use = number(stats[IN_USE]), available = number(stats[AVAILABLE]);
    uint64_t reserved = number(stats[RESERVED]).whole, limit = 0;
    struct tp_xplane_value share = {.kind = TP_XPLANE_REAL};
    if (in_use.kind == TP_XPLANE_WHOLE && !in_use.whole && !available.whole && !reserved)
        return 0;
    if (!stats[FRAGMENTATION].at || tp_span_double(stats[FRAGMENTATION], &share.real))
        values[TP_XPLANE_FRAGMENTATION] = share;
    values[TP_XPLANE_IN_USE] = in_use;
    if (!available.whole || __builtin_add_overflow(in_use.whole, available.whole, &limit) ||
        __builtin_add_overflow(limit, reserved, &limit))
        return 0;
    return limit <= TP_MAX_SIZE ? limit : 0;
}

/* Names the allocator: on a TPU, the key is the number of the device. */
static void take_allocator(const char *key, struct tp_xplane_value values[TP_XPLANE_STATS])
{
    struct tp_span digits = {key, strlen(key)};
    struct tp_xplane_value v = {.kind = TP_XPLANE_WHOLE};
    bool tpu = tp_span_uint(digits, &v.whole);
    if (!tpu)
        v = (struct tp_xplane_value){.kind = TP_XPLANE_TEXT, .text = {key, strlen(key)}};
    values[tpu ? TP_XPLANE_ORDINAL : TP_XPLANE_ALLOCATOR] = v;
}

static int add_event(struct profile_reader *rd, const struct tp_span stats[STAT_COUNT],
                     const struct tp_span facts[FACTS], struct tp_xplane_event ev,
                     struct tp_err *err)
{
    struct tp_xplane_value values[TP_XPLANE_STATS] = {{.kind = TP_XPLANE_ABSENT}};
    char operation[OPERATION_ROOM], region[TP_XPLANE_NAME + 1], shape[TP_XPLANE_NAME + 1];
    char type[TP_XPLANE_NAME];
    struct tp_xplane *x = rd->x;
    size_t before = x->count;
    uint64_t limit = take_stats(stats, values);
    take_allocator(rd->allocator, values);
    values[TP_XPLANE_REQUESTED] = number(facts[REQUESTED]);
    values[TP_XPLANE_CHUNK] = number(facts[CHUNK]);
    values[TP_XPLANE_ADDRESS] = number(facts[ADDRESS]);
    values[TP_XPLANE_STEP] = number(facts[STEP]);
    if (values[TP_XPLANE_STEP].kind != TP_XPLANE_WHOLE)
        values[TP_XPLANE_STEP].kind = TP_XPLANE_ABSENT; /* -1 */
    values[TP_XPLANE_OPERATION] = text(facts[OPERATION], operation, sizeof operation);
    values[TP_XPLANE_REGION] = text(facts[REGION], region, sizeof region);
    values[TP_XPLANE_SHAPE] = text(facts[SHAPE], shape, sizeof shape);
    values[TP_XPLANE_DATA_TYPE] = data_type(facts[DATA_TYPE], type, sizeof type);
    int rc = tp_xplane_add(x, ev, values, (struct tp_xplane_text){"", 0}, err);
    if (rc == TP_OK && x->count > before && !x->tpu) {
        struct tp_xplane_allocator *a = &x->allocators[x->events[before].allocator];
        a->limit = limit > a->limit ? limit : a->limit;
    }
    return rc;
}

static int read_snapshot(struct profile_reader *rd, struct tp_span whole, uint64_t offset,
                         struct tp_err *err)
{
    struct tp_span parts[PARTS] = {{0}}, stats[STAT_COUNT] = {{0}}, facts[FACTS] = {{0}};
    struct tp_xplane_event ev = {.offset = offset};
    uint64_t activity = 0;
    if (!tp_span_pick(whole, part_names, parts, PARTS) ||
        (parts[STATS].at && !tp_span_pick(parts[STATS], stat_names, stats, STAT_COUNT)) ||
        (parts[METADATA].at && !tp_span_pick(parts[METADATA], fact_names, facts, FACTS)))
        return tp_input_fail_byte(rd->scan.in, offset, err, "a snapshot is not valid JSON");
    if (parts[TIME].at && !tp_span_int(parts[TIME], &ev.time_ps))
        return tp_input_fail_byte(rd->scan.in, offset, err,
                                  "a snapshot has a 'timeOffsetPs' that is not a whole number");
    tp_span_uint(facts[ACTIVITY], &activity);
    ev.frees = activity == 2 || tp_span_is(facts[ACTIVITY], "DEALLOCATION");
    if (ev.frees || activity == 1 || tp_span_is(facts[ACTIVITY], "ALLOCATION"))
        return add_event(rd, stats, facts, ev, err);
    rd->others++;
    return TP_OK;
}

/* ---- the lists ---- */

static int read_snapshots(struct profile_reader *rd, int byte, struct tp_err *err)
{
    struct tp_json_scan *s = &rd->scan;
    int rc = TP_OK;
    if (byte == ']')
        return tp_json_take(s, "]]", "", &byte, err);
    while (rc == TP_OK && byte != ']') {
        rc = tp_json_need(s, &byte, err);
        uint64_t offset = tp_input_offset(s->in);
        if (rc == TP_OK)
            rc = tp_json_cut(s, SNAPSHOT_MAX, err);
        if (rc == TP_OK)
            rc = read_snapshot(rd, (struct tp_span){s->text, s->size}, offset, err);
        if (rc == TP_OK)
            rc = tp_json_take(s, ",]", " behind a snapshot", &byte, err);
    }
    return rc;
}

/* Reads a member of an allocator. Its timeline, if it is there, takes the place of the other list,
 * whichever comes first. */
static int read_allocator_member(struct profile_reader *rd, const char *key, struct tp_err *err)
{
    bool sampled = strcmp(key, SAMPLED_KEY) == 0;
    int byte = 0;
    if (!sampled && (rd->sampled || strcmp(key, LIST_KEY) != 0))
        return tp_json_skip(&rd->scan, err);
    int rc = tp_json_open_list(&rd->scan, &byte, err);
    if (rc == TP_OK && sampled && byte != ']') {
        rd->sampled = true;
        rd->x->count = rd->first;
    }
    return rc == TP_OK ? read_snapshots(rd, byte, err) : rc;
}

static int read_allocator(struct profile_reader *rd, const char *key, struct tp_err *err)
{
    memcpy(rd->allocator, key, KEY_ROOM);
    rd->first = rd->x->count;
    rd->sampled = false;
    return read_object(rd, read_allocator_member, err);
}

static int read_member(struct profile_reader *rd, const char *key, struct tp_err *err)
{
    return strcmp(key, MAP_KEY) == 0 ? read_object(rd, read_allocator, err)
                                     : tp_json_skip(&rd->scan, err);
}

/* ---- the whole ---- */

static int probe_memory_profile(const unsigned char *data, size_t size)
{
    size_t at = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < size && tp_json_space((char)data[at]))
        at++;
    return at < size && data[at] == '{' && tp_input_shows(data, size, "\"" MAP_KEY "\"") ? 95 : 0;
}

static void remark(const struct profile_reader *rd)
{
    const struct tp_xplane *x = rd->x;
    struct tp_meta *meta = x->reading->meta;
    bool breaks = false;
    for (size_t i = 0; i < x->allocator_count; i++)
        breaks |= x->allocators[i].breaks > 0;
    if (breaks)
        tp_meta_remark(meta, "The profiler samples captures of more than 1,000 memory events: the "
                             "*.xplane.pb of the capture has all of them.");
    if (rd->others)
        tp_meta_remark(meta, "Snapshots that neither allocate nor free are left out: %s.",
                       tp_count(rd->others).s);
}

static int finish(struct profile_reader *rd, struct tp_err *err)
{
    int rc = tp_xplane_order(rd->x, err);
    if (rc == TP_OK && rd->x->count)
        rc = tp_xplane_lower(rd->x, err);
    if (rc == TP_OK && !rd->x->count)
        tp_xplane_say_nothing(rd->x, CAPTURE,
                              "the memory profile has no snapshot of an allocation");
    if (rc == TP_OK)
        remark(rd);
    return rc;
}

static int read_memory_profile(const struct tp_reading *r, struct tp_err *err)
{
    struct tp_xplane x = {.reading = r, .capture = CAPTURE};
    struct profile_reader rd = {.x = &x, .scan = {.in = r->in, .subject = "the memory profile"}};
    x.texts.how = tp_reading_growth(r, "names of operations");
    int rc = read_object(&rd, read_member, err);
    if (rc == TP_OK)
        rc = finish(&rd, err);
    tp_json_scan_release(&rd.scan);
    tp_xplane_release(&x);
    return rc;
}

const struct tp_format tp_format_memory_profile = {
    .name = "memory-profile",
    .has_spaces = true,
    .summary =
        "memory profiles of TensorBoard's profiler (memory_profile.json), from short captures",
    .record =
        "\"Capture Profile\" in TensorBoard writes "
        "DIR/plugins/profile/*/*.memory_profile.json.gz; a *.xplane.pb beside it has all events",
    .capture = "TensorFlow " CAPTURE,
    .whole = "start the profiler before the first computation",
    .probe = probe_memory_profile,
    .read = read_memory_profile,
};
