/* tapool help exports: what can be written for other programs, and how each is read. */
#include "cmd/cli/commands.h"
#include "cmd/results/replay_exports.h"

#include <string.h>

static const char how[] =
    "--format NAME prints a format instead of the screen. --export-NAME FILE writes\n"
    "it to FILE and still prints the screen; several can be given. All formats have\n"
    "the same figures, as far as each has a place for them. Each FILE is checked\n"
    "before any work, and an existing one is refused without -f. A file is written\n"
    "completely or not at all. '-' is not a FILE: use --format.\n"
    "\n"
    "Formats of replay:\n";

static const char others[] =
    "\n"
    "compare has text, markdown, csv, json and html, and --export-json and\n"
    "--export-html; info and why have text, json, folded and html; tune has text,\n"
    "json and html; sweep has text, json, csv, svg and html. Formats of check: tapool\n"
    "help ci exports.\n";

/* Prints the paragraph of an exporter beside its name. */
static void print_about(const struct tp_exporter *x, FILE *out)
{
    const char *name = x->name, *line = x->about;
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
    fputs(others, out);
}

/* Prints the exporters that the section is also found by. */
static void print_section(const struct tp_topic_section *section, FILE *out)
{
    const char *between = "";
    for (size_t i = 1; tp_replay_exporters.list[i]; i++) {
        const struct tp_exporter *x = tp_replay_exporters.list[i];
        if (!tp_is_among(x->name, section->also))
            continue;
        fputs(between, out);
        print_about(x, out);
        between = "\n";
    }
}

static const struct tp_topic_section sections[] = {
    {"tables", "figures of a run: json, markdown, csv, benchfmt", "json markdown csv benchfmt",
     .print = print_section},
    {"times", "latency and memory over time: hgrm, perfetto", "hgrm perfetto",
     .print = print_section},
    {"pictures", "svg, svg-heap", "svg svg-heap picture chart image", .print = print_section},
    {"pages", "html", "html page browser", .print = print_section},
    {"heap", "for PyTorch's memory_viz and flame graphs: snapshot, folded",
     "snapshot folded flame graph", .print = print_section},
    {.name = NULL}};

const struct tp_topic tp_topic_exports = {"exports", "files for other programs", "export",
                                          .print = print_exports, .sections = sections};
