/* See pickle_memo.h. Words are found by open addressing in a table that is half empty at most; its
 * seed is random, because texts are hostile. */
#include "traces/input/pickle_memo.h"

#include "alloc/base/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_PLACES ((size_t)512)
#define WORDS_MAX    ((uint32_t)(UINT16_MAX - TP_MEMO_WORDS))
#define WORDS_OPEN   (WORDS_MAX / 4 * 3) /* for everybody */
#define WORD_BYTES   255

/* ---- words ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static size_t home(const struct tp_words *w, const char *text, size_t size)
{
    uint64_t h = w->seed ^ size, part = 0;
    for (; size >= sizeof part; size -= sizeof part, text += sizeof part) {
        memcpy(&part, text, sizeof part);
        h = mix(h ^ part) + w->seed;
    }
    part = 0;
    memcpy(&part, text, size);
    return (size_t)mix(mix(h ^ part)) & (w->places - 1);
}

static bool keep_text(struct tp_words *w, const char *text, size_t size)
{
    if (w->text_used + size + 1 > w->text_room) {
        char *bytes =
            tp_grown(w->text, &w->text_room, w->text_used + size + 1, UINT32_MAX, sizeof *bytes);
        if (!bytes)
            return false;
        w->text = bytes;
    }
    w->starts[w->used] = (uint32_t)w->text_used;
    memcpy(w->text + w->text_used, text, size);
    w->text[w->text_used + size] = '\0';
    w->text_used += size + 1;
    return true;
}

/* Twice the places; all words find theirs anew. */
static bool grow(struct tp_words *w)
{
    size_t places = w->places ? 2 * w->places : FIRST_PLACES;
    uint16_t *table = calloc(places, sizeof *table);
    uint32_t *starts = table ? realloc(w->starts, places / 2 * sizeof *starts) : NULL;
    if (!starts) {
        free(table);
        return false;
    }
    free(w->table);
    w->table = table;
    w->starts = starts;
    w->places = places;
    for (uint32_t i = 0; i < w->used; i++) {
        const char *text = w->text + starts[i];
        size_t at = home(w, text, strlen(text));
        while (table[at])
            at = (at + 1) & (places - 1);
        table[at] = (uint16_t)(i + 1);
    }
    return true;
}

uint16_t tp_words_intern(struct tp_words *w, const char *text, size_t size, bool wanted)
{
    if (size > WORD_BYTES || memchr(text, '\0', size))
        return TP_MEMO_TEXT;
    size_t at = home(w, text, size);
    for (; w->table[at]; at = (at + 1) & (w->places - 1)) {
        uint32_t number = w->table[at] - 1u;
        const char *there = w->text + w->starts[number];
        if (strncmp(there, text, size) == 0 && there[size] == '\0')
            return (uint16_t)(TP_MEMO_WORDS + number);
    }
    if (w->used >= (wanted ? WORDS_MAX : WORDS_OPEN) || !keep_text(w, text, size))
        return TP_MEMO_TEXT;
    w->table[at] = (uint16_t)++w->used;
    if (w->used < w->places / 2 || grow(w))
        return (uint16_t)(TP_MEMO_WORDS + w->used - 1);
    w->table[at] = 0;
    w->used--;
    return TP_MEMO_TEXT;
}

int tp_words_init(struct tp_words *w, const char *const *known, struct tp_err *err)
{
    *w = (struct tp_words){.known = known};
    if (getrandom(&w->seed, sizeof w->seed, GRND_NONBLOCK) != (ssize_t)sizeof w->seed)
        w->seed = UINT64_C(0x9e3779b97f4a7c15);
    if (!grow(w))
        return tp_fail(err, TP_ENOMEM, "out of memory for the texts of a pickle");
    for (; known[w->known_count]; w->known_count++) {
        uint16_t word =
            tp_words_intern(w, known[w->known_count], strlen(known[w->known_count]), true);
        if (word != TP_MEMO_WORDS + w->known_count) {
            tp_words_release(w);
            return tp_fail(err, TP_ENOMEM, "out of memory for the texts of a pickle");
        }
    }
    return TP_OK;
}

void tp_words_release(struct tp_words *w)
{
    free(w->table);
    free(w->starts);
    free(w->text);
    *w = (struct tp_words){0};
}

const char *tp_words_text(const struct tp_words *w, uint16_t word)
{
    if (word < TP_MEMO_WORDS || word - TP_MEMO_WORDS >= (int64_t)w->used)
        return NULL;
    return w->text + w->starts[word - TP_MEMO_WORDS];
}

/* ---- the memo ---- */

void tp_memo_init(struct tp_memo *m, uint64_t limit)
{
    *m = (struct tp_memo){.in_order = true, .limit = limit};
}

void tp_memo_release(struct tp_memo *m)
{
    tp_budget_change(m->budget, m->counted, 0);
    free(m->cells);
    free(m->places);
    *m = (struct tp_memo){0};
}

/* False: places took more than is left. */
static bool count_rooms(struct tp_memo *m)
{
    uint64_t held = m->room * sizeof *m->cells + m->place_room * sizeof *m->places;
    bool fits = tp_budget_change(m->budget, m->counted, held);
    m->counted = fits ? held : m->counted;
    return fits;
}

static bool reach_cell(struct tp_memo *m, size_t index)
{
    if (index < m->room)
        return true;
    const uint64_t places = m->place_room * sizeof *m->places;
    uint64_t most = tp_budget_most(m->budget, m->counted);
    most = most > places ? most - places : 0;
    most = (most < m->limit ? most : m->limit) / sizeof *m->cells;
    uint16_t *cells = tp_grown(m->cells, &m->room, index + 1, (size_t)most, sizeof *cells);
    if (!cells)
        return false;
    m->cells = cells;
    return count_rooms(m);
}

static bool keep_place(struct tp_memo *m, uint64_t offset)
{
    size_t index = (m->count + 1) / TP_MEMO_STEP;
    if (index >= m->place_room) {
        uint64_t *places = tp_grown(m->places, &m->place_room, index + 1, SIZE_MAX, sizeof *places);
        if (!places)
            return false;
        m->places = places;
        if (!count_rooms(m))
            return false;
        m->places[0] = 0;
    }
    m->places[index] = offset;
    return true;
}

/* Places are asked for only where entries are in order. */
bool tp_memo_grow(struct tp_memo *m, uint64_t offset)
{
    if (!reach_cell(m, m->count))
        return false;
    return !m->in_order || (m->count + 1) % TP_MEMO_STEP != 0 || keep_place(m, offset);
}

/* Indices behind the end leave a gap, which costs no more than the offset says: every entry takes
 * two bytes of the file. */
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
