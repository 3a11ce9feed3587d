/* The PyTorch profiler's Chrome trace (Kineto), for its memory events:
 *
 *     {"schemaVersion": 1, ..., "traceEvents": [
 *       {"ph": "X", "cat": "cpu_op", "name": "aten::add", ...},           most of the file: passed
 *       {"ph": "i", "name": "[memory]", "tid": 1, "ts": 1.5, "args": {"Device Type": 1,
 *        "Device Id": 0, "Addr": 512, "Bytes": -4096, "Total Reserved": 2097152}}, ...
 *     ], ...}
 *
 * Elements are found in place, in windows of 64 KiB, and read only if a string in them begins with
 * a bracket. Times and addresses are parsed from the text, because microseconds since 1970 with
 * three decimals do not fit into a double. Each memory event of the replayed device is one event.
 *
 * Known weakness: an element above 64 KiB is never taken for a memory event, which has about 300
 * bytes. Of elements that are not memory events only the brackets are checked. */
#include "traces/formats/kineto/kineto_memory.h"
#include "traces/input/json_scan.h"
#include "traces/input/json_span.h"

#include <inttypes.h>
#include <string.h>

#define WINDOW   ((size_t)64 << 10)
#define KEY_MAX  ((size_t)4 << 10)
#define LIST_KEY "traceEvents"
#define FLAG_KEY "profile_memory"
/* members that other programs do not write */
#define VERSION_KEY "schemaVersion"
#define DEVICES_KEY "deviceProperties"
#define CAPTURE     "PyTorch profiler trace (Kineto)"

struct kineto_reader {
    const struct tp_reading *r;
    struct tp_json_scan scan;
    struct tp_kineto_memory memory;
    bool profiled; /* the file says that memory was profiled */
    bool pytorch;  /* PyTorch's profiler wrote it */
    bool xplane;   /* that of TensorFlow and JAX did */
};

static int probe_kineto(const unsigned char *data, size_t size)
{
    size_t at = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < size && tp_json_space((char)data[at]))
        at++;
    if (at == size || data[at] != '{')
        return 0;
    if (tp_input_shows(data, size, "\"" LIST_KEY "\""))
        return 90;
    return tp_input_shows(data, size, "\"" VERSION_KEY "\"") &&
                   tp_input_shows(data, size, "\"" DEVICES_KEY "\"")
               ? 80
               : 0;
}

/* ---- a memory event ---- */

static int wrong(const struct kineto_reader *rd, uint64_t offset, const char *what,
                 struct tp_err *err)
{
    return tp_input_fail_byte(rd->r->in, offset, err, "a memory event %s", what);
}

enum { BYTES, ADDR, TYPE, ID, ALLOCATED, RESERVED, ARGS };
static const char *const arg_names[ARGS] = {
    "Bytes", "Addr", "Device Type", "Device Id", "Total Allocated", "Total Reserved"};

static int read_args(const struct kineto_reader *rd, struct tp_span object,
                     struct tp_kineto_event *ev, struct tp_err *err)
{
    struct tp_span args[ARGS] = {0};
    uint64_t type = 0;
    int64_t id = -1;
    if (!object.at || !tp_span_pick(object, arg_names, args, ARGS))
        return wrong(rd, ev->offset, "has no 'args'", err);
    if (!tp_span_int(args[BYTES], &ev->bytes))
        return wrong(rd, ev->offset, "has a 'Bytes' that is missing or not a whole number", err);
    if (!tp_span_uint(args[TYPE], &type) || type > UINT16_MAX)
        return wrong(rd, ev->offset, "has a 'Device Type' that is missing or unknown", err);
    if (args[ID].at && (!tp_span_int(args[ID], &id) || id < -1 || id > INT32_MAX))
        return wrong(rd, ev->offset, "has a 'Device Id' that is out of range", err);
    ev->has_addr = args[ADDR].at != NULL;
    if (ev->has_addr && !tp_span_uint(args[ADDR], &ev->addr))
        return wrong(rd, ev->offset, "has an 'Addr' that is not an address", err);
    ev->device_type = (uint16_t)type;
    ev->device_id = (int32_t)id;
    ev->has_allocated = tp_span_uint(args[ALLOCATED], &ev->allocated);
    ev->has_reserved =
        /* negative, which means absent, in old files */
        tp_span_uint(args[RESERVED], &ev->reserved);
    return TP_OK;
}

enum { NAME, STAMP, TID, OBJECT, MEMBERS };
static const char *const member_names[MEMBERS] = {"name", "ts", "tid", "args"};

/* Whether an element names a process as the profiler of TensorFlow and JAX does: "/host:CPU",
 * "/device:GPU:0 ...". */
static bool names_plane(struct tp_span element)
{
    static const char *const name_only[] = {"name"};
    struct tp_span members[MEMBERS] = {0}, name = {0};
    char text[16];
    return *element.at == '{' && memmem(element.at, element.size, "\"process_name\"", 14) &&
           tp_span_pick(element, member_names, members, MEMBERS) &&
           tp_span_is(members[NAME], "process_name") && members[OBJECT].at &&
           tp_span_pick(members[OBJECT], name_only, &name, 1) &&
           tp_span_text(name, text, sizeof text) &&
           (strncmp(text, "/host:", 6) == 0 || strncmp(text, "/device:", 8) == 0);
}

/* Reads an element of the list, and keeps it if it is a memory event. */
static int read_element(struct kineto_reader *rd, struct tp_span element, uint64_t offset,
                        struct tp_err *err)
{
    struct tp_span members[MEMBERS] = {0};
    int64_t tid = 0;
    rd->xplane = rd->xplane || (!rd->pytorch && names_plane(element));
    if (*element.at != '{' || !memmem(element.at, element.size, "\"[", 2) ||
        !tp_span_pick(element, member_names, members, MEMBERS))
        return TP_OK;
    struct tp_kineto_event ev = {.offset = offset};
    ev.out_of_memory = tp_span_is(members[NAME], "[OutOfMemory]");
    if (!ev.out_of_memory && !tp_span_is(members[NAME], "[memory]"))
        return TP_OK;
    if (!tp_span_thousandths(members[STAMP], &ev.ts_ns))
        return wrong(rd, offset, "has no 'ts' that is a number", err);
    if (tp_span_int(members[TID], &tid))
        ev.tid = (uint64_t)tid;
    int rc = read_args(rd, members[OBJECT], &ev, err);
    return rc == TP_OK ? tp_kineto_add(&rd->memory, &ev, err) : rc;
}

/* ---- the list ---- */

/* What may come next in the list. */
enum kineto_place {
    FIRST, /* a value or the end */
    VALUE, /* a value */
    COMMA, /* a comma or the end */
    CLOSED /* nothing: the list has ended */
};

/* Passes a comma or the end of the list. False: it is neither. */
static bool pass_mark(enum kineto_place *place, unsigned char c)
{
    if (c == ']' && *place != VALUE)
        *place = CLOSED;
    else if (c == ',' && *place == COMMA)
        *place = VALUE;
    else
        return false;
    return true;
}

/* Reads the elements that lie wholly in the window, which take *used bytes. */
static int read_window(struct kineto_reader *rd, const unsigned char *data, size_t size,
                       enum kineto_place *place, size_t *used, struct tp_err *err)
{
    uint64_t start = tp_input_offset(rd->r->in);
    size_t at = 0;
    int rc = TP_OK;
    while (rc == TP_OK && *place != CLOSED) {
        while (at < size && tp_json_space((char)data[at]))
            at++;
        *used = at;
        if (at == size)
            return TP_OK;
        if (pass_mark(place, data[at])) {
            *used = ++at;
            continue;
        }
        bool bad = *place == COMMA;
        struct tp_span element = {(const char *)data + at, 0};
        if (!bad)
            element.size = tp_span_value(element.at, size - at, &bad);
        if (bad)
            return tp_input_fail_byte(rd->r->in, start + at, err,
                                      "'" LIST_KEY "' is not valid JSON");
        if (element.size == 0)
            return TP_OK;
        rc = read_element(rd, element, start + at, err);
        *used = at += element.size;
        *place = COMMA;
    }
    return rc;
}

/* Reads the list behind its `[`. */
static int read_list(struct kineto_reader *rd, struct tp_err *err)
{
    enum kineto_place place = FIRST;
    while (place != CLOSED) {
        const unsigned char *data = NULL;
        size_t got = 0, used = 0;
        int rc = tp_input_peek(rd->r->in, WINDOW, &data, &got, err);
        if (rc == TP_OK)
            rc = read_window(rd, data, got, &place, &used, err);
        if (rc != TP_OK)
            return rc;
        tp_input_take(rd->r->in, used);
        if (place == CLOSED || used > 0)
            continue;
        if (got < WINDOW) /* the input ends here */
            return tp_json_ends(&rd->scan, err);
        rc = tp_json_skip(&rd->scan, err); /* the element is longer than a window */
        if (rc != TP_OK)
            return rc;
        place = COMMA;
    }
    return TP_OK;
}

/* ---- the file ---- */

/* Takes the next byte that is not white space. TP_EINPUT: it is not one of `wanted`. */
static int take_mark(struct kineto_reader *rd, const char *wanted, int *byte, struct tp_err *err)
{
    int rc = tp_json_need(&rd->scan, byte, err);
    if (rc == TP_OK && !memchr(wanted, *byte, strlen(wanted)))
        rc = tp_input_fail_byte(rd->r->in, tp_input_offset(rd->r->in), err, "not valid JSON");
    else if (rc == TP_OK)
        tp_input_take(rd->r->in, 1);
    return rc;
}

/* Reads a member of the top-level object. */
static int read_member(struct kineto_reader *rd, struct tp_err *err)
{
    int byte = 0;
    int rc = tp_json_cut(&rd->scan, KEY_MAX, err);
    if (rc != TP_OK)
        return rc;
    struct tp_span key = {rd->scan.text, rd->scan.size};
    bool list = tp_span_is(key, LIST_KEY), flag = tp_span_is(key, FLAG_KEY);
    rd->pytorch |= flag || tp_span_is(key, VERSION_KEY) || tp_span_is(key, DEVICES_KEY);
    rc = take_mark(rd, ":", &byte, err);
    if (rc == TP_OK)
        rc = tp_json_next(&rd->scan, &byte, err);
    rd->profiled |= rc == TP_OK && flag && (byte == '1' || byte == 't');
    if (rc != TP_OK || !list || byte != '[')
        return rc == TP_OK ? tp_json_skip(&rd->scan, err) : rc;
    tp_input_take(rd->r->in, 1);
    return read_list(rd, err);
}

static int read_object(struct kineto_reader *rd, struct tp_err *err)
{
    int byte = 0;
    int rc = take_mark(rd, "{", &byte, err);
    if (rc == TP_OK)
        rc = tp_json_next(&rd->scan, &byte, err);
    if (rc == TP_OK && byte == '}')
        return TP_OK;
    while (rc == TP_OK) {
        rc = tp_json_next(&rd->scan, &byte, err);
        if (rc == TP_OK && byte != '"')
            return take_mark(rd, "\"", &byte, err);
        if (rc == TP_OK)
            rc = read_member(rd, err);
        if (rc == TP_OK)
            rc = take_mark(rd, ",}", &byte, err);
        if (rc == TP_OK && byte == '}')
            return TP_OK;
    }
    return rc;
}

static int finish(struct kineto_reader *rd, struct tp_err *err)
{
    struct tp_meta *meta = rd->r->meta;
    tp_meta_set(meta, &meta->capture, CAPTURE);
    if (rd->memory.count > 0)
        return tp_kineto_lower(&rd->memory, err);
    if (!rd->pytorch && rd->xplane) {
        tp_meta_set(meta, &meta->nothing,
                    "a Chrome trace of the TensorFlow or JAX profiler, which has no memory events");
        tp_meta_set(meta, &meta->nothing_hint, "they are in the *.xplane.pb beside it");
        return TP_OK;
    }
    if (!rd->pytorch) {
        tp_meta_set(meta, &meta->nothing, "a Chrome trace, but not of PyTorch's profiler");
        tp_meta_set(meta, &meta->nothing_hint,
                    "a script can write events of another program as JSON: tapool help format");
        return TP_OK;
    }
    tp_meta_set(meta, &meta->nothing, "%s",
                rd->profiled ? FLAG_KEY " is on, but the file has no '[memory]' event"
                             : FLAG_KEY "=True was not set");
    tp_meta_set(meta, &meta->nothing_hint, "%s",
                rd->profiled ? "nothing was allocated in the steps that were profiled, or the "
                               "events were filtered out of the file; a memory snapshot "
                               "has them too: tapool help snapshots"
                             : "torch.profiler.profile(profile_memory=True) records memory");
    return TP_OK;
}

static int read_trace(const struct tp_reading *r, struct tp_err *err)
{
    struct kineto_reader rd = {
        .r = r, .scan = {.in = r->in, .subject = "the trace"}, .memory = {.reading = r}};
    int rc = read_object(&rd, err);
    if (rc == TP_OK)
        rc = finish(&rd, err);
    tp_kineto_release(&rd.memory);
    tp_json_scan_release(&rd.scan);
    return rc;
}

const struct tp_format tp_format_kineto = {
    .name = "kineto",
    .has_spaces = true,
    .summary = "Chrome trace of the PyTorch profiler, with profile_memory=True",
    .record = "with torch.profiler.profile(profile_memory=True) as p: ...; "
              "p.export_chrome_trace(\"FILE\")",
    .capture = CAPTURE,
    .whole = "begin torch.profiler.profile(profile_memory=True) before the model is built",
    .probe = probe_kineto,
    .read = read_trace,
};
