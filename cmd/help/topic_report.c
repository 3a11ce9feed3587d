/* tapool help report: how to read the numbers. */
#include "alloc/base/clock.h"
#include "cmd/cli/commands.h"
#include "cmd/report/pick.h"
#include "cmd/ui/text.h"

static const char memory_text[] =
    "Memory, at the moment the program needed most (the same event for every policy):\n"
    "  requested    what the program asked for and had not freed\n"
    "  rounding     handed out beyond that          internal fragmentation = rounding / handed "
    "out\n"
    "  idle         reserved but not handed out     unused = idle / reserved\n"
    "  largest      biggest idle piece              external fragmentation = 1 - largest / idle,\n"
    "               over the idle memory that could serve any size\n"
    "               90 % external of 1 MiB idle is harmless; 90 % of 5 GiB is your OOM.\n"
    "               Read idle first.\n"
    "  dead         freed, but of no use before the policy is reset\n"
    "  reserved     what the policy holds from the system or driver      PyTorch: reserved\n"
    "               of a GPU in its pages of 2 MiB, as cudaMalloc gives memory: requests below "
    "that\n"
    "               share pages, larger ones have whole pages, and what is left of them is idle;\n"
    "               'fits in' is whole pages too. --source virtual:page=512 counts every request\n"
    "               by its own size, which no driver does\n"
    "  ever in use  what of it was ever part of a block; the rest is reserve\n"
    "  peak         the highest reserved at any event; 'times needed' is peak / needed by program\n"
    "  best packing what a perfect allocator would need that knew every life in advance and moved\n"
    "               nothing, as far as --bound-time finds it; regret = peak / best packing\n"
    "  calls        to the system or driver, both ways; 'reuse' is the share of allocations "
    "without\n"
    "  address space  (on host) reserved, which no page stands behind before it is written\n"
    "  peak resident (on host) most private memory of a process that replays the trace and "
    "writes\n"
    "               every block, less its memory before the first event, counted by the kernel:\n"
    "               pages in swap included, pages given back (MADV_FREE) not. The recorded "
    "threads\n"
    "               replay it: a malloc keeps memory for each. Median of three passes, or the "
    "only\n"
    "               one where a replay takes over half a second. Transparent huge pages are off;\n"
    "               --thp leaves them on\n"
    "  at start     RSS that a preloaded library adds to a process before the first event, its\n"
    "               code included: a process with it less one with the C library's malloc, each\n"
    "               the median of three. 'total resident' includes it, and decides\n"
    "  mapped       (-v and JSON, of a real allocator) what its process could write, written or "
    "not,\n"
    "               above what there was before the first event, and its calls for it: the "
    "process\n"
    "               is followed from call to call (ptrace), once, with addresses that are not\n"
    "               randomised. The bytes were the same in every replay of each library that was\n"
    "               tried; when pages go back may depend on the clock (jemalloc, mimalloc).\n"
    "               What it maps when it starts, by its constructors and the few calls of tapool\n"
    "               before the first event, is not in it: a library that begins with a large\n"
    "               arena (jemalloc, mimalloc, tbbmalloc) has 0 for a trace that fits into it.\n"
    "               resident tells such libraries apart\n"
    "What else a real allocator's memory is, its own statistics say: not comparable to the byte.\n"
    "\n";

static const char captures_text[] =
    "Captures\n"
    "  mid-run      what was live before the first event; only its sizes and places are known.\n"
    "               It is placed first, by address, and is in no count of calls and no measured\n"
    "               time, but in all bytes. --initial-heap=drop leaves it out\n"
    "  recorded     what the recorded allocator held, from the file: no policy is played. Idle is\n"
    "               reserved less requested, at the same event, so rounding is in it; its largest\n"
    "               piece is known where the file says where segments and blocks lay. Calls are\n"
    "               segments taken and given back during the recording\n"
    "  not in it    (info) what the format does not say; tapool does not make it up\n"
    "  space        a file can mix several memory spaces (CPU and GPU, many allocators). The one\n"
    "               with most bytes is played; --space NAME plays another, --space all every one,\n"
    "               each as a device\n"
    "  repaired     events of a dirty capture that were mended or left out, and how many; "
    "--strict\n"
    "               stops at the first\n"
    "\n";

static const char gpu_text[] =
    "On a real GPU (--source cuda)\n"
    "  times        the policy's work and the driver's calls, as seen from the CPU. Kernels are "
    "not\n"
    "               replayed; --occupy spin keeps the streams as busy as they were recorded, so "
    "that\n"
    "               frees are pending when the next allocation comes\n"
    "  peak         read in every pass, under the same load: where the passes differ, a range\n"
    "  reserved     counted in pages of 2 MiB by the rule of the virtual GPU, so that both "
    "compare\n"
    "  pool         cudaMallocAsync's memory is the high-water mark of the driver's pool; what is\n"
    "               idle in it and what it reuses, the driver does not say: '-'\n"
    "  driver calls all of them: for memory, events, pools and orders between streams\n"
    "  cuMemGetInfo by how much the device's free bytes sank, beside what was reserved: the rest "
    "is\n"
    "               the driver's own, or belongs to others who use the device\n"
    "  fits in      tried on a virtual device, so not known for cudaMallocAsync\n"
    "\n";

static const char oom_text[] =
    "Out of memory (--capacity, a real GPU, or what a recording says of its own)\n"
    "  demand         what the program itself had requested leaves no room for more: no policy\n"
    "                 can help\n"
    "  fragmentation  enough was free, but rounded up, kept for other sizes, or not in one "
    "piece:\n"
    "                 another policy may serve it\n"
    "  policy         the policy refused by a rule of its own; the device was not full\n"
    "  fits in        the smallest memory in which nothing fails; a policy gives back what is "
    "idle\n"
    "                 before it fails, so this can be below its peak\n"
    "\n";

static const char end_text[] =
    "Bars under 10 100 1k 10k ns: calls by latency, four bars a decade, heights are logarithmic.\n"
    "Warnings: tapool help warnings.   Every metric by name: tapool help metrics.\n";

enum { NUMBER = 2, RULE = 5 };

/* Prints the rule of the Pick in its own words (tp_pick_rule). */
static void print_pick(FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, 0);
    tp_page_put(&page, 0, "Pick");
    for (size_t n = 0; tp_pick_rule(n); n++) {
        if (n + 1 == TP_PICK_DECIDING) {
            tp_page_put(&page, NUMBER, "On the host: %s", tp_pick_host_rule);
            tp_page_put(&page, NUMBER, "On devices:");
        }
        tp_page_at(&page, NUMBER, "%zu.", n + 1);
        tp_page_put(&page, RULE, "%s", tp_pick_rule(n));
    }
    tp_page_put(
        &page, NUMBER,
        "The reason is the figure of the last step that removed a strategy, beside the best of "
        "those removed. No strategy was removed from step %d on: no difference that matters here. "
        "The other lines name strategies for another goal. The same rule picks in compare.",
        TP_PICK_DECIDING);
    tp_page_line(&page);
}

static void print_report_topic(FILE *out)
{
    struct tp_clock clock = {.step_ns = 0, .stamp_ns = 0};
    tp_clock_calibrate(&clock, NULL);
    fputs(memory_text, out);
    fputs(captures_text, out);
    fprintf(
        out,
        "Times\n"
        "  per call     average over whole replays, the clock read once per %d calls: compare\n"
        "               policies by this. tapool's own share, measured with a policy that does\n"
        "               nothing, is taken off. [low, high]: where the median lies, 95 %%, on this\n"
        "               machine in this run\n"
        "  how long     repeated until the timed calls add up to --min-time, once for this and "
        "once\n"
        "               for single calls, but no longer than one and a half times that in all: "
        "what\n"
        "               was live before the recording is placed anew each time, untimed. A replay\n"
        "               longer than --min-time is played once. Without that option: 0.1 s on\n"
        "               virtual, 0.15 s on host, 0.5 s on a real GPU\n"
        "  no time      a trace without a call that could be timed has none; nor has a policy "
        "that\n"
        "               takes no more than tapool's own share. No call takes 0 ns\n"
        "  p50 ... max  one clock reading per call; the reading of an empty call is taken off\n"
        "               (a reading costs %s ns here), the clock's steps (%s ns here) stay\n"
        "  cold         the first replay on a fresh instance, page faults included; per call is\n"
        "               the steady state\n"
        "  <=10, ~30    below 1 and below 10 steps of a 10 ns clock: read as a bound and as +-1\n"
        "               step\n"
        "  threads      (on host, unless --threads 1) real ones. per call is what a call took "
        "the\n"
        "               thread that made it, in a lock too; single calls are those of all. An\n"
        "               object goes from thread to thread in the order of the trace, and nothing\n"
        "               else is ordered; recorded pauses are not kept, and all threads meet every\n"
        "               %d calls, untimed. Memory and counts are those of one thread\n"
        "  waited       share of the threads' time in which they waited for such an object, with\n"
        "               or without a core. It is in no call's time\n"
        "  blocked      share of it in which a call had no core: it slept in a lock, waited for\n"
        "               memory from the system, or the scheduler let others run\n"
        "  wall time    what passed for each call of all threads together, from each window's "
        "first\n"
        "               call to its last, tapool's share included: what a user waits for, so the\n"
        "               Pick judges by it. Calls a second are the same time said otherwise\n"
        "  one thread   1.9x of one thread: against the same calls by one, by wall time, in turn "
        "with\n"
        "               them, in a process of its own, where malloc takes no locks.\n"
        "               Other work on the machine shows here first\n"
        "  policy time  on the virtual source: the policy's bookkeeping on this CPU. Not GPU\n"
        "               time, no cudaMalloc\n\n",
        65536, tp_digits(clock.stamp_ns).s, tp_digits(clock.step_ns).s, 65536);
    fputs(gpu_text, out);
    fputs(oom_text, out);
    print_pick(out);
    fputs(end_text, out);
}

const struct tp_topic tp_topic_report = {
    "report", "how to read the numbers",
    "oom out-of-memory fragmentation peak reserved resident rss address-space idle latency "
    "percentiles pick capacity fits threads waited",
    .print = print_report_topic};
