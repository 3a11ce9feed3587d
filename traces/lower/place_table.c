/* See place_table.h.
 *
 *     events  3 4 5 9     texts  0 "train.py:7 step"  1 "model.py:31 forward"
 *     numbers 0 0 1 0
 *
 * Items take 16 bytes per event; they are in memory up to a limit, then in an unlinked file. */
#include "traces/lower/place_table.h"

#include "alloc/base/clean.h"
#include "alloc/base/texts.h"

#include <stdlib.h>
#include <string.h>

#define IN_MEMORY ((size_t)4 << 20) /* bytes of items */

struct tp_place_table {
    struct tp_texts texts;
    struct tp_spill items;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for code places");
}

int tp_place_table_new(struct tp_place_table **out, struct tp_err *err)
{
    struct tp_place_table *t = calloc(1, sizeof *t);
    *out = t;
    if (!t)
        return no_memory(err);
    t->texts.how.what = "code places";
    tp_spill_init(&t->items, sizeof(struct tp_place_item), IN_MEMORY);
    return TP_OK;
}

void tp_place_table_free(struct tp_place_table *t)
{
    if (!t)
        return;
    tp_texts_release(&t->texts);
    tp_spill_release(&t->items);
    free(t);
}

/* ---- texts ---- */

int tp_place_table_text(struct tp_place_table *t, const char *text, size_t bytes, uint32_t *number,
                        struct tp_err *err)
{
    char raw[4 * TP_PLACE_TEXT], clean[TP_PLACE_TEXT];
    size_t kept = bytes < sizeof raw ? bytes : sizeof raw - 1;
    memcpy(raw, text, kept);
    raw[kept] = '\0';
    tp_clean_text(raw, clean, sizeof clean);
    *number = TP_NO_PLACE;
    if (!clean[0])
        return TP_OK;
    *number = tp_texts_find(&t->texts, clean, strlen(clean));
    if (*number != TP_NO_PLACE || t->texts.count == TP_PLACE_TEXTS_MAX)
        return TP_OK;
    return tp_texts_need(&t->texts, clean, strlen(clean), number, err);
}

const char *tp_place_table_get(const struct tp_place_table *t, uint32_t number)
{
    assert(number < t->texts.count);
    return tp_texts_get(&t->texts, number);
}

/* ---- items ---- */

int tp_place_table_set(struct tp_place_table *t, uint64_t event, uint32_t number,
                       struct tp_err *err)
{
    const struct tp_place_item item = {.event = event, .text = number};
    return number == TP_NO_PLACE ? TP_OK : tp_spill_add(&t->items, &item, err);
}

uint64_t tp_place_table_count(const struct tp_place_table *t)
{
    return tp_spill_count(&t->items);
}

int tp_place_cursor_look(struct tp_place_cursor *c, uint64_t event,
                         const struct tp_place_item **out, struct tp_err *err)
{
    int rc = TP_OK;
    if (c->table && !c->items.list) {
        c->items.list = &c->table->items;
        c->items.end = tp_place_table_count(c->table);
    }
    while (c->table && rc == TP_OK && (!c->item || c->item->event < event)) {
        c->item = tp_spill_next(&c->items, &rc, err);
        if (!c->item)
            break;
    }
    *out = c->item;
    return rc;
}

/* ---- asking for a few ---- */

/* The index of the first item that is not before `event`. */
static int search(const struct tp_place_table *t, uint64_t event, uint64_t *at, struct tp_err *err)
{
    uint64_t low = 0, high = tp_place_table_count(t);
    while (low < high) {
        struct tp_place_item item;
        uint64_t middle = low + (high - low) / 2;
        int rc = tp_spill_read(&t->items, middle, 1, &item, err);
        if (rc != TP_OK)
            return rc;
        if (item.event < event)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return TP_OK;
}

static int find(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                struct tp_err *err)
{
    const struct tp_place_table *t = ctx;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < count; i++) {
        struct tp_place_item item = {0};
        uint64_t at = 0;
        out[i][0] = '\0';
        rc = search(t, events[i], &at, err);
        if (rc == TP_OK && at < tp_place_table_count(t))
            rc = tp_spill_read(&t->items, at, 1, &item, err);
        if (rc == TP_OK && item.event == events[i] && events[i] > 0)
            memcpy(out[i], tp_place_table_get(t, item.text),
                   strlen(tp_place_table_get(t, item.text)) + 1);
    }
    return rc;
}

static void release(void *ctx)
{
    tp_place_table_free(ctx);
}

int tp_place_table_of(struct tp_places *places, struct tp_place_table **out, struct tp_err *err)
{
    assert(!places->find || places->find == find);
    *out = places->ctx;
    int rc = places->find ? TP_OK : tp_place_table_new(out, err);
    if (rc == TP_OK)
        *places = (struct tp_places){.find = find, .release = release, .ctx = *out};
    return rc;
}

int tp_places_add(struct tp_places *places, uint64_t event, const char *text, size_t bytes,
                  struct tp_err *err)
{
    struct tp_place_table *t = NULL;
    uint32_t number = TP_NO_PLACE;
    int rc = tp_place_table_of(places, &t, err);
    if (rc == TP_OK)
        rc = tp_place_table_text(t, text, bytes, &number, err);
    return rc == TP_OK ? tp_place_table_set(t, event, number, err) : rc;
}

int tp_places_find(const struct tp_places *places, const uint64_t *events, size_t count,
                   char (*out)[TP_PLACE_TEXT], struct tp_err *err)
{
    uint64_t moved[TP_PLACES_AT_ONCE];
    assert(count <= TP_PLACES_AT_ONCE);
    for (size_t i = 0; i < count; i++) {
        moved[i] = events[i] + places->before;
        out[i][0] = '\0';
    }
    return places->find ? places->find(places->ctx, moved, count, out, err) : TP_OK;
}

/* ---- asking for all ---- */

static int gather(struct tp_place_table *t, const struct tp_places *places, uint64_t first,
                  size_t count, char (*texts)[TP_PLACE_TEXT], struct tp_err *err)
{
    uint64_t events[TP_PLACES_AT_ONCE] = {0};
    for (size_t i = 0; i < count; i++)
        events[i] = first + i;
    int rc = tp_places_find(places, events, count, texts, err);
    for (size_t i = 0; rc == TP_OK && i < count; i++) {
        uint32_t number = TP_NO_PLACE;
        rc = tp_place_table_text(t, texts[i], strlen(texts[i]), &number, err);
        if (rc == TP_OK)
            rc = tp_place_table_set(t, events[i], number, err);
    }
    return rc;
}

int tp_place_table_gather(const struct tp_places *places, uint64_t events,
                          int (*stop)(struct tp_err *err), struct tp_place_table **out,
                          struct tp_err *err)
{
    int rc = tp_place_table_new(out, err);
    char(*texts)[TP_PLACE_TEXT] = places->find ? calloc(TP_PLACES_AT_ONCE, sizeof *texts) : NULL;
    if (rc == TP_OK && places->find && !texts)
        rc = no_memory(err);
    for (uint64_t first = 1; rc == TP_OK && texts && first <= events; first += TP_PLACES_AT_ONCE) {
        uint64_t left = events - first + 1;
        rc = gather(*out, places, first,
                    left < TP_PLACES_AT_ONCE ? (size_t)left : TP_PLACES_AT_ONCE, texts, err);
        if (rc == TP_OK)
            rc = stop(err);
    }
    free(texts);
    if (rc == TP_OK)
        return rc;
    tp_place_table_free(*out);
    *out = NULL;
    return rc;
}
