/* See pickle_memo.h. */
#include "traces/input/pickle_memo.h"

#include <assert.h>
#include <string.h>

#define WORDS_MAX  ((uint32_t)(UINT16_MAX - TP_MEMO_WORDS))
#define WORDS_OPEN (WORDS_MAX / 4 * 3) /* words for texts that are not `wanted` */
#define WORD_BYTES 255

/* ---- words ---- */

uint16_t tp_words_intern(struct tp_words *w, const char *text, size_t size, bool wanted)
{
    if (size > WORD_BYTES || memchr(text, '\0', size))
        return TP_MEMO_TEXT;
    uint32_t most = wanted ? WORDS_MAX : WORDS_OPEN;
    uint32_t number = tp_texts_find(&w->texts, text, size);
    if (number == TP_NO_TEXT && w->texts.count < most)
        tp_texts_need(&w->texts, text, size, &number, NULL);
    return number == TP_NO_TEXT ? TP_MEMO_TEXT : (uint16_t)(TP_MEMO_WORDS + number);
}

int tp_words_init(struct tp_words *w, const char *const *known, struct tp_err *err)
{
    *w = (struct tp_words){.known = known, .texts.how.what = "the texts of a pickle"};
    int rc = TP_OK;
    for (; rc == TP_OK && known[w->known_count]; w->known_count++)
        rc = tp_texts_add(&w->texts, known[w->known_count], strlen(known[w->known_count]), err);
    if (rc != TP_OK)
        tp_words_release(w);
    return rc;
}

void tp_words_release(struct tp_words *w)
{
    tp_texts_release(&w->texts);
    *w = (struct tp_words){0};
}

const char *tp_words_text(const struct tp_words *w, uint16_t word)
{
    if (word < TP_MEMO_WORDS || word - TP_MEMO_WORDS >= (int64_t)w->texts.count)
        return NULL;
    return tp_texts_get(&w->texts, word - TP_MEMO_WORDS);
}

/* ---- the memo ---- */

void tp_memo_init(struct tp_memo *m, uint64_t limit)
{
    *m = (struct tp_memo){.in_order = true, .limit = limit};
}

void tp_memo_release(struct tp_memo *m)
{
    TP_GROW_END(&m->cells, &m->room, .budget = m->budget);
    TP_GROW_END(&m->places, &m->place_room, .budget = m->budget);
    *m = (struct tp_memo){0};
}

static bool reach_cell(struct tp_memo *m, size_t index)
{
    return !TP_GROW(&m->cells, &m->room, index + 1, NULL, TP_MOST(m->limit / sizeof *m->cells),
                    .budget = m->budget);
}

static bool keep_place(struct tp_memo *m, uint64_t offset)
{
    size_t index = (m->count + 1) / TP_MEMO_STEP;
    if (index >= m->place_room) {
        if (TP_GROW(&m->places, &m->place_room, index + 1, NULL, .budget = m->budget))
            return false;
        m->places[0] = 0;
    }
    m->places[index] = offset;
    return true;
}

/* Places are kept only while entries are made in order: nobody uses them otherwise. */
bool tp_memo_grow(struct tp_memo *m, uint64_t offset)
{
    if (!reach_cell(m, m->count))
        return false;
    return !m->in_order || (m->count + 1) % TP_MEMO_STEP != 0 || keep_place(m, offset);
}

/* An index behind the end leaves a gap. Its cost is bounded, because an index must not exceed the
 * offset in the file, and an entry takes two bytes. */
bool tp_memo_put(struct tp_memo *m, uint64_t index, uint16_t code, uint64_t offset)
{
    if (index == m->count)
        return tp_memo_push(m, code, offset);
    m->in_order = false;
    if (index > m->count) {
        if (index > offset || !reach_cell(m, (size_t)index))
            return false;
        memset(m->cells + m->count, 0, ((size_t)index - m->count) * sizeof *m->cells);
        m->count = (size_t)index + 1;
    }
    m->cells[index] = code;
    return true;
}
