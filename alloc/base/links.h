/* Circular lists whose links lie inside their items; the head is part of the circle.
 *
 *     head <-> first <-> ... <-> last <-> head        empty: the head is linked to itself
 *
 * Nothing is allocated, and an item is taken out without knowing its list. */
#ifndef TP_LINKS_H
#define TP_LINKS_H

#include <stddef.h>

struct tp_link {
    struct tp_link *before, *behind;
};

/* The item that a link lies in. TP_LINK_ITEM gives NULL for the head. */
#define TP_LINKED(type, member, link) ((type *)(void *)((char *)(link)-offsetof(type, member)))
#define TP_LINK_ITEM(type, member, head, link)                                                     \
    ((link) == (head) ? NULL : TP_LINKED(type, member, link))

static inline void tp_link_init(struct tp_link *head)
{
    head->before = head->behind = head;
}

/* Inserts `l` in front of `other`; in front of the head, `l` becomes the last item. */
static inline void tp_link_insert(struct tp_link *other, struct tp_link *l)
{
    struct tp_link *before = other->before;
    l->before = before;
    l->behind = other;
    other->before = l;
    if (before == other) /* Empty: a store to a known address does not delay the next look. */
        other->behind = l;
    else
        before->behind = l;
}

static inline void tp_link_out(const struct tp_link *l)
{
    l->before->behind = l->behind;
    l->behind->before = l->before;
}

#endif
