/* `tapool COMMAND -h`, `--help` and `--help-all`: pages made from the command's option rows. */
#include "cmd/cli/cli.h"
#include "cmd/cli/config.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/text.h"

#include <string.h>

enum { LETTER = 2, NAME = 6, HELP = 27 };

const char *const tp_help_titles[TP_OPT_GROUPS] = {
    [TP_GROUP_OTHER] = "Options",         [TP_GROUP_TRACES] = "Traces",
    [TP_GROUP_STRATEGIES] = "Strategies", [TP_GROUP_DEVICE] = "Device",
    [TP_GROUP_MEASURING] = "Measuring",   [TP_GROUP_OUTPUT] = "Output",
    [TP_GROUP_LIMITS] = "Limits"};

/* Whether the only word that the option takes is its default, which is printed in any case. */
static bool defaults_to_its_word(const struct tp_opt *row)
{
    return row->def && row->choices && !row->choices[1] && !strcmp(row->choices[0], row->def);
}

static void print_option(struct tp_page *page, const struct tp_opt *row, bool details)
{
    struct tp_str text = {0};
    size_t first = strcspn(row->help, "\n");
    tp_str_add(&text, "%.*s", (int)first, row->help);
    if (!defaults_to_its_word(row))
        tp_str_choices(&text, row);
    if (row->def && row->type != TP_OPT_FLAG)
        tp_str_add(&text, " (default %s)", row->def);
    if (row->letter)
        tp_page_at(page, LETTER, "-%c,", row->letter);
    tp_page_at(page, NAME, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
    tp_page_put(page, HELP, "%s", tp_str_text(&text));
    if (details && row->help[first])
        tp_page_lines(page, HELP, row->help + first + 1);
    tp_str_drop(&text);
}

static bool is_listed(const struct tp_opt *row, enum tp_help_page which)
{
    if (which == TP_HELP_SHORT)
        return row->listed == TP_LISTED_FIRST;
    return which == TP_HELP_ALL || row->listed != TP_LISTED_LAST;
}

/* Returns how many options of the group the page does not list. */
static size_t print_group(struct tp_page *page, const struct tp_command *cmd,
                          enum tp_opt_group group, enum tp_help_page which)
{
    size_t left_out = 0;
    bool begun = which == TP_HELP_SHORT; /* its options stand under one heading */
    for (const struct tp_opt *row = cmd->options; row->name; row++) {
        if (row->group != group)
            continue;
        if (!is_listed(row, which)) {
            left_out++;
            continue;
        }
        if (!begun)
            fprintf(page->out, "\n%s\n", tp_help_titles[group]);
        begun = true;
        print_option(page, row, which == TP_HELP_ALL);
    }
    return left_out;
}

static void print_more(const struct tp_command *cmd, size_t left_out, enum tp_help_page which,
                       FILE *out)
{
    const char *page = which == TP_HELP_SHORT ? "--help" : "--help-all";
    if (left_out)
        fprintf(out, "\n%zu more option%s: tapool %s %s\n", left_out, left_out == 1 ? "" : "s",
                cmd->name, page);
    if (which != TP_HELP_SHORT && tp_config_concerns(cmd))
        fputs("\nDefaults of options can be set in .tapool.ini: tapool help config\n", out);
}

void tp_cli_help(const struct tp_command *cmd, enum tp_help_page which, FILE *out)
{
    struct tp_page page;
    size_t left_out = 0;
    tp_page_init(&page, out, 0);
    fprintf(out, "usage: tapool %s\n\n", cmd->usage);
    tp_page_lines(&page, 0, which != TP_HELP_SHORT && cmd->about[0] ? cmd->about : cmd->summary);
    if (!cmd->options)
        return;
    if (which == TP_HELP_SHORT)
        fputs("\nOptions\n", out);
    for (int group = TP_GROUP_TRACES; group < TP_OPT_GROUPS; group++)
        left_out += print_group(&page, cmd, (enum tp_opt_group)group, which);
    left_out += print_group(&page, cmd, TP_GROUP_OTHER, which);
    print_more(cmd, left_out, which, out);
}
