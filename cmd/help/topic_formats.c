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

static void print_formats(FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, 0);
    tp_page_put(&page, 0,
                "read, by replay, info and convert (the format is seen from the bytes; "
                "--input-format NAME decides otherwise)");
    for (size_t i = 0; tp_formats[i]; i++) {
        print_row(&page, tp_formats[i]->name, tp_formats[i]->summary);
        if (tp_formats[i]->record)
            print_row(&page, "", tp_formats[i]->record);
    }
    print_paragraph(&page,
                    "Any of them may be packed with gzip or zstd, and may come through a pipe "
                    "('-'). What a format does not know is listed by 'tapool info' and is never "
                    "made up. tapool's own formats are strict; what others wrote is repaired where "
                    "it is dirty, with a count (--strict refuses, --repair repairs).");
    print_paragraph(&page, "written, by convert");
    for (size_t i = 0; tp_trace_writers[i]; i++)
        print_row(&page, tp_trace_writers[i]->suffix, tp_trace_writers[i]->summary);
    print_paragraph(&page, "More on recording: tapool help snapshots (PyTorch), tapool help malloc "
                           "(a program on Linux). To write one yourself: tapool help format.");
}

const struct tp_topic tp_topic_formats = {
    "formats", "what can be read and written, and how each is recorded",
    "record recording capture captures trace traces convert", .print = print_formats};
