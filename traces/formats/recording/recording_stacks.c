/* See recording_stacks.h; recording.h in traces/record says how stacks are written.
 *
 *      module 3, 0x1139  ->  "parse.c:7 grow"  ->  a place of the table, with its callers
 *
 * Frames that only pass on what they are asked for (operator new, malloc) are left out at the inner
 * end of a stack, those that start the program or the thread at the outer end.
 *
 * A recording may be hostile: there are bounds on its modules. */
#include "traces/formats/recording/recording_stacks.h"

#include "alloc/base/numbers.h"
#include "traces/places/place_table.h"
#include "traces/places/place_text.h"

#include <string.h>

enum { MODULES_MOST = 4096, ID_MOST = 64, NUMBER_MOST = 1 << 16, STOP_EVENTS = 1 << 16 };
#define NO_MODULE UINT32_MAX

/* A file that stacks lead through. Of an address that was looked up, `index` is the number of its
 * text, and `refs` its function's role and 1. */
struct tp_recording_module {
    struct tp_id_map places;
};

/* ---- modules ---- */

static const char *path_of(const struct tp_recording_stacks *s, uint32_t module)
{
    return strchr(tp_texts_get(&s->keys, module), ' ') + 1;
}

static int add_module(struct tp_recording_stacks *s, struct tp_err *err)
{
    int rc =
        TP_READ_GROW(s->reading, &s->modules, &s->module_room, s->module_count + 1, "modules", err);
    if (!rc)
        s->modules[s->module_count++].places =
            (struct tp_id_map){.how = tp_reading_growth(s->reading, "addresses of code")};
    return rc;
}

static int number_module(struct tp_recording_stacks *s, struct tp_recording_caller *c,
                         uint64_t number, uint32_t module, struct tp_err *err)
{
    if (number >= NUMBER_MOST)
        return TP_OK;
    int rc = TP_READ_GROW(s->reading, &c->modules, &c->room, number + 1, "modules", err);
    while (!rc && c->count <= number)
        c->modules[c->count++] = NO_MODULE;
    if (!rc)
        c->modules[number] = module;
    return rc;
}

static int take_module(struct tp_recording_stacks *s, struct tp_recording_caller *c,
                       const struct tp_recording_event *ev, struct tp_err *err)
{
    const unsigned char *end = ev->body + ev->body_bytes, *at = ev->body;
    char key[TP_RECORDING_BODY * 2 + 2], *to = key;
    uint64_t number = 0, id_bytes = 0;
    uint32_t module = NO_MODULE;
    at = tp_rec_get(at, end, &number);
    at = at ? tp_rec_get(at, end, &id_bytes) : NULL;
    if (!at || id_bytes > ID_MOST || id_bytes > (uint64_t)(end - at))
        return TP_OK;
    const unsigned char *id = at;
    for (; at < id + id_bytes; at++)
        to += snprintf(to, 3, "%02x", *at);
    *to++ = ' ';
    size_t path_bytes = strnlen((const char *)at, (size_t)(end - at));
    memcpy(to, at, path_bytes);
    size_t size = (size_t)(to - key) + path_bytes;
    if (s->keys.count == MODULES_MOST && tp_texts_find(&s->keys, key, size) == TP_NO_TEXT)
        return number_module(s, c, number, NO_MODULE, err);
    s->keys.how = tp_reading_growth(s->reading, "modules");
    int rc = tp_texts_need(&s->keys, key, size, &module, err);
    if (!rc && module == s->module_count)
        rc = add_module(s, err);
    return rc ? rc : number_module(s, c, number, module, err);
}

/* ---- places ---- */

static int look_up(struct tp_recording_stacks *s, uint32_t module, uint64_t address,
                   struct tp_place_table *table, struct tp_id_entry **out, struct tp_err *err)
{
    char text[2 * TP_PLACE_TEXT];
    struct tp_str str = TP_STR_IN(text);
    struct tp_recording_module *m = &s->modules[module];
    struct tp_symbol found = tp_recording_names_get(&s->names, module, address);
    uint32_t number = TP_NO_PLACE;
    const struct tp_place_parts parts = {.function = found.function,
                                         .file = found.file,
                                         .line = found.line,
                                         .module = path_of(s, module),
                                         .offset = address};
    tp_place_text(&parts, &str);
    enum tp_place_role role = found.function ? tp_place_role(found.function) : TP_PLACE_ASKS;
    int rc = tp_place_table_text(table, str.s, str.length, &number, err);
    if (!rc)
        rc = tp_id_map_need(&m->places, (int64_t)address, number, out, err);
    if (!rc)
        (*out)->refs = 1 + (uint32_t)role;
    return rc;
}

/* The place of a frame; TP_NO_PLACE: of one that is in no file. */
static int frame_of(struct tp_recording_stacks *s, uint32_t module, uint64_t address,
                    struct tp_place_table *table, uint32_t *text, enum tp_place_role *role,
                    struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    *text = TP_NO_PLACE;
    *role = TP_PLACE_ASKS;
    if (module == NO_MODULE)
        return TP_OK;
    entry = tp_id_map_find(&s->modules[module].places, (int64_t)address);
    int rc = entry ? TP_OK : look_up(s, module, address, table, &entry, err);
    if (rc)
        return rc;
    *text = entry->index;
    *role = (enum tp_place_role)(entry->refs - 1);
    return TP_OK;
}

static uint32_t module_of(const struct tp_recording_caller *c, uint64_t code)
{
    return code && code <= c->count ? c->modules[code - 1] : NO_MODULE;
}

/* The frames of a STACK, from the innermost on. */
struct frame_walk {
    const unsigned char *at, *end;
    const struct tp_recording_caller *caller;
    uint64_t address; /* of the last frame */
    uint32_t module;
};

static struct frame_walk frames_of(const struct tp_recording_caller *c,
                                   const struct tp_recording_event *ev)
{
    return (struct frame_walk){.at = ev->body, .end = ev->body + ev->body_bytes, .caller = c};
}

static bool next_frame(struct frame_walk *f)
{
    uint64_t code = 0, by = 0;
    f->at = f->at && f->at < f->end ? tp_rec_get(f->at, f->end, &code) : NULL;
    f->at = f->at ? tp_rec_get(f->at, f->end, &by) : NULL;
    f->address += tp_rec_unzigzag(by);
    f->module = module_of(f->caller, code);
    return f->at != NULL;
}

static int take_stack(struct tp_recording_stacks *s, struct tp_recording_caller *c,
                      const struct tp_recording_event *ev, struct tp_err *err)
{
    struct frame_walk f = frames_of(c, ev);
    uint32_t texts[TP_STACK_FRAMES], count = 0, first = 0, stack = 0;
    struct tp_place_table *table = NULL;
    enum tp_place_role role = TP_PLACE_ASKS;
    bool asked = false;
    int rc = tp_place_table_of(s->reading->places, &table, err);
    while (!rc && count < TP_STACK_FRAMES && next_frame(&f)) {
        rc = frame_of(s, f.module, f.address, table, &texts[count], &role, err);
        if (asked && role == TP_PLACE_STARTS)
            break;
        asked |= role == TP_PLACE_ASKS;
        count += texts[count] != TP_NO_PLACE;
        first = asked ? first : count;
    }
    first = asked ? first : 0;
    for (uint32_t i = count; !rc && i-- > first;)
        rc = tp_place_table_call(table, texts[i], stack, &stack, err);
    c->stack = stack;
    s->taken += stack != 0;
    return rc;
}

int tp_recording_stacks_take(struct tp_recording_stacks *s, struct tp_recording_caller *c,
                             const struct tp_recording_event *ev, struct tp_err *err)
{
    if (ev->more == TP_MORE_MODULE)
        return take_module(s, c, ev, err);
    return ev->more == TP_MORE_STACK ? take_stack(s, c, ev, err) : TP_OK;
}

int tp_recording_stacks_give(struct tp_recording_stacks *s, struct tp_recording_caller *c,
                             struct tp_err *err)
{
    const struct tp_reading *r = s->reading;
    struct tp_place_table *table = NULL;
    uint32_t stack = c->stack;
    c->stack = 0;
    if (!stack)
        return TP_OK;
    int rc = tp_place_table_of(r->places, &table, err);
    return rc ? rc : tp_place_table_set_stack(table, tp_lower_count(r->lower), stack, err);
}

/* ---- names ---- */

static int want_names(struct tp_recording_stacks *s, struct tp_recording_caller *c,
                      const struct tp_recording_event *ev, struct tp_err *err)
{
    struct frame_walk f = frames_of(c, ev);
    int rc = TP_OK;
    if (ev->more == TP_MORE_MODULE)
        return take_module(s, c, ev, err);
    while (!rc && ev->more == TP_MORE_STACK && next_frame(&f))
        if (f.module != NO_MODULE)
            rc = tp_recording_names_want(&s->names, s->reading, f.module, f.address, err);
    return rc;
}

/* Of one thread, whose chunks begin at `first`. */
static int want_thread(struct tp_recording_stacks *s, const struct tp_recording *rec, size_t first,
                       size_t end, struct tp_err *err)
{
    int (*stop)(struct tp_err *) = s->reading->opts->stop;
    struct tp_recording_thread t = {.chunk = rec->chunks + first, .end = rec->chunks + end};
    struct tp_recording_caller c = {0};
    struct tp_recording_event ev;
    bool more = true;
    int rc = TP_OK;
    for (uint64_t taken = 1; !rc && more; taken++) {
        rc = tp_recording_next(rec, &t, &ev, &more, err);
        if (!rc && more && ev.op == TP_REC_MORE)
            rc = want_names(s, &c, &ev, err);
        if (!rc && stop && taken % STOP_EVENTS == 0)
            rc = stop(err);
    }
    tp_recording_thread_release(rec, &t);
    tp_recording_caller_release(s, &c);
    return rc;
}

int tp_recording_stacks_name(struct tp_recording_stacks *s, const struct tp_recording *rec,
                             struct tp_err *err)
{
    int rc = TP_OK;
    if (!tp_symbols_built || !rec->head.stacks)
        return TP_OK;
    for (size_t first = 0, end = 0; !rc && first < rec->count; first = end) {
        while (end < rec->count && rec->chunks[end].thread == rec->chunks[first].thread)
            end++;
        rc = want_thread(s, rec, first, end, err);
    }
    return rc ? rc : tp_recording_names_find(&s->names, s->reading, &s->keys, err);
}

/* ---- the whole ---- */

/* Files without names, by why that is. */
static void say_unnamed(const struct tp_recording_stacks *s)
{
    static const char *const why[] = {
        [TP_SYMBOLS_MISSING] = "not found, or not a program",
        [TP_SYMBOLS_OTHER] = "the file on disk is not the recorded one (build ID differs)",
        [TP_SYMBOLS_FAILED] = "reading the file crashed, or exceeded the limit of time or memory"};
    for (size_t state = 0; state < sizeof why / sizeof *why; state++) {
        uint64_t files = tp_recording_names_like(&s->names, (enum tp_symbols_state)state);
        if (why[state] && files)
            tp_meta_remark(s->reading->meta, "no symbols for %s: %s", tp_plural(files, "file").s,
                           why[state]);
    }
}

int tp_recording_stacks_end(const struct tp_recording_stacks *s,
                            const struct tp_recording_head *head, struct tp_err *err)
{
    struct tp_meta *meta = s->reading->meta;
    struct tp_place_table *table = NULL;
    if (!s->taken)
        return TP_OK;
    int rc = tp_place_table_of(s->reading->places, &table, err);
    if (rc)
        return rc;
    tp_place_table_sample(
        table, (struct tp_place_sampling){.size = head->stack_size, .every = head->stack_every});
    if (head->stack_every > 1)
        tp_meta_remark(
            meta, "%s call stacks: of each allocation of %s or more, and of one in %s below that",
            tp_count(s->taken).s, tp_bytes(head->stack_size, false).s,
            tp_count(head->stack_every).s);
    else
        tp_meta_remark(meta, "%s call stacks: of each allocation", tp_count(s->taken).s);
    if (!tp_symbols_built)
        tp_meta_remark(meta, "this tapool was built without libdw, which knows the functions of "
                             "call stacks: they are offsets in files");
    say_unnamed(s);
    return TP_OK;
}

void tp_recording_stacks_release(struct tp_recording_stacks *s)
{
    struct tp_budget *budget = s->reading->budget;
    for (size_t i = 0; i < s->module_count; i++)
        tp_id_map_release(&s->modules[i].places);
    tp_recording_names_release(&s->names, s->reading);
    TP_GROW_END(&s->modules, &s->module_room, .budget = budget);
    tp_texts_release(&s->keys);
}

void tp_recording_caller_release(const struct tp_recording_stacks *s, struct tp_recording_caller *c)
{
    TP_GROW_END(&c->modules, &c->room, .budget = s->reading->budget);
}
