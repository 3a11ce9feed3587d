/* Programs in files: the unlinked file of large programs, and the descriptor that a child process
 * reads a program from.
 *
 * An exported file ends in a footer of fixed size; everything else is found from there, and all
 * lengths must add up to the size of the file. Every read passes its own offset, so that parent and
 * child may read at the same time. The layout belongs to this build and is no file format: a
 * program from another build is refused. */
#include "alloc/program/program_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const uint8_t tp_program_magic[16] = "tapool program\n";

/* ---- export ---- */

/* Programs with at most this many bytes of windows are loaded into memory when they are
 * imported. */
#define LOAD_MAX (4 * TP_PROGRAM_MEMORY)

static size_t heap_segments_bytes(const struct tp_program_footer *foot)
{
    return foot->heap_segments * sizeof(struct tp_heap_segment);
}

static size_t heap_blocks_bytes(const struct tp_program_footer *foot)
{
    return foot->heap_blocks * sizeof(struct tp_heap_block);
}

/* Writes everything except the windows at `offset`. */
static int write_tail(const struct tp_program *p, int fd, uint64_t offset, struct tp_err *err)
{
    struct tp_program_footer foot = {.data_bytes = p->data_bytes,
                                     .names_bytes = p->names.used,
                                     .facts_size = sizeof p->facts,
                                     .demand_size = sizeof *p->demand,
                                     .window_size = sizeof *p->windows,
                                     .heap_segments = p->heap.segment_count,
                                     .heap_blocks = p->heap.block_count,
                                     .segment_size = sizeof *p->heap.segments,
                                     .block_size = sizeof *p->heap.blocks,
                                     .op_count = TP_OP_COUNT};
    memcpy(foot.magic, tp_program_magic, sizeof foot.magic);
    const struct {
        const void *data;
        size_t size;
    } parts[] = {{p->windows, p->facts.windows * sizeof *p->windows},
                 {p->demand, p->facts.devices * sizeof *p->demand},
                 {p->heap.segments, heap_segments_bytes(&foot)},
                 {p->heap.blocks, heap_blocks_bytes(&foot)},
                 {p->names.text, p->names.used},
                 {&p->facts, sizeof p->facts},
                 {&foot, sizeof foot}};
    foot.file_bytes = offset;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        foot.file_bytes += parts[i].size;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int rc = tp_spool_write(fd, parts[i].data, parts[i].size, offset, err);
        if (rc)
            return rc;
        offset += parts[i].size;
    }
    return TP_OK;
}

static int export_memory(const struct tp_program *p, int *out, struct tp_err *err)
{
    int rc = TP_OK;
    int fd = memfd_create("tapool-program", MFD_CLOEXEC);
    if (fd < 0)
        rc = tp_spool_open(&fd, err);
    for (uint64_t i = 0; !rc && i < p->facts.windows; i++)
        rc = tp_spool_write(fd, p->blocks[i], tp_kept_window_bytes(&p->windows[i]),
                            p->windows[i].offset, err);
    if (!rc)
        rc = write_tail(p, fd, p->data_bytes, err);
    if (rc) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *out = fd;
    return TP_OK;
}

/* Exports a program whose windows are in memory or in its own file. */
static int export_kept(struct tp_program *p, int *fd, struct tp_err *err)
{
    if (p->fd < 0)
        return export_memory(p, fd, err);
    if (!p->sealed) {
        int rc = write_tail(p, p->fd, p->data_bytes, err);
        if (rc)
            return rc;
        p->sealed = true;
    }
    *fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 3);
    if (*fd < 0)
        return tp_fail(err, TP_EIO, "cannot hand the program over: %s", strerror(errno));
    return TP_OK;
}

/* A window of a program that is kept elsewhere. */
static int copy_window(void *copy, const struct tp_window *w, struct tp_err *err)
{
    struct tp_kept_window kept = {.first_event = w->first_event,
                                  .first_insn = w->first_insn,
                                  .first_time = w->first_time,
                                  .count = w->count,
                                  .jump_count = w->jump_count,
                                  .initial_heap = w->initial_heap};
    return tp_program_append(copy, &kept, w->insns, w->jumps, TP_PROGRAM_MEMORY, err);
}

static int copy_program(struct tp_program *p, struct tp_program *copy, struct tp_err *err)
{
    copy->facts = p->facts;
    copy->facts.windows = copy->facts.spooled_bytes = 0;
    copy->demand = malloc(p->facts.devices * sizeof *copy->demand);
    if (!copy->demand)
        return tp_fail(err, TP_ENOMEM, "out of memory while copying the program");
    memcpy(copy->demand, p->demand, p->facts.devices * sizeof *copy->demand);
    int rc = tp_program_keep_heap(copy, &p->heap, err);
    for (uint32_t i = 0; !rc && i < p->facts.marks; i++)
        rc = tp_texts_add(&copy->names, tp_program_mark(p, i), strlen(tp_program_mark(p, i)), err);
    return rc ? rc : tp_program_walk(p, copy_window, copy, err);
}

/* A copy that is kept as a program that was built; NULL after a failure. */
static int plain_copy(struct tp_program *p, struct tp_program **out, struct tp_err *err)
{
    struct tp_program *copy = tp_program_new();
    int rc = copy ? copy_program(p, copy, err)
                  : tp_fail(err, TP_ENOMEM, "out of memory while copying the program");
    if (rc)
        tp_program_release(copy);
    *out = rc ? NULL : copy;
    return rc;
}

int tp_program_export(struct tp_program *p, int *fd, struct tp_err *err)
{
    *fd = -1;
    if (!p->backing)
        return export_kept(p, fd, err);
    struct tp_program *copy = NULL;
    int rc = plain_copy(p, &copy, err);
    if (!rc)
        rc = export_kept(copy, fd, err);
    tp_program_release(copy);
    return rc;
}

int tp_program_load(struct tp_program *p, struct tp_err *err)
{
    const struct tp_program_facts *f = &p->facts;
    uint64_t most = TP_PROGRAM_MEMORY / sizeof(struct tp_insn);
    if (!p->backing || f->initial_heap > most || f->instructions > most - f->initial_heap)
        return TP_OK;
    struct tp_program *copy = NULL;
    int rc = plain_copy(p, &copy, err);
    if (rc)
        return rc;
    p->backing->release(p->backing_ctx);
    p->backing = NULL;
    p->facts = copy->facts;
    p->data_bytes = copy->data_bytes;
    p->fd = copy->fd;
    p->windows = copy->windows;
    p->blocks = copy->blocks;
    p->window_room = copy->window_room;
    p->block_room = copy->block_room;
    copy->fd = -1; /* the windows are p's now; demand and names, which others may look at, stay */
    copy->facts.windows = 0;
    copy->windows = NULL;
    copy->blocks = NULL;
    tp_program_release(copy);
    return TP_OK;
}

/* ---- import ---- */

static int damaged(const char *what, struct tp_err *err)
{
    return tp_fail(err, TP_EINPUT, "the program file is damaged: %s", what);
}

static int read_footer(int fd, struct tp_program_footer *foot, struct tp_err *err)
{
    struct stat st;
    if (fstat(fd, &st))
        return tp_fail(err, TP_EIO, "cannot read the program file: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return tp_fail(err, TP_EINPUT, "this is not a program file");
    uint64_t size = (uint64_t)st.st_size;
    if (size < sizeof *foot + sizeof(struct tp_program_facts))
        return damaged("it is too short", err);
    int rc = tp_spool_read(fd, foot, sizeof *foot, size - sizeof *foot, err);
    if (rc)
        return rc;
    if (memcmp(foot->magic, tp_program_magic, sizeof foot->magic) != 0)
        return damaged("its end is missing", err);
    if (foot->facts_size != sizeof(struct tp_program_facts) ||
        foot->demand_size != sizeof(struct tp_demand) ||
        foot->window_size != sizeof(struct tp_kept_window) ||
        foot->segment_size != sizeof(struct tp_heap_segment) ||
        foot->block_size != sizeof(struct tp_heap_block) || foot->op_count != TP_OP_COUNT)
        return tp_fail(err, TP_EINPUT, "the program file is from another build");
    return foot->file_bytes == size ? TP_OK : damaged("its length is wrong", err);
}

/* Do the parts add up to the size of the file? If so, no sum of parts can overflow later. */
static bool lengths_agree(const struct tp_program_footer *foot, const struct tp_program_facts *f)
{
    uint64_t rest = foot->file_bytes - sizeof *foot - sizeof *f;
    if (foot->data_bytes > rest)
        return false;
    rest -= foot->data_bytes;
    if (foot->names_bytes > rest)
        return false;
    rest -= foot->names_bytes;
    if (foot->heap_segments > rest / sizeof(struct tp_heap_segment))
        return false;
    rest -= heap_segments_bytes(foot);
    if (foot->heap_blocks > rest / sizeof(struct tp_heap_block))
        return false;
    rest -= heap_blocks_bytes(foot);
    if (f->windows > rest / sizeof(struct tp_kept_window))
        return false;
    return rest - f->windows * sizeof(struct tp_kept_window) ==
           f->devices * sizeof(struct tp_demand);
}

/* Checks the facts that tp_program_facts_wrong does not know and that reading the windows would not
 * find. */
static const char *facts_wrong(const struct tp_program_facts *f, uint64_t data_bytes)
{
    uint64_t most = data_bytes / sizeof(struct tp_insn);
    const char *wrong = tp_program_facts_wrong(f, most);
    if (wrong)
        return wrong;
    if (f->spooled_bytes && f->spooled_bytes != data_bytes)
        return "the number of bytes is wrong";
    return NULL;
}

/* Does an index entry follow the entries before it, which `seen` sums up? Updates `seen`. */
static bool window_fits(const struct tp_kept_window *w, struct tp_kept_window *seen,
                        const struct tp_program_facts *f)
{
    if (w->count < 1 || w->count > TP_WINDOW_MAX || w->jump_count >= w->count ||
        w->initial_heap > seen->initial_heap || w->reserved != 0 || w->offset != seen->offset)
        return false;
    uint64_t before = w->initial_heap ? 0 : seen->first_insn;
    if (w->first_insn != before || w->first_event > f->events || w->first_time > f->duration_ns)
        return false;
    if (w->initial_heap && (w->first_event || w->first_time || w->jump_count))
        return false;
    if (!w->initial_heap && (!w->first_event || w->first_event < seen->first_event))
        return false;
    seen->offset += tp_kept_window_bytes(w);
    seen->initial_heap = w->initial_heap;
    seen->first_insn += w->initial_heap ? 0 : w->count;
    seen->first_event = w->first_event;
    return true;
}

static const char *index_wrong(const struct tp_program *p)
{
    struct tp_kept_window seen = {.initial_heap = 1};
    uint64_t initial_heap = 0, time = 0;
    for (uint64_t i = 0; i < p->facts.windows; i++) {
        const struct tp_kept_window *w = &p->windows[i];
        if (!window_fits(w, &seen, &p->facts) || w->first_time < time ||
            seen.offset > p->data_bytes)
            return "the index of windows is wrong";
        time = w->first_time;
        initial_heap += w->initial_heap ? w->count : 0;
    }
    if (seen.offset != p->data_bytes || seen.first_insn != p->facts.instructions ||
        initial_heap != p->facts.initial_heap)
        return "the index of windows does not cover the program";
    return NULL;
}

static const char *names_wrong(struct tp_program *p)
{
    struct tp_texts *n = &p->names;
    for (size_t at = 0; at < n->used; n->count++) {
        const char *end = memchr(n->text + at, '\0', n->used - at);
        if (!end || n->count == p->facts.marks)
            return "the names of phases are wrong";
        n->at[n->count] = (uint32_t)at;
        at = (size_t)(end - n->text) + 1;
    }
    return n->count == p->facts.marks ? NULL : "the names of phases are missing";
}

static const char *heap_wrong(const struct tp_program *p)
{
    if (p->heap.block_count != (p->heap.segment_count ? p->facts.initial_heap : 0))
        return "its recorded placement does not match its initial heap";
    return tp_heap_wrong(&p->heap, p->facts.streams, p->facts.devices);
}

/* Lays the arrays of an imported program into one block. Their lengths have been checked against
 * the length of the file, so their sum is no larger than a few times that. */
static int lay_tail(struct tp_program *p, const struct tp_program_footer *foot, struct tp_err *err)
{
    size_t windows = p->facts.windows * sizeof *p->windows;
    size_t blocks = p->facts.windows * sizeof *p->blocks;
    size_t demand = p->facts.devices * sizeof *p->demand;
    size_t at = p->facts.marks * sizeof *p->names.at;
    size_t segments = heap_segments_bytes(foot), heap = segments + heap_blocks_bytes(foot);
    char *tail = tp_own_zeroed(1, windows + blocks + demand + heap + at + foot->names_bytes);
    if (!tail)
        return tp_fail(err, TP_ENOMEM, "out of memory while reading the program file");
    p->tail = tail;
    p->windows = (void *)tail;
    p->demand = (void *)(tail + windows);
    p->blocks = (void *)(tail + windows + demand);
    p->heap = (struct tp_heap){.segments = (void *)(tail + windows + demand + blocks),
                               .blocks = (void *)(tail + windows + demand + blocks + segments),
                               .segment_count = foot->heap_segments,
                               .block_count = foot->heap_blocks};
    p->names.at = (void *)(tail + windows + demand + blocks + heap);
    p->names.text = tail + windows + demand + blocks + heap + at;
    p->names.used = foot->names_bytes;
    return TP_OK;
}

static int read_tail(struct tp_program *p, const struct tp_program_footer *foot, int fd,
                     struct tp_err *err)
{
    size_t windows = p->facts.windows * sizeof *p->windows;
    size_t demand = p->facts.devices * sizeof *p->demand;
    uint64_t at = foot->data_bytes;
    int rc = lay_tail(p, foot, err);
    if (!rc)
        rc = tp_spool_read(fd, p->windows, windows, at, err);
    if (!rc)
        rc = tp_spool_read(fd, p->demand, demand, at + windows, err);
    size_t heap = heap_segments_bytes(foot) + heap_blocks_bytes(foot);
    char *to = p->tail;
    if (!rc)
        rc = tp_spool_read(fd, to + windows + demand + p->facts.windows * sizeof *p->blocks, heap,
                           at + windows + demand, err);
    if (!rc)
        rc = tp_spool_read(fd, p->names.text, p->names.used, at + windows + demand + heap, err);
    return rc;
}

/* Loads the windows of a program that was in memory in the parent, so that both read it at the same
 * speed. */
static int load_windows(struct tp_program *p, struct tp_err *err)
{
    char *bytes = p->loaded = tp_own_zeroed(1, p->data_bytes);
    if (!bytes)
        return tp_fail(err, TP_ENOMEM, "out of memory while reading the program file");
    for (uint64_t i = 0; i < p->facts.windows; i++) {
        p->blocks[i] = bytes + p->windows[i].offset;
        int rc = tp_program_read(p, i, p->blocks[i], err);
        if (rc)
            return rc;
    }
    close(p->fd);
    p->fd = -1;
    return TP_OK;
}

static int import(struct tp_program *p, struct tp_err *err)
{
    struct tp_program_footer foot;
    struct tp_program_facts facts;
    int rc = read_footer(p->fd, &foot, err);
    if (!rc)
        rc = tp_spool_read(p->fd, &facts, sizeof facts,
                           foot.file_bytes - sizeof foot - sizeof facts, err);
    if (rc)
        return rc;
    const char *wrong = facts_wrong(&facts, foot.data_bytes);
    if (!wrong && !lengths_agree(&foot, &facts))
        wrong = "its parts do not fill it";
    if (wrong)
        return damaged(wrong, err);
    p->facts = facts;
    p->data_bytes = foot.data_bytes;
    rc = read_tail(p, &foot, p->fd, err);
    if (rc)
        return rc;
    wrong = index_wrong(p);
    if (!wrong)
        wrong = tp_demand_wrong(p->demand, &p->facts);
    if (!wrong)
        wrong = names_wrong(p);
    if (!wrong)
        wrong = heap_wrong(p);
    if (wrong)
        return damaged(wrong, err);
    p->sealed = true;
    return !facts.spooled_bytes && foot.data_bytes <= LOAD_MAX ? load_windows(p, err) : TP_OK;
}

int tp_program_import(int fd, struct tp_program **out, struct tp_err *err)
{
    *out = NULL;
    struct tp_program *p = tp_program_new();
    if (!p) {
        if (fd >= 0)
            close(fd);
        return tp_fail(err, TP_ENOMEM, "out of memory while reading the program file");
    }
    p->fd = fd;
    int rc = import(p, err);
    if (rc) {
        tp_program_release(p);
        return rc;
    }
    *out = p;
    return TP_OK;
}
