/* The trace of memory allocations of AMD's rocprofv3 (memory_allocation_trace.csv): one row per
 * call of the ROCm runtime that allocates or frees.
 *
 *     "Kind","Operation","Agent_Id","Allocation_Size","Address",...,"Start_Timestamp","End_Timestamp"
 *     "MEMORY_ALLOCATION","MEMORY_ALLOCATION_ALLOCATE","Agent 0",1024,"0x00007ffb26354000",...
 *     "MEMORY_ALLOCATION","MEMORY_ALLOCATION_FREE","",0,"0x00007ffb26354000",...
 *
 *     file --> rows --> by time --> blocks by address --> memory spaces
 *
 * Rows stand as threads handed them in, not by time. A block is there when its allocation ends, and
 * its address is open to others when its free begins: in the order of these two times no block is
 * put on a live one, however calls of threads overlap. Rows at one time stay as they stand.
 *
 * Each agent is a memory space. A free names none: it is of the agent that has the block. Columns
 * are found by their names, because 'rocpd convert' writes others too. Known weaknesses: "Agent 0"
 * does not say whether it is a CPU, so that it counts as a device; the processes of a job in one
 * file are read as one. */
#include "alloc/base/ascending.h"
#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "alloc/base/texts.h"
#include "traces/lower/bad_line.h"
#include "traces/lower/block_ids.h"
#include "traces/lower/spaces.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum rocprof_column { OPERATION, AGENT, SIZE, ADDRESS, START, END, NEEDED, OTHER = NEEDED };
static const char *const column_names[NEEDED] = {"Operation", "Agent_Id",        "Allocation_Size",
                                                 "Address",   "Start_Timestamp", "End_Timestamp"};

enum { COLUMNS_MAX = 32, NAME_KEPT = 64 };

struct rocprof_operation {
    const char *name;
    bool frees;
    bool handle; /* the address is a handle of memory that has none yet */
};
static const struct rocprof_operation operations[] = {
    {"MEMORY_ALLOCATION_ALLOCATE", false, false},
    {"MEMORY_ALLOCATION_ALLOC", false, false}, /* as rocpd wrote it at first */
    {"MEMORY_ALLOCATION_FREE", true, false},
    {"MEMORY_ALLOCATION_VMEM_ALLOCATE", false, true},
    {"MEMORY_ALLOCATION_VMEM_FREE", true, true},
};

struct rocprof_row {
    uint64_t time_ns, address, size, line;
    const struct rocprof_operation *operation;
    uint32_t agent; /* memory space; of a free that of the block, once it is found */
};

struct rocprof_reader {
    const struct tp_reading *r;
    struct tp_lines lines;
    enum rocprof_column columns[COLUMNS_MAX];
    size_t column_count;
    struct rocprof_row *rows;
    size_t count, room;
    struct tp_texts agents; /* by the number of their memory space */
    struct tp_spaces *spaces;
    struct tp_block_ids blocks; /* the id of a block is the number of its row, from 1 */
    uint64_t others;            /* rows of operations that are not known */
    char other[NAME_KEPT];      /* the first of these */
    uint64_t too_large;         /* failed requests of more than 2^48 bytes */
};

/* ---- cutting ---- */

/* Takes a value with its comma. In quotes a quote is written twice, and stays so. */
static struct tp_cut cut_value(struct tp_cut *row)
{
    if (!tp_cut_byte(row, '"'))
        return tp_cut_field(row, ',');
    struct tp_cut value = *row;
    while (row->at < row->end && (*row->at != '"' || tp_cut_text(row, "\"\"")))
        row->at += row->at < row->end && *row->at != '"';
    value.end = row->at;
    tp_cut_field(row, ',');
    return value;
}

static bool is(struct tp_cut value, const char *text)
{
    return tp_cut_text(&value, text) && value.at == value.end;
}

/* Finds the columns of a header. False: one that is needed is missing. */
static bool find_columns(struct tp_cut header, enum rocprof_column columns[COLUMNS_MAX],
                         size_t *count)
{
    unsigned seen = 0;
    for (*count = 0; header.at < header.end && *count < COLUMNS_MAX; ++*count) {
        struct tp_cut name = cut_value(&header);
        unsigned c = 0;
        while (c < NEEDED && !is(name, column_names[c]))
            c++;
        columns[*count] = (enum rocprof_column)c;
        seen |= 1u << c;
    }
    return (seen & ((1u << NEEDED) - 1)) == (1u << NEEDED) - 1;
}

static int probe_rocprof(const unsigned char *data, size_t size)
{
    struct tp_cut text = tp_cut_start(data, size), line;
    enum rocprof_column columns[COLUMNS_MAX];
    size_t count = 0;
    return tp_cut_line(&text, &line) && find_columns(line, columns, &count) ? 97 : 0;
}

/* ---- rows ---- */

static int bad(struct rocprof_reader *rd, struct tp_cut value, enum rocprof_column column,
               struct tp_err *err)
{
    char shown[TP_CUT_SHOWN];
    rd->lines.waiting = rd->count;
    return tp_lines_bad(&rd->lines, rd->r->lower, err, "'%s' is not a valid %s",
                        tp_cut_show(value, shown), column_names[column]);
}

static int find_agent(struct rocprof_reader *rd, struct tp_cut value, uint32_t *agent,
                      struct tp_err *err)
{
    char text[NAME_KEPT], name[NAME_KEPT];
    struct tp_str s = TP_STR_IN(text);
    size_t known = rd->agents.count;
    tp_str_add(&s, "%.*s", (int)(value.end - value.at), value.at);
    tp_clean_text(*text ? text : "unnamed", name, sizeof name);
    int rc = tp_texts_need(&rd->agents, name, strlen(name), agent, err);
    if (rc != TP_OK || *agent < known)
        return rc;
    enum tp_kind kind = strncasecmp(name, "cpu", 3) == 0 ? TP_KIND_HOST : TP_KIND_DEVICE;
    return tp_spaces_define(rd->spaces, name, kind, agent, err);
}

/* Reads the values of a row. *taken: it is one that is lowered. */
static int read_values(struct rocprof_reader *rd, const struct tp_cut values[NEEDED],
                       struct rocprof_row *row, bool *taken, struct tp_err *err)
{
    uint64_t n[NEEDED] = {0};
    size_t i = 0;
    for (enum rocprof_column c = SIZE; c < NEEDED; c++) {
        struct tp_cut rest = values[c];
        bool good = c == ADDRESS ? tp_cut_hex(&rest, &n[c]) : tp_cut_decimal(&rest, &n[c]);
        if (!good || rest.at < rest.end || (c == END && n[END] < n[START]))
            return bad(rd, values[c], c, err);
    }
    while (i < sizeof operations / sizeof *operations && !is(values[OPERATION], operations[i].name))
        i++;
    *taken = i < sizeof operations / sizeof *operations;
    if (!*taken) {
        if (!rd->others++)
            tp_cut_show(values[OPERATION], rd->other);
        return TP_OK;
    }
    *row = (struct rocprof_row){.time_ns = operations[i].frees ? n[START] : n[END],
                                .address = n[ADDRESS],
                                .size = n[SIZE],
                                .line = rd->lines.number,
                                .operation = &operations[i],
                                .agent = TP_NO_TEXT};
    return operations[i].frees ? TP_OK : find_agent(rd, values[AGENT], &row->agent, err);
}

static int read_row(struct rocprof_reader *rd, struct tp_cut line, struct tp_err *err)
{
    struct tp_cut values[NEEDED], rest = line;
    struct rocprof_row row;
    bool taken = false;
    if (tp_cut_done(&rest))
        return TP_OK;
    for (size_t i = 0; i < NEEDED; i++)
        values[i] = (struct tp_cut){line.end, line.end};
    for (size_t i = 0; i < rd->column_count && line.at < line.end; i++) {
        struct tp_cut value = cut_value(&line);
        if (rd->columns[i] != OTHER)
            values[rd->columns[i]] = value;
    }
    int rc = read_values(rd, values, &row, &taken, err);
    if (rc != TP_OK || !taken)
        return rc;
    if (rd->count == UINT32_MAX)
        return tp_lines_fail(&rd->lines, 0, err, "more than 2^32 rows");
    rc = TP_READ_GROW(rd->r, &rd->rows, &rd->room, rd->count + 1, "rows", err);
    if (rc == TP_OK)
        rd->rows[rd->count++] = row;
    return rc;
}

static int read_rows(struct rocprof_reader *rd, struct tp_err *err)
{
    struct tp_cut line;
    int rc = tp_lines_next(&rd->lines, &line, err);
    if (rc != TP_OK)
        return rc;
    if (rd->lines.ended || !find_columns(line, rd->columns, &rd->column_count))
        return tp_lines_fail(&rd->lines, 0, err,
                             "not the header of rocprofv3's memory_allocation_trace.csv");
    while (tp_lines_more(&rd->lines, &line, &rc, err))
        rc = read_row(rd, line, err);
    return rc;
}

/* ---- blocks ---- */

static int by_time(const void *a, const void *b)
{
    const struct rocprof_row *x = a, *y = b;
    return x->time_ns != y->time_ns ? tp_order(x->time_ns, y->time_ns) : tp_order(x->line, y->line);
}

/* The memory space of frees of blocks that no row allocates: they were live before. */
static int space_of_none(struct rocprof_reader *rd, uint32_t *space, struct tp_err *err)
{
    static const char name[] = "unknown agent";
    struct tp_cut value = {name, name + sizeof name - 1};
    return find_agent(rd, value, space, err);
}

/* Finds the block of a row, and the agent of one that frees. An allocation on a live block of its
 * agent is given that one: lowering has a repair for it. */
static int find_block(struct rocprof_reader *rd, struct rocprof_row *row, int64_t *id,
                      struct tp_err *err)
{
    uint32_t space = row->operation->handle;
    int64_t own = row - rd->rows + 1;
    enum tp_block_state state = tp_block_ids_look(&rd->blocks, space, row->address, id);
    const struct rocprof_row *of = state == TP_BLOCK_NEVER_SEEN ? NULL : &rd->rows[*id - 1];
    if (!row->operation->frees) {
        *id = state == TP_BLOCK_LIVE && of->agent == row->agent ? *id : own;
        return tp_block_ids_bind(&rd->blocks, space, row->address, *id, err);
    }
    *id = state == TP_BLOCK_LIVE ? *id : own;
    if (of)
        row->agent = of->agent;
    int rc = of ? TP_OK : space_of_none(rd, &row->agent, err);
    return rc == TP_OK && state == TP_BLOCK_LIVE
               ? tp_block_ids_end(&rd->blocks, space, row->address, err)
               : rc;
}

/* A row without an address is of a request that failed, or of a free that does nothing. */
static int keep_row(struct rocprof_reader *rd, struct rocprof_row *row, struct tp_err *err)
{
    struct tp_event ev = {.op = row->operation->frees ? TP_EV_FREE : TP_EV_ALLOC,
                          .note = TP_NOTE_OOM,
                          .has_time = true,
                          .has_size = true,
                          .size = row->size,
                          .time_ns = row->time_ns - rd->rows[0].time_ns,
                          .line = row->line};
    if (!row->address && row->operation->frees)
        return TP_OK;
    if (!row->address && row->size > TP_MAX_SIZE) {
        rd->too_large++;
        return tp_spaces_skip(rd->spaces, row->agent, 0, err);
    }
    int rc = row->address ? find_block(rd, row, &ev.id, err) : TP_OK;
    if (!row->address)
        ev.op = TP_EV_NOTE;
    return rc == TP_OK ? tp_spaces_event(rd->spaces, row->agent, 0, &ev, err) : rc;
}

static int lower_rows(struct rocprof_reader *rd, struct tp_err *err)
{
    struct tp_meta *meta = rd->r->meta;
    int rc = TP_OK;
    if (rd->count)
        qsort(rd->rows, rd->count, sizeof *rd->rows, by_time);
    for (size_t i = 0; rc == TP_OK && i < rd->count; i++)
        rc = keep_row(rd, &rd->rows[i], err);
    if (rc == TP_OK && rd->count)
        rc = tp_spaces_lower(rd->spaces, err);
    if (!rd->count)
        tp_meta_set(meta, &meta->nothing, "no row of an allocation or a free");
    tp_meta_too_large(meta, rd->too_large);
    if (rd->others)
        tp_meta_remark(meta, "Rows of other operations are left out: %s, the first '%s'.",
                       tp_count(rd->others).s, rd->other);
    return rc;
}

/* ---- the whole ---- */

static int read_rocprof(const struct tp_reading *r, struct tp_err *err)
{
    struct rocprof_reader rd = {.r = r, .lines = {.in = r->in}};
    rd.agents.how = tp_reading_growth(r, "agents");
    tp_block_ids_init(&rd.blocks, r->budget);
    tp_meta_set(r->meta, &r->meta->capture, "rocprofv3 memory allocation trace (CSV)");
    tp_meta_set(r->meta, &r->meta->unknown, "threads, streams, alignment");
    int rc = tp_spaces_new(r, &rd.spaces, err);
    if (rc == TP_OK)
        rc = read_rows(&rd, err);
    if (rc == TP_OK)
        rc = lower_rows(&rd, err);
    tp_spaces_free(rd.spaces);
    tp_block_ids_release(&rd.blocks);
    tp_texts_release(&rd.agents);
    TP_GROW_END(&rd.rows, &rd.room, .budget = r->budget);
    return rc;
}

const struct tp_format tp_format_rocprof = {
    .name = "rocprof",
    .has_spaces = true,
    .summary = "memory allocation trace of rocprofv3 (CSV of ROCm's profiler)",
    .record = "rocprofv3 --memory-allocation-trace --output-format csv -- PROGRAM",
    .probe = probe_rocprof,
    .read = read_rocprof,
};
