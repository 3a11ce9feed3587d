/* See tpt_places.h. */
#include "traces/formats/tpt/tpt_places.h"

#include "alloc/base/grow.h"

#include <stdlib.h>

enum { AS_BEFORE = 0, NONE = 1, FIRST_TEXT = 2 };

/* ---- writing ---- */

/* Writes the numbers of the events of one block. *texts becomes the number of texts that they
 * need. */
static int put_numbers(struct tp_tpt_places_writer *w, struct tp_tpt_block *block, uint8_t **at,
                       uint32_t *texts, struct tp_err *err)
{
    const struct tp_place_item *item = NULL;
    uint64_t last = block->first_event + TP_TPT_PLACES_EVENTS - 1, event = block->first_event;
    uint32_t before = TP_NO_PLACE;
    int rc = TP_OK;
    while (rc == TP_OK && event <= last) {
        rc = tp_place_cursor_look(&w->cursor, event, &item, err);
        if (rc != TP_OK || !item || item->event > last)
            break;
        for (; event < item->event; event++, before = TP_NO_PLACE)
            *at = tp_put_varint(*at, before == TP_NO_PLACE ? AS_BEFORE : NONE);
        *at = tp_put_varint(*at, item->text == before ? AS_BEFORE : FIRST_TEXT + item->text);
        before = item->text;
        *texts = before >= *texts ? before + 1 : *texts;
        event++;
    }
    block->count = (uint32_t)(event - block->first_event);
    w->next = event;
    return rc;
}

static char *join(const struct tp_tpt_places_writer *w, uint32_t texts, const uint8_t *numbers,
                  size_t size, struct tp_tpt_block *block)
{
    char *payload = malloc((size_t)(texts - w->texts) * TP_PLACE_TEXT + size + 16);
    if (!payload)
        return NULL;
    char *at = (char *)tp_put_varint((uint8_t *)payload, texts - w->texts);
    for (uint32_t i = w->texts; i < texts; i++) {
        const char *text = tp_place_table_get(w->cursor.table, i);
        at = (char *)memcpy(at, text, strlen(text) + 1) + strlen(text) + 1;
    }
    memcpy(at, numbers, size);
    block->stored = block->raw = (uint32_t)((size_t)(at - payload) + size);
    return payload;
}

int tp_tpt_places_put(struct tp_tpt_places_writer *w, struct tp_tpt_block *block, char **payload,
                      struct tp_err *err)
{
    const struct tp_place_item *item = NULL;
    *payload = NULL;
    int rc = tp_place_cursor_look(&w->cursor, w->next, &item, err);
    if (rc != TP_OK || !item)
        return rc;
    *block = (struct tp_tpt_block){
        .type = TP_TPT_PLAC, .flags = TP_TPT_SKIP, .first_event = item->event};
    uint8_t *numbers = malloc((size_t)TP_TPT_PLACES_EVENTS * 9), *at = numbers;
    uint32_t texts = w->texts;
    if (numbers)
        rc = put_numbers(w, block, &at, &texts, err);
    if (numbers && rc == TP_OK)
        *payload = join(w, texts, numbers, (size_t)(at - numbers), block);
    free(numbers);
    w->texts = texts;
    return rc != TP_OK || *payload ? rc : tp_fail(err, TP_ENOMEM, "out of memory for code places");
}

/* ---- reading ---- */

static int wrong(struct tp_err *err, const char *what)
{
    return tp_fail(err, TP_EINPUT, "%s", what);
}

static int get_text(struct tp_tpt_places_reader *r, struct tp_place_table *table, const char *text,
                    size_t length, struct tp_err *err)
{
    if (length >= TP_PLACE_TEXT)
        return wrong(err, "a code place is too long");
    if (r->count == TP_PLACE_TEXTS_MAX)
        return wrong(err, "there are too many code places");
    int rc = TP_GROW(&r->texts, &r->room, r->count + 1u, err, .what = "code places");
    if (rc != TP_OK)
        return rc;
    return tp_place_table_text(table, text, length, &r->texts[r->count++], err);
}

static int get_texts(struct tp_tpt_places_reader *r, struct tp_place_table *table,
                     const char **from, const char *end, struct tp_err *err)
{
    uint64_t count = 0;
    const char *at = (const char *)tp_varint((const uint8_t *)*from, &count);
    int rc = at > end || count > TP_TPT_PLACES_EVENTS
                 ? wrong(err, "the number of its code places is wrong")
                 : TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < count; i++) {
        const char *nul = memchr(at, '\0', (size_t)(end - at));
        if (!nul)
            return wrong(err, "a code place has no end");
        rc = get_text(r, table, at, (size_t)(nul - at), err);
        at = nul + 1;
    }
    *from = at;
    return rc;
}

int tp_tpt_places_get(struct tp_tpt_places_reader *r, const struct tp_tpt_block *block,
                      const char *payload, struct tp_err *err)
{
    struct tp_place_table *table = NULL;
    const char *at = payload, *end = payload + block->stored;
    uint32_t place = TP_NO_PLACE;
    if (block->first_event < r->end)
        return wrong(err, "its events are out of order");
    r->end = block->first_event + block->count;
    int rc = tp_place_table_of(r->to, &table, err);
    if (rc == TP_OK)
        rc = get_texts(r, table, &at, end, err);
    for (uint32_t i = 0; rc == TP_OK && i < block->count; i++) {
        uint64_t number = 0;
        at = (const char *)tp_varint((const uint8_t *)at, &number);
        if (at > end || (number >= FIRST_TEXT && number - FIRST_TEXT >= r->count))
            return wrong(err, "the code place of an event is wrong");
        if (number != AS_BEFORE)
            place = number == NONE ? TP_NO_PLACE : r->texts[number - FIRST_TEXT];
        rc = tp_place_table_set(table, block->first_event + i, place, err);
    }
    return rc == TP_OK && at != end ? wrong(err, "something follows its last code place") : rc;
}

void tp_tpt_places_release(struct tp_tpt_places_reader *r)
{
    free(r->texts);
    r->texts = NULL;
    r->count = 0;
    r->room = 0;
}
