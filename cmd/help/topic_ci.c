/* tapool help ci: how a build is gated, and what each of its results means. */
#include "cmd/cli/commands.h"

static const char start_text[] =
    "tapool check is a CI gate: it fails if memory, instruction counts or latency\n"
    "regress. A first baseline, then the gate in each job:\n"
    "\n"
    "  tapool check TRACE... -s arena -s lru --update\n"
    "                                       write tapool-baseline.json; commit it\n"
    "  tapool check                         memory and instructions against it\n"
    "  tapool check --base-bin OLD-TAPOOL   latency too; OLD-TAPOOL is the build of\n"
    "                                       the merge base\n"
    "  tapool check --plan                  duration and sensitivity; runs nothing\n"
    "  tapool check --aa 20                 this build against itself: the false\n"
    "                                       positives of this machine\n"
    "\n"
    "Exit codes\n"
    "  0  no regression\n"
    "  1  a regression, a cell that did not run, or an unmet --require\n"
    "  2  command line, or no baseline\n"
    "  3  unusable input, or another trace than the baseline's\n"
    "  4  a replay failed, or a file could not be written\n"
    "  5  inconclusive (--inconclusive=fail), or --require-sensitivity not reached\n"
    "\n"
    "Options that select cells or move thresholds (-s, --source, --baseline,\n"
    "--effect, --alpha, --bin, --base-bin, --allow-missing, ...) come only from the\n"
    "command line or the baseline. A .tapool.ini line or a variable that sets one is\n"
    "an error (exit 2).\n";

static const char classes_text[] =
    "Each figure belongs to a class, and each class has its own test.\n"
    "\n"
    "  E  memory, counts   Exact: a serial replay is a pure function of trace,\n"
    "                      strategy, options and memory source. One byte more than\n"
    "                      the baseline is a regression. Traces of up to a million\n"
    "                      events and 1 GiB are replayed twice, the second time with\n"
    "                      the checks of replay --verify.\n"
    "  D  instructions     Per operation, counted by valgrind or the processor.\n"
    "                      Compared with the baseline if compiler, flags and libc\n"
    "                      are the same, else counted again with the old build.\n"
    "                      Allowed: +1% (valgrind), +2% (processor).\n"
    "  N  latency          The old build against the new one, in interleaved pairs\n"
    "                      of fresh processes. A regression is at least 5% slower,\n"
    "                      with p < 0.01 in the signed-rank test of the pairs'\n"
    "                      ratios, Holm-corrected over all tests, and a CI without\n"
    "                      \"no change\". --threads N uses real threads, which leaves\n"
    "                      more results inconclusive.\n"
    "  R  other figures    Shown by replay and compare, never gated. Exception:\n"
    "                      resident memory of a malloc library with --base-lib, its\n"
    "                      partly free pages and its free pages, in interleaved pairs\n"
    "                      with the test of class N: +5% or the --tolerance, at least\n"
    "                      64 KiB. Such pages do not fail where resident memory\n"
    "                      shrinks. Beside more resident memory is the part of it\n"
    "                      that grew most. The library's instructions are then class\n"
    "                      D, +0.3%, if two counts of each build agree.\n";

static const char results_text[] =
    "  PASS (1 of 2 cells)   Some cells of the baseline did not run: TRACE, -s,\n"
    "      --source or --allow-missing left them out, and the report names them.\n"
    "      --require all-cells turns this into exit 1.\n"
    "  REGRESSION, better   One line per cause. Figures of one family of a cell\n"
    "      (memory, calls, time, failed allocations) change together, so one of them\n"
    "      is the heading and the others follow, improved ones too. The last line\n"
    "      counts causes; -v and the JSON have every figure. A change is the ratio of\n"
    "      the two values; 'paired' is the median ratio of the pairs, if it differs.\n"
    "  NOT CHECKED: REASON   The class was not tested, and PASS says so: PASS (memory\n"
    "      and counts only). --require latency (memory, instructions) turns this into\n"
    "      exit 1.\n"
    "  not in: CELL (REASON)   The class was tested in other cells only. A base build\n"
    "      that lacks a new strategy is allowed: its cell is listed here, and\n"
    "      --require ignores it. A baseline without values for a cell does not meet\n"
    "      --require.\n"
    "  inconclusive   Noise hides a slowdown of twice the effect (10%), or only the\n"
    "      p value prevents a regression. A second set of pairs is then added and\n"
    "      both decide together, each decision with half the error rate. If it is\n"
    "      still inconclusive, check warns; --inconclusive=fail exits with 5. Use a\n"
    "      quieter machine or --thorough; repeating until it passes proves nothing.\n"
    "      A PASS counts the figures that could have failed: ns_per_op, and\n"
    "      percentiles that were slower by the effect.\n"
    "  insensitive   Most of a cell's time is replay overhead: class D decides.\n"
    "  ABORTED   An error or a signal ended the check (exit 2, 3, 4, 128 + signal)\n"
    "      before it found a regression; after one the result is FAIL. Figures so far\n"
    "      are shown.\n";

static const char baseline_text[] =
    "Change the baseline like code: on purpose, in the commit that is the reason.\n"
    "\n"
    "  tapool check --update --reason \"arena keeps two spare spans\"\n"
    "                                  write it and list what changed\n"
    "  git add tapool-baseline.json    one metric per line, reviewed as a diff\n"
    "\n"
    "An improvement passes. Store it with --update, or it can be lost again without\n"
    "notice. A changed default of an option is reported too, and so is a figure that\n"
    "differs between two runs.\n";

static const char limits_text[] =
    "  --timeout TIME   Kill a replay that runs longer, with its child processes, and\n"
    "      fail the check (exit 4). A terminal shows progress; the log of a CI (CI is\n"
    "      set) gets one line a minute.\n"
    "  minimum detectable slowdown   The smallest slowdown of ns_per_op that such a\n"
    "      run detects with 90% power, in the cell where it is largest. 'not known'\n"
    "      means that the times of a cell vary too much.\n"
    "  --require-sensitivity 10%   Exit with 5 if the minimum detectable slowdown is\n"
    "      larger, or if no times were compared.\n";

static const char exports_text[] =
    "  --export-json FILE, --export-junit FILE, --export-markdown FILE   for tools\n"
    "  --export-html FILE         page with charts, to keep with the job\n"
    "  --export-bmf FILE          trend tracker: Bencher\n"
    "  --export-benchmarks FILE   trend tracker: github-action-benchmark\n"
    "\n"
    "In GitHub Actions check also writes the step summary and annotations. An example\n"
    "workflow is in tapool's source tree: scripts/ci-example.\n";

static const struct tp_topic_section sections[] = {
    {"classes", "how memory, instructions and latency are tested", NULL, .texts = {classes_text}},
    {"results", "PASS, FAIL, inconclusive and other results", "inconclusive aborted insensitive",
     .texts = {results_text}},
    {"baseline", "how to change the baseline", "update", .texts = {baseline_text}},
    {"limits", "time limit, minimum detectable slowdown", "sensitivity timeout",
     .texts = {limits_text}},
    {"exports", "files for CI systems and trend trackers", "bencher", .texts = {exports_text}},
    {.name = NULL}};

const struct tp_topic tp_topic_ci = {"ci", "CI gate: classes, exit codes, the baseline",
                                     "gate regression", .texts = {start_text},
                                     .sections = sections};
