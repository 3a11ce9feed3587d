/* See tpt_places.h. */
#include "traces/formats/tpt/tpt_places.h"

#include "alloc/base/grow.h"

#include <stdlib.h>

enum { AS_BEFORE = 0, NONE = 1, FIRST_TEXT = 2 };
enum { NEW_TO_END = 50000 }; /* new texts and stacks that end a STAK block */

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

/* Writes the texts that are new, as many as there are numbers below `texts`. */
static uint8_t *put_texts(const struct tp_tpt_places_writer *w, uint32_t texts, uint8_t *at)
{
    at = tp_put_varint(at, texts - w->texts);
    for (uint32_t i = w->texts; i < texts; i++) {
        const char *text = tp_place_table_get(w->cursor.table, i);
        at = (uint8_t *)memcpy(at, text, strlen(text) + 1) + strlen(text) + 1;
    }
    return at;
}

static uint8_t *put_stacks(const struct tp_tpt_places_writer *w, uint32_t stacks, uint8_t *at)
{
    at = tp_put_varint(at, stacks - w->stacks);
    for (uint32_t i = w->stacks; i < stacks; i++) {
        const struct tp_place_stack *s = tp_place_table_stack(w->cursor.table, i);
        at = tp_put_varint(tp_put_varint(at, s->text), s->caller);
    }
    return at;
}

/* What the events of a block need, in numbers of texts and stacks. */
struct needed {
    uint32_t texts, stacks;
};

static char *join(const struct tp_tpt_places_writer *w, struct needed n, const uint8_t *numbers,
                  size_t size, struct tp_tpt_block *block)
{
    const struct tp_place_sampling sampling = tp_place_table_sampling(w->cursor.table);
    uint8_t *payload = malloc((size_t)(n.texts - w->texts) * TP_PLACE_TEXT +
                              (size_t)(n.stacks - w->stacks) * 18 + size + 64);
    uint8_t *at = payload;
    if (!payload)
        return NULL;
    if (block->type == TP_TPT_STAK)
        at = tp_put_varint(tp_put_varint(at, sampling.size), sampling.every);
    at = put_texts(w, n.texts, at);
    if (block->type == TP_TPT_STAK)
        at = put_stacks(w, n.stacks, at);
    memcpy(at, numbers, size);
    block->stored = block->raw = (uint32_t)((size_t)(at - payload) + size);
    return (char *)payload;
}

/* The stacks below a number are written with it, and so are the texts of all of them. */
static void need_texts(const struct tp_tpt_places_writer *w, const struct tp_place_item *item,
                       struct needed *n)
{
    n->texts = item->text >= n->texts ? item->text + 1 : n->texts;
    for (; n->stacks < item->stack; n->stacks++) {
        uint32_t text = tp_place_table_stack(w->cursor.table, n->stacks)->text;
        n->texts = text >= n->texts ? text + 1 : n->texts;
    }
}

/* Writes the events of one STAK block, of so many that it does not become long. */
static int put_called(struct tp_tpt_places_writer *w, struct tp_tpt_block *block, uint8_t **at,
                      struct needed *n, struct tp_err *err)
{
    const struct tp_place_item *item = NULL;
    uint64_t before = block->first_event;
    int rc = TP_OK;
    for (block->count = 0; block->count < TP_TPT_PLACES_EVENTS &&
                           n->texts - w->texts + n->stacks - w->stacks < NEW_TO_END;
         block->count++) {
        rc = tp_place_cursor_look(&w->cursor, w->next, &item, err);
        if (rc != TP_OK || !item)
            break;
        need_texts(w, item, n);
        *at = tp_put_varint(*at, item->event - before);
        *at = tp_put_varint(*at, item->stack ? 2 * (uint64_t)(item->stack - 1) + 1
                                             : 2 * (uint64_t)item->text);
        before = item->event;
        w->next = before + 1;
    }
    return rc;
}

int tp_tpt_places_put(struct tp_tpt_places_writer *w, struct tp_tpt_block *block, char **payload,
                      struct tp_err *err)
{
    const struct tp_place_item *item = NULL;
    *payload = NULL;
    int rc = tp_place_cursor_look(&w->cursor, w->next, &item, err);
    if (rc != TP_OK || !item)
        return rc;
    bool called = tp_place_table_stacks(w->cursor.table) > 0 ||
                  tp_place_table_sampling(w->cursor.table).every > 1;
    *block = (struct tp_tpt_block){.type = called ? TP_TPT_STAK : TP_TPT_PLAC,
                                   .flags = TP_TPT_SKIP,
                                   .first_event = item->event};
    uint8_t *numbers = malloc((size_t)TP_TPT_PLACES_EVENTS * 18), *at = numbers;
    struct needed n = {w->texts, w->stacks};
    w->next = item->event;
    if (numbers)
        rc =
            called ? put_called(w, block, &at, &n, err) : put_numbers(w, block, &at, &n.texts, err);
    if (numbers && rc == TP_OK)
        *payload = join(w, n, numbers, (size_t)(at - numbers), block);
    free(numbers);
    w->texts = n.texts;
    w->stacks = n.stacks;
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

static int get_numbers(struct tp_tpt_places_reader *r, const struct tp_tpt_block *block,
                       struct tp_place_table *table, const char **from, const char *end,
                       struct tp_err *err)
{
    const char *at = *from;
    uint32_t place = TP_NO_PLACE;
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < block->count; i++) {
        uint64_t number = 0;
        at = (const char *)tp_varint((const uint8_t *)at, &number);
        if (at > end || (number >= FIRST_TEXT && number - FIRST_TEXT >= r->count))
            return wrong(err, "the code place of an event is wrong");
        if (number != AS_BEFORE)
            place = number == NONE ? TP_NO_PLACE : r->texts[number - FIRST_TEXT];
        rc = tp_place_table_set(table, block->first_event + i, place, err);
    }
    r->end = block->first_event + block->count;
    *from = at;
    return rc;
}

/* ---- STAK ---- */

/* Behind two numbers; where that is behind `end`, they are not there. */
static const char *get_two(const char *at, const char *end, uint64_t two[2])
{
    at = (const char *)tp_varint((const uint8_t *)at, &two[0]);
    return at > end ? at : (const char *)tp_varint((const uint8_t *)at, &two[1]);
}

/* A text that got no number, because there are too many, ends the stack outside of it. */
static int get_stack(struct tp_tpt_places_reader *r, struct tp_place_table *table,
                     const uint64_t said[2], struct tp_err *err)
{
    if (said[0] >= r->count || said[1] > r->stack_count)
        return wrong(err, "a call stack is wrong");
    if (r->stack_count == TP_PLACE_STACKS_MAX)
        return wrong(err, "there are too many call stacks");
    int rc = TP_GROW(&r->stacks, &r->stack_room, r->stack_count + 1u, err, .what = "call stacks");
    if (rc != TP_OK)
        return rc;
    uint32_t caller = said[1] ? r->stacks[said[1] - 1] : 0, *stack = &r->stacks[r->stack_count++];
    *stack = caller;
    return r->texts[said[0]] == TP_NO_PLACE
               ? TP_OK
               : tp_place_table_call(table, r->texts[said[0]], caller, stack, err);
}

static int get_stacks(struct tp_tpt_places_reader *r, struct tp_place_table *table,
                      const char **from, const char *end, struct tp_err *err)
{
    uint64_t count = 0;
    const char *at = (const char *)tp_varint((const uint8_t *)*from, &count);
    int rc = at > end || count > TP_PLACE_STACKS_MAX
                 ? wrong(err, "the number of its call stacks is wrong")
                 : TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < count; i++) {
        uint64_t said[2];
        at = get_two(at, end, said);
        rc = at > end ? wrong(err, "a call stack has no end") : get_stack(r, table, said, err);
    }
    *from = at;
    return rc;
}

static int get_called(struct tp_tpt_places_reader *r, const struct tp_tpt_block *block,
                      struct tp_place_table *table, const char **from, const char *end,
                      struct tp_err *err)
{
    const char *at = *from;
    uint64_t event = block->first_event;
    int rc = get_stacks(r, table, &at, end, err);
    for (uint32_t i = 0; rc == TP_OK && i < block->count; i++) {
        uint64_t said[2];
        at = get_two(at, end, said);
        if (at > end || said[1] / 2 >= (said[1] % 2 ? r->stack_count : r->count))
            return wrong(err, "the code place of an event is wrong");
        if (!said[0] != !i || said[0] > UINT64_C(1) << 62)
            return wrong(err, "its events are out of order");
        event += said[0];
        rc = said[1] % 2 ? tp_place_table_set_stack(table, event, r->stacks[said[1] / 2], err)
                         : tp_place_table_set(table, event, r->texts[said[1] / 2], err);
    }
    r->end = event + 1;
    *from = at;
    return rc;
}

static int get_sampling(struct tp_place_table *table, const char **from, const char *end,
                        struct tp_err *err)
{
    uint64_t said[2];
    *from = get_two(*from, end, said);
    if (*from > end)
        return wrong(err, "it does not say which events have stacks");
    tp_place_table_sample(table, (struct tp_place_sampling){.size = said[0], .every = said[1]});
    return TP_OK;
}

int tp_tpt_places_get(struct tp_tpt_places_reader *r, const struct tp_tpt_block *block,
                      const char *payload, struct tp_err *err)
{
    struct tp_place_table *table = NULL;
    const char *at = payload, *end = payload + block->stored;
    bool called = block->type == TP_TPT_STAK;
    if (block->first_event < r->end)
        return wrong(err, "its events are out of order");
    int rc = tp_place_table_of(r->to, &table, err);
    if (rc == TP_OK && called)
        rc = get_sampling(table, &at, end, err);
    if (rc == TP_OK)
        rc = get_texts(r, table, &at, end, err);
    if (rc == TP_OK)
        rc = called ? get_called(r, block, table, &at, end, err)
                    : get_numbers(r, block, table, &at, end, err);
    return rc == TP_OK && at != end ? wrong(err, "something follows its last code place") : rc;
}

void tp_tpt_places_release(struct tp_tpt_places_reader *r)
{
    free(r->texts);
    free(r->stacks);
    r->texts = r->stacks = NULL;
    r->count = r->stack_count = 0;
    r->room = r->stack_room = 0;
}
