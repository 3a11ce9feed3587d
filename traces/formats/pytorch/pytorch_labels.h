/* What a snapshot says of its allocations: user_metadata, internal_metadata, and the annotations
 * that were made of a live block later. All of a block are one text, its label:
 *
 *     "forward; saved for backward [mallocWithAddress]"
 *
 * Labels belong to events, numbered from 1 as they are added. A text of more than 255 bytes, or one
 * of very many, is not kept: "(long text)". Known weakness: what was annotated of a block from
 * before the recording is in no label. */
#ifndef TP_PYTORCH_LABELS_H
#define TP_PYTORCH_LABELS_H

#include "alloc/base/id_map.h"
#include "alloc/base/texts.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

struct tp_pytorch_labels {
    struct tp_texts texts; /* the first one is "" */
    struct tp_spill of;    /* uint32_t of each event: number of its text */
    struct tp_id_map more; /* event -> text, of those that were annotated later */
};

/* Counts what it keeps in the budget of the reading until that is over. At most 32,768 texts are
 * kept; all others are one, "(one of many texts)". */
int tp_pytorch_labels_init(struct tp_pytorch_labels *l, const struct tp_reading *r,
                           struct tp_err *err);
void tp_pytorch_labels_read(struct tp_pytorch_labels *l); /* the reading is over */
void tp_pytorch_labels_release(struct tp_pytorch_labels *l);

/* Adds the next event. */
int tp_pytorch_labels_add(struct tp_pytorch_labels *l, const struct tp_pytorch *s,
                          const struct tp_pytorch_event *ev, struct tp_err *err);

/* Adds the metadata of `ev` to the label of an earlier event. */
int tp_pytorch_labels_annotate(struct tp_pytorch_labels *l, const struct tp_pytorch *s,
                               uint64_t event, const struct tp_pytorch_event *ev,
                               struct tp_err *err);

/* The number of an event's label; 0: it has none. */
int tp_pytorch_labels_find(struct tp_pytorch_labels *l, uint64_t event, uint32_t *label,
                           struct tp_err *err);

#endif
