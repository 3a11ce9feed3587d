/* Finds and prints topics; the table is in cmd/registry.c. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"

#include <string.h>
#include <strings.h>

extern const struct tp_topic tp_topic_formats;

static bool is_among(const char *name, const char *words)
{
    size_t length = strlen(name);
    for (; *words; words += strcspn(words, " "), words += strspn(words, " "))
        if (strcspn(words, " ") == length && !strncasecmp(words, name, length))
            return true;
    return false;
}

void tp_topic_print(const struct tp_topic *topic, FILE *out)
{
    for (const char *const *text = topic->texts; *text; text++)
        fputs(*text, out);
    if (topic->print)
        topic->print(out);
}

const struct tp_topic *tp_find_topic(const char *name)
{
    for (size_t i = 0; tp_topics[i]; i++)
        if (!strcasecmp(tp_topics[i]->name, name))
            return tp_topics[i];
    for (size_t i = 0; tp_topics[i]; i++)
        if (is_among(name, tp_topics[i]->also))
            return tp_topics[i];
    for (size_t i = 0; tp_formats[i]; i++)
        if (!strcasecmp(tp_formats[i]->name, name))
            return &tp_topic_formats;
    return NULL;
}
