/* See strangers.h. A kind of file is recognised by its first bytes, or by a function if they are
 * not enough. Known weakness: only the first 64 KiB are seen, so a JSON dump of a snapshot with its
 * first keys behind them is not recognised. */
#include "traces/lower/strangers.h"

#include "traces/input/pickle.h"

#include <ctype.h>
#include <string.h>

#define HEAD_BYTES ((size_t)512) /* within which a log or a page identifies itself */

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

static bool is_segment_list(const unsigned char *data, size_t size)
{
    return tp_pickle_outermost(data, size) == ']' && has(data, size, "segment_type") &&
           has(data, size, "total_size");
}

static bool is_snapshot_json(const unsigned char *data, size_t size)
{
    int mark = first_mark(data, size);
    if (mark != '{' && mark != '[')
        return false;
    return has(data, size, "\"device_traces\"") ||
           (has(data, size, "\"segment_type\"") && has(data, size, "\"total_size\""));
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
#define UNPACK(how) "unpack it: " how " | tapool replay -"

static const struct tp_stranger strangers[] = {
    {.is = is_saved_model,
     .name = "what torch.save() writes",
     .why = "not what PyTorch's allocator did",
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
    {MARK("\004\"M\030"), .name = "packed with lz4", .why = "which tapool does not unpack",
     .hint = UNPACK("lz4 -dc FILE")},
    {.is = is_segment_list,
     .name = "a pickled list of segments",
     .why = "the state of one moment without its events",
     .hint = "torch.cuda.memory._record_memory_history() and then _dump_snapshot() write both: "
             "tapool help snapshots"},
    {.is = is_old_pickle,
     .name = "a pickle of protocol 0 or 1",
     .why = "and 2 to 5 can be read",
     .hint =
         "if you trust the file, as loading may run code: python3 -c \"import pickle as p, sys; "
         "p.dump(p.load(sys.stdin.buffer), sys.stdout.buffer, 4)\" <FILE >snapshot.pickle"},
    {.is = is_snapshot_json,
     .name = "PyTorch's memory state as JSON",
     .why = "and tapool reads it as a pickle",
     .hint = "python3 -c \"import json, pickle, sys; pickle.dump(json.load(sys.stdin), "
             "sys.stdout.buffer, 4)\" <FILE >snapshot.pickle"},
    {.is = is_memory_page,
     .name = "a page that PyTorch's memory_viz wrote",
     .why = "with the snapshot inside",
     .hint =
         "sed -n 's/.*\"base64\": *\"\\([^\"]*\\)\".*/\\1/p' FILE | base64 -d >snapshot.pickle"},
    {.is = is_dhat, .name = "a DHAT profile", .why = TOTALS, .hint = RECORD},
    {.is = is_massif, .name = "a massif profile", .why = TOTALS, .hint = RECORD},
    {MARK("memray\0"), .name = "a memray capture", .why = "whose form changes with its versions",
     .hint = RECORD},
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
};

const struct tp_stranger *tp_stranger_of(const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        const struct tp_stranger *s = &strangers[i];
        if (s->is ? s->is(data, size)
                  : size >= s->mark_size && memcmp(data, s->mark, s->mark_size) == 0)
            return s;
    }
    return NULL;
}
