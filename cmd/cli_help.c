/* `tapool COMMAND --help`: a page made from the command's option rows. */
#include "cmd/cli.h"

#include <string.h>

enum { HELP_COLUMN = 27, PAGE_WIDTH = 92 };

static void print_wrapped(FILE *out, const char *text, int indent)
{
    int column = indent;
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (column + (int)word > PAGE_WIDTH && column > indent) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        fprintf(out, "%.*s", (int)word, text);
        column += (int)word;
        text += word;
        if (*text == '\n') {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            text++;
        } else if (*text == ' ') {
            fputc(' ', out);
            column++;
            text++;
        }
    }
    fputc('\n', out);
}

static void print_option(const struct tp_opt *row, FILE *out)
{
    char left[96], letter[8] = "    ";
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    int n = snprintf(left, sizeof left, "  %s--%s%s%s", letter, row->name, row->arg ? " " : "",
                     row->arg ? row->arg : "");
    fprintf(out, "%-*s", HELP_COLUMN, left);
    if (n >= HELP_COLUMN)
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", row->help);
    for (size_t i = 0; row->choices && row->choices[i] && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " | " : ": ",
                                 row->choices[i]);
    if (row->def && row->type != TP_OPT_FLAG && used < sizeof text)
        snprintf(text + used, sizeof text - used, " (default %s)", row->def);
    print_wrapped(out, text, HELP_COLUMN);
}

void tp_cli_help(const struct tp_command *cmd, FILE *out)
{
    fprintf(out, "usage: tapool %s\n\n", cmd->usage);
    print_wrapped(out, cmd->about[0] ? cmd->about : cmd->summary, 0);
    if (!cmd->options)
        return;
    fputs("\noptions:\n", out);
    for (const struct tp_opt *row = cmd->options; row->name; row++)
        print_option(row, out);
    fprintf(out, "%-*sthis page\n", HELP_COLUMN, "  -h, --help");
}
