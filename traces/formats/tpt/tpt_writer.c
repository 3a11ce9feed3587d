/* Writes windows as blocks: first new names, then the window that uses them, packed if that is
 * shorter.
 *
 * The header contains the number of events, for readers of a cut file. If it is not known at the
 * beginning, it is filled in at the end, provided that the file can seek. Known weakness: packing
 * runs in the caller's thread. */
#include "traces/formats/tpt/tpt_writer.h"

#include "alloc/base/clean.h"
#include "traces/formats/tpt/tpt_facts.h"
#include "traces/formats/tpt/tpt_heap.h"
#include "traces/formats/tpt/tpt_places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { LEVEL = 3, NAMES_AT_ONCE = 1 << 16 /* bytes after which a NAME block is full */ };

struct tp_tpt_writer {
    FILE *out;
    char *path;
    struct tp_tpt_header header;
    struct tp_tpt_encoder encoder;
    ZSTD_CCtx *packer; /* NULL: nothing is packed */
    uint8_t *packed;   /* room for a payload */
    char *meta;        /* JSON of the META block written last */
    off_t start;       /* offset of the header; -1: it cannot be rewritten */
    uint64_t at;       /* bytes written */
    uint64_t instructions;
    uint32_t blocks, names;
};

/* ---- bytes ---- */

static int put(struct tp_tpt_writer *w, const void *data, size_t size, struct tp_err *err)
{
    errno = 0;
    if (fwrite(data, 1, size, w->out) == size) {
        w->at += size;
        return TP_OK;
    }
    return tp_fail_write(err, w->path);
}

static int put_block(struct tp_tpt_writer *w, struct tp_tpt_block *b, const void *payload,
                     struct tp_err *err)
{
    uint8_t head[TP_TPT_BLOCK_SIZE];
    b->index = w->blocks++;
    tp_tpt_block_put(b, payload, head);
    int rc = put(w, head, sizeof head, err);
    return rc || b->stored == 0 ? rc : put(w, payload, b->stored, err);
}

static int put_side(struct tp_tpt_writer *w, uint32_t type, uint32_t count, const void *payload,
                    size_t size, struct tp_err *err)
{
    struct tp_tpt_block b = {
        .type = type, .count = count, .stored = (uint32_t)size, .raw = (uint32_t)size};
    return put_block(w, &b, payload, err);
}

static int put_header(struct tp_tpt_writer *w, struct tp_err *err)
{
    uint8_t bytes[TP_TPT_HEADER_SIZE];
    tp_tpt_header_put(&w->header, bytes);
    return put(w, bytes, sizeof bytes, err);
}

/* Rewrites the header with the number of events. If that is impossible, the number stays unknown,
 * which is allowed; a wrong kind is an error. */
static int fill_header(struct tp_tpt_writer *w, const struct tp_program_facts *facts,
                       struct tp_err *err)
{
    bool wrong = w->header.kind != facts->kind;
    if (!wrong && (w->start < 0 || w->header.events == facts->events))
        return TP_OK;
    off_t end = w->start + (off_t)w->at;
    w->header.events = facts->events;
    w->header.kind = facts->kind;
    if (w->start < 0 || fseeko(w->out, w->start, SEEK_SET) != 0)
        return wrong ? tp_fail(err, TP_EBROKEN, "%s: it was begun as a trace of another kind",
                               w->path)
                     : TP_OK;
    int rc = put_header(w, err);
    if (!rc && fseeko(w->out, end, SEEK_SET) != 0)
        rc = tp_fail_write(err, w->path);
    return rc;
}

/* Offset of the header if it can be rewritten later, else -1. */
static off_t seekable(FILE *out)
{
    int fd = fileno(out); /* -1: a stream in memory */
    if (fd >= 0) {
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || flags & O_APPEND)
            return -1;
    }
    return ftello(out);
}

/* ---- the beginning ---- */

/* Writes a META block, unless it would be equal to the last one. */
static int put_meta(struct tp_tpt_writer *w, const struct tp_meta *meta,
                    const struct tp_recorded *recorded, struct tp_err *err)
{
    char *text = NULL;
    int rc = tp_tpt_meta_put(meta, recorded, &text, err);
    if (rc)
        return rc;
    if (w->meta && strcmp(w->meta, text) == 0) {
        tp_tpt_meta_free(text);
        return TP_OK;
    }
    tp_tpt_meta_free(w->meta);
    w->meta = text;
    return put_side(w, TP_TPT_META, 1, text, strlen(text), err);
}

static int start(struct tp_tpt_writer *w, const struct tp_writing *cfg, struct tp_err *err)
{
    w->path = tp_clean_copy(cfg->path, 4096);
    w->start = w->header.events ? -1 : seekable(w->out);
    int rc = tp_tpt_encoder_init(&w->encoder, err);
    if (rc)
        return rc;
    if (cfg->compress) {
        w->packer = ZSTD_createCCtx();
        w->packed = malloc((size_t)TP_WINDOW_MAX * TP_TPT_RECORD_MAX);
    }
    if (!w->path || (cfg->compress && (!w->packer || !w->packed)))
        return tp_fail(err, TP_ENOMEM, "out of memory while starting to write a trace");
    rc = put_header(w, err);
    return rc || !(cfg->meta || cfg->recorded) ? rc : put_meta(w, cfg->meta, cfg->recorded, err);
}

int tp_tpt_write_begin(const struct tp_writing *cfg, enum tp_kind kind, uint64_t events, FILE *out,
                       struct tp_tpt_writer **writer, struct tp_err *err)
{
    *writer = NULL;
    struct tp_tpt_writer *w = calloc(1, sizeof *w);
    if (!w)
        return tp_fail(err, TP_ENOMEM, "out of memory while starting to write a trace");
    w->out = out;
    w->header =
        (struct tp_tpt_header){.version = TP_TPT_VERSION, .kind = (uint8_t)kind, .events = events};
    int rc = start(w, cfg, err);
    if (rc) {
        tp_tpt_write_free(w);
        return rc;
    }
    *writer = w;
    return TP_OK;
}

void tp_tpt_write_free(struct tp_tpt_writer *w)
{
    if (!w)
        return;
    tp_tpt_encoder_release(&w->encoder);
    ZSTD_freeCCtx(w->packer);
    free(w->packed);
    free(w->path);
    tp_tpt_meta_free(w->meta);
    free(w);
}

/* ---- windows ---- */

/* Writes one NAME block with the names from w->names to `end`, or as many as fit. */
static int put_some_names(struct tp_tpt_writer *w, const struct tp_texts *names, uint32_t end,
                          struct tp_err *err)
{
    char *text = malloc(NAMES_AT_ONCE + TP_TPT_NAME_MAX + 1);
    size_t used = 0;
    uint32_t count = 0;
    if (!text)
        return tp_fail(err, TP_ENOMEM, "out of memory for phase names");
    for (; w->names < end && used < NAMES_AT_ONCE; w->names++, count++) {
        const char *name = tp_texts_get(names, w->names);
        tp_clean_text(name, text + used, TP_TPT_NAME_MAX + 1);
        used += strlen(text + used) + 1;
    }
    int rc = put_side(w, TP_TPT_NAME, count, text, used, err);
    free(text);
    return rc;
}

static int put_names(struct tp_tpt_writer *w, const struct tp_texts *names, uint32_t end,
                     struct tp_err *err)
{
    int rc = TP_OK;
    while (!rc && w->names < end)
        rc = put_some_names(w, names, end, err);
    return rc;
}

/* Number of names that the marks of a window need. Names are numbered in the order of their first
 * use. */
static uint32_t names_needed(const struct tp_window *window)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < window->count; i++)
        if (window->insns[i].op == TP_MARK && window->insns[i].slot >= end)
            end = window->insns[i].slot + 1;
    return end;
}

static int pack(struct tp_tpt_writer *w, struct tp_tpt_block *b, const uint8_t **payload,
                struct tp_err *err)
{
    if (!w->packer)
        return TP_OK;
    size_t room = b->raw - 1; /* packing must make it shorter */
    size_t n = ZSTD_compressCCtx(w->packer, w->packed, room, *payload, b->raw, LEVEL);
    if (!ZSTD_isError(n)) {
        b->flags |= TP_TPT_ZSTD;
        b->stored = (uint32_t)n;
        *payload = w->packed;
        return TP_OK;
    }
    return ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall
               ? TP_OK
               : tp_fail(err, TP_EIO, "zstd failed: %s", ZSTD_getErrorName(n));
}

static int put_window(struct tp_tpt_writer *w, const struct tp_texts *names,
                      const struct tp_window *window, struct tp_err *err)
{
    struct tp_tpt_block block = {0};
    int rc = put_names(w, names, names_needed(window), err);
    if (!rc)
        rc = tp_tpt_encode(&w->encoder, window, &block, err);
    const uint8_t *payload = w->encoder.payload;
    if (!rc)
        rc = pack(w, &block, &payload, err);
    w->instructions += window->initial_heap ? 0 : window->count;
    return rc ? rc : put_block(w, &block, payload, err);
}

int tp_tpt_write_window(void *ctx, const struct tp_builder *b, const struct tp_window *w,
                        struct tp_err *err)
{
    return put_window(ctx, tp_builder_marks(b), w, err);
}

/* ---- the end ---- */

static int put_places(struct tp_tpt_writer *w, const struct tp_place_table *places,
                      struct tp_err *err)
{
    struct tp_tpt_places_writer writer = {.cursor = {.table = places}};
    struct tp_tpt_block block;
    char *payload = NULL;
    int rc = TP_OK;
    do {
        rc = tp_tpt_places_put(&writer, &block, &payload, err);
        if (!rc && payload)
            rc = put_block(w, &block, payload, err);
        free(payload);
    } while (!rc && payload);
    return rc;
}

static int put_heap(struct tp_tpt_writer *w, const struct tp_heap *heap, struct tp_err *err)
{
    struct tp_tpt_heap_place at = {0};
    struct tp_tpt_block block;
    uint8_t *payload = NULL;
    int rc = TP_OK;
    do {
        rc = tp_tpt_heap_put(&at, heap, &block, &payload, err);
        if (!rc && payload)
            rc = put_block(w, &block, payload, err);
        free(payload);
    } while (!rc && payload);
    return rc;
}

static int put_facts(struct tp_tpt_writer *w, const struct tp_writing *end, struct tp_err *err)
{
    uint32_t count = 0;
    uint8_t *bytes = tp_tpt_facts_put(end->program, end->repairs, &count);
    if (!bytes)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing %s", w->path);
    int rc = put_side(w, TP_TPT_FACT, count, bytes, 8 * (size_t)count, err);
    free(bytes);
    return rc;
}

static int put_end(struct tp_tpt_writer *w, uint64_t facts_at, struct tp_err *err)
{
    uint8_t bytes[TP_TPT_END_SIZE];
    uint8_t *at = tp_store64(bytes, facts_at);
    at = tp_store64(at, w->blocks + UINT64_C(1));
    at = tp_store64(at, w->instructions);
    memcpy(at, TP_TPT_END_MAGIC, TP_TPT_MAGIC_SIZE);
    return put_side(w, TP_TPT_END, 0, bytes, sizeof bytes, err);
}

int tp_tpt_write_end(struct tp_tpt_writer *w, const struct tp_writing *end, struct tp_err *err)
{
    const struct tp_program_facts *facts = tp_program_facts(end->program);
    int rc = TP_OK;
    if (end->meta || end->recorded)
        rc = put_meta(w, end->meta, end->recorded, err);
    if (!rc)
        rc = put_names(w, tp_program_marks(end->program), facts->marks, err);
    if (!rc)
        rc = put_places(w, end->places, err);
    if (!rc)
        rc = put_heap(w, tp_program_heap(end->program), err);
    uint64_t facts_at = w->at;
    if (!rc)
        rc = put_facts(w, end, err);
    if (!rc)
        rc = put_end(w, facts_at, err);
    return rc ? rc : fill_header(w, facts, err);
}

static int put_windows(struct tp_tpt_writer *w, const struct tp_writing *cfg, struct tp_err *err)
{
    struct tp_cursor *cursor = NULL;
    struct tp_window window;
    int got = 0, rc = tp_cursor_open(cfg->program, &cursor, err);
    while (!rc && (got = tp_cursor_next(cursor, &window, err)) == 1) {
        rc = put_window(w, tp_program_marks(cfg->program), &window, err);
        if (!rc && cfg->stop)
            rc = cfg->stop(err);
    }
    tp_cursor_close(cursor);
    return rc ? rc : -got;
}

static int write_trace(const struct tp_writing *cfg, FILE *out, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(cfg->program);
    struct tp_tpt_writer *w = NULL;
    int rc = tp_tpt_write_begin(cfg, (enum tp_kind)f->kind, f->events, out, &w, err);
    if (!rc)
        rc = put_windows(w, cfg, err);
    if (!rc)
        rc = tp_tpt_write_end(w, cfg, err);
    tp_tpt_write_free(w);
    return rc;
}

const struct tp_trace_writer tp_writer_tpt = {
    .name = "tpt",
    .suffix = ".tpt",
    .summary = "tapool's binary form: small, checksummed, fast to load",
    .whole = true,
    .callers = true,
    .write = write_trace,
};
