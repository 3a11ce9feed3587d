/* tapool help config: values of options that are not on the command line. */
#include "cmd/cli/commands.h"

static const char start_text[] =
    "Every long option of every command can be set in three more places. The first\n"
    "place that sets it wins:\n"
    "\n"
    "  command line    tapool replay TRACE --min-time 1s\n"
    "  environment     TAPOOL_MIN_TIME=1s: capitals, '_' for '-'; empty means not set\n"
    "  .tapool.ini     the nearest file, in this folder or above it\n"
    "  default         listed by 'tapool COMMAND --help'\n"
    "\n"
    "A .tapool.ini has one option per line. Lines before the first section apply to\n"
    "every command with that option; a section applies to the command of its name and\n"
    "overrides those lines.\n"
    "\n"
    "  # a comment, as is everything after ' ;'\n"
    "  max-memory = 4GiB\n"
    "\n"
    "  [replay]\n"
    "  strategy = arena                ; lists: one item per line, lines add up\n"
    "  strategy = big=arena:arena_size=1GiB\n"
    "  min-time = 200ms\n"
    "  verify   = yes                  ; flags: yes or no\n"
    "\n"
    "  TAPOOL_CONFIG=FILE   use FILE instead of .tapool.ini; empty: use no file\n"
    "\n"
    "Where each value comes from: tapool doctor --config [COMMAND]\n";

static const char rules_text[] =
    "  Lists    In a variable, blanks or ';' separate items:\n"
    "           TAPOOL_STRATEGY='arena lru'. A list replaces the list of a lower\n"
    "           place; it does not add to it.\n"
    "  Pairs    Of options that exclude each other (--json and --format, --strict and\n"
    "           --repair) the one from the higher place counts. A section is higher\n"
    "           than the lines before the first section. Two from the same place are\n"
    "           an error, as on the command line.\n"
    "  Types    A variable, or a line before the first section, applies to the\n"
    "           commands that accept its value: doctor ignores TAPOOL_FORMAT=csv.\n"
    "  Off      --verify=no on the command line overrides 'verify = yes'.\n"
    "  Traces   Traces and other words without '--' come from the command line only.\n"
    "  Errors   An unknown section or option, or an invalid value, is an error with\n"
    "           file and line (exit 2). A variable TAPOOL_... of no option is\n"
    "           ignored; 'tapool doctor --config' lists such variables.\n"
    "  Limits   A line has at most 197 bytes, the file at most 64 KiB.\n";

static const char safety_text[] =
    "A .tapool.ini may have come with a folder that you cloned. It therefore cannot\n"
    "set options that run a program or that write, overwrite or name a file, such as\n"
    "--update, --force, -o, --export-json. They come from the command line or the\n"
    "environment, never from a .tapool.ini. The same holds for strategies that run\n"
    "code from a file (plugin:PATH, lib:PATH, lib: with env=). A file that sets one\n"
    "is an error.\n"
    "\n"
    "A file that TAPOOL_CONFIG names is your choice and may set all of these.\n"
    "\n"
    "Options that decide whether 'check' passes ('tapool help ci') come from its\n"
    "command line only: a line or a variable that sets one is an error.\n"
    "\n"
    "A .tapool.ini counts only if it belongs to you, to root or to the owner of the\n"
    "current folder.\n";

static const struct tp_topic_section sections[] = {
    {"rules", "lists, pairs, types, errors", NULL, .texts = {rules_text}},
    {"safety", "options that a .tapool.ini cannot set", NULL, .texts = {safety_text}},
    {.name = NULL}};

const struct tp_topic tp_topic_config = {"config", "options from .tapool.ini and the environment",
                                         "configuration ini .tapool.ini", .texts = {start_text},
                                         .sections = sections};
