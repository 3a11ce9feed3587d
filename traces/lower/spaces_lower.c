/* The second half of spaces.h: chooses the space to replay, says what is left out, and lowers the
 * events of the space.
 *
 *     (space, device) --> dense device --+
 *                         stream --------+--> one number: the stream as the lowering knows it
 *
 * Both steps use exact maps, so two streams never become one. The device of the first record is
 * declared before it, whatever the record is, because otherwise the lowering would declare a
 * default device. Known weakness: a SYNC without a stream concerns all devices that are
 * replayed. */
#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "traces/lower/spaces.h"
#include "traces/lower/spaces_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#define LISTED    6   /* spaces that a hint names */
#define SAID      3   /* spaces that a report names */
#define NAME_ROOM 128 /* bytes of a name with its number */
#define ALL       "all"

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
    const struct tp_space *const *x = a, *const *y = b;
    int order = strcasecmp((*x)->name, (*y)->name);
    if (order || *x == *y)
        return order;
    return *x < *y ? -1 : 1;
}

static int name_only(const void *a, const void *b)
{
    return strcasecmp(a, (*(const struct tp_space *const *)b)->name);
}

/* A name for the k-th space of one name: NAME#k, or the next number that no space has already. */
static int number_name(struct tp_space *const *sorted, uint32_t count, const char *name,
                       uint64_t *k, char **out)
{
    char text[NAME_ROOM];
    do
        snprintf(text, sizeof text, "%s#%" PRIu64, name, (*k)++);
    while (bsearch(text, sorted, count, sizeof *sorted, name_only));
    *out = strdup(text);
    return *out ? TP_OK : TP_ENOMEM;
}

static bool same(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

/* Makes numbered names for spaces with equal names, in the order in which the spaces were defined.
 * The new names are collected first, because `sorted` is ordered by the old ones. */
static int number_names(const struct tp_spaces *sp, struct tp_space **sorted, char **names)
{
    uint64_t k = 2;
    for (uint32_t i = 0; i < sp->space_count; i++) {
        bool repeats = i > 0 && same(sorted[i]->name, sorted[i - 1]->name);
        k = repeats ? k : 2;
        if (!repeats && !same(sorted[i]->name, ALL))
            continue;
        int rc = number_name(sorted, sp->space_count, sorted[i]->name, &k, &names[i]);
        if (rc != TP_OK)
            return rc;
    }
    return TP_OK;
}

static int name_apart(struct tp_spaces *sp, struct tp_err *err)
{
    size_t count = sp->space_count;
    struct tp_space **sorted = calloc(count + 1, sizeof(struct tp_space *));
    char **names = calloc(count + 1, sizeof *names);
    int rc = sorted && names ? TP_OK : TP_ENOMEM;
    for (size_t i = 0; rc == TP_OK && i < count; i++)
        sorted[i] = &sp->spaces[i];
    if (rc == TP_OK) {
        qsort(sorted, count, sizeof *sorted, by_name);
        rc = number_names(sp, sorted, names);
    }
    for (size_t i = 0; names && sorted && i < count; i++) {
        if (rc == TP_OK && names[i]) {
            free(sorted[i]->name);
            sorted[i]->name = names[i];
        } else {
            free(names[i]);
        }
    }
    free(sorted);
    free(names);
    return rc == TP_OK ? TP_OK : tp_spaces_no_memory(sp, err);
}

/* ---- choosing ---- */

/* Lists the spaces with events, or all if none has any: "CPU, GPU 0 and 3 more". */
static void list_spaces(const struct tp_spaces *sp, char *out, size_t size)
{
    struct tp_str text = tp_str_in(out, size);
    uint32_t named = 0, more = 0;
    for (uint32_t i = 0; i < sp->space_count; i++) {
        if (!sp->spaces[i].events && sp->events)
            continue;
        if (named == LISTED || text.length + NAME_ROOM >= size)
            more++;
        else
            tp_str_item(&text, named++ ? ", " : "", "%s", sp->spaces[i].name);
    }
    if (more)
        tp_str_add(&text, " and %" PRIu32 " more", more);
}

static uint32_t largest(const struct tp_spaces *sp)
{
    uint32_t best = 0;
    if (sp->prefers && sp->spaces[sp->preferred].events)
        return sp->preferred;
    for (uint32_t i = 1; i < sp->space_count; i++) {
        const struct tp_space *s = &sp->spaces[i], *b = &sp->spaces[best];
        if (s->bytes > b->bytes || (s->bytes == b->bytes && !b->events && s->events))
            best = i;
    }
    return best;
}

static int no_such(const struct tp_spaces *sp, const char *wanted, struct tp_err *err)
{
    char shown[NAME_ROOM], names[TP_ERR_TEXT];
    tp_clean_text(wanted, shown, sizeof shown);
    list_spaces(sp, names, sizeof names);
    int rc = tp_fail(err, TP_EINPUT, "%s: no memory space is called '%s'",
                     tp_input_name(sp->reading->in), shown);
    return names[0] ? tp_hint(err, rc, "it has: %s", names) : rc;
}

static int choose(struct tp_spaces *sp, struct tp_err *err)
{
    const char *wanted = sp->reading->opts->space;
    sp->chosen = wanted ? sp->space_count : largest(sp);
    if (!wanted || same(wanted, ALL))
        return TP_OK;
    for (uint32_t i = 0; i < sp->space_count; i++) {
        if (same(sp->spaces[i].name, wanted)) {
            sp->chosen = i;
            return TP_OK;
        }
    }
    return no_such(sp, wanted, err);
}

/* Sets left_out: "CPU (1,240 events, 34.1 MiB), pool (3 events, 96 B) and 12 more". */
static void say_left_out(const struct tp_spaces *sp)
{
    struct tp_meta *meta = sp->reading->meta;
    struct tp_str text = {0};
    size_t named = 0, more = 0;
    for (uint32_t i = 0; i < sp->space_count; i++) {
        const struct tp_space *s = &sp->spaces[i];
        if (i == sp->chosen || !s->events)
            continue;
        if (named == SAID)
            more++;
        else
            tp_str_item(&text, named++ ? ", " : "", "%s (%s, %s)", s->name,
                        tp_plural(s->events, "event").s, tp_bytes(s->bytes, false).s);
    }
    if (more)
        tp_str_add(&text, " and %zu more", more);
    if (named)
        tp_meta_set(meta, &meta->left_out, "%s", tp_str_text(&text));
    tp_str_drop(&text);
}

/* Sets `nothing` when the requested space has no events but others have. */
static void say_nothing(const struct tp_spaces *sp)
{
    struct tp_meta *meta = sp->reading->meta;
    char names[TP_ERR_TEXT];
    if (sp->chosen == sp->space_count || sp->spaces[sp->chosen].events || !sp->events)
        return;
    list_spaces(sp, names, sizeof names);
    tp_meta_set(meta, &meta->nothing, "the memory space '%s' has none",
                sp->spaces[sp->chosen].name);
    tp_meta_set(meta, &meta->nothing_hint, "there are events in: %s", names);
}

static int set_meta(const struct tp_spaces *sp, struct tp_err *err)
{
    struct tp_meta *meta = sp->reading->meta;
    bool all = sp->chosen == sp->space_count;
    for (uint32_t i = 0; i < sp->space_count; i++)
        meta->spaces += sp->spaces[i].events > 0;
    meta->kind = TP_KIND_HOST;
    if (sp->space_count)
        meta->kind = sp->spaces[all ? largest(sp) : sp->chosen].kind;
    if (sp->space_count > 1)
        tp_meta_set(meta, &meta->space, "%s", all ? ALL : sp->spaces[sp->chosen].name);
    if (!all)
        say_left_out(sp);
    say_nothing(sp);
    return tp_lower_kind(sp->reading->lower, meta->kind, err);
}

/* ---- lowering ---- */

struct spaces_lowering {
    struct tp_spaces *sp;
    bool initial; /* lower only the objects that were live at the start, else only other events */
    bool begun;   /* at least one device is declared */
};

bool tp_spaces_chosen(const struct tp_spaces *sp, uint32_t space)
{
    return sp->lowered && (sp->chosen == sp->space_count || sp->chosen == space);
}

/* Puts the place before the messages of the lowering about streams, which have none. */
static int placed(const struct tp_spaces *sp, const struct tp_event *ev, int rc, struct tp_err *err)
{
    rc = tp_event_placed(ev, sp->reading->in, rc, err);
    if (rc == TP_EINPUT && sp->chosen == sp->space_count)
        return tp_hint(err, rc, "--space=NAME takes one memory space");
    return rc;
}

/* Declares the stream of a record and sets ev->stream. */
static int stream_of(struct tp_spaces *sp, const struct tp_space_record *r, struct tp_event *ev,
                     struct tp_err *err)
{
    uint32_t device = 0;
    int rc = tp_id_map_number(&sp->device_numbers, r->device, &device, err);
    if (rc == TP_OK)
        rc = tp_id_map_number(&sp->devices, tp_id_pair(r->space, device), &device, err);
    if (rc != TP_OK)
        return rc;
    rc = tp_lower_stream_on(sp->reading->lower, r->stream, device, &ev->stream, err);
    return placed(sp, ev, rc, err);
}

/* Whether an op concerns one device even if it names no stream. */
static bool needs_device(enum tp_event_op op)
{
    enum tp_op asks = tp_event_asks(op);
    return op < TP_EV_COUNT && (tp_op_is(asks, TP_ASKS | TP_HAS_NOTE) ||
                                (tp_op_is(asks, TP_HAS_DEVICE) && !tp_op_is(asks, TP_HAS_STREAM)));
}

static int lower_record(struct spaces_lowering *l, const struct tp_space_record *r,
                        struct tp_err *err)
{
    struct tp_spaces *sp = l->sp;
    if (!tp_spaces_chosen(sp, r->space) || (r->op == TP_EV_INITIAL) != l->initial)
        return TP_OK;
    struct tp_event ev = tp_spaces_restore(sp, r);
    ev.has_stream = ev.has_stream || needs_device(ev.op);
    int rc = ev.has_stream || !l->begun ? stream_of(sp, r, &ev, err) : TP_OK;
    l->begun = true;
    if (rc != TP_OK)
        return rc;
    const struct tp_event_sink sink = tp_lower_sink(sp->reading->lower);
    return sink.event(sink.ctx, &ev, err);
}

static int lower_records(struct spaces_lowering *l, struct tp_err *err)
{
    const struct tp_spill *records = &l->sp->records;
    struct tp_spill_cursor c = {.list = records, .end = tp_spill_count(records)};
    const struct tp_space_record *r = NULL;
    int rc = TP_OK;
    while (rc == TP_OK && (r = tp_spill_next(&c, &rc, err)))
        rc = lower_record(l, r, err);
    return rc;
}

int tp_spaces_lower(struct tp_spaces *sp, struct tp_err *err)
{
    struct spaces_lowering l = {.sp = sp, .initial = true};
    int rc = name_apart(sp, err);
    if (rc == TP_OK)
        rc = choose(sp, err);
    sp->lowered = rc == TP_OK;
    if (rc == TP_OK)
        rc = set_meta(sp, err);
    if (rc == TP_OK && sp->some_initial)
        rc = lower_records(&l, err);
    l.initial = false;
    return rc == TP_OK ? lower_records(&l, err) : rc;
}

int32_t tp_spaces_device(const struct tp_spaces *sp, uint32_t space, int64_t device)
{
    const struct tp_id_entry *number = tp_id_map_find(&sp->device_numbers, device);
    const struct tp_id_entry *dense =
        number ? tp_id_map_find(&sp->devices, tp_id_pair(space, number->index)) : NULL;
    return dense ? (int32_t)dense->index : -1;
}
