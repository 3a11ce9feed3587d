/* tapool's own binary form: a stored program, replayed directly from the file. traces/README.md
 * specifies it. Cursors decode block after block, and nothing is spooled.
 *
 *     program --> backing --> file: descriptor, facts, names     shared, never changed
 *                   `--> cursor --> position, buffer, decoder    one each: slots, one window
 *
 * A whole file contains its facts, and each pass must arrive at the same ones. The facts of a cut
 * file are found by replaying the rest into a builder that keeps no windows; the heap that the
 * recording began with, which stands before the facts, is not used then. Known weakness: a cut
 * file does not say whether all events had times, or how many threads shared an index. It counts as
 * having times if any time passed in it. */
#include "alloc/base/numbers.h"
#include "traces/formats/tpt/tpt_facts.h"
#include "traces/formats/tpt/tpt_file.h"
#include "traces/lower/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define SLOT_BYTES 64 /* bytes that a slot may take here and in a replayer */

struct cursor {
    const struct tp_tpt_file *file;
    struct tp_tpt_buffer buffer;
    struct tp_tpt_decoder decoder;
    uint64_t at;
    bool failed;
};

/* ---- the cursor ---- */

static int open_cursor(const struct tp_tpt_file *f, const struct tp_tpt_limits *limits,
                       struct cursor **out, struct tp_err *err)
{
    struct cursor *c = calloc(1, sizeof *c);
    if (!c)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening the program");
    c->file = f;
    c->at = TP_TPT_HEADER_SIZE;
    int rc = tp_tpt_decoder_init(&c->decoder, limits, f->max_count, err);
    if (rc) {
        free(c);
        return rc;
    }
    *out = c;
    return TP_OK;
}

static void close_cursor(void *cursor)
{
    struct cursor *c = cursor;
    if (!c)
        return;
    tp_tpt_decoder_release(&c->decoder);
    tp_tpt_buffer_release(&c->buffer);
    free(c);
}

static void rewind_cursor(void *cursor)
{
    struct cursor *c = cursor;
    tp_tpt_decoder_rewind(&c->decoder);
    c->at = TP_TPT_HEADER_SIZE;
    c->failed = false;
}

/* Decodes the next block. 1: a window; 0: the end; else -status. */
static int next_block(struct cursor *c, struct tp_window *out, struct tp_err *err)
{
    struct tp_tpt_block block = {0};
    const uint8_t *payload = NULL;
    if (c->failed)
        return -tp_fail(err, TP_EINPUT, "%s: it could not be read further", c->file->name);
    int rc = tp_tpt_file_next(c->file, &c->buffer, &c->at, &block, &payload, err);
    if (rc == 1) {
        uint64_t at = c->at - TP_TPT_BLOCK_SIZE - block.stored;
        int wrong = tp_tpt_decode(&c->decoder, &block, payload, out, err);
        rc = wrong ? -tp_tpt_file_place(c->file, &block, at, wrong, err) : 1;
    }
    c->failed = rc < 0;
    return rc;
}

static int next_window(void *cursor, struct tp_window *out, struct tp_err *err)
{
    struct cursor *c = cursor;
    int rc = next_block(c, out, err);
    if (rc)
        return rc;
    const char *what = tp_tpt_facts_differ(&c->file->facts, &c->decoder);
    if (!what)
        return 0;
    c->failed = true;
    return -tp_fail(err, TP_EINPUT, "%s: damaged: %s is not what the facts say", c->file->name,
                    what);
}

/* ---- the backing ---- */

static int open_backed(void *ctx, void **cursor, struct tp_err *err)
{
    const struct tp_tpt_file *f = ctx;
    const struct tp_program_facts *facts = &f->facts.facts;
    const struct tp_tpt_limits limits = {facts->slots,   facts->threads, facts->streams,
                                         facts->devices, facts->marks,   facts->events};
    struct cursor *c = NULL;
    int rc = open_cursor(f, &limits, &c, err);
    *cursor = c;
    return rc;
}

static void release_backed(void *ctx)
{
    tp_tpt_file_close(ctx);
    free(ctx);
}

static const struct tp_backing backing = {.open = open_backed,
                                          .next = next_window,
                                          .rewind = rewind_cursor,
                                          .close = close_cursor,
                                          .release = release_backed};

/* ---- a file that is cut ---- */

/* A pass over a cut file, into a builder that keeps only facts. */
struct tpt_scan {
    struct cursor *cursor;
    struct tp_builder *builder;
    struct tp_hash *hash;
};

static int drop_window(void *ctx, const struct tp_builder *b, const struct tp_window *w,
                       struct tp_err *err)
{
    (void)ctx;
    (void)b;
    (void)w;
    (void)err;
    return TP_OK;
}

static int build_window(struct tp_builder *b, const struct tp_window *w, struct tp_err *err)
{
    int rc = TP_OK;
    uint64_t event = w->first_event;
    for (uint32_t i = 0, jump = 0; !rc && i < w->count; i++, event++) {
        if (jump < w->jump_count && w->jumps[jump].index == i)
            event = w->jumps[jump++].event;
        rc = w->initial_heap ? tp_builder_initial_heap(b, &w->insns[i], err)
                             : tp_builder_add(b, &w->insns[i], event, err);
    }
    return rc;
}

static int scan_windows(struct tpt_scan *s, struct tp_err *err)
{
    struct tp_window w;
    int got = 0, rc = TP_OK;
    while (!rc && (got = next_block(s->cursor, &w, err)) == 1)
        rc = build_window(s->builder, &w, err);
    return rc ? rc : -got;
}

static int keep_facts(struct tp_tpt_file *f, struct tpt_scan *s, struct tp_err *err)
{
    uint8_t digest[TP_HASH_SIZE];
    struct tp_program *program = NULL;
    const struct tp_tpt_decoder *d = &s->cursor->decoder;
    tp_builder_flush(s->builder);
    tp_hash_finish(s->hash, digest);
    const struct tp_builder_end end = {.time_known = d->time > 0, .hash = digest};
    struct tp_builder *builder = s->builder;
    s->builder = NULL;
    int rc = tp_builder_finish(builder, &end, &program, err);
    if (rc)
        return rc;
    f->facts.facts = *tp_program_facts(program);
    struct tp_program_facts *facts = &f->facts.facts;
    facts->recorded_threads = facts->threads;
    facts->marks = (uint32_t)f->names.count;
    f->facts.demand = calloc(facts->devices, sizeof *f->facts.demand);
    for (uint16_t i = 0; f->facts.demand && i < facts->devices; i++)
        f->facts.demand[i] = *tp_program_demand(program, i);
    tp_program_release(program);
    return f->facts.demand ? TP_OK
                           : tp_fail(err, TP_ENOMEM, "out of memory while opening the program");
}

static int scan(struct tp_tpt_file *f, const struct tp_tpt_limits *limits, struct tp_err *err)
{
    struct tpt_scan s = {0};
    uint32_t index = 0;
    int rc = open_cursor(f, limits, &s.cursor, err);
    if (!rc)
        rc = tp_hash_new(&s.hash, err);
    const struct tp_builder_cfg cfg = {.kind = (enum tp_kind)f->header.kind,
                                       .hash = tp_hash_add,
                                       .hash_ctx = s.hash,
                                       .sink = drop_window};
    if (!rc)
        rc = tp_builder_new(&cfg, &s.builder, err);
    for (uint32_t i = 0; !rc && i < (uint32_t)f->names.count;
         i++) { /* names may have become equal */
        char name[16];
        snprintf(name, sizeof name, "%" PRIu32, i);
        rc = tp_builder_mark(s.builder, name, &index, err);
    }
    if (!rc)
        rc = scan_windows(&s, err);
    assert(rc != TP_EBROKEN); /* the decoder refuses what the builder does */
    if (!rc)
        rc = keep_facts(f, &s, err);
    close_cursor(s.cursor);
    tp_builder_free(s.builder);
    tp_hash_free(s.hash);
    return rc;
}

/* Writes "cut at byte 40,960: the last 34,000 of 100,000 events are missing". */
static void say_lost(const struct tp_tpt_file *f, char *text, size_t size)
{
    uint64_t events = f->facts.facts.events;
    const struct tp_text bytes = tp_count(f->bytes);
    if (f->header.events > events)
        snprintf(text, size, "cut at byte %s: the last %s of %s events are missing", bytes.s,
                 tp_count(f->header.events - events).s, tp_count(f->header.events).s);
    else if (f->header.events)
        snprintf(text, size, "cut at byte %s: no events are missing", bytes.s);
    else
        snprintf(text, size, "cut at byte %s: what followed event %s is missing", bytes.s,
                 tp_count(events).s);
}

static int open_cut(struct tp_tpt_file *f, const struct tp_reading *r, struct tp_err *err)
{
    char text[256];
    uint64_t slots = tp_max_memory(r->opts) / SLOT_BYTES;
    const struct tp_tpt_limits limits = {slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX,
                                         TP_MAX_THREADS,
                                         TP_MAX_STREAMS,
                                         TP_MAX_DEVICES,
                                         (uint32_t)f->names.count,
                                         UINT64_C(1) << 62};
    if (f->max_count == 0)
        return tp_fail(err, TP_EINPUT, "%s: cut at byte %" PRIu64 ", before its first event",
                       f->name, f->bytes);
    tp_tpt_facts_release(&f->facts);
    int rc = scan(f, &limits, err);
    if (rc)
        return rc;
    say_lost(f, text, sizeof text);
    if (f->header.events != f->facts.facts.events)
        tp_recorded_forget_end(r->recorded);
    if (r->opts->strict)
        return tp_hint(err, tp_fail(err, TP_EINPUT, "%s: %s", f->name, text),
                       "leave out --strict to replay the part that is there");
    tp_meta_remark(r->meta, "%s", text);
    return TP_OK;
}

/* ---- opening ---- */

static int check_memory(const struct tp_tpt_file *f, const struct tp_reading *r, struct tp_err *err)
{
    uint32_t slots = f->facts.facts.slots;
    if (slots <= tp_max_memory(r->opts) / SLOT_BYTES)
        return TP_OK;
    int rc = tp_fail(err, TP_EINPUT,
                     "%s: %s objects are live at once, more than the memory for reading holds",
                     f->name, tp_count(slots).s);
    return tp_hint(err, rc, "--max-memory=SIZE allows more");
}

static int read_meta(const struct tp_tpt_file *f, const struct tp_reading *r, struct tp_err *err)
{
    int rc = f->meta ? tp_tpt_meta_get(f->meta, f->meta_size, r->meta, r->recorded, err) : TP_OK;
    r->meta->kind = (enum tp_kind)f->header.kind;
    return rc == TP_EINPUT ? tp_prefix(err, rc, "%s: what it says of itself", f->name) : rc;
}

static void say_repairs(const struct tp_tpt_file *f, const struct tp_reading *r, uint64_t *repairs)
{
    memcpy(repairs, f->facts.repairs, sizeof f->facts.repairs);
    if (f->facts.other_repairs)
        tp_meta_remark(r->meta, "repairs that this tapool does not know: %s",
                       f->facts.other_repairs);
}

/* Prepares everything except the program. Afterwards f->facts is complete. */
static int prepare(struct tp_tpt_file *f, const struct tp_reading *r, uint64_t *repairs,
                   struct tp_err *err)
{
    int rc = f->whole ? check_memory(f, r, err) : TP_OK;
    if (!rc)
        rc = read_meta(f, r, err);
    if (!rc && !f->whole)
        rc = open_cut(f, r, err);
    if (!rc)
        say_repairs(f, r, repairs);
    return rc;
}

static int open_trace(const struct tp_reading *r, struct tp_program **out, uint64_t *repairs,
                      struct tp_err *err)
{
    struct tp_tpt_file *f = malloc(sizeof *f);
    int fd = -1;
    *out = NULL;
    if (!f)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening %s", tp_input_name(r->in));
    int rc = tp_input_file(r->in, &fd, err);
    if (!rc)
        rc = tp_tpt_file_open(fd, tp_input_name(r->in), r->places, f, err);
    if (rc) {
        free(f);
        return rc;
    }
    rc = prepare(f, r, repairs, err);
    if (rc) {
        release_backed(f);
        return rc;
    }
    struct tp_heap heap = tp_tpt_heap_of(&f->heap);
    const struct tp_backed_cfg backed = {.facts = &f->facts.facts,
                                         .demand = f->facts.demand,
                                         .marks = &f->names,
                                         .heap = f->whole && heap.segment_count ? &heap : NULL,
                                         .name = tp_input_name(r->in)};
    rc = tp_program_backed(&backing, f, &backed, out, err);
    if (!rc) /* the program has its own copy */
        tp_tpt_heap_release(&f->heap);
    return rc;
}

static int probe_tpt(const unsigned char *data, size_t size)
{
    return size >= TP_TPT_MAGIC_SIZE && memcmp(data, TP_TPT_MAGIC, TP_TPT_MAGIC_SIZE) == 0 ? 100
                                                                                           : 0;
}

const struct tp_format tp_format_tpt = {
    .name = "tpt",
    .summary = "tapool's binary form: small, checksummed, fast to load",
    .record = "tapool convert FILE -o FILE.tpt",
    .own = true,
    .probe = probe_tpt,
    .open = open_trace,
};
