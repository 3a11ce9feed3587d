/* A .tpt file as blocks: what is found once, on opening, and how a block is read after that. */
#ifndef TP_TPT_FILE_H
#define TP_TPT_FILE_H

#include "alloc/base/texts.h"
#include "traces/format.h"
#include "traces/formats/tpt/tpt_facts.h"

struct tp_tpt_file {
    int fd;         /* owned; read at offsets, never moved */
    char *name;     /* owned, clean; for messages */
    uint64_t bytes; /* of the file */
    uint64_t end;   /* where the windows end: at FACT, or at what was cut */
    bool whole;     /* it has its facts and its end */
    struct tp_tpt_header header;
    uint32_t max_count, max_stored, max_raw; /* of the blocks with instructions */
    struct tp_texts names;                   /* of marks */
    char *meta;                              /* the last META; NULL: there is none */
    size_t meta_size;
    struct tp_tpt_facts facts; /* if it is whole */
};

/* Takes `fd` over, in every case; `name`, for messages, is cleaned and copied. Reads
 * all but the windows, whose headers it checks. A file that is cut is no error unless nothing is
 * left of it. Code places go to `places`. TP_EINPUT: "web.tpt: block 3 (byte
 * 40960) is damaged: CRC-32C is 0x..., not 0x...".
 */
int tp_tpt_file_open(int fd, const char *name, struct tp_places *places, struct tp_tpt_file *out,
                     struct tp_err *err);
void tp_tpt_file_close(struct tp_tpt_file *f);

/* Bytes of one block. */
struct tp_tpt_buffer {
    uint8_t *stored; /* its payload as it stands in the file, and room behind it */
    uint8_t *raw;    /* the same unpacked; NULL until a block is packed */
    size_t stored_room, raw_room;
    void *unpacker;
};
void tp_tpt_buffer_release(struct tp_tpt_buffer *b);

/* The next block with instructions at or behind *at, which moves behind it; *payload is valid until
 * the next call. 1 = there is one, 0 = none before f->end, else -status. */
int tp_tpt_file_next(const struct tp_tpt_file *f, struct tp_tpt_buffer *buffer, uint64_t *at,
                     struct tp_tpt_block *block, const uint8_t **payload, struct tp_err *err);

/* Puts the file before a sentence that is there. */
int tp_tpt_file_name(const struct tp_tpt_file *f, int rc, struct tp_err *err);

/* Puts file and block before a sentence that is there. */
int tp_tpt_file_place(const struct tp_tpt_file *f, const struct tp_tpt_block *block, uint64_t at,
                      int rc, struct tp_err *err);

#endif
