/* tapool help exports: what can be written for other programs, and how each is read. */
#include "cmd/cli/commands.h"
#include "cmd/measure/exporter.h"

static const char how[] =
    "--format NAME prints it instead of the screen, --export-NAME FILE writes it to FILE beside "
    "what\n"
    "is printed; several may be asked for. Every FILE is looked at before any work: one that "
    "exists\n"
    "is refused without -f. It is written whole or not at all. '-' is no FILE: --format is for "
    "that.\n"
    "All hold the same figures; what has no place in a format is left out of it.\n"
    "\n"
    "This is replay's. compare has text, markdown, csv and json, and --export-json; what check\n"
    "writes is in 'tapool help ci'.\n"
    "\n";

static const char text[] =
    "\n"
    "json       Everything, under fixed names; share/tapool/result.schema.json describes each.\n"
    "\n"
    "markdown   For a comment on a pull request: the table of the screen, Pick, warnings, and "
    "folded\n"
    "           away how everything was set. No name in it can become a link or call somebody.\n"
    "\n"
    "csv        RFC 4180, lines end in LF, UTF-8. A row is a result on one device: what belongs "
    "to\n"
    "           the whole run, such as its times, stands in the row of every device. A column is\n"
    "           called by its path in the JSON result without memory, throughput and latency:\n"
    "           at_peak_demand_idle_bytes, ns_per_op, alloc_p99_ns. Empty: not known. Several "
    "things\n"
    "           in a cell are parted by ';', options by ','. Left out: curves, buckets, phases "
    "and\n"
    "           single repetitions. A name that begins with = + - or @ stands in quotes as it is,\n"
    "           which does not keep a spreadsheet from taking it for a formula: import as text.\n"
    "\n"
    "benchfmt   Go's benchmark format: benchstat old.txt new.txt, or benchstat -col /strategy "
    "x.txt.\n"
    "           Each repetition is a line of ns/op. Memory and counts have a line of their own "
    "and\n"
    "           are declared exact where a second replay would say the same. What differs between\n"
    "           results that cannot be compared (trace hash, source, touch, what is in the times,\n"
    "           machine) is configuration, by which benchstat parts its tables. Percentiles below\n"
    "           ten steps of the clock are left out. In names a character other than a letter, a\n"
    "           digit or one of . _ + : , = # - is %XX.\n"
    "           The repetitions follow each other in one process: they share its layout, so a\n"
    "           difference between two files can be real and still not be the policy's.\n"
    "\n"
    "hgrm       Percentiles as HdrHistogram prints them, in nanoseconds, for its plotter. A file "
    "is\n"
    "           one histogram. With one result FILE is that of all calls, FILE-alloc and so on "
    "those\n"
    "           of each kind; with several they are FILE-LABEL-all, FILE-LABEL-alloc, ..., and "
    "where\n"
    "           there are several traces FILE-TRACE-LABEL-...: what is added goes before the "
    "suffix.\n"
    "           --format hgrm prints the histogram of all calls of one result. Values below ten\n"
    "           steps of the clock are good to one step; the first lines say how long that is.\n"
    "\n"
    "perfetto   Chrome's trace-event JSON for ui.perfetto.dev: requested, granted, reserved and "
    "idle\n"
    "           bytes over recorded time, a process for each result, the trace's marks as phases.\n"
    "           In a trace without times an event is a microsecond.\n"
    "\n"
    "snapshot   A PyTorch memory snapshot of what the strategy did, for "
    "docs.pytorch.org/memory_viz "
    "and\n"
    "           other tools that read such files, tapool too: every segment taken and given back, "
    "every\n"
    "           block, every out of memory, and what is held at the end. A file is one strategy; "
    "with\n"
    "           several they are FILE-LABEL and FILE-TRACE-LABEL, as above. The trace is played "
    "once\n"
    "           more for it. Addresses are made up: segments follow each other in the order in "
    "which\n"
    "           they were taken. Times count from the first event; the marks of the trace are\n"
    "           annotations. Not for real allocators (system, lib) and the driver's pool, which do "
    "not\n"
    "           say where their memory comes from.\n"
    "\n"
    "folded     Who holds the memory at the peak, or after --at EVENT: a line is a call stack, "
    "the\n"
    "           outermost function first, and its bytes. For flamegraph.pl, speedscope and "
    "others.\n"
    "           It is of the trace, the same for every strategy; of several traces each stands "
    "under\n"
    "           its name. What has no stack is 'not known'. A trace without stacks is refused. "
    "info "
    "and\n"
    "           why write it too.\n";

static void print_exports(FILE *out)
{
    fputs(how, out);
    for (size_t i = 0; tp_exporters[i]; i++)
        fprintf(out, "  %-11s%s\n", tp_exporters[i]->name, tp_exporters[i]->summary);
    fputs(text, out);
}

const struct tp_topic tp_topic_exports = {
    "exports", "what can be written for other programs",
    "export csv markdown junit hgrm perfetto benchfmt snapshot pickle folded flame graph stacks",
    .print = print_exports};
