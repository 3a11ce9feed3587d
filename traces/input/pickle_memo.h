/* What a pickle may refer back to: its memo, and the texts in it, in two bytes an entry.
 *
 *     memo    | 17 | list | dict | 17 | 5023 | ...      codes, by memo index
 *               |                  |     `-- a text met in this file
 *               `-- a text of the reader's own list: "action"
 *
 * Where an entry lies in the file is kept for each 64th of them only: from there on the file is
 * read again until the one that is looked for. */
#ifndef TP_PICKLE_MEMO_H
#define TP_PICKLE_MEMO_H

#include "alloc/base/texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Codes of memo entries; a text is its word. */
enum {
    TP_MEMO_NONE,       /* was never made */
    TP_MEMO_OTHER,      /* a tuple, a number: nothing that is asked for */
    TP_MEMO_EMPTY_LIST, /* nothing was put into it yet */
    TP_MEMO_LIST,
    TP_MEMO_DICT,
    TP_MEMO_TEXT,      /* a text that is not kept */
    TP_MEMO_WORDS = 16 /* the first word */
};

enum { TP_MEMO_STEP = 64 }; /* entries between two known places */

struct tp_words {
    const char *const *known; /* borrowed; known[i] is word TP_MEMO_WORDS + i */
    uint32_t known_count;
    struct tp_texts texts; /* of the words, the known ones first */
};

struct tp_memo {
    uint16_t *cells;
    size_t count, room;
    uint64_t *places; /* behind entry 64 i - 1; places[0] is 0; as long as they are in order */
    size_t place_room;
    bool in_order; /* all entries were made in the order of their indices */
    uint64_t limit;
    struct tp_budget *budget; /* of cells and places; NULL: they are not counted */
};

int tp_words_init(struct tp_words *w, const char *const *known, struct tp_err *err);
void tp_words_release(struct tp_words *w);

/* The word of a text, which need not end with a NUL. A new one is kept unless it is longer than 255
 * bytes or too many are there: TP_MEMO_TEXT. The last quarter of the room is for texts that are
 * `wanted`. */
uint16_t tp_words_intern(struct tp_words *w, const char *text, size_t size, bool wanted);

/* NULL: no word. Valid until the next intern. */
const char *tp_words_text(const struct tp_words *w, uint16_t word);

void tp_memo_init(struct tp_memo *m, uint64_t limit);
void tp_memo_release(struct tp_memo *m);

/* Makes room for one more entry; `offset` is the place in the file behind the opcode that makes it.
 * False: out of memory, or of what reading may take. */
bool tp_memo_grow(struct tp_memo *m, uint64_t offset);

/* The next entry. */
static inline bool tp_memo_push(struct tp_memo *m, uint16_t code, uint64_t offset)
{
    if ((m->count == m->room || (m->count + 1) % TP_MEMO_STEP == 0) && !tp_memo_grow(m, offset))
        return false;
    m->cells[m->count++] = code;
    return true;
}

/* An entry with an index of its own, as in protocol 2. */
bool tp_memo_put(struct tp_memo *m, uint64_t index, uint16_t code, uint64_t offset);

#endif
