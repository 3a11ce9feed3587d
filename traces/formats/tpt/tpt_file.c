/* Opens a .tpt file and reads its blocks.
 *
 *     header | META | PROL | NAME | DATA | ... | DATA | FACT | END
 *              `---- one walk over the headers ---->'     `-- looked at first: is this whole?
 *
 * A file that ends with a valid END block is whole, and any other error in it is damage. A file
 * without one may have been cut: it is read up to its last complete block, as long as everything
 * before is valid. Checksums of blocks with instructions are checked when they are replayed, all
 * others on opening. Known weakness: a cut file with a flipped bit in the length of its last block
 * looks as if it was cut before that block. */
#include "traces/formats/tpt/tpt_file.h"

#include "alloc/base/clean.h"
#include "alloc/base/spool.h"
#include "traces/formats/tpt/crc32c.h"
#include "traces/formats/tpt/tpt_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { NAME_KEPT = 4096, PIECE = 64 << 10, FACT_MAX = 64 << 10, BEHIND = 16 };
#define NO_BLOCK UINT64_MAX

/* State of the walk over the blocks. */
struct tpt_walk {
    uint64_t at, before; /* bytes of this block and of the one before; NO_BLOCK: there is none */
    uint32_t index;
    bool has_end; /* the file ends with a valid END */
    bool facts;   /* FACT was read: only END may follow */
    bool ended;
    struct tp_tpt_places_reader places;
    uint8_t head[TP_TPT_BLOCK_SIZE];
    struct tp_tpt_block block;
};

void tp_tpt_buffer_release(struct tp_tpt_buffer *b)
{
    ZSTD_freeDCtx(b->unpacker);
    free(b->stored);
    free(b->raw);
    *b = (struct tp_tpt_buffer){0};
}

void tp_tpt_file_close(struct tp_tpt_file *f)
{
    tp_texts_release(&f->names);
    free(f->name);
    free(f->meta);
    tp_tpt_facts_release(&f->facts);
    tp_tpt_heap_release(&f->heap);
    if (f->fd >= 0)
        close(f->fd);
    *f = (struct tp_tpt_file){.fd = -1};
}

/* ---- errors ---- */

int tp_tpt_file_name(const struct tp_tpt_file *f, int rc, struct tp_err *err)
{
    return tp_prefix(err, rc, "%s", f->name);
}

int tp_tpt_file_place(const struct tp_tpt_file *f, const struct tp_tpt_block *block, uint64_t at,
                      int rc, struct tp_err *err)
{
    if (rc != TP_EINPUT)
        return rc;
    return tp_prefix(err, rc, "%s: block %" PRIu32 " (byte %" PRIu64 ")", f->name, block->index,
                     at);
}

static int wrong_block(const struct tp_tpt_file *f, const struct tpt_walk *w, const char *wrong,
                       struct tp_err *err)
{
    return tp_fail(err, TP_EINPUT, "%s: block %" PRIu32 " (byte %" PRIu64 ") is damaged: %s",
                   f->name, w->index, w->at, wrong);
}

static int out_of_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory while opening a trace");
}

static int read_at(const struct tp_tpt_file *f, void *to, size_t size, uint64_t at,
                   struct tp_err *err)
{
    int rc = tp_spool_read(f->fd, to, size, at, err);
    return rc ? tp_tpt_file_name(f, rc, err) : TP_OK;
}

static int crc_differs(const struct tp_tpt_file *f, uint32_t index, uint64_t at, uint32_t crc,
                       uint32_t said, struct tp_err *err)
{
    if (crc == said)
        return TP_OK;
    return tp_fail(err, TP_EINPUT,
                   "%s: block %" PRIu32 " (byte %" PRIu64
                   ") is damaged: CRC-32C is 0x%08x, not 0x%08x",
                   f->name, index, at, crc, said);
}

/* Checks the checksum of a complete block of any length. */
static int check_sum(const struct tp_tpt_file *f, uint64_t at, uint32_t index, struct tp_err *err)
{
    uint8_t head[TP_TPT_BLOCK_SIZE];
    struct tp_tpt_block block;
    int rc = read_at(f, head, sizeof head, at, err);
    if (rc)
        return rc;
    tp_tpt_block_get(head, &block);
    uint8_t *piece = malloc(PIECE);
    if (!piece)
        return out_of_memory(err);
    uint32_t crc = tp_tpt_block_crc(head, NULL, 0);
    for (uint32_t done = 0, size = 0; !rc && done < block.stored; done += size) {
        size = block.stored - done < PIECE ? block.stored - done : PIECE;
        rc = read_at(f, piece, size, at + sizeof head + done, err);
        crc = tp_tpt_crc32c(crc, piece, rc ? 0 : size);
    }
    free(piece);
    return rc ? rc : crc_differs(f, index, at, crc, block.crc, err);
}

static bool fits(const struct tp_tpt_file *f, const struct tpt_walk *w)
{
    return w->block.stored <= f->bytes - w->at - TP_TPT_BLOCK_SIZE;
}

/* Fails because of an invalid header. If the checksum of the block before is wrong, its length may
 * be wrong, so that block is blamed. */
static int blame(const struct tp_tpt_file *f, const struct tpt_walk *w, const char *wrong,
                 struct tp_err *err)
{
    int rc = w->before == NO_BLOCK ? TP_OK : check_sum(f, w->before, w->index - 1, err);
    if (!rc && fits(f, w))
        rc = check_sum(f, w->at, w->index, err);
    return rc ? rc : wrong_block(f, w, wrong, err);
}

/* ---- what blocks hold ---- */

/* Loads the payload of a small block, checks its checksum and adds some zeros. The caller frees
 * it. */
static int load(const struct tp_tpt_file *f, const struct tpt_walk *w, uint32_t most,
                char **payload, struct tp_err *err)
{
    uint32_t size = w->block.stored;
    int rc = check_sum(f, w->at, w->index, err);
    if (!rc && size > most)
        rc = wrong_block(f, w, "it is too long", err);
    if (rc)
        return rc;
    char *bytes = calloc(1, (size_t)size + BEHIND);
    if (!bytes)
        return out_of_memory(err);
    rc = read_at(f, bytes, size, w->at + TP_TPT_BLOCK_SIZE, err);
    if (rc) {
        free(bytes);
        return rc;
    }
    *payload = bytes;
    return TP_OK;
}

static int take_meta(struct tp_tpt_file *f, struct tpt_walk *w, char **payload, struct tp_err *err)
{
    (void)err;
    free(f->meta);
    f->meta = *payload;
    *payload = NULL;
    f->meta_size = w->block.stored;
    return TP_OK;
}

static int keep_name(struct tp_tpt_file *f, const char *text, struct tp_err *err)
{
    char clean[TP_TPT_NAME_MAX + 1];
    tp_clean_text(text, clean, sizeof clean);
    return tp_texts_add(&f->names, clean, strlen(clean), err);
}

static int take_names(struct tp_tpt_file *f, struct tpt_walk *w, char **payload, struct tp_err *err)
{
    const char *text = *payload;
    int rc = TP_OK;
    uint32_t size = w->block.stored, count = 0;
    if (size && text[size - 1])
        rc = wrong_block(f, w, "its last name has no end", err);
    for (uint32_t at = 0; !rc && at < size; count++) {
        rc = f->names.count == TP_MAX_MARKS ? wrong_block(f, w, "there are too many names", err)
                                            : keep_name(f, text + at, err);
        at += (uint32_t)strlen(text + at) + 1;
    }
    if (!rc && count != w->block.count)
        rc = wrong_block(f, w, "the number of its names is wrong", err);
    return rc;
}

static int take_facts(struct tp_tpt_file *f, struct tpt_walk *w, char **payload, struct tp_err *err)
{
    const struct tp_tpt_block *b = &w->block;
    const uint8_t *bytes = (const uint8_t *)*payload;
    w->facts = true;
    f->end = w->at;
    if (b->stored != 8 * (uint64_t)b->count)
        return wrong_block(f, w, "the number of its fields is wrong", err);
    return tp_tpt_file_place(f, b, w->at, tp_tpt_facts_get(bytes, b->count, &f->facts, err), err);
}

static int take_end(struct tp_tpt_file *f, struct tpt_walk *w, char **payload, struct tp_err *err)
{
    const uint8_t *at = (const uint8_t *)*payload;
    int rc = TP_OK;
    w->ended = true;
    if (!w->facts || tp_load64(at) != f->end)
        rc = wrong_block(f, w, "it does not lead to the facts", err);
    else if (tp_load64(at + 8) != w->index + UINT64_C(1) ||
             tp_load64(at + 16) != f->facts.facts.instructions)
        rc = wrong_block(f, w, "its counts are wrong", err);
    else if (memcmp(at + 24, TP_TPT_END_MAGIC, TP_TPT_MAGIC_SIZE) != 0)
        rc = wrong_block(f, w, "its last bytes are wrong", err);
    else if (w->at + TP_TPT_BLOCK_SIZE + TP_TPT_END_SIZE != f->bytes)
        rc =
            tp_fail(err, TP_EINPUT, "%s: something follows the end of the trace (byte %" PRIu64 ")",
                    f->name, w->at + TP_TPT_BLOCK_SIZE + TP_TPT_END_SIZE);
    return rc;
}

static int take_insns(struct tp_tpt_file *f, struct tpt_walk *w, char **payload, struct tp_err *err)
{
    const struct tp_tpt_block *b = &w->block;
    (void)payload;
    (void)err;
    f->max_count = b->count > f->max_count ? b->count : f->max_count;
    f->max_stored = b->stored > f->max_stored ? b->stored : f->max_stored;
    if (b->flags & TP_TPT_ZSTD)
        f->max_raw = b->raw > f->max_raw ? b->raw : f->max_raw;
    return TP_OK;
}

/* The status of a handler that names no place. */
static int placed(struct tp_tpt_file *f, struct tpt_walk *w, int rc, const struct tp_err *why,
                  struct tp_err *err)
{
    if (rc == TP_EINPUT)
        return wrong_block(f, w, why->text, err);
    return rc ? tp_fail(err, (enum tp_status)rc, "%s", why->text) : TP_OK;
}

static int take_places(struct tp_tpt_file *f, struct tpt_walk *w, char **payload,
                       struct tp_err *err)
{
    struct tp_err why = {0};
    return placed(f, w, tp_tpt_places_get(&w->places, &w->block, *payload, &why), &why, err);
}

static int take_heap(struct tp_tpt_file *f, struct tpt_walk *w, char **payload, struct tp_err *err)
{
    struct tp_err why = {0};
    const uint8_t *bytes = (const uint8_t *)*payload;
    return placed(f, w, tp_tpt_heap_get(&f->heap, &w->block, bytes, &why), &why, err);
}

/* Handlers of the block types. `most` is the longest payload in bytes; 0: the payload is not
 * loaded, because its checksum is checked when it is replayed. A handler that keeps *payload sets
 * it to NULL, else it is freed. */
static const struct taker {
    uint32_t type, most;
    int (*take)(struct tp_tpt_file *f, struct tpt_walk *w, char **payload, struct tp_err *err);
} takers[] = {
    {TP_TPT_META, TP_TPT_META_MAX, take_meta},
    {TP_TPT_NAME, TP_TPT_NAMES_MAX, take_names},
    {TP_TPT_PROL, 0, take_insns},
    {TP_TPT_DATA, 0, take_insns},
    {TP_TPT_FACT, FACT_MAX, take_facts},
    {TP_TPT_END, TP_TPT_END_SIZE, take_end},
    {TP_TPT_PLAC, TP_TPT_PLACES_MAX, take_places},
    {TP_TPT_STAK, TP_TPT_STACKS_MAX, take_places},
    {TP_TPT_HEAP, TP_TPT_HEAP_MAX, take_heap},
};
enum { TAKERS = sizeof takers / sizeof *takers };

/* Handles a block. Of an unknown type that may be skipped only the checksum is checked. */
static int take_block(struct tp_tpt_file *f, struct tpt_walk *w, struct tp_err *err)
{
    const struct taker *t = takers;
    char *payload = NULL;
    while (t < takers + TAKERS && t->type != w->block.type)
        t++;
    if (t == takers + TAKERS)
        return check_sum(f, w->at, w->index, err);
    int rc = t->most ? load(f, w, t->most, &payload, err) : TP_OK;
    if (!rc)
        rc = t->take(f, w, &payload, err);
    free(payload);
    return rc;
}

/* ---- the walk ---- */

static const char *header_wrong(const struct tpt_walk *w)
{
    if (w->block.index != w->index)
        return "its number is wrong";
    if (w->facts && w->block.type != TP_TPT_END && !(w->block.flags & TP_TPT_SKIP))
        return "it follows the facts";
    return tp_tpt_block_wrong(&w->block);
}

/* Reads the header at w->at. *cut is set if the block is incomplete because the file was cut. */
static int look(const struct tp_tpt_file *f, struct tpt_walk *w, bool *cut, struct tp_err *err)
{
    uint64_t left = f->bytes - w->at;
    *cut = left < TP_TPT_BLOCK_SIZE && !w->has_end;
    if (*cut)
        return TP_OK;
    if (left < TP_TPT_BLOCK_SIZE) { /* a whole file: so the length of the block before is wrong */
        int sum = check_sum(f, w->before, w->index - 1, err);
        return sum ? sum : wrong_block(f, w, "it is not there in full", err);
    }
    int rc = read_at(f, w->head, sizeof w->head, w->at, err);
    if (rc)
        return rc;
    tp_tpt_block_get(w->head, &w->block);
    const char *wrong = header_wrong(w);
    if (!wrong && !fits(f, w)) {
        *cut = !w->has_end;
        wrong = *cut ? NULL : "it reaches over the end of the file";
    }
    return wrong ? blame(f, w, wrong, err) : TP_OK;
}

static int walk(struct tp_tpt_file *f, struct tpt_walk *w, struct tp_err *err)
{
    while (!w->ended) {
        bool cut = false;
        int rc = look(f, w, &cut, err);
        if (rc)
            return rc;
        if (cut)
            break;
        rc = take_block(f, w, err);
        if (rc)
            return rc;
        w->before = w->at;
        w->at += TP_TPT_BLOCK_SIZE + (uint64_t)w->block.stored;
        w->index++;
    }
    f->whole = w->ended;
    if (!w->facts)
        f->end = w->at;
    return TP_OK;
}

/* Sets *has_end if the last bytes are those of a whole file. */
static int look_for_end(const struct tp_tpt_file *f, bool *has_end, struct tp_err *err)
{
    uint8_t bytes[TP_TPT_BLOCK_SIZE + TP_TPT_END_SIZE];
    struct tp_tpt_block block;
    *has_end = false;
    if (f->bytes < TP_TPT_HEADER_SIZE + sizeof bytes)
        return TP_OK;
    int rc = read_at(f, bytes, sizeof bytes, f->bytes - sizeof bytes, err);
    if (rc)
        return rc;
    tp_tpt_block_get(bytes, &block);
    *has_end = block.type == TP_TPT_END && block.stored == TP_TPT_END_SIZE &&
               tp_tpt_block_crc(bytes, bytes + TP_TPT_BLOCK_SIZE, TP_TPT_END_SIZE) == block.crc;
    return TP_OK;
}

static int check_whole(const struct tp_tpt_file *f, struct tp_err *err)
{
    if (!f->whole)
        return TP_OK;
    if (f->facts.facts.kind != f->header.kind)
        return tp_fail(err, TP_EINPUT, "%s: the facts are of another kind than the header",
                       f->name);
    if (f->facts.facts.marks != f->names.count)
        return tp_fail(err, TP_EINPUT, "%s: the names of phases are not as many as the facts say",
                       f->name);
    if (f->heap.at.left)
        return tp_fail(err, TP_EINPUT, "%s: the heap at the start is not there in full", f->name);
    return TP_OK;
}

static int read_header(struct tp_tpt_file *f, struct tp_err *err)
{
    uint8_t bytes[TP_TPT_HEADER_SIZE];
    struct stat st;
    if (fstat(f->fd, &st))
        return tp_fail(err, TP_EIO, "%s: cannot be read: %s", f->name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return tp_fail(err, TP_EINPUT, "%s: this is not a regular file", f->name);
    f->bytes = (uint64_t)st.st_size;
    if (f->bytes < sizeof bytes)
        return tp_fail(err, TP_EINPUT, "%s: cut at byte %" PRIu64 ", within its header", f->name,
                       f->bytes);
    int rc = read_at(f, bytes, sizeof bytes, 0, err);
    if (rc)
        return rc;
    rc = tp_tpt_header_get(bytes, &f->header, err);
    return rc ? tp_tpt_file_name(f, rc, err) : TP_OK;
}

int tp_tpt_file_open(int fd, const char *name, struct tp_places *places, struct tp_tpt_file *out,
                     struct tp_err *err)
{
    *out = (struct tp_tpt_file){
        .fd = fd, .name = tp_clean_copy(name, NAME_KEPT), .names.how.what = "phase names"};
    struct tpt_walk w = {.at = TP_TPT_HEADER_SIZE, .before = NO_BLOCK, .places = {.to = places}};
    int rc = out->name ? read_header(out, err)
                       : tp_fail(err, TP_ENOMEM, "out of memory while opening a trace");
    if (!rc)
        rc = look_for_end(out, &w.has_end, err);
    if (!rc)
        rc = walk(out, &w, err);
    tp_tpt_places_release(&w.places);
    if (!rc)
        rc = check_whole(out, err);
    if (rc)
        tp_tpt_file_close(out);
    return rc;
}

/* ---- blocks with instructions ---- */

static int unpack(const struct tp_tpt_file *f, struct tp_tpt_buffer *buffer,
                  const struct tp_tpt_block *b, uint64_t at, struct tp_err *err)
{
    int rc = TP_GROW(&buffer->raw, &buffer->raw_room, (size_t)b->raw + TP_TPT_RECORD_MAX, err,
                     .what = "blocks");
    if (rc)
        return rc;
    if (!buffer->unpacker)
        buffer->unpacker = ZSTD_createDCtx();
    if (!buffer->unpacker)
        return out_of_memory(err);
    size_t n =
        ZSTD_decompressDCtx(buffer->unpacker, buffer->raw, b->raw, buffer->stored, b->stored);
    if (ZSTD_isError(n) || n != b->raw)
        return tp_fail(err, TP_EINPUT,
                       "%s: block %" PRIu32 " (byte %" PRIu64 ") cannot be unpacked: %s", f->name,
                       b->index, at, ZSTD_isError(n) ? ZSTD_getErrorName(n) : "it is shorter");
    memset(buffer->raw + b->raw, 0, TP_TPT_RECORD_MAX);
    return TP_OK;
}

/* Fails because the file changed after it was opened. */
static int changed(const struct tp_tpt_file *f, uint64_t at, struct tp_err *err)
{
    return tp_fail(err, TP_EINPUT, "%s: changed while it was read (byte %" PRIu64 ")", f->name, at);
}

static int load_insns(const struct tp_tpt_file *f, struct tp_tpt_buffer *buffer, uint64_t at,
                      const uint8_t *head, const struct tp_tpt_block *b, struct tp_err *err)
{
    int rc = TP_GROW(&buffer->stored, &buffer->stored_room, (size_t)b->stored + TP_TPT_RECORD_MAX,
                     err, .what = "blocks");
    if (!rc)
        rc = read_at(f, buffer->stored, b->stored, at + TP_TPT_BLOCK_SIZE, err);
    if (rc)
        return rc;
    memset(buffer->stored + b->stored, 0, TP_TPT_RECORD_MAX);
    rc = crc_differs(f, b->index, at, tp_tpt_block_crc(head, buffer->stored, b->stored), b->crc,
                     err);
    return !rc && b->flags & TP_TPT_ZSTD ? unpack(f, buffer, b, at, err) : rc;
}

int tp_tpt_file_next(const struct tp_tpt_file *f, struct tp_tpt_buffer *buffer, uint64_t *at,
                     struct tp_tpt_block *block, const uint8_t **payload, struct tp_err *err)
{
    uint8_t head[TP_TPT_BLOCK_SIZE];
    while (*at < f->end) {
        uint64_t here = *at;
        int rc = f->end - here < sizeof head ? changed(f, here, err)
                                             : read_at(f, head, sizeof head, here, err);
        if (rc)
            return -rc;
        tp_tpt_block_get(head, block);
        if (block->stored > f->end - here - sizeof head)
            return -changed(f, here, err);
        *at += sizeof head + block->stored;
        if (!tp_tpt_has_insns(block))
            continue;
        rc = block->stored > f->max_stored || tp_tpt_block_wrong(block)
                 ? changed(f, here, err)
                 : load_insns(f, buffer, here, head, block, err);
        *payload = block->flags & TP_TPT_ZSTD ? buffer->raw : buffer->stored;
        return rc ? -rc : 1;
    }
    return 0;
}
