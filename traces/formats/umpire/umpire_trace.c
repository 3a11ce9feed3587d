/* Replay logs of LLNL's Umpire, with one JSON object per line, in two forms:
 *
 *     {"category":"operation","name":"allocate","numeric_args":{"size":128},
 *      "string_args":{"allocator_ref":"0x10","pointer":"0x90"},"tags":{...},"timestamp":ns}
 *
 *     { "kind":"replay", "uid":1, "timestamp":ns, "event":"allocate",
 *       "payload": { "allocator_ref":"0x10", "size":128 }, "result": { "memory_ptr":"0x90" } }
 *
 * In the old form, which was written until 2022, an allocation is printed twice, first without its
 * result: that line is ignored. Events are the lines of the allocator that is replayed, except
 * make_... lines. Allocations and frees are lowered; the others (copy, move, coalesce, release,
 * ...) only have a number. The two lines of a reallocate and everything between them are one event.
 *
 * Lines that are not objects are skipped and counted, because old logs went to standard output.
 * Known weakness: lines of other processes (uid) in an old log are skipped too. */
#include "alloc/base/numbers.h"
#include "traces/formats/umpire/umpire_allocators.h"
#include "traces/input/json_scan.h"

#include <inttypes.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)64 << 10)

struct umpire_reader {
    const struct tp_reading *r;
    struct tp_json_scan scan;
    struct tp_umpire umpire;
    bool has_first, has_uid;
    int64_t first_ns;
    char uid[24];
    char version[64];         /* "2022.3.1 ", or "" */
    uint64_t others, strange; /* lines of other processes; lines that are not objects */
};

static int probe_umpire(const unsigned char *data, size_t size)
{
    size_t first = 0;
    while (first < size && (data[first] <= ' ' || data[first] >= 0x80))
        first++;
    if (first < size && data[first] == '{' && tp_input_shows(data, size, "\"category\"") &&
        tp_input_shows(data, size, "\"string_args\"") &&
        tp_input_shows(data, size, "\"timestamp\""))
        return 90;
    bool old = tp_input_shows(data, size, "\"kind\":\"replay\"") ||
               tp_input_shows(data, size, "\"kind\": \"replay\"");
    return old && tp_input_shows(data, size, "\"payload\"") ? 90 : 0;
}

/* ---- a line ---- */

static int wrong(const struct umpire_reader *rd, const char *what, struct tp_err *err)
{
    return tp_input_fail_line(rd->r->in, rd->scan.line, err, "%s", what);
}

static int take_time(struct umpire_reader *rd, struct tp_span stamp, struct tp_umpire_line *l,
                     struct tp_err *err)
{
    int64_t ns = 0;
    if (!stamp.at)
        return TP_OK;
    if (!tp_span_int(stamp, &ns) || ns < 0)
        return wrong(rd, "'timestamp' is not a whole number of ns", err);
    if (!rd->has_first)
        rd->first_ns = ns;
    rd->has_first = l->has_time = true;
    l->time_ns = ns > rd->first_ns ? (uint64_t)(ns - rd->first_ns) : 0;
    return TP_OK;
}

/* Takes an optional member that must be a number. */
static int take_size(struct umpire_reader *rd, struct tp_span s, struct tp_umpire_line *l,
                     struct tp_err *err)
{
    l->has_size = s.at != NULL;
    return !s.at || tp_span_uint(s, &l->size) ? TP_OK
                                              : wrong(rd, "'size' is not a whole number", err);
}

static int take_pointer(struct umpire_reader *rd, struct tp_span s, bool *there, uint64_t *out,
                        struct tp_err *err)
{
    *there = s.at != NULL;
    return !s.at || tp_span_pointer(s, out) ? TP_OK : wrong(rd, "not an address: 0x...", err);
}

/* Takes the version from the first line that has all three numbers. */
static void take_version(struct umpire_reader *rd, struct tp_span numbers)
{
    static const char *const names[] = {"major", "minor", "patch"};
    struct tp_span s[3] = {0};
    uint64_t n[3];
    if (rd->version[0] || !numbers.at || !tp_span_pick(numbers, names, s, 3))
        return;
    for (size_t i = 0; i < 3; i++)
        if (!s[i].at || !tp_span_uint(s[i], &n[i]) || n[i] > UINT32_MAX)
            return;
    snprintf(rd->version, sizeof rd->version, "%" PRIu64 ".%" PRIu64 ".%" PRIu64 " ", n[0], n[1],
             n[2]);
}

struct action {
    const char *name;
    tp_umpire_fn *act;
};

static tp_umpire_fn *find(const struct action *actions, size_t count, struct tp_span name)
{
    for (size_t i = 0; i < count; i++)
        if (tp_span_is(name, actions[i].name))
            return actions[i].act;
    return tp_umpire_other;
}

/* ---- the current form ---- */

enum { CATEGORY, NAME, NUMBERS, STRINGS, TAGS, STAMP, CURRENT_COUNT };
static const char *const current_names[CURRENT_COUNT] = {"category",    "name", "numeric_args",
                                                         "string_args", "tags", "timestamp"};

enum { REF, POINTER, OLD, NEW, BASE, TYPE, DST_REF, STRINGS_COUNT };
static const char *const string_names[STRINGS_COUNT] = {
    "allocator_ref", "pointer", "current_ptr", "new_ptr", "arg0", "type", "dst_allocator_ref"};

static int read_current(struct umpire_reader *rd, const struct tp_span *top, struct tp_err *err)
{
    static const struct action actions[] = {
        {"allocate", tp_umpire_allocate},     {"named_allocate", tp_umpire_allocate},
        {"deallocate", tp_umpire_deallocate}, {"reallocate", tp_umpire_reallocate},
        {"make_allocator", tp_umpire_make},   {"make_memory_resource", tp_umpire_make}};
    static const char *const size_name[] = {"size"}, *const tag_name[] = {"allocator_name"};
    struct tp_span strings[STRINGS_COUNT] = {0}, size = {0};
    struct tp_umpire_line l = {.line = rd->scan.line};
    if (tp_span_is(top[NAME], "version"))
        take_version(rd, top[NUMBERS]);
    if (!tp_span_is(top[CATEGORY], "operation"))
        return TP_OK;
    if ((top[NUMBERS].at && !tp_span_pick(top[NUMBERS], size_name, &size, 1)) ||
        (top[STRINGS].at && !tp_span_pick(top[STRINGS], string_names, strings, STRINGS_COUNT)) ||
        (top[TAGS].at && !tp_span_pick(top[TAGS], tag_name, &l.named, 1)))
        return wrong(rd, "the event is not valid JSON, or its arguments are no objects", err);
    l.ref = strings[REF].at ? strings[REF] : strings[DST_REF];
    l.base = strings[BASE];
    l.type = strings[TYPE];
    int rc = take_time(rd, top[STAMP], &l, err);
    tp_umpire_fn *act = find(actions, sizeof actions / sizeof *actions, top[NAME]);
    if (act == tp_umpire_make || act == tp_umpire_other)
        return rc == TP_OK ? act(&rd->umpire, &l, err) : rc;
    struct tp_span pointer = act == tp_umpire_reallocate ? strings[NEW] : strings[POINTER];
    if (rc == TP_OK)
        rc = take_size(rd, size, &l, err);
    if (rc == TP_OK)
        rc = take_pointer(rd, pointer, &l.has_pointer, &l.pointer, err);
    if (rc == TP_OK)
        rc = take_pointer(rd, strings[OLD], &l.has_old, &l.old, err);
    return rc == TP_OK ? act(&rd->umpire, &l, err) : rc;
}

/* ---- the form until 2022 ---- */

enum { KIND, UID, EVENT, PAYLOAD, RESULT, OLD_STAMP, OLD_COUNT };
static const char *const old_names[OLD_COUNT] = {"kind",    "uid",    "event",
                                                 "payload", "result", "timestamp"};

enum { P_REF, P_SIZE, P_POINTER, P_OLD, P_NAME, P_RESOURCE, P_ARGS, P_TYPE, PAYLOAD_COUNT };
static const char *const payload_names[PAYLOAD_COUNT] = {
    "allocator_ref", "size", "memory_ptr", "ptr", "allocator_name", "name", "args", "type"};

/* Whether a line is from another process than the first: its addresses mean other blocks. */
static bool other_process(struct umpire_reader *rd, struct tp_span uid)
{
    char text[sizeof rd->uid];
    size_t n = uid.size < sizeof text - 1 ? uid.size : sizeof text - 1;
    if (!uid.at)
        return false;
    memcpy(text, uid.at, n);
    text[n] = '\0';
    if (!rd->has_uid)
        memcpy(rd->uid, text, sizeof text);
    rd->has_uid = true;
    return strcmp(rd->uid, text) != 0;
}

/* The first element of a list, if it is a string. */
static struct tp_span first_of(struct tp_span list)
{
    bool bad = false;
    size_t i = 1;
    while (i < list.size && (list.at[i] == ' ' || list.at[i] == '\t'))
        i++;
    if (!list.at || i >= list.size || list.at[i] != '"')
        return (struct tp_span){0};
    return (struct tp_span){list.at + i, tp_span_value(list.at + i, list.size - i, &bad)};
}

/* Handles an event of the old form. Skips the line of an allocate or make_... that is printed
 * before its result is known. */
static int act_old(struct umpire_reader *rd, tp_umpire_fn *act, const struct tp_span *top,
                   const struct tp_span *p, struct tp_umpire_line *l, struct tp_err *err)
{
    static const char *const result_names[] = {"allocator_ref", "memory_ptr"};
    struct tp_span result[2] = {0};
    bool done = top[RESULT].at != NULL;
    if (done && *top[RESULT].at == '{' && !tp_span_pick(top[RESULT], result_names, result, 2))
        return wrong(rd, "the event is not valid JSON", err);
    if ((act == tp_umpire_allocate || act == tp_umpire_make) && !done)
        return TP_OK;
    l->ref = p[P_REF];
    if (act == tp_umpire_make)
        l->ref = result[0].at ? result[0] : top[RESULT];
    struct tp_span pointer = act == tp_umpire_deallocate ? p[P_POINTER] : result[1];
    int rc = take_size(rd, p[P_SIZE], l, err);
    if (rc == TP_OK && act != tp_umpire_make && act != tp_umpire_other)
        rc = take_pointer(rd, pointer, &l->has_pointer, &l->pointer, err);
    if (rc == TP_OK && act == tp_umpire_reallocate)
        rc = take_pointer(rd, p[P_OLD], &l->has_old, &l->old, err);
    return rc == TP_OK ? act(&rd->umpire, l, err) : rc;
}

static int read_old(struct umpire_reader *rd, const struct tp_span *top, struct tp_err *err)
{
    static const struct action actions[] = {
        {"allocate", tp_umpire_allocate},     {"deallocate", tp_umpire_deallocate},
        {"reallocate", tp_umpire_reallocate}, {"reallocate_ex", tp_umpire_reallocate},
        {"makeAllocator", tp_umpire_make},    {"makeMemoryResource", tp_umpire_make}};
    struct tp_span p[PAYLOAD_COUNT] = {0};
    struct tp_umpire_line l = {.line = rd->scan.line};
    rd->umpire.old_form = true;
    if (other_process(rd, top[UID])) {
        rd->others++;
        return TP_OK;
    }
    if (top[PAYLOAD].at && !tp_span_pick(top[PAYLOAD], payload_names, p, PAYLOAD_COUNT))
        return wrong(rd, "the event is not valid JSON, or its payload is not an object", err);
    l.named = p[P_NAME].at ? p[P_NAME] : p[P_RESOURCE];
    l.base = first_of(p[P_ARGS]);
    l.type = p[P_TYPE];
    int rc = take_time(rd, top[OLD_STAMP], &l, err);
    if (tp_span_is(top[EVENT], "version"))
        take_version(rd, top[PAYLOAD]);
    if (rc != TP_OK || tp_span_is(top[EVENT], "version"))
        return rc;
    return act_old(rd, find(actions, sizeof actions / sizeof *actions, top[EVENT]), top, p, &l,
                   err);
}

/* ---- the file ---- */

static int read_object(struct umpire_reader *rd, struct tp_err *err)
{
    struct tp_span current[CURRENT_COUNT] = {0}, old[OLD_COUNT] = {0};
    int rc = tp_json_cut(&rd->scan, LINE_MAX_BYTES, err);
    if (rc != TP_OK)
        return rc;
    struct tp_span whole = {rd->scan.text, rd->scan.size};
    if (!tp_span_pick(whole, current_names, current, CURRENT_COUNT))
        return wrong(rd, "the event is not valid JSON", err);
    if (current[CATEGORY].at)
        return read_current(rd, current, err);
    tp_span_pick(whole, old_names, old, OLD_COUNT);
    if (tp_span_is(old[KIND], "replay"))
        return read_old(rd, old, err);
    rd->strange++;
    return TP_OK;
}

/* Skips the rest of the line, of any length. */
static int pass_line(struct umpire_reader *rd, struct tp_err *err)
{
    for (;;) {
        const unsigned char *data = NULL;
        size_t got = 0;
        int rc = tp_input_block(rd->r->in, &data, &got, err);
        if (rc != TP_OK || got == 0)
            return rc;
        const unsigned char *end = memchr(data, '\n', got);
        tp_input_take(rd->r->in, end ? (size_t)(end - data) + 1 : got);
        if (end)
            return TP_OK;
    }
}

static int read_lines(struct umpire_reader *rd, struct tp_err *err)
{
    for (;;) {
        int byte = 0;
        int rc = tp_json_next(&rd->scan, &byte, err);
        if (rc != TP_OK || byte < 0)
            return rc;
        if (byte == '{')
            rc = read_object(rd, err);
        else
            rc = pass_line(rd, err);
        rd->strange += byte != '{' && byte != '#';
        if (rc != TP_OK)
            return rc;
    }
}

static int finish(struct umpire_reader *rd, struct tp_err *err)
{
    struct tp_meta *meta = rd->r->meta;
    tp_meta_set(meta, &meta->capture, "Umpire %sreplay log", rd->version);
    tp_meta_set(meta, &meta->unknown, "threads, streams, alignment");
    if (rd->strange)
        tp_meta_remark(meta, "%s that are no events of Umpire left out.",
                       tp_plural(rd->strange, "line").s);
    if (rd->others)
        tp_meta_remark(meta, "%s of other processes left out.", tp_plural(rd->others, "line").s);
    if (rd->umpire.ownerless)
        tp_meta_remark(meta, "%s of a block that the log does not have left out.",
                       tp_plural(rd->umpire.ownerless, "reallocation").s);
    if (tp_spaces_count(rd->umpire.spaces) == 0) {
        tp_meta_set(meta, &meta->nothing, "no allocator of this log allocated anything");
        tp_meta_set(meta, &meta->nothing_hint,
                    "Umpire records when UMPIRE_REPLAY=On stands in the environment");
    }
    return tp_umpire_finish(&rd->umpire, err);
}

static int read_log(const struct tp_reading *r, struct tp_err *err)
{
    struct umpire_reader rd = {.r = r,
                               .scan = {.in = r->in, .subject = "the event", .one_line = true}};
    int rc = tp_umpire_init(&rd.umpire, r, err);
    if (rc == TP_OK)
        rc = read_lines(&rd, err);
    if (rc == TP_OK)
        rc = finish(&rd, err);
    tp_umpire_release(&rd.umpire);
    tp_json_scan_release(&rd.scan);
    return rc;
}

const struct tp_format tp_format_umpire = {
    .name = "umpire",
    .has_spaces = true,
    .summary = "Umpire replay log (UMPIRE_REPLAY=On), since 2019",
    .record = "UMPIRE_REPLAY=On PROGRAM",
    .probe = probe_umpire,
    .read = read_log,
};
