/* tapool help formats: what can be read and written; the rows are those of the registry. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"
#include "cmd/ui/text.h"

enum { NAME = 2, SUMMARY = 18 };

static void print_row(struct tp_page *page, const char *name, const char *summary)
{
    tp_page_row(page, NAME, name, SUMMARY, "%s", summary);
}

static void print_paragraph(struct tp_page *page, const char *text)
{
    tp_page_line(page);
    tp_page_put(page, 0, "%s", text);
}

static void print_read(FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, 0);
    tp_page_put(&page, 0,
                "read, by every command that takes a trace (the format is detected from the "
                "bytes; --input-format NAME overrides it)");
    for (size_t i = 0; tp_formats[i]; i++)
        print_row(&page, tp_formats[i]->name, tp_formats[i]->summary);
    print_paragraph(&page, "written, by convert");
    for (size_t i = 0; tp_trace_writers[i]; i++)
        print_row(&page, tp_trace_writers[i]->suffix, tp_trace_writers[i]->summary);
    print_paragraph(&page,
                    "Input can be compressed with gzip or zstd and can be a pipe ('-'). 'tapool "
                    "info' lists what a format does not record. tapool's own formats are strict; "
                    "in others malformed events are fixed and counted (--strict rejects, --repair "
                    "fixes).");
    fputs("More: tapool help snapshots (PyTorch), malloc (Linux), format (JSON by hand).\n", out);
}

static void print_recording(const struct tp_topic_section *section, FILE *out)
{
    struct tp_page page;
    (void)section;
    tp_page_init(&page, out, 0);
    for (size_t i = 0; tp_formats[i]; i++)
        if (tp_formats[i]->record)
            print_row(&page, tp_formats[i]->name, tp_formats[i]->record);
}

static const struct tp_topic_section sections[] = {
    {"recording", "the command that records each format",
     "recording capture captures record_memory_history", .print = print_recording},
    {.name = NULL}};

const struct tp_topic tp_topic_formats = {"formats", "trace formats: read, written, recorded",
                                          "traces", .print = print_read, .sections = sections};
