/* tapool help metrics: every metric by the one name that it has everywhere. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"
#include "cmd/results/metrics.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/terms.h"

#include <string.h>

enum { WIDTH = 80, NAME = 2, MEANING = 26 };

/* Prints the meaning of a figure next to the last part of its name, such as "warm_calls". */
static void print_meaning(struct tp_page *page, const struct tp_metric *f)
{
    const char *dot = strrchr(f->name, '.'), *name = dot ? dot + 1 : f->name;
    tp_page_row(page, NAME, name, MEANING, "%s",
                f->term ? tp_find_term(f->term)->meaning : f->meaning);
}

static void print_figures(const struct tp_topic_section *section, FILE *out);

/* Prints the names of the metrics that --metric, --sort and --fail-on accept. */
static void print_compared(const struct tp_topic_section *section, FILE *out)
{
    int column = WIDTH;
    (void)section;
    fputs("--metric, --sort, --fail-on and the baseline accept:", out);
    for (size_t i = 0; i < tp_metric_count; i++) {
        int width = tp_text_width(tp_metrics[i].name);
        bool fits = column + 1 + width <= WIDTH;
        column = fits ? column + 1 + width : 2 + width;
        fprintf(out, "%s%s", fits ? " " : "\n  ", tp_metrics[i].name);
    }
    fputc('\n', out);
}

static void print_sources(const struct tp_topic_section *section, FILE *out)
{
    struct tp_page page;
    (void)section;
    tp_page_init(&page, out, 0);
    for (size_t i = 0; tp_sources[i]; i++) {
        char name[32];
        bool wrapper = tp_sources[i]->flags & TP_SRC_WRAPPER;
        snprintf(name, sizeof name, "%s%s", wrapper ? "+" : "", tp_sources[i]->name);
        tp_page_row(&page, wrapper ? NAME : NAME + 1, name, MEANING, "%s", tp_sources[i]->summary);
    }
    fputs("\n+ is a source wrapper: --source host+limit. Without --source, host traces use\n"
          "host and device traces use virtual.\n",
          out);
}

static void print_start(FILE *out)
{
    fputs("A metric has one name in reports and in JSON, where its unit is added: _bytes,\n"
          "_ns.\n"
          "\n"
          "Memory and counts are exact: a replay by one thread is a pure function of trace,\n"
          "strategy, options and memory source. Exceptions: all figures of a real allocator\n"
          "(system) are its own statistics; memory of a real GPU and resident memory are\n"
          "measured, as are times and latencies.\n"
          "\n"
          "Weighted means over the whole trace: by recorded time if every event has one,\n"
          "else by events; \"weight\" in the JSON says which.\n"
          "\n"
          "With several devices, bytes and counts are sums; each device's peak is at its\n"
          "own event. A share is a share of the sums: hit rate = all hits / all allocations.\n",
          out);
}

static const struct tp_topic_section sections[] = {
    {"memory", "requested, allocated, reserved, fragmentation", NULL, .print = print_figures},
    {"calls", "driver and system calls, hit rate", NULL, .print = print_figures},
    {"process", "resident and mapped memory of a process", NULL, .print = print_figures},
    {"failures", "failed allocations, skipped operations", NULL, .print = print_figures},
    {"times", "ns/op, threads, instructions, latency", NULL, .print = print_figures},
    {"gpu", "figures of a real GPU", NULL, .print = print_figures},
    {"compared", "names for --metric, --sort and --fail-on", NULL, .print = print_compared},
    {"sources", "memory sources and source wrappers", "source", .print = print_sources},
    {.name = NULL}};

/* The first figure of each section of figures, in the order of the registry. */
static const struct tp_fact first_figures[] = {{"memory", "trace_peak_requested"},
                                               {"calls", "library"},
                                               {"process", "peak_resident"},
                                               {"failures", "failed_allocations"},
                                               {"times", "ns_per_op"},
                                               {"gpu", "measured"},
                                               {NULL, NULL}};

static void print_figures(const struct tp_topic_section *section, FILE *out)
{
    const struct tp_fact *next = first_figures;
    const char *current = "";
    struct tp_page page;
    tp_page_init(&page, out, 0);
    for (size_t i = 0; i < tp_figure_count; i++) {
        if (!tp_figures[i]->meaning && !tp_figures[i]->term)
            continue;
        if (next->name && !strcmp(next->help, tp_figures[i]->name))
            current = next++->name;
        if (!strcmp(current, section->name))
            print_meaning(&page, tp_figures[i]);
    }
}

const struct tp_topic tp_topic_metrics = {"metrics", "metrics by name, memory sources", "metric",
                                          .print = print_start, .sections = sections};
