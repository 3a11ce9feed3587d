/* tapool help report: how to read the figures. */
#include "alloc/base/clock.h"
#include "cmd/cli/commands.h"
#include "cmd/report/pick.h"
#include "cmd/ui/terms.h"

enum { NUMBER = 2, RULE = 5 };

static const char memory_text[] =
    "Memory at the trace peak, the event with the most requested bytes. It is the\n"
    "same event for every strategy.\n"
    "\n"
    "  requested            bytes the program allocated and has not freed\n"
    "  rounding             allocated minus requested\n"
    "                       internal fragmentation = rounding / allocated\n"
    "  free at peak         reserved minus allocated\n"
    "                       unused = free / reserved\n"
    "  largest free block   external fragmentation = 1 - largest / free, over the\n"
    "                       free memory that can serve any size.\n"
    "                       Read free first: 90% external fragmentation of 1 MiB is\n"
    "                       harmless, 90% of 5 GiB causes the OOM.\n"
    "  dead                 freed, but unusable until the strategy is reset\n"
    "  reserved             held from the system or the driver. On a GPU in pages\n"
    "                       of 2 MiB, as cudaMalloc allocates: smaller requests\n"
    "                       share pages, larger ones take whole pages and the rest\n"
    "                       of the last page is free. Min capacity is in whole pages\n"
    "                       too. --source virtual:page=512 counts every request by\n"
    "                       its own size, which no driver does.\n"
    "  touched              the part of reserved that blocks have used at some time\n"
    "  peak                 most reserved memory at any event\n"
    "  overhead             peak reserved / peak requested\n"
    "  best packing         smallest offline placement found in one range; every\n"
    "                       lifetime is known in advance and no block moves\n"
    "  regret               peak reserved / best packing\n"
    "  driver calls         allocations and frees that reach the driver or the system\n"
    "  hit rate             share of allocations without such a call\n";

static const char process_text[] =
    "These figures exist on the host only.\n"
    "\n"
    "  address space   reserved bytes. Pages need RAM only once they are written.\n"
    "  peak resident   private memory of a process that replays the trace and writes\n"
    "                  every block, minus its memory before the first event. The\n"
    "                  kernel counts it: swapped pages included, pages freed with\n"
    "                  MADV_FREE not. The recorded threads replay the trace, because\n"
    "                  a malloc keeps memory per thread. The value is the median of\n"
    "                  three replays, or of one if a replay takes over half a second.\n"
    "                  Transparent huge pages are off; --thp leaves them on.\n"
    "  pages           what the pages that make up resident hold: live bytes,\n"
    "                  rounding, freed bytes of pages with live blocks (partly free),\n"
    "                  freed bytes of pages without (free pages: caches, arenas), and\n"
    "                  bytes that were never part of a block: the allocator's own\n"
    "                  data, or not yet used. They add up to resident. Found by\n"
    "                  /proc/self/pagemap, or by mincore where it cannot be read.\n"
    "  at start        RSS that a preloaded library adds before the first event, code\n"
    "                  included: a process with it minus one with the C library's\n"
    "                  malloc, each the median of three. Total resident includes it\n"
    "                  and decides the Pick.\n"
    "  mapped          writable mappings of a real allocator above those before the\n"
    "                  first event, and its calls for them (-v and JSON). ptrace\n"
    "                  follows one process from call to call, with address\n"
    "                  randomization off. The bytes were the same in every replay of\n"
    "                  each tested library; when pages are returned can depend on the\n"
    "                  clock (jemalloc, mimalloc).\n"
    "                  Mappings made at startup are left out. A library that starts\n"
    "                  with a large arena (jemalloc, mimalloc, tbbmalloc) shows 0 for\n"
    "                  a trace below its size; resident tells such libraries apart.\n"
    "\n"
    "All other figures of a real allocator are its own statistics. Do not compare\n"
    "them to the byte.\n";

static const char recordings_text[] =
    "  initial heap     blocks that were live before the recording began; only size\n"
    "                   and location are known. They are placed first, by address.\n"
    "                   Bytes include them; call counts and times do not.\n"
    "                   --initial-heap=drop leaves them out.\n"
    "  recorded         memory of the recorded allocator, from the file; nothing is\n"
    "                   replayed. Free is reserved minus requested at the same event,\n"
    "                   so it includes rounding. The largest free block is known if\n"
    "                   the file has addresses of segments and blocks. Calls are\n"
    "                   segments allocated and freed during the recording.\n"
    "  not recorded     (info) facts that the format does not record\n"
    "  space            A file can hold several memory spaces (CPU and GPU, several\n"
    "                   allocators). The one with the most bytes is replayed;\n"
    "                   --space NAME selects another, --space all replays each as a\n"
    "                   device.\n"
    "  repaired         malformed events that were fixed or left out, with counts;\n"
    "                   --strict stops at the first one\n";

static const char calls_text[] =
    "  ns/op           mean over whole replays; the clock is read once per 65,536\n"
    "                  calls. Compare strategies by this figure. Replay overhead,\n"
    "                  measured with a strategy that does nothing, is subtracted.\n"
    "                  [low, high] is the 95% CI of the median on this machine.\n"
    "  cold ns/op      ns/op of the first replay on a fresh instance, page faults\n"
    "                  included\n"
    "  replays         Replays repeat until the timed calls add up to --min-time,\n"
    "                  once for ns/op and once for single calls, at most 1.5 times\n"
    "                  that in total. The initial heap is placed again each time,\n"
    "                  untimed. A replay longer than --min-time runs once. Defaults:\n"
    "                  0.1 s on virtual, 0.15 s on host, 0.5 s on a GPU.\n"
    "  no time         The trace has no call to time, or the strategy takes no longer\n"
    "                  than the replay overhead.\n"
    "  virtual source  Times are the strategy's own work on this CPU. They include\n"
    "                  neither GPU time nor cudaMalloc.\n";

/* A format: the figures of the clock. */
static const char latency_text[] =
    "  p50 ... max     latency of single calls, one clock reading per call. An empty\n"
    "                  reading is subtracted (a reading costs %s ns here); the\n"
    "                  clock's steps (%s ns here) remain.\n"
    "  <=10, ~30       below 1 step, and below 10 steps, of a 10 ns clock: an upper\n"
    "                  bound, and a value within one step\n"
    "  10 100 1k 10k   histogram of calls by latency in ns: four bars per decade, bar\n"
    "                  heights are logarithmic\n";

static const char threads_text[] =
    "On the host the recorded threads replay the trace, unless --threads 1.\n"
    "\n"
    "  ns/op           time a call took the thread that made it, waiting for locks\n"
    "                  included; latencies are those of all threads\n"
    "  order           Each object is passed between threads in the order of the\n"
    "                  trace; nothing else is ordered. Recorded pauses are dropped.\n"
    "                  All threads meet every 65,536 calls, untimed. Memory and counts\n"
    "                  are those of a replay by one thread.\n"
    "  waited          share of thread time spent waiting for an object of another\n"
    "                  thread, on a core or not; no call's time includes it\n"
    "  blocked         share of thread time that calls spent without a core: in a\n"
    "                  lock, in the system, or preempted\n"
    "  wall time       elapsed time per call of all threads, from the first to the\n"
    "                  last call of each window, replay overhead included. It is the\n"
    "                  time users wait, so the Pick uses it.\n"
    "  calls per second   from the same elapsed time\n"
    "  1.9x of one thread   speedup in wall time over the same calls by one thread,\n"
    "                  measured in turns in a process of its own, where malloc takes\n"
    "                  no locks. Other load on the machine shows here first.\n";

static const char gpu_text[] =
    "With --source cuda:\n"
    "\n"
    "  times           the strategy's work and the driver's calls, as the CPU sees\n"
    "                  them. Kernels are not replayed. --occupy spin keeps streams as\n"
    "                  busy as recorded, so that frees are pending when the next\n"
    "                  allocation comes.\n"
    "  peak            read in every replay under the same load; a range if replays\n"
    "                  differ\n"
    "  reserved        counted in pages of 2 MiB as on the virtual GPU, so that both\n"
    "                  can be compared\n"
    "  pool            high-water mark of the driver's pool for cudaMallocAsync. The\n"
    "                  driver does not report free memory or hits in it: '-'.\n"
    "  driver calls    all of them: memory, events, pools, and ordering of streams\n"
    "  cuMemGetInfo    decrease of the device's free bytes, beside reserved. The\n"
    "                  difference is memory of the driver or of other processes.\n"
    "  min capacity    found on a virtual device; unknown for cudaMallocAsync\n";

static const char oom_text[] =
    "Reasons for an OOM, on a --capacity, a real GPU or in a recording:\n"
    "\n"
    "  demand          Requested bytes leave no room; no strategy can help.\n"
    "  fragmentation   Enough was free, but rounded up, cached for other sizes, or\n"
    "                  not contiguous; another strategy may serve the request.\n"
    "  strategy        The strategy refused by a rule of its own; the device was not\n"
    "                  full.\n"
    "\n"
    "  min capacity    smallest device without OOM. A strategy returns free memory\n"
    "                  before it fails, so min capacity can be below its peak.\n"
    "\n"
    "A recorded OOM in detail: tapool why SNAPSHOT.\n";

static void print_latency(const struct tp_topic_section *section, FILE *out)
{
    (void)section;
    struct tp_clock clock = {.step_ns = 0, .stamp_ns = 0};
    tp_clock_calibrate(&clock, NULL);
    fprintf(out, latency_text, tp_digits(clock.stamp_ns).s, tp_digits(clock.step_ns).s);
}

/* Prints the rule of the Pick in its own words (tp_pick_rule). */
static void print_pick(const struct tp_topic_section *section, FILE *out)
{
    (void)section;
    struct tp_page page;
    tp_page_init(&page, out, 0);
    for (size_t n = 0; tp_pick_rule(n); n++) {
        if (n + 1 == TP_PICK_DECIDING) {
            tp_page_put(&page, NUMBER, "On the host: %s", tp_pick_host_rule);
            tp_page_put(&page, NUMBER, "On devices:");
        }
        tp_page_at(&page, NUMBER, "%zu.", n + 1);
        tp_page_put(&page, RULE, "%s", tp_pick_rule(n));
    }
    tp_page_line(&page);
    tp_page_put(&page, 0,
                "The Pick line gives the figure of the last step that removed a strategy, and the "
                "best strategy that it removed. If no step from %d on removes one, there is no "
                "relevant difference. Further lines name the smallest and the fastest strategy. "
                "compare picks by the same rules.",
                TP_PICK_DECIDING);
}

/* Prints the terms of the table on the screen of replay. */
static void print_start(FILE *out)
{
    static const char *const columns[] = {
        "requested", "reserved",     "free",     "largest free block",
        "overhead",  "min capacity", "hit rate", "driver calls",
        "ns/op",     "OOM"};
    struct tp_page page;
    tp_page_init(&page, out, 0);
    page.width = 80;
    tp_page_put(&page, 0, "The columns of a report:");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        tp_term_put(&page, tp_find_term(columns[i]));
    tp_page_put(&page, 0,
                "Memory and counts are exact: the same trace, strategy, options and memory source "
                "give the same figures. Times vary with the machine.");
    tp_page_put(&page, 0,
                "More: tapool help terms, tapool help metrics (names), tapool help warnings.");
}

static const struct tp_topic_section sections[] = {
    {"memory", "memory at the trace peak, fragmentation, peak",
     "fragmentation peak reserved requested regret overhead", .texts = {memory_text}},
    {"process", "resident, mapped and address space of a process on the host",
     "resident rss address-space mapped", .texts = {process_text}},
    {"times", "ns/op, cold ns/op, how long a replay is repeated", "ns ns/op cold",
     .texts = {calls_text}},
    {"latency", "percentiles, the clock, the histogram", "percentiles p50 p99 histogram",
     .print = print_latency},
    {"threads", "replays by several threads", "waited blocked speedup wall-time",
     .texts = {threads_text}},
    {"gpu", "figures of a real GPU", "device", .texts = {gpu_text}},
    {"recordings", "initial heap, recorded figures, memory spaces, repairs",
     "recorded initial-heap space", .texts = {recordings_text}},
    {"capacity", "reasons for an OOM, min capacity", "demand fits", .texts = {oom_text}},
    {"pick", "how the Pick is chosen", NULL, .print = print_pick},
    {.name = NULL}};

const struct tp_topic tp_topic_report = {"report", "how to read the figures", "numbers figures",
                                         .print = print_start, .sections = sections};
