/* `tapool COMMAND --help`: a page made from the command's option rows. */
#include "cmd/cli/cli.h"
#include "cmd/cli/config.h"
#include "cmd/ui/text.h"

#include <string.h>

enum { LETTER = 2, NAME = 6, HELP = 27 };

static void print_option(struct tp_page *page, const struct tp_opt *row)
{
    char text[1024];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", row->help);
    for (size_t i = 0; row->choices && row->choices[i] && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " | " : ": ",
                                 row->choices[i]);
    if (row->def && row->type != TP_OPT_FLAG && used < sizeof text)
        snprintf(text + used, sizeof text - used, " (default %s)", row->def);
    if (row->letter)
        tp_page_at(page, LETTER, "-%c,", row->letter);
    tp_page_at(page, NAME, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
    tp_page_at(page, HELP, "%s", text);
    tp_page_line(page);
}

static void print_paragraphs(struct tp_page *page, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        tp_page_at(page, 0, "%.*s", (int)length, text);
        tp_page_line(page);
        text += length + (text[length] == '\n');
    }
}

void tp_cli_help(const struct tp_command *cmd, FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, 0);
    fprintf(out, "usage: tapool %s\n\n", cmd->usage);
    print_paragraphs(&page, cmd->about[0] ? cmd->about : cmd->summary);
    if (!cmd->options)
        return;
    fputs("\noptions:\n", out);
    for (const struct tp_opt *row = cmd->options; row->name; row++)
        print_option(&page, row);
    tp_page_at(&page, LETTER, "-h,");
    tp_page_at(&page, NAME, "--help");
    tp_page_at(&page, HELP, "this page");
    tp_page_line(&page);
    if (tp_config_concerns(cmd))
        fputs("\noptions also come from .tapool.ini and the environment: tapool help config\n",
              out);
}
