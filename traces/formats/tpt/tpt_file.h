/* A .tpt file as a row of blocks: what opening finds out once, and reading blocks after that. */
#ifndef TP_TPT_FILE_H
#define TP_TPT_FILE_H

#include "alloc/base/texts.h"
#include "traces/format.h"
#include "traces/formats/tpt/tpt_facts.h"
#include "traces/formats/tpt/tpt_heap.h"

struct tp_tpt_file {
    int fd;         /* owned; read at offsets, its position is never moved */
    char *name;     /* owned, clean; for messages */
    uint64_t bytes; /* size of the file */
    uint64_t end;   /* byte at which the windows end: at FACT, or where the file was cut */
    bool whole;     /* the file has its FACT and END blocks */
    struct tp_tpt_header header;
    uint32_t max_count, max_stored, max_raw; /* maxima over the blocks with instructions */
    struct tp_texts names;                   /* names of marks */
    char *meta;                              /* JSON of the last META block; NULL: there is none */
    size_t meta_size;
    struct tp_tpt_facts facts; /* only set when `whole` */
    struct tp_tpt_heap heap;
};

/* Takes over `fd` in every case; cleans and copies `name`, which messages use. Reads everything
 * except the windows, of which it checks the headers. A file that was cut is an error only when
 * nothing is left of it. Code places go to `places`. TP_EINPUT: "web.tpt: block 3 (byte 40960) is
 * damaged: CRC-32C is 0x..., not 0x...". */
int tp_tpt_file_open(int fd, const char *name, struct tp_places *places, struct tp_tpt_file *out,
                     struct tp_err *err);
void tp_tpt_file_close(struct tp_tpt_file *f);

/* Buffers for the payload of one block. A zeroed one is empty. */
struct tp_tpt_buffer {
    uint8_t *stored; /* the payload as stored in the file, with room behind it */
    uint8_t *raw;    /* the unpacked payload; NULL until the first packed block */
    size_t stored_room, raw_room;
    void *unpacker;
};
void tp_tpt_buffer_release(struct tp_tpt_buffer *b);

/* Reads the next block with instructions at or behind byte *at, and moves *at behind the block.
 * *payload is valid until the next call. Returns 1 for a block, 0 when there is none before f->end,
 * else -status. */
int tp_tpt_file_next(const struct tp_tpt_file *f, struct tp_tpt_buffer *buffer, uint64_t *at,
                     struct tp_tpt_block *block, const uint8_t **payload, struct tp_err *err);

/* Puts the file name before the message in `err`. Returns `rc`. */
int tp_tpt_file_name(const struct tp_tpt_file *f, int rc, struct tp_err *err);

/* Puts file name and block before the message in `err`. Returns `rc`. */
int tp_tpt_file_place(const struct tp_tpt_file *f, const struct tp_tpt_block *block, uint64_t at,
                      int rc, struct tp_err *err);

#endif
