/* Shared by the files that implement alloc/program/program.h, and included by no other: builder.c
 * fills a program, program_windows.c keeps and reads its windows, program_file.c moves it through
 * descriptors.
 *
 *     a window, in memory and in the file:  | insns, 24 bytes each | jumps, 16 bytes each |
 *     the file:  | window 0 | window 1 | ... | index | demand | heap | marks | facts | footer |
 *                  <----- data_bytes ----->    <---------- once it is exported ---------> */
#ifndef TP_PROGRAM_INTERNAL_H
#define TP_PROGRAM_INTERNAL_H

#include "alloc/base/own.h"
#include "alloc/base/spool.h"
#include "alloc/base/texts.h"
#include "alloc/program/heap_check.h"
#include "alloc/program/program.h"

/* The index entry of a window; stored in the file in this layout. */
struct tp_kept_window {
    uint64_t offset; /* where the window's bytes begin among those of all windows */
    uint64_t first_event, first_insn, first_time;
    uint32_t count, jump_count;
    uint32_t initial_heap; /* 0 or 1 */
    uint32_t reserved;     /* 0 */
};
static_assert(sizeof(struct tp_kept_window) == 48, "written to the file without padding");
static_assert(sizeof(struct tp_jump) == 16, "written to the file without padding");

static inline size_t tp_kept_window_bytes(const struct tp_kept_window *w)
{
    return w->count * sizeof(struct tp_insn) + w->jump_count * sizeof(struct tp_jump);
}

/* The last bytes of an exported file. */
struct tp_program_footer {
    uint8_t magic[16];
    uint64_t file_bytes; /* size of the whole file, footer included */
    uint64_t data_bytes; /* bytes of all windows */
    uint64_t names_bytes;
    uint64_t heap_segments, heap_blocks;
    /* sizes in the build that wrote the file */
    uint32_t facts_size, demand_size, window_size, segment_size, block_size, op_count;
};
static_assert(sizeof(struct tp_program_footer) == 80, "written to the file without padding");
extern const uint8_t tp_program_magic[16];

struct tp_program {
    struct tp_program_facts facts;
    struct tp_demand *demand;       /* array of facts.devices peaks */
    struct tp_kept_window *windows; /* array of facts.windows entries */
    void **blocks;                  /* the bytes of each window; NULL for windows in the file */
    size_t window_room, block_room;
    struct tp_texts names; /* names of marks */
    struct tp_heap heap;   /* without segments: none is known */
    void *heap_bytes; /* its arrays, segments first; NULL: they are in `tail`, or there are none */
    uint64_t data_bytes; /* bytes of all windows */
    int fd;              /* file of the windows; -1: they are in memory */
    /* Of an imported program: its arrays, and the bytes of all its windows. Both are of
     * alloc/base/own.h, because the process may replay its own malloc; the arrays of a program that
     * was built are malloc's. NULL: built, or not loaded. */
    void *tail, *loaded;
    bool sealed;                      /* the file is complete up to its footer */
    const struct tp_backing *backing; /* NULL: the windows are in `blocks` or `fd` */
    void *backing_ctx;
};

/* ---- program_windows.c ---- */

/* An empty program without devices; NULL when out of memory. */
struct tp_program *tp_program_new(void);

/* Copies a heap, which has been checked, into the program. */
int tp_program_keep_heap(struct tp_program *p, const struct tp_heap *heap, struct tp_err *err);

/* Keeps a window: in memory while all windows together take at most `limit` bytes, else in the
 * file. Fills in w->offset. */
int tp_program_append(struct tp_program *p, struct tp_kept_window *w, const struct tp_insn *insns,
                      const struct tp_jump *jumps, uint64_t limit, struct tp_err *err);

/* Reads the i-th window from the file into `block` and checks every field that indexes something.
 */
int tp_program_read(const struct tp_program *p, uint64_t i, void *block, struct tp_err *err);

#endif
