/* See texts.h. The table is made at the first search, so that a set that is never searched has
 * none. */
#include "alloc/base/texts.h"

#include "alloc/base/steps.h"

#include <string.h>
#include <sys/random.h>

#define FIRST_PLACES ((size_t)64)

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static size_t home(const struct tp_texts *t, const char *text, size_t size)
{
    uint64_t h = t->seed ^ size, part = 0;
    for (; size >= sizeof part; size -= sizeof part, text += sizeof part) {
        memcpy(&part, text, sizeof part);
        h = mix(h ^ part) + t->seed;
    }
    part = 0;
    memcpy(&part, text, size);
    return (size_t)mix(mix(h ^ part)) & (t->places - 1);
}

/* The place of a text in the table, or the empty place where it belongs. */
static size_t place_of(const struct tp_texts *t, const char *text, size_t size)
{
    size_t at = home(t, text, size);
    for (; t->table[at]; at = (at + 1) & (t->places - 1)) {
        const char *there = tp_texts_get(t, t->table[at] - 1);
        TP_STEP();
        if (strncmp(there, text, size) == 0 && there[size] == '\0')
            break;
    }
    return at;
}

/* Makes room in the table for one more text. A larger table is filled again from the start. */
static int reach(struct tp_texts *t, struct tp_err *err)
{
    uint32_t *table = NULL;
    size_t room = 0, places = t->places ? 2 * t->places : FIRST_PLACES;
    if (t->places && t->count < t->places / 2)
        return TP_OK;
    while (places / 2 <= t->count)
        places *= 2;
    struct tp_growth exactly = t->how;
    exactly.limited = true;
    exactly.most = places;
    int rc = tp_grow(&table, &room, places, sizeof *table, &exactly, err);
    if (rc != TP_OK)
        return rc;
    memset(table, 0, places * sizeof *table);
    if (!t->table && getrandom(&t->seed, sizeof t->seed, GRND_NONBLOCK) < 0)
        t->seed = 0;
    tp_grow_end(&t->table, &t->places, sizeof *table, &t->how);
    t->table = table;
    t->places = places;
    for (size_t i = 0; i < t->count; i++) {
        const char *text = tp_texts_get(t, (uint32_t)i);
        size_t at = place_of(t, text, strlen(text));
        table[at] = table[at] ? table[at] : (uint32_t)i + 1;
    }
    return TP_OK;
}

void tp_texts_release(struct tp_texts *t)
{
    tp_grow_end(&t->text, &t->room, 1, &t->how);
    tp_grow_end(&t->at, &t->at_room, sizeof *t->at, &t->how);
    tp_grow_end(&t->table, &t->places, sizeof *t->table, &t->how);
    t->used = t->count = 0;
}

uint32_t tp_texts_find(struct tp_texts *t, const char *text, size_t size)
{
    if (!t->table && (t->count == 0 || reach(t, NULL) != TP_OK))
        return TP_NO_TEXT;
    return t->table[place_of(t, text, size)] - 1;
}

int tp_texts_add(struct tp_texts *t, const char *text, size_t size, struct tp_err *err)
{
    struct tp_growth bytes = t->how;
    bytes.limited = true;
    bytes.most = UINT32_MAX; /* the largest offset that fits into `at` */
    int rc = t->table ? reach(t, err) : TP_OK;
    if (rc == TP_OK)
        rc = tp_grow(&t->at, &t->at_room, t->count + 1, sizeof *t->at, &t->how, err);
    if (rc == TP_OK)
        rc = tp_grow(&t->text, &t->room, t->used + size + 1, 1, &bytes, err);
    if (rc != TP_OK)
        return rc;
    if (t->table) {
        uint32_t *place = &t->table[place_of(t, text, size)];
        *place = *place ? *place : (uint32_t)t->count + 1;
    }
    memcpy(t->text + t->used, text, size);
    t->text[t->used + size] = '\0';
    t->at[t->count++] = (uint32_t)t->used;
    t->used += size + 1;
    return TP_OK;
}

int tp_texts_need(struct tp_texts *t, const char *text, size_t size, uint32_t *number,
                  struct tp_err *err)
{
    int rc = reach(t, err);
    *number = rc == TP_OK ? tp_texts_find(t, text, size) : TP_NO_TEXT;
    if (rc != TP_OK || *number != TP_NO_TEXT)
        return rc;
    rc = tp_texts_add(t, text, size, err);
    *number = rc == TP_OK ? (uint32_t)t->count - 1 : TP_NO_TEXT;
    return rc;
}
