/* tapool help [TOPIC [SECTION]]: lists the commands and topics, or shows the page of one. The id of
 * a warning is a topic too. */
#include "cmd/cli/cli.h"
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"
#include "cmd/results/warnings.h"
#include "cmd/ui/environment.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/terms.h"

#include <string.h>
#include <strings.h>

static void print_commands(FILE *out)
{
    fprintf(out, "tapool %s: replay allocation traces through memory allocators\n\nCommands\n",
            TAPOOL_VERSION);
    for (size_t i = 0; tp_commands[i]; i++)
        if (!tp_commands[i]->hidden)
            fprintf(out, "  %-14s%s\n", tp_commands[i]->name, tp_commands[i]->summary);
    fputs("\nTopics: tapool help TOPIC\n", out);
    for (size_t i = 0; tp_topics[i]; i++)
        fprintf(out, "  %-14s%s\n", tp_topics[i]->name, tp_topics[i]->summary);
}

/* The command that a word names or leads to; NULL: none. */
static const struct tp_command *command_about(const char *word)
{
    for (const struct tp_command_word *row = tp_command_words; row->name; row++)
        if (!strcasecmp(row->name, word))
            word = row->command;
    for (size_t i = 0; tp_commands[i]; i++)
        if (!tp_commands[i]->hidden && !strcmp(tp_commands[i]->name, word))
            return tp_commands[i];
    return NULL;
}

static int fail_topic(const char *name, struct tp_err *err)
{
    const char *names[64] = {0};
    size_t n = 0;
    for (size_t i = 0; tp_topics[i] && n < 63; i++)
        names[n++] = tp_topics[i]->name;
    for (size_t i = 0; tp_commands[i] && n < 63; i++)
        if (!tp_commands[i]->hidden)
            names[n++] = tp_commands[i]->name;
    for (size_t i = 0; tp_warnings[i] && n < 63; i++)
        names[n++] = tp_warnings[i]->id;
    const char *near = tp_nearest(name, names);
    int status = tp_fail(err, TP_EUSAGE, "no help on '%s'", name);
    for (size_t i = 0; tp_strategies[i]; i++)
        if (!strcasecmp(tp_strategies[i]->name, name))
            return tp_hint(err, status, "'tapool strategies %s' is its page",
                           tp_strategies[i]->name);
    return near ? tp_hint(err, status, "did you mean '%s'? 'tapool help' lists all", near)
                : tp_hint(err, status, "'tapool help' lists all");
}

static int show_section(const char *name, const char *word, FILE *out, struct tp_err *err)
{
    const char *names[TP_SECTIONS_MAX + 1] = {0};
    const struct tp_topic_section *section = NULL;
    const struct tp_topic *topic = command_about(name) ? NULL : tp_find_topic(name, &section);
    if (!topic || !topic->sections)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "'tapool help %s' has no sections", name),
                       "'tapool help' lists the topics");
    section = tp_find_section(topic, word);
    if (section) {
        tp_topic_print_section(topic, section, out);
        return TP_OK;
    }
    for (size_t i = 0; i < TP_SECTIONS_MAX && topic->sections[i].name; i++)
        names[i] = topic->sections[i].name;
    const char *near = tp_nearest(word, names);
    int status = tp_fail(err, TP_EUSAGE, "help on '%s' has no section '%s'", topic->name, word);
    return near ? tp_hint(err, status, "did you mean '%s'? 'tapool help %s' lists all", near,
                          topic->name)
                : tp_hint(err, status, "'tapool help %s' lists all", topic->name);
}

static int show_topic(const char *name, FILE *out, struct tp_err *err)
{
    /* Before the topics: some of these take words of commands too. */
    const struct tp_command *command = command_about(name);
    if (command) {
        tp_cli_help(command, TP_HELP_USUAL, out);
        return TP_OK;
    }
    const struct tp_topic_section *section = NULL;
    const struct tp_topic *topic = tp_find_topic(name, &section);
    if (section) {
        tp_topic_print_section(topic, section, out);
        return TP_OK;
    }
    if (topic) {
        tp_topic_print(topic, out);
        return TP_OK;
    }
    const struct tp_warning *warning = tp_find_warning(name);
    if (warning) {
        fprintf(out, "warning %s\n\n%s\n", warning->id, warning->help);
        return TP_OK;
    }
    return fail_topic(name, err);
}

/* ---- JSON ---- */

static void write_command(struct tp_json *j, cJSON *in, const struct tp_command *cmd)
{
    static const char *const pages[] = {
        [TP_LISTED] = "--help", [TP_LISTED_FIRST] = "-h", [TP_LISTED_LAST] = "--help-all"};
    cJSON *o = tp_json_item(j, in);
    tp_json_text(j, o, "name", cmd->name);
    tp_json_text(j, o, "usage", cmd->usage);
    tp_json_text(j, o, "summary", cmd->summary);
    tp_json_text(j, o, "about", cmd->about[0] ? cmd->about : NULL);
    cJSON *options = tp_json_array(j, o, "options");
    for (const struct tp_opt *row = cmd->options; row && row->name; row++) {
        const char letter[] = {row->letter, '\0'};
        cJSON *option = tp_json_option(j, options, row);
        tp_json_text(j, option, "letter", row->letter ? letter : NULL);
        tp_json_text(j, option, "argument", row->arg);
        tp_json_text(j, option, "group", tp_help_titles[row->group]);
        tp_json_text(j, option, "first_page", pages[row->listed]);
    }
}

static void write_topic(struct tp_json *j, cJSON *in, const struct tp_topic *topic)
{
    cJSON *o = tp_json_item(j, in);
    tp_json_text(j, o, "name", topic->name);
    tp_json_text(j, o, "summary", topic->summary);
    cJSON *sections = tp_json_array(j, o, "sections");
    for (const struct tp_topic_section *s = topic->sections; s && s->name; s++) {
        cJSON *section = tp_json_item(j, sections);
        tp_json_text(j, section, "name", s->name);
        tp_json_text(j, section, "summary", s->summary);
    }
}

/* tapool.help/2 (cmd/help/help.schema.json): the tables themselves. */
static int write_tree(FILE *out, struct tp_err *err)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    tp_json_text(&j, root, "schema", "tapool.help/2");
    tp_json_tool(&j, root);
    cJSON *commands = tp_json_array(&j, root, "commands");
    for (size_t i = 0; tp_commands[i]; i++)
        if (!tp_commands[i]->hidden)
            write_command(&j, commands, tp_commands[i]);
    cJSON *topics = tp_json_array(&j, root, "topics");
    for (size_t i = 0; tp_topics[i]; i++)
        write_topic(&j, topics, tp_topics[i]);
    cJSON *terms = tp_json_array(&j, root, "terms");
    for (size_t i = 0; i < tp_term_count; i++) {
        cJSON *o = tp_json_item(&j, terms);
        tp_json_text(&j, o, "word", tp_terms[i].word);
        tp_json_text(&j, o, "group", tp_term_group_names[tp_terms[i].group]);
        tp_json_text(&j, o, "meaning", tp_terms[i].meaning);
        tp_json_text(&j, o, "origin", tp_terms[i].origin);
    }
    return tp_json_print(&j, root, out, err);
}

struct help_opts {
    bool json;
};

static const struct tp_opt rows[] = {
    TP_FLAG_ROW(struct help_opts, json, .from = TP_OPT_CALL, TP_FIRST(OUTPUT),
                .help = "print commands, options, topics and terms as JSON"),
    {.name = NULL}};

static int run_help(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct help_opts *o = args->opts;
    if (o->json && args->count)
        return tp_fail(err, TP_EUSAGE, "help --json takes no topic");
    if (o->json)
        return write_tree(out, err);
    if (args->count > 2)
        return tp_fail(err, TP_EUSAGE, "help takes a topic and one of its sections");
    if (args->count == 2)
        return show_section(args->words[0], args->words[1], out, err);
    if (args->count)
        return show_topic(args->words[0], out, err);
    print_commands(out);
    return TP_OK;
}

const struct tp_command tp_command_help = {
    .name = "help",
    .usage = "help [TOPIC [SECTION]] | help --json",
    .summary = "list commands and topics, or show a page",
    .about = "",
    .opts_size = sizeof(struct help_opts),
    .options = rows,
    .run = run_help,
};

static void print_warning_list(FILE *out)
{
    fputs("Warnings mark figures that can mislead. 'tapool help ID' explains one.\n\n", out);
    for (size_t i = 0; tp_warnings[i]; i++) {
        fprintf(out, "  %-22s%s\n", tp_warnings[i]->id, tp_warnings[i]->summary);
    }
}

const struct tp_topic tp_topic_warnings = {"warnings", "list of all warnings by ID", "warning",
                                           .print = print_warning_list};

static void print_environment(FILE *out)
{
    fputs("Environment\n", out);
    for (const struct tp_fact *fact = tp_environment; fact->name; fact++)
        fprintf(out, "  %-21s%s\n", fact->name, fact->help);
    fputs("\nExit codes\n", out);
    for (const struct tp_fact *fact = tp_exit_codes; fact->name; fact++)
        fprintf(out, "  %-7s%s\n", fact->name, fact->help);
}

const struct tp_topic tp_topic_environment = {"environment", "environment variables and exit codes",
                                              "variables exit exit-codes status",
                                              .print = print_environment};
