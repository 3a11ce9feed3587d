/* See holders.h. One pass over the program up to its peak, then the places of what is live. */
#include "traces/holders.h"

#include "traces/lower/place_table.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSES = 65 };

/* The object of a slot, or one that is live at the peak. */
struct held_block {
    uint64_t size; /* 0: the slot has none */
    uint64_t event;
};

struct holding {
    const struct tp_trace *trace;
    uint16_t device;
    struct held_block *blocks; /* by slot; then what is live, by event */
    size_t count;
    double live[CLASSES], placed[CLASSES]; /* bytes of a class: all, and those with a place */
    double *by_text, *by_stack;            /* estimated bytes */
    uint64_t *blocks_of;                   /* by text */
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the holders of the peak");
}

/* ---- what is live ---- */

static void play(struct holding *h, const struct tp_insn *in, uint64_t event)
{
    if (in->device == h->device && (tp_op_is(in->op, TP_IS_NEW) || in->op == TP_REALLOC))
        h->blocks[in->slot] = (struct held_block){in->size, event};
    else if (in->device == h->device && in->op == TP_FREE)
        h->blocks[in->slot].size = 0;
    else if (in->op == TP_RESET && (in->device == h->device || in->device == TP_ALL_DEVICES))
        memset(h->blocks, 0, h->count * sizeof *h->blocks);
}

static int play_to_peak(struct holding *h, struct tp_err *err)
{
    const struct tp_demand *peak = tp_program_demand(h->trace->program, h->device);
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    uint64_t insn = 0;
    int got = 0, rc = tp_cursor_open(h->trace->program, &cursor, err);
    while (!rc && insn <= peak->insn && (got = tp_cursor_next(cursor, &w, err)) == 1) {
        for (uint32_t i = 0; i < w.count && (w.prologue || insn <= peak->insn); i++) {
            play(h, &w.insns[i], w.prologue ? 0 : tp_window_event(&w, i));
            insn += !w.prologue;
        }
    }
    tp_cursor_close(cursor);
    return rc ? rc : got < 0 ? -got : TP_OK;
}

static int by_event(const void *a, const void *b)
{
    const struct held_block *x = a, *y = b;
    return x->event < y->event ? -1 : x->event > y->event;
}

static unsigned class_of(uint64_t size)
{
    return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* Leaves what is live, by event; *first is the first that has one. */
static void keep_live(struct holding *h, struct tp_holders *out, size_t *first)
{
    size_t live = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (!h->blocks[i].size)
            continue;
        out->bytes += h->blocks[i].size;
        h->blocks[live++] = h->blocks[i];
    }
    h->count = live;
    qsort(h->blocks, live, sizeof *h->blocks, by_event);
    for (*first = 0; *first < live && !h->blocks[*first].event;)
        ++*first;
}

static int gather(struct holding *h, size_t first, int (*stop)(struct tp_err *err),
                  struct tp_holders *out, struct tp_err *err)
{
    size_t count = h->count - first;
    uint64_t *events = calloc(count + 1, sizeof *events);
    if (!events)
        return no_memory(err);
    for (size_t i = 0; i < count; i++)
        events[i] = h->blocks[first + i].event;
    int rc = tp_place_table_gather(&h->trace->places, events, count, stop, &out->table, err);
    free(events);
    if (!rc)
        out->sampling = tp_place_table_sampling(out->table);
    return rc;
}

/* ---- who holds it ---- */

/* Whether a block has its place by chance, or would have: it stands for others of its size. */
static bool is_sampled(const struct tp_holders *out, uint64_t size)
{
    return out->sampling.every > 1 && size < out->sampling.size;
}

/* Visits each block that has a place, with it. */
typedef void take_block(struct holding *h, struct tp_holders *out, const struct held_block *b,
                        const struct tp_place_item *item);

static int each_placed(struct holding *h, struct tp_holders *out, size_t first, take_block *take,
                       struct tp_err *err)
{
    struct tp_place_cursor cursor = {.table = out->table};
    const struct tp_place_item *item = NULL;
    int rc = TP_OK;
    for (size_t i = first; rc == TP_OK && i < h->count; i++) {
        rc = tp_place_cursor_look(&cursor, h->blocks[i].event, &item, err);
        if (rc == TP_OK && !item)
            break;
        if (rc == TP_OK && item->event == h->blocks[i].event)
            take(h, out, &h->blocks[i], item);
    }
    return rc;
}

static void count_placed(struct holding *h, struct tp_holders *out, const struct held_block *b,
                         const struct tp_place_item *item)
{
    (void)item;
    if (!is_sampled(out, b->size))
        return;
    h->placed[class_of(b->size)] += (double)b->size;
    out->estimated = true;
}

static void add_bytes(struct holding *h, struct tp_holders *out, const struct held_block *b,
                      const struct tp_place_item *item)
{
    unsigned class = class_of(b->size);
    double stands_for = is_sampled(out, b->size) ? h->live[class] / h->placed[class] : 1;
    double bytes = (double)b->size * stands_for;
    h->by_text[item->text] += bytes;
    h->blocks_of[item->text]++;
    if (item->stack)
        h->by_stack[item->stack - 1] += bytes;
    out->unknown -= bytes;
}

/* The callers that most bytes come from, the largest first. */
static void keep_largest(const struct tp_holders *out, const double *by_caller,
                         struct tp_holder *row)
{
    uint32_t texts = tp_place_table_texts(out->table);
    struct tp_holder_caller *list = row->largest;
    for (uint32_t t = 0; t < texts; t++) {
        unsigned at = row->largest_count;
        if (!(by_caller[t] > 0))
            continue;
        for (; at && list[at - 1].bytes < by_caller[t]; at--)
            if (at < TP_HOLDER_LARGEST)
                list[at] = list[at - 1];
        if (at < TP_HOLDER_LARGEST)
            list[at] = (struct tp_holder_caller){tp_place_table_get(out->table, t), by_caller[t]};
        row->largest_count += row->largest_count < TP_HOLDER_LARGEST;
    }
}

/* The caller of most of what the stacks with h->by_stack > 0 and `*of` at this depth hold; `*of`
 * becomes its stack's text. Each stack is followed outwards by one place at a time. */
static void find_callers(const struct holding *h, const struct tp_holders *out, uint32_t text,
                         struct tp_holder *row, double *by_caller, uint32_t *at)
{
    uint32_t stacks = tp_place_table_stacks(out->table);
    uint32_t texts = tp_place_table_texts(out->table);
    for (uint32_t s = 0; s < stacks; s++)
        at[s] = h->by_stack[s] > 0 && tp_place_table_stack(out->table, s)->text == text ? s + 1 : 0;
    for (unsigned depth = 0; depth < TP_HOLDER_CALLERS; depth++) {
        uint32_t most = 0;
        memset(by_caller, 0, texts * sizeof *by_caller);
        for (uint32_t s = 0; s < stacks; s++) {
            at[s] = at[s] ? tp_place_table_stack(out->table, at[s] - 1)->caller : 0;
            if (at[s])
                by_caller[tp_place_table_stack(out->table, at[s] - 1)->text] += h->by_stack[s];
        }
        if (!depth)
            keep_largest(out, by_caller, row);
        for (uint32_t t = 0; t < texts; t++)
            most = by_caller[t] > by_caller[most] ? t : most;
        if (!(by_caller[most] > row->bytes / 2))
            break;
        row->callers[row->caller_count++] =
            (struct tp_holder_caller){tp_place_table_get(out->table, most), by_caller[most]};
        for (uint32_t s = 0; s < stacks; s++)
            if (at[s] && tp_place_table_stack(out->table, at[s] - 1)->text != most)
                at[s] = 0;
    }
}

/* A text and what it holds. */
struct held_text {
    double bytes;
    uint32_t text;
};

static int by_bytes(const void *a, const void *b)
{
    const struct held_text *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text;
}

static int make_rows(const struct holding *h, struct tp_holders *out, struct tp_err *err)
{
    uint32_t texts = tp_place_table_texts(out->table);
    struct held_text *list = calloc(texts + 1u, sizeof *list);
    double *by_caller = calloc(texts + 1u, sizeof *by_caller);
    uint32_t *at = calloc(tp_place_table_stacks(out->table) + 1u, sizeof *at);
    int rc = list && by_caller && at ? TP_OK : no_memory(err);
    for (uint32_t t = 0; rc == TP_OK && t < texts; t++)
        if (h->by_text[t] > 0)
            list[out->places++] = (struct held_text){h->by_text[t], t};
    if (rc == TP_OK)
        qsort(list, out->places, sizeof *list, by_bytes);
    for (uint32_t i = 0; rc == TP_OK && i < out->places && i < TP_HOLDERS_MOST; i++) {
        struct tp_holder *row = &out->rows[out->count++];
        *row = (struct tp_holder){.place = tp_place_table_get(out->table, list[i].text),
                                  .bytes = list[i].bytes,
                                  .blocks = h->blocks_of[list[i].text]};
        find_callers(h, out, list[i].text, row, by_caller, at);
    }
    free(list);
    free(by_caller);
    free(at);
    return rc;
}

static int share_out(struct holding *h, size_t first, struct tp_holders *out, struct tp_err *err)
{
    h->by_text = calloc(tp_place_table_texts(out->table) + 1u, sizeof *h->by_text);
    h->by_stack = calloc(tp_place_table_stacks(out->table) + 1u, sizeof *h->by_stack);
    h->blocks_of = calloc(tp_place_table_texts(out->table) + 1u, sizeof *h->blocks_of);
    int rc = h->by_text && h->by_stack && h->blocks_of ? TP_OK : no_memory(err);
    out->unknown = (double)out->bytes;
    for (size_t i = first; i < h->count; i++)
        if (is_sampled(out, h->blocks[i].size))
            h->live[class_of(h->blocks[i].size)] += (double)h->blocks[i].size;
    if (rc == TP_OK)
        rc = each_placed(h, out, first, count_placed, err);
    if (rc == TP_OK)
        rc = each_placed(h, out, first, add_bytes, err);
    if (rc == TP_OK)
        rc = make_rows(h, out, err);
    free(h->by_text);
    free(h->by_stack);
    free(h->blocks_of);
    return rc;
}

int tp_holders_find(const struct tp_trace *t, uint16_t device, int (*stop)(struct tp_err *err),
                    struct tp_holders **out, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    struct holding h = {.trace = t, .device = device, .count = f->slots};
    size_t first = 0;
    *out = NULL;
    if (!t->places.find || !tp_program_demand(t->program, device)->event)
        return TP_OK;
    struct tp_holders *found = calloc(1, sizeof *found);
    h.blocks = calloc(h.count + 1, sizeof *h.blocks);
    int rc = found && h.blocks ? play_to_peak(&h, err) : no_memory(err);
    if (rc == TP_OK) {
        keep_live(&h, found, &first);
        rc = gather(&h, first, stop, found, err);
    }
    if (rc == TP_OK)
        rc = share_out(&h, first, found, err);
    free(h.blocks);
    if (rc == TP_OK && found->count)
        *out = found;
    else
        tp_holders_free(found);
    return rc;
}

void tp_holders_free(struct tp_holders *h)
{
    if (!h)
        return;
    tp_place_table_free(h->table);
    free(h);
}
