/* See unknown_formats.h. A kind of file is recognised by its first bytes, or by a function if they
 * are not enough. Known weakness: only the first 64 KiB are seen, so a JSON dump of a snapshot with
 * its first keys behind them is not recognised. */
#include "traces/lower/unknown_formats.h"

#include "traces/input/lines.h"
#include "traces/input/pickle.h"

#include <ctype.h>
#include <string.h>

#define HEAD_BYTES ((size_t)512) /* within which a log or a page identifies itself */
#define LZ4        "\004\"M\030"
#define LZ4_HEAD   ((size_t)64) /* within which the first packed bytes lie */

static bool begins(const unsigned char *data, size_t size, const char *with)
{
    size_t length = strlen(with);
    return size >= length && memcmp(data, with, length) == 0;
}

static bool has(const unsigned char *data, size_t size, const char *text)
{
    return memmem(data, size, text, strlen(text)) != NULL;
}

static bool has_early(const unsigned char *data, size_t size, const char *text)
{
    return has(data, size < HEAD_BYTES ? size : HEAD_BYTES, text);
}

/* The first byte behind a byte order mark and white space; 0: none. */
static int first_mark(const unsigned char *data, size_t size)
{
    size_t at = begins(data, size, "\xef\xbb\xbf") ? 3 : 0;
    while (at < size && isspace(data[at]))
        at++;
    return at < size ? data[at] : 0;
}

/* ---- packed ---- */

/* The header of a zip file has the name of its first member. torch.save() calls it
 * NAME/data.pkl. */
static bool is_saved_model(const unsigned char *data, size_t size)
{
    static const char saved[] = "/data.pkl";
    size_t length = size >= 30 ? data[26] | (size_t)data[27] << 8 : 0;
    return begins(data, size, "PK\003\004") && length >= sizeof saved - 1 && size >= 30 + length &&
           memcmp(data + 30 + length - (sizeof saved - 1), saved, sizeof saved - 1) == 0;
}

static bool is_bzip2(const unsigned char *data, size_t size)
{
    return size >= 10 && begins(data, size, "BZh") && data[3] >= '1' && data[3] <= '9' &&
           begins(data + 4, size - 4, "1AY&SY");
}

/* memray packs its captures with lz4. Nothing lies before the first bytes that they could repeat,
 * so they are in the packed ones as they are. */
static bool is_memray(const unsigned char *data, size_t size)
{
    static const char mark[] = "memray"; /* and its NUL */
    bool packed = begins(data, size, LZ4);
    return (packed || begins(data, size, mark)) &&
           memmem(data, packed && size > LZ4_HEAD ? LZ4_HEAD : size, mark, sizeof mark) != NULL;
}

/* ---- PyTorch ---- */

/* Protocol 0 writes a container as a mark and a letter, and memo indices as digits. Protocol 1 does
 * not begin with PROTO. */
static bool is_old_pickle(const unsigned char *data, size_t size)
{
    size_t at = 3;
    if (begins(data, size, "(dp") || begins(data, size, "(lp")) {
        while (at < size && isdigit(data[at]))
            at++;
        return at > 3 && at < size && data[at] == '\n';
    }
    return size > 3 && (data[0] == '}' || data[0] == ']') && data[1] == 'q' && data[2] == 0 &&
           data[3] == '(';
}

static bool is_snapshot_json(const unsigned char *data, size_t size)
{
    int mark = first_mark(data, size);
    if (mark != '{' && mark != '[')
        return false;
    return has(data, size, "\"device_traces\"") ||
           (has(data, size, "\"segment_type\"") && has(data, size, "\"total_size\""));
}

/* A pickle without the first words of a snapshot. */
static bool is_other_pickle(const unsigned char *data, size_t size)
{
    static const char *const words[] = {"segments", "segment_type", "total_size", "device_traces"};
    bool snapshot = tp_pickle_outermost(data, size) < 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        snapshot |= has(data, size, words[i]);
    return !snapshot;
}

static bool is_memory_stats(const unsigned char *data, size_t size)
{
    return has(data, size, "allocated_bytes.all.current") ||
           has_early(data, size, "PyTorch CUDA memory summary");
}

/* Takes white space, a mark if it is one of `marks`, and white space. Returns the mark; 0: none. */
static char take_mark(struct tp_cut *text, const char *marks)
{
    char mark = '\0';
    while (text->at < text->end && isspace((unsigned char)*text->at))
        text->at++;
    if (text->at < text->end && *text->at && strchr(marks, *text->at))
        mark = *text->at++;
    while (mark && text->at < text->end && isspace((unsigned char)*text->at))
        text->at++;
    return mark;
}

/* Lists of a time, an action (0 to 3), bytes and a category; or a list of times and one of lists of
 * sums. */
static bool is_memory_timeline(const unsigned char *data, size_t size)
{
    struct tp_cut text = {(const char *)data, (const char *)data + size};
    uint64_t number[4] = {0};
    size_t count = 0;
    char mark = ',';
    if (take_mark(&text, "[") != '[' || take_mark(&text, "[") != '[')
        return false;
    for (; mark == ','; count++, mark = take_mark(&text, ",]")) {
        tp_cut_byte(&text, '-');
        if (!tp_cut_decimal(&text, &number[count < 4 ? count : 3]))
            return false;
    }
    if (mark != ']')
        return false;
    mark = take_mark(&text, ",]");
    bool more = mark == ',' && take_mark(&text, "[") == '[';
    bool sums = more && take_mark(&text, "[") == '[';
    return sums || (count == 4 && number[1] <= 3 && (more || mark == ']'));
}

static bool is_event_list(const unsigned char *data, size_t size)
{
    return first_mark(data, size) == '[' && has_early(data, size, "\"ph\"") &&
           has_early(data, size, "\"pid\"");
}

static bool is_memory_page(const unsigned char *data, size_t size)
{
    return first_mark(data, size) == '<' && has(data, size, "MemoryViz.js") &&
           has(data, size, "base64");
}

/* ---- profiles and logs ---- */

static bool is_dhat(const unsigned char *data, size_t size)
{
    return first_mark(data, size) == '{' && has_early(data, size, "\"dhatFileVersion\"");
}

static bool is_massif(const unsigned char *data, size_t size)
{
    return begins(data, size, "desc: ") && has(data, size, "\ncmd: ") &&
           has(data, size, "\ntime_unit: ");
}

/* Begins with a message of two small numbers, indices of the texts for what is counted and in which
 * unit, as many times as there are counts: "0a 04 08 01 10 02". */
static bool is_pprof(const unsigned char *data, size_t size)
{
    enum { LIST = 0x0a, FIRST = 0x08, SECOND = 0x10 };
    return size >= 7 && data[0] == LIST && data[1] == 4 && data[2] == FIRST && data[3] < 0x80 &&
           data[4] == SECOND && data[5] < 0x80 && (data[6] == LIST || data[6] == 0x12);
}

static bool is_rmm_log(const unsigned char *data, size_t size)
{
    return begins(data, size, "[") && has_early(data, size, "RMM LOG BEGIN");
}

/* ---- the table ---- */

#define MARK(text)  .mark = (text), .mark_size = sizeof(text) - 1
#define TOTALS      "which holds totals and no single allocations"
#define RECORD      "record each call instead: tapool record -o out.tpt -- PROGRAM"
#define SCRIPT      "a script can write its events as JSON: tapool help format"
#define SNAPSHOT    "torch.cuda.memory._dump_snapshot() writes a snapshot: tapool help snapshots"
#define UNPACK(how) "unpack it: " how " | tapool replay -"

static const struct tp_unknown_format unknown_formats[] = {
    {.is = is_saved_model,
     .name = "a file of torch.save()",
     .why = "not a recording of PyTorch's allocator",
     .hint = "a snapshot of memory comes from torch.cuda.memory._dump_snapshot(): tapool help "
             "snapshots"},
    {MARK("PK\003\004"), .name = "a zip file", .why = "which tapool does not unpack",
     .hint = UNPACK("unzip -p FILE")},
    {MARK("\3757zXZ\0"), .name = "packed with xz", .why = "which tapool does not unpack",
     .hint = UNPACK("xz -dc FILE")},
    {.is = is_bzip2,
     .name = "packed with bzip2",
     .why = "which tapool does not unpack",
     .hint = UNPACK("bzip2 -dc FILE")},
    {.is = is_memray,
     .name = "a memray capture",
     .why = "whose form changes with its versions",
     .hint = RECORD},
    {MARK(LZ4), .name = "packed with lz4", .why = "which tapool does not unpack",
     .hint = UNPACK("lz4 -dc FILE")},
    {.is = is_old_pickle,
     .name = "a pickle of protocol 0 or 1",
     .why = "tapool reads protocols 2 to 5",
     .hint =
         "if you trust the file, as loading may run code: python3 -c \"import pickle as p, sys; "
         "p.dump(p.load(sys.stdin.buffer), sys.stdout.buffer, 4)\" <FILE >snapshot.pickle"},
    {.is = is_snapshot_json,
     .name = "PyTorch's memory state as JSON",
     .why = "tapool reads it only as a pickle",
     .hint = "python3 -c \"import json, pickle, sys; pickle.dump(json.load(sys.stdin), "
             "sys.stdout.buffer, 4)\" <FILE >snapshot.pickle"},
    {.is = is_memory_stats,
     .name = "PyTorch's statistics of memory",
     .why = "which are totals of one moment",
     .hint = SNAPSHOT},
    {.is = is_memory_timeline,
     .name = "PyTorch's memory timeline",
     .why = "which has sizes without blocks",
     .hint = "export_chrome_trace() of the same profile has each allocation; so has a snapshot: "
             "tapool help snapshots"},
    {.is = is_event_list,
     .name = "a list of Chrome trace events",
     .why = "without the memory events of PyTorch's profiler",
     .hint = "torch.profiler.profile(profile_memory=True) and export_chrome_trace() write them"},
    {.is = is_other_pickle,
     .name = "a pickle",
     .why = "but not of a memory snapshot",
     .hint = SNAPSHOT},
    {.is = is_memory_page,
     .name = "a page that PyTorch's memory_viz wrote",
     .why = "with the snapshot inside",
     .hint =
         "sed -n 's/.*\"base64\": *\"\\([^\"]*\\)\".*/\\1/p' FILE | base64 -d >snapshot.pickle"},
    {.is = is_dhat, .name = "a DHAT profile", .why = TOTALS, .hint = RECORD},
    {.is = is_massif, .name = "a massif profile", .why = TOTALS, .hint = RECORD},
    {MARK("heap_v2/"), .name = "a heap profile of jemalloc", .why = TOTALS, .hint = RECORD},
    {MARK("heap profile: "), .name = "a heap profile of gperftools", .why = TOTALS, .hint = RECORD},
    {.is = is_pprof, .name = "a pprof profile", .why = TOTALS, .hint = RECORD},
    {.is = is_rmm_log,
     .name = "RMM's log of messages",
     .why = "which has no allocations",
     .hint =
         "they are in the CSV of its logging adaptor: 'tapool help formats' says how to get it"},
    {MARK("\177ELF"), .name = "a program or a library", .why = "not what it recorded",
     .hint = RECORD},
    {MARK("SQLite format 3"), .name = "an SQLite database",
     .why = "such as nsys writes; tapool reads none", .hint = SCRIPT},
    {MARK("NVIDIA Tegra Profiler Report"), .name = "a report of Nsight Systems (nsys-rep)",
     .why = "which only nsys reads",
     .hint = "nsys export --type=sqlite FILE: a script can write its "
             "CUDA_GPU_MEMORY_USAGE_EVENTS as JSON (tapool help format)"},
    {MARK("Vulkan Memory Allocator,Calls recording"), .name = "a VmaReplay recording",
     .why = "whose calls are those of Vulkan", .hint = SCRIPT},
};

const struct tp_unknown_format *tp_unknown_format_of(const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < sizeof unknown_formats / sizeof *unknown_formats; i++) {
        const struct tp_unknown_format *s = &unknown_formats[i];
        if (s->is ? s->is(data, size)
                  : size >= s->mark_size && memcmp(data, s->mark, s->mark_size) == 0)
            return s;
    }
    return NULL;
}
