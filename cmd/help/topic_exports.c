/* tapool help exports: what can be written for other programs, and how each is read. */
#include "cmd/cli/commands.h"
#include "cmd/results/replay_exports.h"

#include <string.h>

static const char how[] =
    "--format NAME prints it instead of the screen, --export-NAME FILE writes it to FILE beside "
    "what\n"
    "is printed; several may be asked for. Every FILE is looked at before any work: one that "
    "exists\n"
    "is refused without -f. It is written whole or not at all. '-' is no FILE: --format is for "
    "that.\n"
    "All hold the same figures; what has no place in a format is left out of it.\n"
    "\n"
    "This is replay's. compare prints text, markdown, csv, json and html, and has --export-json "
    "and\n"
    "--export-html; info and why have text, json, folded and html; tune text, json and html. What\n"
    "check writes is in 'tapool help ci'.\n"
    "\n";

/* Its paragraph, beside its name. */
static void print_about(const struct tp_exporter *x, FILE *out)
{
    const char *name = x->name, *line = x->about;
    fputc('\n', out);
    for (size_t length; *line; line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        fprintf(out, "%-11s%.*s\n", name, (int)length, line);
        name = "";
    }
}

static void print_exports(FILE *out)
{
    fputs(how, out);
    for (size_t i = 1; tp_replay_exporters.list[i]; i++)
        fprintf(out, "  %-11s%s\n", tp_replay_exporters.list[i]->name,
                tp_replay_exporters.list[i]->summary);
    for (size_t i = 1; tp_replay_exporters.list[i]; i++)
        print_about(tp_replay_exporters.list[i], out);
}

const struct tp_topic tp_topic_exports = {
    "exports", "what can be written for other programs",
    "export csv markdown junit hgrm perfetto benchfmt svg picture chart image snapshot pickle "
    "folded flame graph stacks html page browser heap",
    .print = print_exports};
