/* The memo of a pickle, with the values that later opcodes refer to, and its texts. An entry takes
 * two bytes.
 *
 *     memo    | 17 | list | dict | 17 | 5023 | ...      codes, by memo index
 *               |                  |     `-- a text met in this file
 *               `-- a text of the reader's own list: "action"
 *
 * The place in the file is kept for each 64th entry only. To find another entry, the file is read
 * again from the nearest known place before it. */
#ifndef TP_PICKLE_MEMO_H
#define TP_PICKLE_MEMO_H

#include "alloc/base/texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Codes of memo entries. A text that is kept has its word as its code. */
enum {
    TP_MEMO_NONE,       /* no entry was made */
    TP_MEMO_OTHER,      /* a value that is never asked for: a tuple, a number */
    TP_MEMO_EMPTY_LIST, /* a list that is still empty */
    TP_MEMO_LIST,
    TP_MEMO_DICT,
    TP_MEMO_TEXT,      /* a text that is not kept */
    TP_MEMO_WORDS = 16 /* the lowest word */
};

enum { TP_MEMO_STEP = 64 }; /* memo entries between two known places in the file */

struct tp_words {
    const char *const *known; /* borrowed; known[i] is word TP_MEMO_WORDS + i */
    uint32_t known_count;
    struct tp_texts texts; /* texts of the words, the known ones first */
};

struct tp_memo {
    uint16_t *cells;
    size_t count, room;
    /* places[i] is the byte in the file behind entry 64 i - 1, and places[0] is 0; only valid with
     * in_order */
    uint64_t *places;
    size_t place_room;
    bool in_order; /* all entries were made in the order of their indices */
    uint64_t limit;
    struct tp_budget *budget; /* counts the bytes of cells and places; NULL: they are not counted */
};

int tp_words_init(struct tp_words *w, const char *const *known, struct tp_err *err);
void tp_words_release(struct tp_words *w);

/* The word of a text, which need not end with a NUL. A new text is kept, unless it is longer than
 * 255 bytes or there are too many: then the result is TP_MEMO_TEXT. The last quarter of the room is
 * reserved for texts that are `wanted`. */
uint16_t tp_words_intern(struct tp_words *w, const char *text, size_t size, bool wanted);

/* The text of a word, valid until the next tp_words_intern. NULL: not a word. */
const char *tp_words_text(const struct tp_words *w, uint16_t word);

void tp_memo_init(struct tp_memo *m, uint64_t limit);
void tp_memo_release(struct tp_memo *m);

/* Makes room for one more entry. `offset` is the byte in the file behind the opcode that makes it.
 * False: out of memory, or above the limit of reading. */
bool tp_memo_grow(struct tp_memo *m, uint64_t offset);

/* Appends an entry. Arguments and result are those of tp_memo_grow. */
static inline bool tp_memo_push(struct tp_memo *m, uint16_t code, uint64_t offset)
{
    if ((m->count == m->room || (m->count + 1) % TP_MEMO_STEP == 0) && !tp_memo_grow(m, offset))
        return false;
    m->cells[m->count++] = code;
    return true;
}

/* Sets the entry of an explicit index, as PUT of protocol 2 does. */
bool tp_memo_put(struct tp_memo *m, uint64_t index, uint16_t code, uint64_t offset);

#endif
