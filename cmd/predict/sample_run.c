/* See sample_run.h. */
#include "cmd/predict/sample_run.h"

#include "traces/lower/unlower.h"
#include "traces/places/place_text.h"

#include "alloc/base/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the recordings");
}

/* ---- names ---- */

static int bad_value(const char *text, struct tp_err *err)
{
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE, "'%.63s' is not a value of a setting from 1 to %llu",
                           text, (unsigned long long)TP_LAW_N_MOST),
                   "tapool predict b2.pickle@batch=2 b4.pickle@batch=4 --at 32");
}

enum { NAME_LENGTH = 24 };
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

/* Adds "batch=2" or, as the only one, "2". */
static int add_name(const char *name, size_t length, size_t count, char *axes[TP_AXES],
                    struct tp_err *err)
{
    if (strspn(name, NAME_CHARACTERS) < length || length > NAME_LENGTH)
        return tp_fail(err, TP_EUSAGE,
                       "'%.63s': a name of a setting has up to %d letters, digits, _, - and .",
                       name, NAME_LENGTH);
    for (size_t i = 0; i < count; i++)
        if (strlen(axes[i]) == length && !strncmp(axes[i], name, length))
            return tp_fail(err, TP_EUSAGE, "the setting '%.63s' has two values", axes[i]);
    axes[count] = strndup(name, length);
    return axes[count] ? TP_OK : no_memory(err);
}

static int add_value(char *part, struct tp_axis_values *at, char *axes[TP_AXES], struct tp_err *err)
{
    char *equals = strchr(part, '='), *digits = equals ? equals + 1 : part;
    if (equals == part || !*digits || strlen(digits) > 9 ||
        strspn(digits, "0123456789") != strlen(digits))
        return bad_value(part, err);
    uint64_t n = strtoull(digits, NULL, 10);
    if (!n || n > TP_LAW_N_MOST)
        return bad_value(part, err);
    if (at->count == TP_AXES || (at->count && (!equals || !axes[0])))
        return tp_fail(err, TP_EUSAGE, "'%.63s': up to %d settings, each with a name", part,
                       TP_AXES);
    int rc = equals ? add_name(part, (size_t)(equals - part), at->count, axes, err) : TP_OK;
    if (rc == TP_OK)
        at->values[at->count++] = n;
    return rc;
}

int tp_axis_read(const char *text, struct tp_axis_values *at, char *axes[TP_AXES],
                 struct tp_err *err)
{
    char *copy = strdup(text), *rest = copy;
    if (copy && strchr(copy, ',') && !strchr(copy, '=')) { /* "1,024" */
        free(copy);
        return bad_value(text, err);
    }
    int rc = copy ? TP_OK : no_memory(err);
    *at = (struct tp_axis_values){.count = 0};
    for (char *part; rc == TP_OK && (part = strsep(&rest, ",")) != NULL;)
        rc = add_value(part, at, axes, err);
    free(copy);
    return rc;
}

struct tp_axis_words tp_axis_text(const struct tp_axis_values *at, char *const axes[TP_AXES])
{
    struct tp_axis_words all = {""};
    size_t used = 0;
    for (size_t i = 0; i < at->count; i++) {
        bool named = at->count > 1 && axes[i];
        int more = snprintf(all.s + used, sizeof all.s - used, "%s%.24s%s%s", i ? ", " : "",
                            named ? axes[i] : "", named ? " = " : "", tp_count(at->values[i]).s);
        used += more > 0 ? (size_t)more : 0;
    }
    return all;
}

int tp_sample_run_name(struct tp_sample_run *r, const char *word, struct tp_err *err)
{
    const char *at = strrchr(word, '@');
    if (!at || at == word)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "'%.200s' has no @VALUE: the value of the setting in the recording",
                               word),
                       "FILE@256, or FILE@batch=2 with a name");
    r->path = strndup(word, (size_t)(at - word));
    int rc = r->path ? tp_axis_read(at + 1, &r->at, r->axes, err) : no_memory(err);
    r->n = r->at.values[0];
    return rc;
}

/* ---- requests ---- */

static bool is_request(const struct tp_insn *in)
{
    return tp_op_is(in->op, TP_ASKS);
}

static int add_request(struct tp_sample_run *r, const struct tp_insn *in, uint64_t event,
                       struct tp_err *err)
{
    int rc = TP_GROW(&r->requests, &r->room, r->count + 1, err, .what = "requests");
    if (rc != TP_OK)
        return rc;
    r->requests[r->count++] = (struct tp_request){.key = (uint64_t)in->op << 32 | in->device,
                                                  .size = in->size,
                                                  .event = event,
                                                  .place = TP_NO_PLACE};
    r->initial += !event;
    r->bytes += event ? in->size : 0;
    return TP_OK;
}

static int list_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    const struct tp_sample_run *r = ctx;
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < w->count; i++) {
        if (!is_request(&w->insns[i]))
            continue;
        if (w->initial_heap && w->insns[i].slot != r->count)
            return tp_fail(err, TP_EBROKEN, "the initial heap is not in the order of its slots");
        rc = add_request(ctx, &w->insns[i], w->initial_heap ? 0 : tp_window_event(w, i), err);
    }
    return rc == TP_OK ? r->stop(err) : rc;
}

/* ---- call stacks ---- */

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2))) *
                 UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

static uint64_t hash_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

/* "train.py:88 step" without the number of the line. */
static uint64_t hash_function(const char *text)
{
    const char *colon = strchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    if (!digits)
        return hash_text(text);
    char head[TP_PLACE_TEXT] = "";
    snprintf(head, sizeof head, "%.*s%s", (int)(colon - text), text, colon + 1 + digits);
    return hash_text(head);
}

/* Keys of all stacks of the table, without lines: a caller stands before what it calls. */
static uint64_t *stack_keys(const struct tp_place_table *t)
{
    uint32_t count = tp_place_table_stacks(t);
    uint64_t *keys = calloc(count + UINT64_C(1), sizeof *keys);
    for (uint32_t i = 0; keys && i < count; i++) {
        const struct tp_place_stack *s = tp_place_table_stack(t, i);
        uint64_t own = hash_function(tp_place_table_get(t, s->text));
        keys[i] = mixed(own, s->caller ? keys[s->caller - 1] : 0);
    }
    return keys;
}

/* The place that asked counts with its line, those that called it by function alone: the script
 * that starts the program is often edited between two recordings. */
static uint64_t key_of(const struct tp_place_table *t, const struct tp_place_item *item,
                       uint32_t place, const uint64_t *keys)
{
    uint32_t caller = item->stack ? tp_place_table_stack(t, item->stack - 1)->caller : 0;
    return mixed(hash_text(tp_place_table_get(t, place)), caller ? keys[caller - 1] : 0);
}

/* *out becomes, by text of the table, the place of the code whatever the shapes of its tensors are:
 * the same where the text has none. The caller frees it. */
static int find_codes(struct tp_place_table *t, uint32_t **out, struct tp_err *err)
{
    const uint32_t count = tp_place_table_texts(t);
    uint32_t *codes = *out = calloc(count + UINT64_C(1), sizeof *codes);
    int rc = codes ? TP_OK : no_memory(err);
    for (uint32_t i = 0; rc == TP_OK && i < count; i++) {
        char text[TP_PLACE_TEXT] = "";
        struct tp_str s = TP_STR_IN(text);
        tp_place_without_shapes(tp_place_table_get(t, i), &s);
        rc = tp_place_table_text(t, text, strlen(text), &codes[i], err);
        if (rc == TP_OK && codes[i] == TP_NO_PLACE)
            codes[i] = i;
    }
    return rc;
}

static int find_stack(struct tp_sample_run *r, struct tp_request *q, uint64_t asked,
                      const uint64_t *keys, const uint32_t *codes, struct tp_err *err)
{
    struct tp_place_item item;
    int rc = tp_place_table_find(r->stacks, asked, &item, err);
    if (rc != TP_OK || item.text == TP_NO_PLACE)
        return rc;
    q->place = codes[item.text];
    q->key = mixed(q->key, key_of(r->stacks, &item, q->place, keys));
    r->placed = true;
    return TP_OK;
}

/* The number by which the place of a request is asked for; 0: it is not known. */
static uint64_t number_of(const struct tp_sample_run *r, size_t i, bool initial)
{
    if (r->requests[i].event)
        return r->requests[i].event;
    return initial ? TP_PLACE_INITIAL + i : 0;
}

/* These numbers, each once and in ascending order: those of the initial heap are the highest. */
static uint64_t *list_numbers(const struct tp_sample_run *r, bool initial, size_t *count)
{
    uint64_t *numbers = calloc(r->count + 1, sizeof *numbers);
    *count = 0;
    for (size_t i = 0; numbers && i < r->count; i++) {
        uint64_t number = number_of(r, (r->initial + i) % r->count, initial);
        if (number && (!*count || number > numbers[*count - 1]))
            numbers[(*count)++] = number;
    }
    return numbers;
}

static int find_stacks(struct tp_sample_run *r, struct tp_err *err)
{
    bool initial = r->initial && r->trace.places.initial == r->initial;
    size_t count = 0;
    uint64_t *numbers = list_numbers(r, initial, &count), *keys = NULL;
    uint32_t *codes = NULL;
    int rc = numbers ? tp_place_table_gather_stacks(&r->trace.places, numbers, count, r->stop,
                                                    &r->stacks, err)
                     : no_memory(err);
    if (rc == TP_OK && !(keys = stack_keys(r->stacks)))
        rc = no_memory(err);
    if (rc == TP_OK)
        rc = find_codes(r->stacks, &codes, err);
    for (size_t i = 0; rc == TP_OK && i < r->count; i++)
        if (number_of(r, i, initial))
            rc = find_stack(r, &r->requests[i], number_of(r, i, initial), keys, codes, err);
    free(numbers);
    free(keys);
    free(codes);
    return rc;
}

/* ---- the whole ---- */

int tp_sample_run_list(struct tp_sample_run *r, struct tp_err *err)
{
    if (tp_program_facts(r->trace.program)->devices > 1)
        return tp_hint(
            err,
            tp_fail(err, TP_EINPUT, "%s has several devices: predict takes one", r->trace.file),
            "--device 0");
    int rc = tp_program_walk(r->trace.program, list_window, r, err);
    if (rc == TP_OK && r->trace.places.find)
        rc = find_stacks(r, err);
    return rc;
}

/* ---- what is live ---- */

struct live_walk {
    const struct tp_live_replay *how;
    size_t *live;           /* by slot: request + 1; 0: none */
    uint32_t *list, *where; /* the live slots, and by slot where it is in that list */
    uint32_t count;
    size_t next; /* request */
    uint64_t insn;
};

static void end(struct live_walk *k, uint32_t slot)
{
    size_t request = k->live[slot];
    if (!request)
        return;
    uint32_t last = k->list[--k->count];
    k->list[k->where[slot]] = last;
    k->where[last] = k->where[slot];
    k->live[slot] = 0;
    k->how->change(k->how->ctx, request - 1, false);
}

static void begin(struct live_walk *k, uint32_t slot)
{
    k->where[slot] = k->count;
    k->list[k->count++] = slot;
    k->live[slot] = ++k->next;
    k->how->change(k->how->ctx, k->next - 1, true);
}

static void replay(struct live_walk *k, const struct tp_insn *in)
{
    if (in->op == TP_FREE || in->op == TP_REALLOC)
        end(k, in->slot);
    while (in->op == TP_RESET && k->count)
        end(k, k->list[k->count - 1]);
    if (is_request(in))
        begin(k, in->slot);
}

static int replay_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    struct live_walk *k = ctx;
    (void)err;
    for (uint32_t i = 0; i < w->count && k->insn <= k->how->last_insn; i++, k->insn++) {
        uint64_t event = w->initial_heap ? 0 : tp_window_event(w, i);
        if (event > k->how->last_event)
            break;
        replay(k, &w->insns[i]);
        if (k->how->after)
            k->how->after(k->how->ctx, k->insn, event);
    }
    return TP_OK;
}

int tp_sample_run_replay(const struct tp_sample_run *r, const struct tp_live_replay *how,
                         size_t **live, struct tp_err *err)
{
    size_t slots = tp_program_facts(r->trace.program)->slots + UINT64_C(1);
    struct live_walk k = {.how = how,
                          .live = calloc(slots, sizeof *k.live),
                          .list = calloc(slots, sizeof *k.list),
                          .where = calloc(slots, sizeof *k.where)};
    *live = k.live;
    int rc = k.live && k.list && k.where ? tp_program_walk(r->trace.program, replay_window, &k, err)
                                         : no_memory(err);
    free(k.list);
    free(k.where);
    return rc;
}

/* ---- a piece of it ---- */

struct warm_up {
    struct tp_sample_run *of;
    uint64_t live; /* bytes */
    uint64_t last; /* event */
};

static void count_live(void *ctx, size_t request, bool begins)
{
    struct warm_up *w = ctx;
    uint64_t size = w->of->requests[request].size;
    w->live += begins ? size : -size;
}

static void find_peak_before(void *ctx, uint64_t insn, uint64_t event)
{
    struct warm_up *w = ctx;
    (void)insn;
    if (event <= w->last && w->live > w->of->before)
        w->of->before = w->live;
}

/* The requests that are live where the piece begins, whose call stacks it no longer knows itself:
 * in the order of their slots, as they come in its initial heap. */
static int live_requests(struct tp_sample_run *r, const struct tp_run_piece *piece,
                         struct tp_request **out, size_t *count, struct tp_err *err)
{
    struct warm_up warm_up = {.of = r, .last = piece->warm_up};
    const struct tp_live_replay how = {.change = count_live,
                                       .after = find_peak_before,
                                       .ctx = &warm_up,
                                       .last_event = piece->after,
                                       .last_insn = UINT64_MAX};
    size_t slots = tp_program_facts(r->trace.program)->slots, *live = NULL;
    struct tp_request *list = *out = calloc(slots + 1, sizeof *list);
    int rc = list ? tp_sample_run_replay(r, &how, &live, err) : no_memory(err);
    *count = 0;
    for (size_t slot = 0; rc == TP_OK && slot < slots; slot++)
        if (live[slot])
            list[(*count)++] = r->requests[live[slot] - 1];
    free(live);
    return rc;
}

/* Gives the initial heap of the piece the keys and the places of these requests, whose texts are in
 * `texts`; NULL: there are none. */
static int restore_stacks(struct tp_sample_run *r, const struct tp_request *was,
                          const struct tp_place_table *texts, struct tp_err *err)
{
    int rc = texts && !r->stacks ? tp_place_table_new(&r->stacks, err) : TP_OK;
    for (size_t i = 0; rc == TP_OK && i < r->initial; i++) {
        struct tp_request *q = &r->requests[i];
        const char *text =
            was[i].place == TP_NO_PLACE ? "" : tp_place_table_get(texts, was[i].place);
        q->key = was[i].key;
        if (*text)
            rc = tp_place_table_text(r->stacks, text, strlen(text), &q->place, err);
    }
    return rc;
}

static void drop_requests(struct tp_sample_run *r)
{
    tp_place_table_free(r->stacks);
    r->stacks = NULL;
    r->initial = r->count = 0;
    r->bytes = 0;
}

void tp_sample_run_forget(struct tp_sample_run *r)
{
    drop_requests(r);
    if (r->open)
        tp_trace_close(&r->trace);
    r->open = false;
}

int tp_sample_run_cut(struct tp_sample_run *r, const struct tp_run_piece *piece, tp_cut_trace *cut,
                      struct tp_err *err)
{
    const struct tp_unlower_cfg events = {
        .first = piece->after + 1, .last = piece->last, .numbers = true};
    struct tp_request *live = NULL;
    r->before = 0;
    struct tp_place_table *texts = r->stacks;
    size_t count = 0;
    int rc = live_requests(r, piece, &live, &count, err);
    if (rc == TP_OK)
        rc = cut(&r->trace, &events, err);
    r->stacks = NULL;
    drop_requests(r);
    if (rc == TP_OK)
        rc = tp_sample_run_list(r, err);
    if (rc == TP_OK && r->initial == count)
        rc = restore_stacks(r, live, texts, err);
    tp_place_table_free(texts);
    free(live);
    return rc;
}

void tp_sample_run_close(struct tp_sample_run *r)
{
    tp_sample_run_forget(r);
    free(r->requests);
    free(r->path);
    for (size_t i = 0; i < TP_AXES; i++)
        free(r->axes[i]);
    *r = (struct tp_sample_run){.path = NULL};
}

const struct tp_request *tp_request_at(const struct tp_sample_run *r, uint64_t event)
{
    size_t low = r->initial, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = r->requests[middle].event < event;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low < r->count && r->requests[low].event == event ? &r->requests[low] : NULL;
}

const char *tp_request_place(const struct tp_sample_run *r, const struct tp_request *q)
{
    return q->place == TP_NO_PLACE ? NULL : tp_place_table_get(r->stacks, q->place);
}
