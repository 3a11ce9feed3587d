/* Finds and prints topics; the table is in cmd/registry.c. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"

#include <string.h>
#include <strings.h>

extern const struct tp_topic tp_topic_formats;

bool tp_is_among(const char *name, const char *words)
{
    size_t length = strlen(name);
    for (; *words; words += strcspn(words, " "), words += strspn(words, " "))
        if (strcspn(words, " ") == length && !strncasecmp(words, name, length))
            return true;
    return false;
}

enum { NAME = 14 };

const struct tp_command_word tp_command_words[] = {{"oom", "why"},
                                                   {"out-of-memory", "why"},
                                                   {"settings", "tune"},
                                                   {"pytorch_cuda_alloc_conf", "tune"},
                                                   {NULL, NULL}};

static void print_texts(const char *const *texts, FILE *out)
{
    while (*texts)
        fputs(*texts++, out);
}

static void print_start(const struct tp_topic *topic, FILE *out)
{
    print_texts(topic->texts, out);
    if (topic->print)
        topic->print(out);
}

void tp_topic_print(const struct tp_topic *topic, FILE *out)
{
    print_start(topic, out);
    if (!topic->sections)
        return;
    fprintf(out, "\nSections: tapool help %s SECTION\n", topic->name);
    for (const struct tp_topic_section *section = topic->sections; section->name; section++)
        fprintf(out, "  %-*s%s\n", NAME, section->name, section->summary);
}

void tp_topic_print_section(const struct tp_topic *topic, const struct tp_topic_section *section,
                            FILE *out)
{
    fprintf(out, "%s %s: %s\n\n", topic->name, section->name, section->summary);
    print_texts(section->texts, out);
    if (section->print)
        section->print(section, out);
}

void tp_topic_print_whole(const struct tp_topic *topic, FILE *out)
{
    const struct tp_topic_section *section = topic->sections;
    print_start(topic, out);
    for (; section && section->name; section++) {
        fputc('\n', out);
        tp_topic_print_section(topic, section, out);
    }
}

const struct tp_topic_section *tp_find_section(const struct tp_topic *topic, const char *name)
{
    const struct tp_topic_section *section = topic->sections;
    for (; section && section->name; section++)
        if (!strcasecmp(section->name, name))
            return section;
    return NULL;
}

/* The section that a word leads to; NULL: none. */
static const struct tp_topic_section *section_about(const struct tp_topic *topic, const char *word)
{
    const struct tp_topic_section *section = topic->sections;
    for (; section && section->name; section++)
        if (section->also && tp_is_among(word, section->also))
            return section;
    return NULL;
}

const struct tp_topic *tp_find_topic(const char *name, const struct tp_topic_section **section)
{
    *section = NULL;
    for (size_t i = 0; tp_topics[i]; i++)
        if (!strcasecmp(tp_topics[i]->name, name))
            return tp_topics[i];
    for (size_t i = 0; tp_topics[i]; i++) {
        *section = section_about(tp_topics[i], name);
        if (*section || tp_is_among(name, tp_topics[i]->also))
            return tp_topics[i];
    }
    for (size_t i = 0; tp_formats[i]; i++)
        if (!strcasecmp(tp_formats[i]->name, name))
            return &tp_topic_formats;
    return NULL;
}
