/* See place_table.h.
 *
 *     events  3 4 5 9     texts  0 "train.py:7 step"  1 "model.py:31 forward"
 *     numbers 0 0 1 0
 *
 * Items take 16 bytes per event; they are in memory up to a limit, then in an unlinked file. */
#include "traces/places/place_table.h"

#include "alloc/base/clean.h"
#include "alloc/base/id_map.h"
#include "alloc/base/texts.h"

#include <stdlib.h>
#include <string.h>

#define IN_MEMORY ((size_t)4 << 20) /* bytes of items */

struct tp_place_table {
    struct tp_texts texts;
    struct tp_spill items;
    struct tp_place_stack *stacks;
    uint32_t stack_count;
    size_t stack_room;
    struct tp_id_map calls; /* text and caller -> number of the stack */
    struct tp_place_sampling sampling;
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
    tp_id_map_release(&t->calls);
    free(t->stacks);
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

uint32_t tp_place_table_texts(const struct tp_place_table *t)
{
    return (uint32_t)t->texts.count;
}

/* ---- stacks ---- */

int tp_place_table_call(struct tp_place_table *t, uint32_t text, uint32_t caller, uint32_t *stack,
                        struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    const int64_t key = (int64_t)((uint64_t)text << 32 | caller);
    assert(text < t->texts.count && caller <= t->stack_count);
    uint32_t depth = caller ? t->stacks[caller - 1].depth + 1 : 1;
    *stack = caller;
    entry = tp_id_map_find(&t->calls, key);
    if (!entry && (t->stack_count == TP_PLACE_STACKS_MAX || depth > TP_PLACE_DEPTH_MAX))
        return TP_OK;
    int rc = entry ? TP_OK
                   : TP_GROW(&t->stacks, &t->stack_room, t->stack_count + 1u, err,
                             .what = "call stacks");
    if (!rc && !entry)
        rc = tp_id_map_put(&t->calls, key, t->stack_count, err);
    if (rc)
        return rc;
    if (!entry)
        t->stacks[t->stack_count++] = (struct tp_place_stack){text, caller, depth};
    *stack = (entry ? entry->index : t->stack_count - 1) + 1;
    return TP_OK;
}

uint32_t tp_place_table_stacks(const struct tp_place_table *t)
{
    return t->stack_count;
}

const struct tp_place_stack *tp_place_table_stack(const struct tp_place_table *t, uint32_t number)
{
    assert(number < t->stack_count);
    return &t->stacks[number];
}

struct tp_place_sampling tp_place_table_sampling(const struct tp_place_table *t)
{
    return t->sampling;
}

void tp_place_table_sample(struct tp_place_table *t, struct tp_place_sampling sampling)
{
    t->sampling = sampling;
}

/* ---- items ---- */

int tp_place_table_set_stack(struct tp_place_table *t, uint64_t event, uint32_t stack,
                             struct tp_err *err)
{
    if (!stack)
        return TP_OK;
    const struct tp_place_item item = {
        .event = event, .text = tp_place_table_stack(t, stack - 1)->text, .stack = stack};
    return tp_spill_add(&t->items, &item, err);
}

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

int tp_place_table_find(const struct tp_place_table *t, uint64_t event, struct tp_place_item *out,
                        struct tp_err *err)
{
    uint64_t at = 0;
    int rc = search(t, event, &at, err);
    *out = (struct tp_place_item){.event = event, .text = TP_NO_PLACE};
    if (rc != TP_OK || at == tp_place_table_count(t))
        return rc;
    struct tp_place_item item;
    rc = tp_spill_read(&t->items, at, 1, &item, err);
    if (rc == TP_OK && item.event == event)
        *out = item;
    return rc;
}

static int find(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                struct tp_err *err)
{
    const struct tp_place_table *t = ctx;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < count; i++) {
        struct tp_place_item item;
        out[i][0] = '\0';
        rc = tp_place_table_find(t, events[i], &item, err);
        if (rc == TP_OK && item.text != TP_NO_PLACE && events[i] > 0)
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

const struct tp_place_table *tp_places_table(const struct tp_places *places)
{
    return places->find == find ? places->ctx : NULL;
}

bool tp_places_have_callers(const struct tp_places *places)
{
    const struct tp_place_table *t = tp_places_table(places);
    for (uint32_t i = 0; t && i < t->stack_count; i++)
        if (t->stacks[i].caller)
            return true;
    return false;
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
        moved[i] = events[i] < TP_PLACE_INITIAL ? events[i] + places->before : events[i];
        out[i][0] = '\0';
    }
    return places->find ? places->find(places->ctx, moved, count, out, err) : TP_OK;
}

/* ---- asking for many ---- */

/* What goes from one place to a new table. */
struct gathering {
    struct tp_place_table *to;
    const struct tp_places *places;
    const uint64_t *events; /* NULL: 1 to `count` */
    uint64_t count;
    int (*stop)(struct tp_err *err);
    bool deep;                /* with stacks that are read from the file */
    uint32_t *texts, *stacks; /* numbers + 1 in `to` of those of the table behind `places` */
};

static uint64_t nth_event(const struct gathering *g, uint64_t i)
{
    return g->events ? g->events[i] : i + 1;
}

static int gather_found(const struct gathering *g, uint64_t at, size_t count,
                        char (*texts)[TP_PLACE_TEXT], struct tp_err *err)
{
    uint64_t events[TP_PLACES_AT_ONCE] = {0};
    for (size_t i = 0; i < count; i++)
        events[i] = nth_event(g, at + i);
    if (g->deep && g->places->find_stacks && !g->places->before)
        return g->places->find_stacks(g->places->ctx, events, count, g->to, err);
    int rc = tp_places_find(g->places, events, count, texts, err);
    for (size_t i = 0; rc == TP_OK && i < count; i++) {
        uint32_t number = TP_NO_PLACE;
        rc = tp_place_table_text(g->to, texts[i], strlen(texts[i]), &number, err);
        if (rc == TP_OK)
            rc = tp_place_table_set(g->to, events[i], number, err);
    }
    return rc;
}

static int gather_by_finding(const struct gathering *g, struct tp_err *err)
{
    char(*texts)[TP_PLACE_TEXT] = calloc(TP_PLACES_AT_ONCE, sizeof *texts);
    int rc = texts ? TP_OK : no_memory(err);
    for (uint64_t at = 0; rc == TP_OK && at < g->count; at += TP_PLACES_AT_ONCE) {
        uint64_t left = g->count - at;
        rc = gather_found(g, at, left < TP_PLACES_AT_ONCE ? (size_t)left : TP_PLACES_AT_ONCE, texts,
                          err);
        if (rc == TP_OK)
            rc = g->stop(err);
    }
    free(texts);
    return rc;
}

/* Texts get their numbers in the order of their first use: what is not used is left behind. */
static int take_text(const struct gathering *g, const struct tp_place_table *from, uint32_t text,
                     uint32_t *number, struct tp_err *err)
{
    const char *s = tp_place_table_get(from, text);
    int rc = g->texts[text] ? TP_OK : tp_place_table_text(g->to, s, strlen(s), number, err);
    if (rc == TP_OK && !g->texts[text])
        g->texts[text] = *number + 1;
    *number = g->texts[text] - 1;
    return rc;
}

/* The stack with all that it was called from, the outermost first. */
static int take_stack(const struct gathering *g, const struct tp_place_table *from, uint32_t stack,
                      uint32_t *out, struct tp_err *err)
{
    uint32_t outer = 0, text = TP_NO_PLACE;
    int rc = TP_OK;
    for (*out = 0; rc == TP_OK && stack && !g->stacks[stack - 1]; outer = 0) {
        uint32_t at = stack;
        while (from->stacks[at - 1].caller && !g->stacks[from->stacks[at - 1].caller - 1])
            at = from->stacks[at - 1].caller;
        outer = from->stacks[at - 1].caller ? g->stacks[from->stacks[at - 1].caller - 1] : 0;
        rc = take_text(g, from, from->stacks[at - 1].text, &text, err);
        if (rc == TP_OK)
            rc = tp_place_table_call(g->to, text, outer, &g->stacks[at - 1], err);
    }
    *out = rc == TP_OK && stack ? g->stacks[stack - 1] : 0;
    return rc;
}

static int take_item(const struct gathering *g, const struct tp_place_table *from,
                     const struct tp_place_item *item, uint64_t event, struct tp_err *err)
{
    uint32_t text = TP_NO_PLACE, stack = 0;
    int rc = take_text(g, from, item->text, &text, err);
    if (rc == TP_OK)
        rc = take_stack(g, from, item->stack, &stack, err);
    if (rc != TP_OK)
        return rc;
    return stack ? tp_place_table_set_stack(g->to, event, stack, err)
                 : tp_place_table_set(g->to, event, text, err);
}

static int copy_items(const struct gathering *g, const struct tp_place_table *from,
                      struct tp_err *err)
{
    struct tp_place_cursor cursor = {.table = from};
    const struct tp_place_item *item = NULL;
    int rc = TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < g->count; i++) {
        uint64_t event = nth_event(g, i);
        rc = tp_place_cursor_look(&cursor, event + g->places->before, &item, err);
        if (rc == TP_OK && !item)
            break;
        if (rc == TP_OK && item->event == event + g->places->before)
            rc = take_item(g, from, item, event, err);
        if (rc == TP_OK && i % TP_PLACES_AT_ONCE == 0)
            rc = g->stop(err);
    }
    return rc;
}

/* From a table to another, with its stacks. */
static int gather_from(struct gathering *g, const struct tp_place_table *from, struct tp_err *err)
{
    g->texts = calloc(from->texts.count + 1, sizeof *g->texts);
    g->stacks = calloc(from->stack_count + (size_t)1, sizeof *g->stacks);
    g->to->sampling = from->sampling;
    int rc = g->texts && g->stacks ? copy_items(g, from, err) : no_memory(err);
    free(g->texts);
    free(g->stacks);
    return rc;
}

static int gather(struct gathering *g, struct tp_place_table **out, struct tp_err *err)
{
    int rc = tp_place_table_new(&g->to, err);
    if (rc == TP_OK && g->places->find == find)
        rc = gather_from(g, g->places->ctx, err);
    else if (rc == TP_OK && g->places->find)
        rc = gather_by_finding(g, err);
    *out = g->to;
    if (rc == TP_OK)
        return rc;
    tp_place_table_free(*out);
    *out = NULL;
    return rc;
}

int tp_place_table_gather(const struct tp_places *places, const uint64_t *events, uint64_t count,
                          int (*stop)(struct tp_err *err), struct tp_place_table **out,
                          struct tp_err *err)
{
    struct gathering g = {.places = places, .events = events, .count = count, .stop = stop};
    return gather(&g, out, err);
}

int tp_place_table_gather_stacks(const struct tp_places *places, const uint64_t *events,
                                 uint64_t count, int (*stop)(struct tp_err *err),
                                 struct tp_place_table **out, struct tp_err *err)
{
    struct gathering g = {
        .places = places, .events = events, .count = count, .stop = stop, .deep = true};
    return gather(&g, out, err);
}
