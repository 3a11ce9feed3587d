/* tapool help plugin: strategies that are shared libraries of somebody else. */
#include "cmd/cli/commands.h"

static const char text[] =
    "A strategy can be a shared library of your own. It is played like any other:\n"
    "\n"
    "  tapool replay sample:sqlite -s plugin:./mine.so,order=3 -s arena\n"
    "\n"
    "The path comes first, then the plug-in's own options. A path with a comma stands\n"
    "in braces: plugin:{./a,b.so}. In reports it is plugin:NAME, NAME being what the\n"
    "plug-in calls itself, or what you call it: mine=plugin:./mine.so.\n"
    "\n"
    "To make one, write a 'struct tp_strategy' and end the file with\n"
    "\n"
    "  #include <tapool/strategy.h>\n"
    "  ...\n"
    "  TP_PLUGIN(&mine, \"1.0\")\n"
    "\n"
    "  cc -shared -fPIC $(pkg-config --cflags tapool) mine.c -o mine.so\n"
    "\n"
    "The head of tapool/strategy.h has the rules, tapool/memory.h what memory can be\n"
    "asked for. tapool's sources have a whole one in scripts/plugin-example: a buddy\n"
    "allocator in under 150 lines.\n"
    "\n"
    "--verify finds overlapping, misaligned and overwritten blocks in a replay of your\n"
    "trace, with the event.\n"
    "\n"
    "A plug-in is compiled for one TP_ABI. tapool refuses those of another, naming\n"
    "both: compile it again with the headers of the tapool that shall play it.\n"
    "\n"
    "A plug-in is code, and may do all that you may. So only the command line, the\n"
    "environment and a file named by TAPOOL_CONFIG name one, never a .tapool.ini that\n"
    "was found. A baseline may hold one, but 'tapool check' plays it only where -s\n"
    "names the file: -s mine=plugin:./mine.so.\n";

const struct tp_topic tp_topic_plugin = {"plugin", "a strategy of your own, as a shared library",
                                         "plugins plug-in plug-ins abi", .texts = {text}};
