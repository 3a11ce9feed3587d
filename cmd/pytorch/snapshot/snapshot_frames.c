/* See snapshot_frames.h. The frames are made from the texts of places, as on the screens: folders
 * are not in them, and where a file is not known it is "??", as PyTorch says it. */
#include "cmd/pytorch/snapshot/snapshot_frames.h"

#include "traces/places/place_text.h"

#include <stdlib.h>

int tp_snapshot_frames_open(struct tp_snapshot_frames *f, const struct tp_places *places,
                            uint64_t events, int (*stop)(struct tp_err *err), struct tp_err *err)
{
    *f = (struct tp_snapshot_frames){.table = NULL};
    int rc = places->find ? tp_place_table_gather_stacks(places, NULL, events, stop, &f->table, err)
                          : TP_OK;
    if (rc != TP_OK || !f->table)
        return rc;
    size_t texts = tp_place_table_texts(f->table), stacks = tp_place_table_stacks(f->table);
    f->frames = calloc(texts + 1, sizeof *f->frames);
    f->alone = calloc(texts + 1, sizeof *f->alone);
    f->stacks = calloc(stacks + 1, sizeof *f->stacks);
    if (f->frames && f->alone && f->stacks)
        return TP_OK;
    tp_snapshot_frames_close(f);
    return tp_fail(err, TP_ENOMEM, "out of memory for the frames of a snapshot");
}

void tp_snapshot_frames_close(struct tp_snapshot_frames *f)
{
    tp_place_table_free(f->table);
    free(f->frames);
    free(f->alone);
    free(f->stacks);
    *f = (struct tp_snapshot_frames){.table = NULL};
}

/* A piece of the text of a place. */
static void put_piece(struct tp_pickler *w, unsigned key, const char *piece, size_t bytes)
{
    char text[TP_PLACE_TEXT];
    snprintf(text, sizeof text, "%.*s", (int)bytes, piece);
    tp_pickler_word(w, key);
    tp_pickler_text(w, text);
}

static void put_frame(struct tp_snapshot_frames *f, struct tp_pickler *w, uint32_t text)
{
    static const char unknown[] = "??";
    tp_pickler_item(w);
    if (f->frames[text]) {
        tp_pickler_again(w, f->frames[text] - 1);
        return;
    }
    const struct tp_place_split place = tp_place_split(tp_place_table_get(f->table, text));
    bool known = place.file_bytes != 0;
    tp_pickler_begin_dict(w);
    put_piece(w, f->filename, known ? place.file : unknown,
              known ? place.file_bytes : sizeof unknown - 1);
    tp_pickler_word(w, f->line);
    tp_pickler_int(w, place.line);
    put_piece(w, f->name, place.function, place.function_bytes);
    tp_pickler_end_dict(w);
    f->frames[text] = tp_pickler_remember(w) + 1;
}

static void put_list(struct tp_snapshot_frames *f, struct tp_pickler *w,
                     const struct tp_place_item *item)
{
    tp_pickler_begin_list(w);
    if (item && !item->stack)
        put_frame(f, w, item->text);
    for (uint32_t stack = item ? item->stack : 0; stack;) {
        const struct tp_place_stack *at = tp_place_table_stack(f->table, stack - 1);
        put_frame(f, w, at->text);
        stack = at->caller;
    }
    tp_pickler_end_list(w);
}

void tp_snapshot_frames_put(struct tp_snapshot_frames *f, struct tp_pickler *w,
                            const struct tp_place_item *item)
{
    uint32_t *number = &f->empty;
    if (item && item->text == TP_NO_PLACE)
        item = NULL;
    if (item)
        number = item->stack ? &f->stacks[item->stack - 1] : &f->alone[item->text];
    if (*number) {
        tp_pickler_again(w, *number - 1);
        return;
    }
    put_list(f, w, item);
    *number = tp_pickler_remember(w) + 1;
}
