/* The lists of words for completion; see completion.h. */
#include "cmd/help/completion.h"

#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"
#include "cmd/results/metrics.h"
#include "cmd/results/warnings.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 256, SAMPLE_TEXT = 64 };

const char *const tp_list_names[TP_LIST_COUNT] = {
    [TP_LIST_NONE] = "none",         [TP_LIST_FILE] = "file",       [TP_LIST_TRACE] = "trace",
    [TP_LIST_STRATEGY] = "strategy", [TP_LIST_SOURCE] = "source",   [TP_LIST_WRAPPER] = "wrapper",
    [TP_LIST_FORMAT] = "format",     [TP_LIST_PROFILE] = "profile", [TP_LIST_METRIC] = "metric",
    [TP_LIST_COMMAND] = "command",   [TP_LIST_TOPIC] = "topic",
};

bool tp_is_listed(const struct tp_command *cmd)
{
    return !cmd->hidden;
}

/* ---- the words of each list ---- */

struct words {
    FILE *out;
    int count;
};

static void add(struct words *w, const char *prefix, const char *word)
{
    fprintf(w->out, "%s%s%s", w->count++ ? " " : "", prefix, word);
}

struct word_samples {
    char names[SAMPLES_MAX][SAMPLE_TEXT];
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Adds NAME for a file NAME.json or NAME.tpt. Names with unusual characters are left out, because
 * the word becomes part of a shell script. */
static void add_sample(struct word_samples *s, const char *file)
{
    size_t length = strcspn(file, ".");
    if (s->count < SAMPLES_MAX && length && length < SAMPLE_TEXT &&
        strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789-_") == length &&
        (!strncmp(file + length, ".json", 5) || !strncmp(file + length, ".tpt", 4)))
        snprintf(s->names[s->count++], SAMPLE_TEXT, "%.*s", (int)length, file);
}

static void add_folder(struct word_samples *s, const char *path)
{
    const struct dirent *entry;
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder)))
        add_sample(s, entry->d_name);
    if (folder)
        closedir(folder);
}

static void print_samples(struct words *w)
{
    struct word_samples s = {.count = 0};
    struct tp_sample_dirs dirs;
    tp_sample_dirs(&dirs);
    for (size_t i = 0; dirs.list[i]; i++)
        add_folder(&s, dirs.list[i]);
    for (size_t i = 0; tp_profiles[i] && s.count < SAMPLES_MAX; i++)
        if (tp_profiles[i]->sample)
            snprintf(s.names[s.count++], SAMPLE_TEXT, "%s", tp_profiles[i]->sample);
    qsort(s.names, s.count, sizeof s.names[0], by_text);
    for (size_t i = 0; i < s.count; i++)
        if (i == 0 || strcmp(s.names[i], s.names[i - 1]) != 0)
            add(w, "sample:", s.names[i]);
}

static void print_sources(struct words *w, bool wrappers)
{
    for (size_t i = 0; tp_sources[i]; i++)
        if (((tp_sources[i]->flags & TP_SRC_WRAPPER) != 0) == wrappers)
            add(w, "", tp_sources[i]->name);
}

static void print_commands(struct words *w)
{
    for (size_t i = 0; tp_commands[i]; i++)
        if (tp_is_listed(tp_commands[i]))
            add(w, "", tp_commands[i]->name);
}

static void print_topics(struct words *w)
{
    for (size_t i = 0; tp_topics[i]; i++)
        add(w, "", tp_topics[i]->name);
    print_commands(w);
    for (const struct tp_command_word *row = tp_command_words; row->name; row++)
        add(w, "", row->name);
    for (size_t i = 0; tp_warnings[i]; i++)
        add(w, "", tp_warnings[i]->id);
}

void tp_sections_print(const struct tp_topic *topic, FILE *out)
{
    struct words w = {out, 0};
    for (const struct tp_topic_section *section = topic->sections; section->name; section++)
        add(&w, "", section->name);
}

bool tp_list_has_words(enum tp_list list)
{
    return list > TP_LIST_FILE;
}

void tp_list_print(enum tp_list list, FILE *out)
{
    struct words w = {out, 0};
    if (list == TP_LIST_TRACE)
        print_samples(&w);
    else if (list == TP_LIST_SOURCE || list == TP_LIST_WRAPPER)
        print_sources(&w, list == TP_LIST_WRAPPER);
    else if (list == TP_LIST_COMMAND)
        print_commands(&w);
    else if (list == TP_LIST_TOPIC)
        print_topics(&w);
    for (size_t i = 0; list == TP_LIST_STRATEGY && tp_strategies[i]; i++)
        add(&w, "", tp_strategies[i]->name);
    for (size_t i = 0; list == TP_LIST_FORMAT && tp_formats[i]; i++)
        add(&w, "", tp_formats[i]->name);
    for (size_t i = 0; list == TP_LIST_PROFILE && tp_profiles[i]; i++)
        add(&w, "", tp_profiles[i]->name);
    for (size_t i = 0; list == TP_LIST_METRIC && i < tp_metric_count; i++)
        add(&w, "", tp_metrics[i].name);
}

/* ---- which list belongs where ---- */

struct meaning {
    const char *word;
    enum tp_list list;
};

static enum tp_list look_up(const struct meaning *rows, const char *word)
{
    while (rows->word && strcmp(rows->word, word) != 0)
        rows++;
    return rows->word ? rows->list : TP_LIST_NONE;
}

enum tp_list tp_list_of_option(const struct tp_opt *row)
{
    static const struct meaning by_name[] = {
        {"strategy", TP_LIST_STRATEGY},   {"base-strategy", TP_LIST_STRATEGY},
        {"base", TP_LIST_STRATEGY},       {"source", TP_LIST_SOURCE},
        {"input-format", TP_LIST_FORMAT}, {"metric", TP_LIST_METRIC},
        {"sort", TP_LIST_METRIC},         {NULL, TP_LIST_NONE}};
    static const struct meaning by_arg[] = {{"FILE", TP_LIST_FILE},       {"PATH", TP_LIST_FILE},
                                            {"DIR", TP_LIST_FILE},        {"TRACE", TP_LIST_TRACE},
                                            {"COMMAND", TP_LIST_COMMAND}, {NULL, TP_LIST_NONE}};
    enum tp_list list = look_up(by_name, row->name);
    return list || !row->arg ? list : look_up(by_arg, row->arg);
}

enum tp_list tp_list_of_words(const struct tp_command *cmd)
{
    static const struct meaning names[] = {{"TRACE", TP_LIST_TRACE},     {"IN", TP_LIST_TRACE},
                                           {"PROFILE", TP_LIST_PROFILE}, {"TOPIC", TP_LIST_TOPIC},
                                           {"COMMAND", TP_LIST_COMMAND}, {"NAME", TP_LIST_STRATEGY},
                                           {NULL, TP_LIST_NONE}};
    for (const char *at = cmd->usage; *at;) {
        char word[32];
        size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        enum tp_list list = look_up(names, word);
        if (list)
            return list;
        at += length ? length : 1;
    }
    return TP_LIST_NONE;
}

void tp_short_help(const char *help, char *out, size_t size)
{
    size_t length = strcspn(help, ";:(\n");
    while (length && help[length - 1] == ' ')
        length--;
    snprintf(out, size, "%.*s", (int)length, help);
}
