/* tapool help metrics: every metric by the one name that it has everywhere. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"
#include "cmd/results/metrics.h"
#include "cmd/ui/text.h"

#include <string.h>

enum { WIDTH = 98, NAME_WIDTH = 24 };

/* Prints the meaning of a figure next to the last part of its name, such as "next_pass". */
static void print_meaning(const struct tp_metric *f, FILE *out)
{
    const char *dot = strrchr(f->name, '.'), *name = dot ? dot + 1 : f->name;
    for (const char *at = f->meaning; at; name = "") {
        const char *end = strchr(at, '\n');
        fprintf(out, "  %-*s%.*s\n", NAME_WIDTH, name, end ? (int)(end - at) : WIDTH, at);
        at = end ? end + 1 : NULL;
    }
}

/* Prints the names of the metrics that --metric, --sort and --fail-on accept. */
static void print_compared(FILE *out)
{
    int column = WIDTH;
    fputs("\nWhat can be compared (--metric, --sort, --fail-on, the baseline):", out);
    for (size_t i = 0; i < tp_metric_count; i++) {
        int width = tp_text_width(tp_metrics[i].name);
        bool fits = column + 1 + width <= WIDTH;
        column = fits ? column + 1 + width : 2 + width;
        fprintf(out, "%s%s", fits ? " " : "\n  ", tp_metrics[i].name);
    }
    fputc('\n', out);
}

static void print_metrics_topic(FILE *out)
{
    fputs(
        "One name per metric, the same in reports and JSON (there with its unit: _bytes, _ns).\n\n",
        out);
    for (size_t i = 0; i < tp_figure_count; i++)
        print_meaning(tp_figures[i], out);
    fputs("\nWeighted = over the whole trace, by recorded time where every event has one, else by\n"
          "events; \"weight\" in the JSON says which. All but times and latencies are exact: a "
          "replay\n"
          "by one thread is a pure function of trace, strategy, options and source. For a real\n"
          "allocator (system) every figure is informative; on a real GPU memory is class R, and\n"
          "so is resident memory everywhere.\n",
          out);
    print_compared(out);
    fputs(
        "\nOf several devices, bytes and counts are summed, each device's peak at its own moment; "
        "a\nshare is that of the sums: reuse = all reused / all allocations.\n",
        out);
    fputs("\nSources: where memory comes from (--source)\n", out);
    for (size_t i = 0; tp_sources[i]; i++)
        fprintf(out, "  %s%-23s%s\n", tp_sources[i]->flags & TP_SRC_DECORATOR ? "+" : " ",
                tp_sources[i]->name, tp_sources[i]->summary);
}

const struct tp_topic tp_topic_metrics = {"metrics", "every metric by name; the sources",
                                          "metric sources", .print = print_metrics_topic};
