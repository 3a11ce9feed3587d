/* See places_json.h. How many fit is found by halves. */
#include "cmd/page/places_json.h"

#include "alloc/base/ascending.h"
#include "alloc/base/grow.h"
#include "alloc/heapmap/frame_rows.h"

#include <stdlib.h>
#include <string.h>

/* Bytes: of a byte of a text that has to be escaped, at most, and of what stands around a text and
 * around the table. */
enum { ESCAPED = 6, AROUND = 3, HEAD = 48 };

struct tp_chosen_place {
    uint32_t text;   /* number in the table */
    uint64_t events; /* that it is the place of */
};

/* ---- events ---- */

int tp_placed_add(struct tp_placed_list *l, struct tp_placed item, struct tp_err *err)
{
    int rc = TP_GROW(&l->items, &l->room, l->count + 1, err, .what = "events with places");
    if (rc == TP_OK)
        l->items[l->count++] = item;
    return rc;
}

void tp_placed_drop(struct tp_placed_list *l)
{
    free(l->items);
    *l = (struct tp_placed_list){0};
}

static int by_event_and_rank(const void *a, const void *b)
{
    const struct tp_placed *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return tp_order(x->rank, y->rank);
}

void tp_placed_sort(struct tp_placed_list *l)
{
    size_t count = 0;
    if (l->count)
        qsort(l->items, l->count, sizeof *l->items, by_event_and_rank);
    for (size_t i = 0; i < l->count; i++)
        if (!count || l->items[count - 1].event != l->items[i].event)
            l->items[count++] = l->items[i];
    l->count = count;
}

/* ---- texts ---- */

int tp_place_names_open(struct tp_place_names *n, const struct tp_place_table *table)
{
    *n = (struct tp_place_names){.table = table, .texts = table ? tp_place_table_texts(table) : 0};
    n->chosen = malloc((n->texts + 1) * sizeof *n->chosen);
    n->numbers = malloc((n->texts + 1) * sizeof *n->numbers);
    return n->chosen && n->numbers ? TP_OK : TP_ENOMEM;
}

void tp_place_names_close(struct tp_place_names *n)
{
    free(n->chosen);
    free(n->numbers);
}

static bool is_written(const struct tp_placed *p, uint64_t most)
{
    return p->text != TP_NO_PLACE && p->rank <= most;
}

static int more_events(const void *a, const void *b)
{
    const struct tp_chosen_place *x = a, *y = b;
    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    return tp_order(x->text, y->text);
}

static void choose(struct tp_place_names *n, const struct tp_placed_list *l, uint64_t most)
{
    for (size_t i = 0; i < n->texts; i++) {
        n->chosen[i] = (struct tp_chosen_place){.text = (uint32_t)i};
        n->numbers[i] = 0;
    }
    for (size_t i = 0; i < l->count; i++)
        if (is_written(&l->items[i], most))
            n->chosen[l->items[i].text].events++;
    if (n->texts)
        qsort(n->chosen, n->texts, sizeof *n->chosen, more_events);
    n->count = 0;
    while (n->count < n->texts && n->count < TP_PLACES_NAMED && n->chosen[n->count].events) {
        uint32_t text = n->chosen[n->count++].text;
        n->numbers[text] = (uint32_t)n->count;
    }
}

/* Writes the events, each in at most twice TP_FRAME_NUMBER_MOST bytes; returns the length. NULL:
 * only that is wanted. */
static size_t write_events(const struct tp_place_names *n, const struct tp_placed_list *l,
                           uint64_t most, uint8_t *out)
{
    uint8_t pair[2 * TP_FRAME_NUMBER_MOST];
    uint64_t last = 0;
    size_t length = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct tp_placed *p = &l->items[i];
        if (!is_written(p, most))
            continue;
        uint32_t number = n->numbers[p->text];
        uint8_t *end = tp_frame_number(pair, p->event - last);
        end = tp_frame_number(end, 2 * (number ? number - 1 : (uint64_t)n->count) + p->freed);
        if (out)
            memcpy(out + length, pair, (size_t)(end - pair));
        length += (size_t)(end - pair);
        last = p->event;
    }
    return length;
}

/* In a page, where '<' is escaped too. */
static size_t text_size(const char *text)
{
    size_t size = AROUND;
    for (; *text; text++)
        size += (unsigned char)*text < ' ' || strchr("\"\\<", *text) ? ESCAPED : 1;
    return size;
}

size_t tp_place_names_size(struct tp_place_names *n, const struct tp_placed_list *l, uint64_t most)
{
    size_t size = HEAD;
    choose(n, l, most);
    for (size_t i = 0; i < n->count; i++)
        size += text_size(tp_place_table_get(n->table, n->chosen[i].text));
    return size + tp_base64_length(write_events(n, l, most, NULL));
}

/* ---- the table ---- */

static uint64_t most_that_fit(struct tp_place_names *n, const struct tp_placed_list *l, size_t more)
{
    size_t room = tp_place_names_size(n, l, 0) + more;
    uint64_t fits = 0, too_many = 1;
    for (size_t i = 0; i < l->count; i++)
        too_many = l->items[i].rank < too_many ? too_many : l->items[i].rank + 1;
    while (too_many - fits > 1) {
        uint64_t middle = fits + (too_many - fits) / 2;
        if (tp_place_names_size(n, l, middle) <= room)
            fits = middle;
        else
            too_many = middle;
    }
    return fits;
}

static void write_table(const struct tp_place_names *n, struct tp_json *j, cJSON *in,
                        const struct tp_placed_list *l, uint64_t most)
{
    cJSON *o = tp_json_object(j, in, "places"), *texts = tp_json_array(j, o, "texts");
    uint8_t *bytes = malloc(write_events(n, l, most, NULL) + 1);
    j->failed |= !bytes;
    for (size_t i = 0; i < n->count; i++)
        tp_json_push(j, texts, cJSON_CreateString(tp_place_table_get(n->table, n->chosen[i].text)));
    if (bytes)
        tp_json_base64(j, o, "events", bytes, write_events(n, l, most, bytes));
    free(bytes);
}

int tp_json_places(struct tp_json *j, cJSON *in, const struct tp_place_table *table,
                   const struct tp_placed_list *l, size_t more)
{
    struct tp_place_names n;
    int rc = tp_place_names_open(&n, table);
    if (rc == TP_OK) {
        uint64_t most = most_that_fit(&n, l, more);
        choose(&n, l, most);
        if (n.count)
            write_table(&n, j, in, l, most);
    }
    tp_place_names_close(&n);
    j->failed |= rc != TP_OK;
    return j->failed ? TP_ENOMEM : TP_OK;
}
