/* The screen of `tapool` without arguments: what tapool does, shown as commands to type. */
#include "cmd/ui/screen_first.h"

void tp_screen_first(FILE *out)
{
    fprintf(out, "tapool %s: replay recorded allocations against allocator policies (Linux)\n",
            TAPOOL_VERSION);
    fputs(
        "\n"
        "  tapool replay TRACE              the usual policies on your trace, one table\n"
        "  tapool replay TRACE -s arena     one policy in detail\n"
        "  tapool replay TRACE --capacity 8GiB\n"
        "                                   does it fit? who runs out of memory, and why\n"
        "  tapool info TRACE                what is in a trace, before you replay it\n"
        "  tapool compare TRACE -s A -s B   which is faster, measured in turn, with intervals\n"
        "  tapool check                     CI gate against tapool-baseline.json (tapool help ci)\n"
        "  tapool convert TRACE -o FILE     in another form: .tpt is small and quick to play\n"
        "  tapool strategies                the policies, what each resembles, where each runs\n"
        "  tapool doctor                    what this machine can measure\n"
        "\n"
        "No trace yet?\n"
        "  tapool replay sample:sqlite      a shipped one; also sample:jq, sample:python-threads\n"
        "  tapool replay sample:web         made on the spot: a server, 8 threads, 2 million "
        "events\n"
        "  tapool replay sample:llm-decode  of a device, no GPU needed; also sample:training-step\n"
        "  tapool gen web-server -o w.tpt   a synthetic one as a file; 'tapool gen' lists the "
        "kinds\n"
        "  tapool help formats              what is read: PyTorch snapshots, RMM logs, mtrace, "
        "...\n"
        "  tapool help snapshots            how to record one of PyTorch\n"
        "  tapool help format               how to write one yourself: JSON, one event a line\n"
        "\n"
        "More: tapool COMMAND --help, tapool help report (how to read the numbers), tapool help\n",
        out);
}
