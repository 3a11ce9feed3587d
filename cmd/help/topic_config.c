/* tapool help config: values of options that do not stand on the command line. */
#include "cmd/cli/commands.h"

static const char text[] =
    "Every long option of every command can be given in three more places. The first\n"
    "of these that has it decides:\n"
    "\n"
    "  command line    tapool replay TRACE --min-time 1s\n"
    "  environment     TAPOOL_MIN_TIME=1s: capitals, '_' for '-'; empty is not set\n"
    "  .tapool.ini     the nearest one, in this folder or above it\n"
    "  default         as 'tapool COMMAND --help' says\n"
    "\n"
    "A .tapool.ini holds one option a line. What stands before the first section\n"
    "applies to every command that has the option; a section is named like its\n"
    "command and goes before that.\n"
    "\n"
    "  # a comment, as is what follows ' ;'\n"
    "  max-memory = 4GiB\n"
    "\n"
    "  [replay]\n"
    "  strategy = arena                ; lists: one item a line, the lines add up\n"
    "  strategy = big=arena:arena_size=1GiB\n"
    "  min-time = 200ms\n"
    "  verify   = yes                  ; flags: yes or no\n"
    "\n"
    "  Lists    In a variable blanks or ';' stand between items:\n"
    "           TAPOOL_STRATEGY='arena lru'. A list replaces that of a lower place;\n"
    "           it does not add to it.\n"
    "  Pairs    Of options that exclude each other (such as --json and --format,\n"
    "           --strict and --repair) the one from the higher place counts. A\n"
    "           section is higher than the lines before the first. From the same\n"
    "           place they contradict each other as on the command line.\n"
    "  Unfit    A variable, and a line before the first section, is for every command\n"
    "           that takes such a value: TAPOOL_FORMAT=csv is nothing to doctor.\n"
    "  Off      --verify=no on the command line takes back a 'verify = yes'.\n"
    "  Traces   and other words without '--' stand on the command line alone.\n"
    "\n"
    "An unknown section or option, and a value that an option does not take, are\n"
    "errors with file and line (exit 2). A variable TAPOOL_... that is no option's is\n"
    "ignored; 'tapool doctor --config' lists those that are set.\n"
    "\n"
    "  TAPOOL_CONFIG=FILE   another file than .tapool.ini; empty: none\n"
    "\n"
    "What runs a program, writes, overwrites or names a file (such as --base-bin,\n"
    "--baseline, --update, --force, -o, --export-json) is taken from the command line\n"
    "and the environment, never from a .tapool.ini: that may have come with a folder\n"
    "that you cloned. One that sets it is an error. A file that TAPOOL_CONFIG names is\n"
    "your choice and may set all.\n"
    "\n"
    "A .tapool.ini counts only if it belongs to you, to root or to the owner of the\n"
    "current folder. A line has 197 bytes at most, the file 64 KiB.\n"
    "\n"
    "Where each value comes from: tapool doctor --config [COMMAND]\n";

static void print_config_topic(FILE *out)
{
    fputs(text, out);
}

const struct tp_topic tp_topic_config = {"config", "options from .tapool.ini and the environment",
                                         print_config_topic,
                                         "configuration ini .tapool.ini environment"};
