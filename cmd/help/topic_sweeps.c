/* tapool help sweeps: from a plan to the answers, and how else the store is read. */
#include "cmd/cli/commands.h"

static const char plan_text[] =
    "A sweep replays each trace of a plan under each setting, and keeps every result\n"
    "in a store, which is one SQLite file:\n"
    "\n"
    "  tapool sweep plan.ini                 compute all, or what is missing\n"
    "  tapool sweep plan.ini --report        answers so far\n"
    "  tapool sweep --report plan.sqlite     the same from the store\n"
    "\n"
    "A plan has an option of 'tapool sweep' in each line, as NAME = VALUE:\n"
    "\n"
    "  [sweep]\n"
    "  trace = corpus/*.tpt\n"
    "  strategy = arena:arena_size=1MiB|4MiB,max_arenas=default|4\n"
    "  strategy = torch:conf=tune\n"
    "\n"
    "value|value,... tries every combination; 'default' leaves the option out.\n";

static const char lines_text[] =
    "Lines of a plan, in its section [sweep]:\n"
    "\n"
    "  trace = corpus/*.tpt          files, globs, sample:NAME\n"
    "  exclude = *-old*              paths or names to leave out\n"
    "  strategy = arena:classes=fine|coarse6,max_arenas=default|4\n"
    "  strategy = jemalloc:narenas=1|2\n"
    "  strategy = torch:conf={max_split_size_mb=default|64|128}\n"
    "  strategy = torch:conf=tune    the settings of 'tapool tune'; malloc:tune:\n"
    "                                those of each malloc library of this machine\n"
    "  capacity = 8GiB               each capacity is a setting of its own\n"
    "  passes = usage,throughput\n"
    "\n"
    "Traces and the store are relative to the folder of the plan. Two settings that\n"
    "are the same are an error, and so are two traces with the same program.\n"
    "\n"
    "A cell is computed once. It is another cell if the program of the trace, the\n"
    "setting, the passes or tapool's commit is another one; for times and resident\n"
    "memory also if the machine is. Times are measured last, one replay at a time.\n"
    "A sweep replays in this machine's memory or on a virtual device, not on a GPU.\n";

static const char shards_text[] =
    "On a cluster each job computes a share and one job joins them:\n"
    "\n"
    "  tapool sweep plan.ini --shard 3/8   the third of eight\n"
    "  tapool sweep plan.ini --merge       plan.shard-*-of-8.sqlite to plan.sqlite\n"
    "\n"
    "Shares depend on the plan and the sizes of its traces, or with --costs STORE on\n"
    "the times of an earlier sweep. A shard that is run again goes on where it was.\n"
    "scripts/cluster has a Slurm array and a Kubernetes job; xargs and make do too.\n";

static const char answers_text[] =
    "--report answers, for peak_reserved or each --metric:\n"
    "\n"
    "  best setting     the setting with the lowest geometric mean over all traces.\n"
    "                   It has all traces and no failed allocation. Random samples of\n"
    "                   the traces, with replacement, say how often it stays the best.\n"
    "  front            settings that no other beats in both the metric and driver\n"
    "                   calls, or ns/op where that was measured\n"
    "  profile          share of traces within a factor of the best setting of the\n"
    "                   trace; each strategy with its best setting\n"
    "  effects          an option's worst value against its best one, with the same\n"
    "                   values of all other options, on the same traces\n"
    "  heat map         traces times settings (--export-html, --export-svg)\n"
    "\n"
    "peak_reserved is divided by the best packing of the trace (regret), or by its\n"
    "lower bound where no best packing was searched (--bound-time). Other metrics\n"
    "are divided by the best value of the trace (vs best); of counts both plus 1.\n"
    "\n"
    "Cells of the newest tapool in the store are used; of those that depend on the\n"
    "machine, cells of the newest machine.\n";

static const char store_text[] =
    "Tables and views of the store:\n"
    "\n"
    "  traces     path, kind, events, trace_peak, lower_bound, best_packing, ...\n"
    "  settings   setting, as for replay -s; strategy\n"
    "  options    setting, name, value: the options that the plan gave\n"
    "  cells      trace, setting, passes, tool, machine, and a column for each metric\n"
    "  failures   path, setting, error: cells that could not be computed\n"
    "  sweep      name, value: plan, commit, seed, machine, environment\n"
    "  results    view: a cell with the columns of its trace and setting\n"
    "  tidy       view: trace, setting, metric, value\n"
    "\n"
    "A column of a metric has its name with _ for a dot, and sums over all devices.\n"
    "NULL: not measured. A trace and setting have a row for each group of passes.\n";

static const char read_text[] =
    "DuckDB:\n"
    "\n"
    "  INSTALL sqlite; LOAD sqlite; ATTACH 'plan.sqlite' (TYPE sqlite);\n"
    "  SELECT setting, avg(peak_reserved) FROM plan.results GROUP BY setting;\n"
    "\n"
    "pandas:\n"
    "\n"
    "  import pandas, sqlite3\n"
    "  db = sqlite3.connect('plan.sqlite')\n"
    "  results = pandas.read_sql('SELECT * FROM results', db)\n"
    "\n"
    "Any program: --export-csv FILE has a row for each trace and setting, with all\n"
    "passes in it: trace, kind, events, setting, strategy, each option, lower_bound,\n"
    "best_packing, each metric. Two stores with the same cells give the same bytes.\n"
    "--export-json FILE has all answers (sweep.schema.json).\n";

static const struct tp_topic_section sections[] = {
    {"plan", "lines of a plan, and when a cell is computed again", "grid grids cells",
     .texts = {lines_text}},
    {"shards", "shares for the jobs of a cluster", "cluster slurm kubernetes merge",
     .texts = {shards_text}},
    {"answers", "best setting, front, profile, effects, heat map",
     "best front profile sensitivity effects", .texts = {answers_text}},
    {"store", "tables, columns and views of the store", "sqlite tables columns tidy results",
     .texts = {store_text}},
    {"read", "DuckDB, pandas, CSV", "duckdb pandas csv parquet", .texts = {read_text}},
    {.name = NULL}};

const struct tp_topic tp_topic_sweeps = {"sweeps", "many traces under many settings",
                                         "grid regret pareto", .texts = {plan_text},
                                         .sections = sections};
