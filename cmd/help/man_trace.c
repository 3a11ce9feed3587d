/* tapool-trace.5: the trace formats of tapool's own, in the words of the help topics. */
#include "cmd/help/man.h"

void tp_man_trace(FILE *out)
{
    tp_man_begin(out, "tapool-trace", "5", "trace formats of tapool");
    tp_man_section(out, "DESCRIPTION");
    tp_man_text(out, "A trace is what a program asked of its allocator, one event after another. "
                     "tapool has three forms of its own: .json and .jsonl (JSON Lines) for people "
                     "and scripts, .tpt for keeping and replaying. 'tapool convert' makes each of "
                     "each, and of the formats of others ('tapool help formats').");
    tp_man_section(out, "JSON AND JSON LINES");
    tp_man_topic(out, "format");
    tp_man_section(out, "TPT");
    tp_man_topic(out, "tpt");
    tp_man_section(out, "SEE ALSO");
    fputs(".BR tapool (1)\n", out);
}
