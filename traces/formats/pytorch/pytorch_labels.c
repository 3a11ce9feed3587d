/* See pytorch_labels.h. */
#include "traces/formats/pytorch/pytorch_labels.h"

#include "alloc/base/clean.h"
#include "alloc/base/str.h"

#include <string.h>

#define LABELS_IN_MEMORY ((size_t)1 << 20) /* bytes of numbers before they go to a file */

enum { LABEL_TEXT = 500, LABELS_MOST = 32768 };

int tp_pytorch_labels_init(struct tp_pytorch_labels *l, const struct tp_reading *r,
                           struct tp_err *err)
{
    tp_spill_init(&l->of, sizeof(uint32_t), LABELS_IN_MEMORY);
    l->texts.how = tp_reading_growth(r, "metadata");
    l->more.how = tp_reading_growth(r, "annotations");
    return tp_texts_add(&l->texts, "", 0, err);
}

void tp_pytorch_labels_read(struct tp_pytorch_labels *l)
{
    l->texts.how = l->more.how = (struct tp_growth){.what = "metadata"};
}

void tp_pytorch_labels_release(struct tp_pytorch_labels *l)
{
    tp_texts_release(&l->texts);
    tp_spill_release(&l->of);
    tp_id_map_release(&l->more);
}

/* Adds "; user [internal]" behind what stands there. */
static void add_metadata(struct tp_str *to, const struct tp_pytorch *s,
                         const struct tp_pytorch_event *ev)
{
    const char *user = ev->user ? tp_pickle_text(s->pickle, ev->user) : "";
    const char *internal = ev->internal ? tp_pickle_text(s->pickle, ev->internal) : "";
    if (!user || *user)
        tp_str_item(to, "; ", "%s", user ? user : "(long text)");
    if (!internal || *internal)
        tp_str_item(to, " ", "[%s]", internal ? internal : "long text");
}

static int number_of(struct tp_pytorch_labels *l, const struct tp_str *text, uint32_t *number,
                     struct tp_err *err)
{
    static const char others[] = "(one of many texts)";
    char clean[LABEL_TEXT];
    tp_clean_text(tp_str_text(text), clean, sizeof clean);
    *number = tp_texts_find(&l->texts, clean, strlen(clean));
    if (*number != TP_NO_TEXT)
        return TP_OK;
    const char *kept = l->texts.count < LABELS_MOST ? clean : others;
    return tp_texts_need(&l->texts, kept, strlen(kept), number, err);
}

int tp_pytorch_labels_add(struct tp_pytorch_labels *l, const struct tp_pytorch *s,
                          const struct tp_pytorch_event *ev, struct tp_err *err)
{
    char array[LABEL_TEXT];
    struct tp_str text = TP_STR_IN(array);
    uint32_t number = 0;
    add_metadata(&text, s, ev);
    int rc = number_of(l, &text, &number, err);
    return rc == TP_OK ? tp_spill_add(&l->of, &number, err) : rc;
}

int tp_pytorch_labels_annotate(struct tp_pytorch_labels *l, const struct tp_pytorch *s,
                               uint64_t event, const struct tp_pytorch_event *ev,
                               struct tp_err *err)
{
    char array[LABEL_TEXT];
    struct tp_str text = TP_STR_IN(array);
    struct tp_id_entry *entry = NULL;
    uint32_t number = 0;
    int rc = tp_pytorch_labels_find(l, event, &number, err);
    tp_str_add(&text, "%s", tp_texts_get(&l->texts, number));
    add_metadata(&text, s, ev);
    if (rc == TP_OK)
        rc = number_of(l, &text, &number, err);
    if (rc == TP_OK)
        rc = tp_id_map_need(&l->more, (int64_t)event, number, &entry, err);
    if (rc == TP_OK)
        entry->index = number;
    return rc;
}

int tp_pytorch_labels_find(struct tp_pytorch_labels *l, uint64_t event, uint32_t *label,
                           struct tp_err *err)
{
    const struct tp_id_entry *entry = tp_id_map_find(&l->more, (int64_t)event);
    *label = entry ? entry->index : 0;
    if (entry || !event || event > tp_spill_count(&l->of))
        return TP_OK;
    return tp_spill_read(&l->of, event - 1, 1, label, err);
}
