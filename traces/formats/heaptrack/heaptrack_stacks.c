/* See heaptrack_stacks.h. Everything is numbered by its order in the file:
 *
 *     s 4 main                    text 1
 *     i 55a7a93ef1cc 3 1 2 7      frame 1: an address in a module, function, file, line
 *     t 1 4                       a stack: frame 1, called from stack 4
 *
 * Known weakness: a function that was inlined is not looked at, only the one whose code it is in.
 */
#include "traces/formats/heaptrack/heaptrack_stacks.h"

#include "traces/places/place_text.h"

#include <string.h>

#define FRAMES_SEEN 32             /* of a stack, from the innermost on */
#define TEXT_KEPT   ((size_t)1000) /* so that frames with one long text do not cost much */

/* ---- lines ---- */

/* Takes a blank and a number; one above 32 bits names nothing that a file can hold. */
static bool cut_index(struct tp_cut *line, uint32_t *index)
{
    uint64_t value = 0;
    if (!tp_cut_byte(line, ' ') || !tp_cut_hex(line, &value))
        return false;
    *index = value < UINT32_MAX ? (uint32_t)value : 0;
    return true;
}

int tp_heaptrack_add_text(struct tp_heaptrack_stacks *s, struct tp_cut line, bool sized, bool *good,
                          struct tp_err *err)
{
    uint64_t length = 0;
    *good = !sized || (tp_cut_hex(&line, &length) && tp_cut_byte(&line, ' '));
    if (!*good)
        return TP_OK;
    size_t size = (size_t)(line.end - line.at);
    size = strnlen(line.at, size < TEXT_KEPT ? size : TEXT_KEPT); /* a set of texts has no NULs */
    return tp_texts_add(&s->texts, line.at, size, err);
}

int tp_heaptrack_add_frame(struct tp_heaptrack_stacks *s, struct tp_cut line, bool *good,
                           struct tp_err *err)
{
    struct tp_heaptrack_frame f = {0};
    uint64_t address = 0;
    *good = tp_cut_hex(&line, &address) && cut_index(&line, &f.module);
    if (!*good)
        return TP_OK;
    if (cut_index(&line, &f.function) && cut_index(&line, &f.file))
        cut_index(&line, &f.line);
    int rc =
        TP_READ_GROW(s->reading, &s->frames, &s->frame_room, s->frame_count + 1, "frames", err);
    if (!rc)
        s->frames[s->frame_count++] = f;
    return rc;
}

int tp_heaptrack_add_stack(struct tp_heaptrack_stacks *s, struct tp_cut line, bool *good,
                           struct tp_err *err)
{
    struct tp_heaptrack_stack t = {0};
    uint64_t frame = 0;
    /* in a raw file this is an address, which is the number of no frame */
    *good = tp_cut_hex(&line, &frame) && cut_index(&line, &t.caller) && tp_cut_done(&line);
    if (!*good)
        return TP_OK;
    t.frame = frame < UINT32_MAX ? (uint32_t)frame : 0;
    int rc =
        TP_READ_GROW(s->reading, &s->stacks, &s->stack_room, s->stack_count + 1, "stacks", err);
    if (!rc)
        s->stacks[s->stack_count++] = t;
    return rc;
}

void tp_heaptrack_stacks_release(struct tp_heaptrack_stacks *s)
{
    struct tp_budget *budget = s->reading->budget;
    tp_texts_release(&s->texts);
    TP_GROW_END(&s->frames, &s->frame_room, .budget = budget);
    TP_GROW_END(&s->stacks, &s->stack_room, .budget = budget);
}

/* ---- places ---- */

static const char *text_of(const struct tp_heaptrack_stacks *s, uint32_t number)
{
    return number && number <= s->texts.count ? tp_texts_get(&s->texts, number - 1) : "";
}

/* The innermost frame that wants memory itself; where all pass it on, the innermost of all. One
 * without a name wants it too: its named callers may be far away. */
static const struct tp_heaptrack_frame *asker(const struct tp_heaptrack_stacks *s, uint64_t stack)
{
    const struct tp_heaptrack_frame *first = NULL;
    for (int seen = 0; seen < FRAMES_SEEN && stack && stack <= s->stack_count; seen++) {
        const struct tp_heaptrack_stack *t = &s->stacks[stack - 1];
        stack = t->caller;
        if (!t->frame || t->frame > s->frame_count)
            continue;
        const struct tp_heaptrack_frame *f = &s->frames[t->frame - 1];
        if (tp_place_role(text_of(s, f->function)) != TP_PLACE_PASSES_ON)
            return f;
        if (!first)
            first = f;
    }
    return first;
}

int tp_heaptrack_place(struct tp_heaptrack_stacks *s, uint64_t stack, uint32_t *place,
                       struct tp_err *err)
{
    char text[2 * TP_PLACE_TEXT];
    struct tp_str str = TP_STR_IN(text);
    const struct tp_heaptrack_frame *f = asker(s, stack);
    struct tp_place_table *table = NULL;
    *place = TP_NO_PLACE;
    if (!f)
        return TP_OK;
    const struct tp_place_parts parts = {.function = text_of(s, f->function),
                                         .file = text_of(s, f->file),
                                         .line = f->line,
                                         .module = text_of(s, f->module)};
    tp_place_text(&parts, &str);
    int rc = tp_place_table_of(s->reading->places, &table, err);
    return rc ? rc : tp_place_table_text(table, str.s, str.length, place, err);
}
