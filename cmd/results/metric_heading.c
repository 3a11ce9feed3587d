/* See metric_heading.h. */
#include "cmd/results/metric_heading.h"

#include <string.h>

/* Makes a head of two lines from a metric's name, by cutting the name near its middle. */
static void split_name(const char *name, struct tp_column *head)
{
    size_t length = strlen(name), cut = 0;
    for (size_t i = 1; i < length; i++)
        if ((name[i] == '_' || name[i] == '.') && (!cut || i <= length / 2 + 2))
            cut = i;
    snprintf(head->head[0], sizeof head->head[0], "%.*s", (int)(cut ? cut : 0), name);
    snprintf(head->head[1], sizeof head->head[1], "%.39s", name + (cut ? cut + 1 : 0));
    for (char *c = head->head[1]; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    for (char *c = head->head[0]; *c; c++)
        *c = *c == '_' ? ' ' : *c;
}

struct tp_column tp_metric_heading(const struct tp_metric *m, const char *callee)
{
    struct tp_column head = {.to = TP_TO_MARKDOWN};
    split_name(m->name, &head);
    for (int l = 0; (m->head[0] || m->head[1]) && l < 2; l++)
        snprintf(head.head[l], sizeof head.head[l], "%s", m->head[l] ? m->head[l] : callee);
    if (tp_metric_is_time(m) && !strstr(head.head[1], "ns"))
        tp_append(head.head[1], sizeof head.head[1], ", ns");
    return head;
}
