/* `tapool COMMAND --help`: a page made from the command's option rows. */
#include "cmd/cli/cli.h"
#include "cmd/cli/config.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/text.h"

enum { LETTER = 2, NAME = 6, HELP = 27 };

static void print_option(struct tp_page *page, const struct tp_opt *row)
{
    struct tp_str text = {0};
    tp_str_add(&text, "%s", row->help);
    tp_str_choices(&text, row);
    if (row->def && row->type != TP_OPT_FLAG)
        tp_str_add(&text, " (default %s)", row->def);
    if (row->letter)
        tp_page_at(page, LETTER, "-%c,", row->letter);
    tp_page_at(page, NAME, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
    tp_page_put(page, HELP, "%s", tp_str_text(&text));
    tp_str_drop(&text);
}

void tp_cli_help(const struct tp_command *cmd, FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, 0);
    fprintf(out, "usage: tapool %s\n\n", cmd->usage);
    tp_page_lines(&page, 0, cmd->about[0] ? cmd->about : cmd->summary);
    if (!cmd->options)
        return;
    fputs("\noptions:\n", out);
    for (const struct tp_opt *row = cmd->options; row->name; row++)
        print_option(&page, row);
    tp_page_at(&page, LETTER, "-h,");
    tp_page_row(&page, NAME, "--help", HELP, "this page");
    if (tp_config_concerns(cmd))
        fputs("\noptions also come from .tapool.ini and the environment: tapool help config\n",
              out);
}
