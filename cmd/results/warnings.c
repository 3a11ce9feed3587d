/* The closed list of warnings; see warnings.h. To add a warning, write its function and its row,
 * and add the row to the table. */
#include "cmd/results/warnings.h"

#include "alloc/sources/common/device_pages.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/machine.h"
#include "cmd/results/recorded_strategy.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_PEAK      (UINT64_C(16) << 20) /* peaks above this are not start-up cost */
#define SMALL_TIMES     1.5                  /* factors below this need no warning */
#define PAGE_BLOCK_SIZE 4096
#define MUCH_ROUNDING   0.25
#define MANY_BLOCKS     16
#define DRIFT           0.15
#define DRIFT_VALUES    20

/* Writes the sentence of a warning and returns true, for `applies`. */
__attribute__((format(printf, 3, 4))) static bool say(char *text, size_t size, const char *format,
                                                      ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, size, format, args);
    va_end(args);
    return true;
}

/* Whether free memory mostly waits for its first use, and is not lost to the strategy. */
static bool idle_is_start_up(const struct tp_at_peak *at)
{
    return at->dead == TP_NONE || at->dead < at->free_bytes / 2;
}

static bool small_trace(const struct tp_result *r, char *text, size_t size)
{
    double times = tp_run_needed(r->run, tp_run_peak_reserved(r->run));
    uint64_t start = r->run->devices[0].start_bytes;
    uint64_t rest = r->run->devices[0].at_peak.page_rest;
    if (rest && rest != TP_NONE && start < TP_DEVICE_PAGE)
        start = TP_DEVICE_PAGE;
    if (!start || tp_run_failed(r->run) || r->run->device_count > 1 ||
        tp_run_trace_peak(r->run) >= SMALL_PEAK || !(times >= SMALL_TIMES) ||
        !idle_is_start_up(&r->run->devices[0].at_peak))
        return false;
    return say(text, size,
               "%s reserves at least %s at a time: what its %s of %s have above requested (%s) is "
               "start-up cost, not fragmentation. Too small to judge: use a trace with a peak "
               "above 16 MiB.",
               r->spec->label, tp_bytes(start, false).s,
               tp_bytes(tp_run_peak_reserved(r->run), false).s,
               tp_result_is_on_host(r) ? "address space" : "reserved memory", tp_times(times).s);
}

/* Whether all allocated memory consists of whole pages, at every point of the curve. */
static bool hands_out_pages(const struct tp_device_run *d)
{
    for (uint32_t i = 0; i < d->curve.count; i++)
        if (d->curve.points[i].bytes[TP_CURVE_ALLOCATED] % PAGE_BLOCK_SIZE)
            return false;
    return true;
}

static bool page_per_block(const struct tp_result *r, char *text, size_t size)
{
    const struct tp_device_run *d = &r->run->devices[0];
    bool wasteful = d->internal_fragmentation > MUCH_ROUNDING && d->allocations >= MANY_BLOCKS;
    return r->facts->kind == TP_KIND_HOST && wasteful && hands_out_pages(d) &&
           say(text, size,
               "%s reserves whole pages of %d bytes for every block, as device allocators do. Do "
               "not use it to judge a host program.",
               r->spec->label, PAGE_BLOCK_SIZE);
}

static bool memory_not_touched(const struct tp_result *r, char *text, size_t size)
{
    return r->touch == TP_TOUCH_NONE && !tp_result_is_virtual(r) && !tp_result_is_device(r) &&
           say(text, size,
               "with --touch none no block is written: %s pays for no page faults and cache "
               "misses, "
               "and a program would. Do not compare this time with a real allocator's.",
               r->spec->label);
}

static bool put_refused(const struct tp_result *r, char *text, size_t size)
{
    uint64_t refused = 0;
    for (uint32_t d = 0; d < r->run->device_count; d++)
        refused += r->run->devices[d].refused_puts;
    return refused && say(text, size,
                          "the %s refused to take back %s ranges%s: they count as reserved until "
                          "the end, so %s looks larger than it is.",
                          tp_result_callee(r), tp_count(refused).s,
                          tp_result_is_device(r) ? "" : " (vm.max_map_count?)", r->spec->label);
}

static bool synthetic_time(const struct tp_result *r, char *text, size_t size)
{
    if (tp_result_is_device(r))
        return r->use->occupy == TP_OCCUPY_SPIN && !r->facts->time_known &&
               say(text, size,
                   "the trace has no times: the streams are kept busy 1 us for every event, so "
                   "the effect of pending frees is a guess.");
    return r->run->flags & TP_RUN_SYNTHETIC_TIME &&
           say(text, size,
               "the trace has no times: the virtual clock moves 1 us per event, so the effect of "
               "pending frees is a guess.");
}

/* Without work on the streams every free is complete at once, although it may have been pending in
 * the recorded program. */
static bool idle_streams(const struct tp_result *r, char *text, size_t size)
{
    return tp_result_is_device(r) && r->use->occupy == TP_OCCUPY_NONE &&
           r->facts->streams > r->facts->devices &&
           say(text, size,
               "nothing runs on the streams: frees are never pending, so no strategy waits for "
               "another stream. --occupy spin keeps them busy as recorded.");
}

static bool shared_device(const struct tp_result *r, char *text, size_t size)
{
    bool shared = false;
    for (uint16_t d = 1; tp_result_is_device(r) && d < r->facts->devices; d++)
        for (uint16_t e = 0; e < d; e++)
            shared |= r->use->ordinals[e] == r->use->ordinals[d];
    return shared && say(text, size,
                         "several devices of the trace share one CUDA device: each of them counts "
                         "its free memory and its default pool in full.");
}

static bool simulated_driver(const struct tp_result *r, char *text, size_t size)
{
    return tp_result_is_device(r) && r->use->driver->simulated &&
           say(text, size,
               "the driver simulates a GPU: counts follow its rules, and times mean nothing.");
}

static bool unused_gpu(const struct tp_result *r, char *text, size_t size)
{
    return r->use && r->use->unused &&
           say(text, size,
               "this machine has a CUDA driver, but no usable GPU: %s. The trace was replayed on a "
               "simulated device; --source virtual chooses that.",
               r->use->unused);
}

/* The recorded heap was fragmented by what ran before the recording. A replay places these blocks
 * without gaps. */
static bool aged_heap(const struct tp_result *r, char *text, size_t size)
{
    uint64_t recorded = 0;
    bool known = r->captured && r->captured->known && !r->trace->initial_dropped;
    const struct tp_recorded_strategy *was = tp_find_recorded_strategy(r->trace->recorded.by);
    bool heap = was && tp_program_heap(r->trace->program);
    if (!known || r->spec->strategy->group != TP_GROUP_STRATEGY || r->run->flags & TP_RUN_AGED ||
        (!r->facts->initial_heap && !tp_result_unseen(r)))
        return false;
    for (uint32_t i = 0; i < r->captured->count; i++)
        recorded += r->captured->devices[i].peak_reserved;
    return tp_run_peak_reserved(r->run) < recorded &&
           say(text, size,
               "peaks below the recorded one do not mean \"better than %s\": the recorded heap was "
               "already fragmented, these replays start compacted%s%s%s. Record from the first "
               "step "
               "to compare.",
               r->trace->recorded.by, heap ? "; " : "", heap ? was->strategy->name : "",
               heap ? " begins with it" : "");
}

/* The strategy of the recorded allocator, without what the recording says of its settings, or with
 * a setting that changes nothing here. */
static bool recorded_settings(const struct tp_result *r, char *text, size_t size)
{
    struct tp_err why = {0};
    const char *unplayed = tp_recorded_unplayed(r->trace, r->spec);
    if (unplayed)
        return say(text, size, "'%s' is not simulated: %s shows the figures of the recorded value.",
                   unplayed, r->spec->label);
    return tp_recorded_unapplied(r->trace, r->spec, &why) &&
           say(text, size, "%s uses its defaults, not the recorded settings: %s.", r->spec->label,
               why.text);
}

static bool wrapped(const struct tp_result *r, char *text, size_t size)
{
    const struct tp_recorded_strategy *by = tp_recorded_strategy_or_first(r->trace->recorded.by);
    return r->trace->meta.wrapped &&
           say(text, size,
               "the recording's ring buffer was full: the first events are lost, and segments "
               "freed before the window are missing.%s%s%s",
               by->ring ? " Raise " : "", by->ring ? by->ring : "",
               by->ring ? " to keep everything." : "");
}

/* If the first and second half of the steady replays disagree, the machine changed while it was
 * measured. */
static bool drift(const struct tp_result *r, char *text, size_t size)
{
    const struct tp_series *runs = &r->run->throughput.runs;
    if (runs->count < DRIFT_VALUES)
        return false;
    struct tp_series *half = calloc(2, sizeof *half);
    if (!half)
        return false;
    for (uint32_t i = 0; i < runs->count; i++)
        tp_series_add(&half[i >= runs->count / 2], runs->values[i]);
    double first = tp_series_median(&half[0]).median, second = tp_series_median(&half[1]).median;
    free(half);
    double low = first < second ? first : second;
    if (!(low > 0) || (first > second ? first : second) / low < 1 + DRIFT)
        return false;
    return say(
        text, size,
        "%s took %s ns/op in the first half of its replays and %s in the second, ns/op is the "
        "median "
        "of all: another process ran, or the CPU frequency changed. Repeat on a quiet machine, or "
        "with more --min-time.",
        r->spec->label, tp_digits(tp_speed_net(r->run, first)).s,
        tp_digits(tp_speed_net(r->run, second)).s);
}

static bool unsafe_reuse(const struct tp_result *r, char *text, size_t size)
{
    return tp_result_reuses_unsafely(r) &&
           say(text, size,
               "%s ignores streams: it reuses memory on which another stream may still work. "
               "Its figures hold only for a program that synchronises first.",
               r->spec->label);
}

static bool shared_cores(const struct tp_result *r, char *text, size_t size)
{
    uint64_t threads = tp_threads_of(r->run).replayed, cores = tp_machine_cores_to_use();
    const struct tp_text each =
        cores > 1 ? tp_text_of(" --threads %s gives each a core.", tp_count(cores).s)
                  : tp_text_of("%s", "");
    return threads > cores &&
           say(text, size,
               "%s threads share %s: wall time and waiting include the scheduler, and ns/op does "
               "not predict the time of the program.%s",
               tp_count(threads).s, tp_plural(cores, "core").s, each.s);
}

static bool slow_build(const struct tp_result *r, char *text, size_t size)
{
    return strcmp(TAPOOL_BUILD, "release") != 0 &&
           say(text, size,
               "this tapool is a %s build: memory is exact, but the times of %s do not compare "
               "with a "
               "release build.",
               TAPOOL_BUILD, r->spec->label);
}

static const struct tp_warning warn_small_trace = {
    "small-trace", "the trace peak is below the strategy's initial size",
    "The trace peak is below 16 MiB, and the strategy reserves at least 1.5 times as much: it "
    "starts\n"
    "with whole ranges and whole runs of blocks per size class, or the GPU with whole pages of 2 "
    "MiB.\n"
    "On a small program this start-up cost dominates, so the overhead says nothing about\n"
    "fragmentation.\n"
    "Judge memory on a trace with a larger peak; times are not affected.",
    small_trace};
static const struct tp_warning warn_page_per_block = {
    "page-per-block", "the strategy reserves whole pages for every block",
    "On the host, memory comes in pages of 4 KiB. A strategy that asks the source for every block\n"
    "reserves at least one page for each, even for a small block. Such strategies model device\n"
    "allocators (the driver's granularity is 512 bytes, and blocks are large). The default set of\n"
    "host traces leaves them out.",
    page_per_block};
static const struct tp_warning warn_memory_not_touched = {
    "memory-not-touched", "no block is written, so no replay pays for page faults",
    "With --touch none the blocks are allocated and never written. An allocator with its "
    "bookkeeping\n"
    "outside the blocks then never touches memory at all, but one that writes headers or links "
    "into\n"
    "the blocks does. Use --touch first (the default on the host), which writes 8 bytes at the "
    "start\n"
    "of each block inside the timed call, or --touch all.",
    memory_not_touched};
static const struct tp_warning warn_put_refused = {
    "put-refused", "the system refused to take memory back",
    "The operating system can refuse to unmap a range: splitting a mapping may exceed the limit\n"
    "vm.max_map_count. A driver can refuse too. tapool keeps such a range as reserved, tries again "
    "at\n"
    "the end of the pass, and never reports it as OOM. Raise the limit: sysctl vm.max_map_count.",
    put_refused};
static const struct tp_warning warn_synthetic_time = {
    "synthetic-time", "the trace has no times: the virtual clock is synthetic",
    "Not every event of the trace has a time, so the virtual device's clock moves 1 us per event.\n"
    "This clock decides when work on a stream is complete: reuse across streams and simulated "
    "waiting\n"
    "depend on it. Peaks of strategies that ignore streams are exact all the same.\n"
    "On a real GPU with --occupy spin the length of each kernel is synthetic: 1 us.",
    synthetic_time};
static const struct tp_warning warn_idle_streams = {
    "idle-streams", "no work is queued on the device: frees are never pending",
    "A replay on a real GPU makes the calls of the recorded program and none of its kernels, so "
    "its\n"
    "streams are idle. Memory freed on one stream is complete when another one asks for it. A "
    "pool\n"
    "that would have waited, or would have reserved more memory, does not. With several streams "
    "this\n"
    "flatters every strategy. --occupy spin keeps each stream busy with a block after its "
    "allocation\n"
    "for the recorded time to the stream's next event; --occupy memset writes each block once.",
    idle_streams};
static const struct tp_warning warn_shared_device = {
    "shared-device", "several devices of the trace share one CUDA device",
    "--map-device put two or more devices of the trace on the same CUDA device. tapool's own "
    "figures\n"
    "are separate for each. The driver's figures are not: the free bytes of cuMemGetInfo sink by "
    "the\n"
    "memory of all of them, and each shows the high-water marks of the default pool that they "
    "share,\n"
    "so their sum counts it twice. With cudaMallocAsync:pool=own each has its own pool.",
    shared_device};
static const struct tp_warning warn_simulated_driver = {
    "simulated-driver", "the CUDA driver simulates a GPU",
    "TAPOOL_CUDA_DRIVER names a library that declares itself a simulated driver, such as the one "
    "that\n"
    "tapool's own tests load. It keeps a device's books in this machine's memory. The number and "
    "size\n"
    "of a strategy's requests are exact, a real driver's response to them is not, and the times "
    "are\n"
    "those of this CPU.",
    simulated_driver};
static const struct tp_warning warn_unused_gpu = {
    "unused-gpu", "a CUDA driver is here, but no GPU can be used",
    "tapool replays device traces on a GPU if one is usable, else on the source virtual. Here it "
    "found\n"
    "a driver, but the driver is too old, sees no device, or failed to start. Perhaps you meant to "
    "use\n"
    "a GPU. tapool doctor names the cause; --source cuda makes it an error, and --source virtual\n"
    "declares that no GPU is wanted.",
    unused_gpu};
static const struct tp_warning warn_unsafe_reuse = {
    "unsafe-reuse", "the strategy reuses memory that may still be in use",
    "Work on a device's stream goes on after the program has freed the memory it uses. A block may "
    "go\n"
    "to another stream, or back to the driver, only when its stream has got past that work. arena "
    "and\n"
    "bump ignore streams: stream 2 gets a block freed on stream 1 at once, and a kernel then "
    "writes\n"
    "into another one's data. Their figures hold only for programs that synchronise before they "
    "free;\n"
    "a correct strategy could not reach them otherwise. lru and stream-pool wait.",
    unsafe_reuse};
static const struct tp_warning warn_aged_heap = {
    "aged-heap", "the recorded heap was already fragmented, the replays start compacted",
    "The recording began with much memory live. Everything that ran before shaped the memory that\n"
    "PyTorch had reserved, with holes that no event shows; a replay places the same blocks first,\n"
    "compacted, by address. If the file has their placement, torch begins with that very heap; "
    "the\n"
    "others cannot. So the recorded row may reserve more for reasons outside any strategy. To "
    "compare\n"
    "strategies with the recorded run, record from before the model is built; 'tapool info' prints "
    "the\n"
    "calls of the format for that.",
    aged_heap};
static const struct tp_warning warn_recorded_settings = {
    "recorded-settings", "the recorded settings are not simulated",
    "The strategy of the recorded allocator takes its settings from the recording, unless others "
    "are\n"
    "given. It does not know these settings and uses its defaults, so its figures belong to "
    "another\n"
    "setting than the recorded one. -s torch:conf={...} with the known part is nearer.\n"
    "graph_capture_record_stream_reuse decides when blocks of a captured graph become free: a "
    "snapshot\n"
    "has these times, but not the graph that another value would need.",
    recorded_settings};
static const struct tp_warning warn_wrapped = {
    "wrapped",
    "the recording's ring buffer was full",
    "PyTorch keeps the last max_entries events. After "
    "more events than that, the file begins in the\n"
    "middle of the run, and the replay first places the "
    "blocks that were live then. Segments that came\n"
    "and went before the window are invisible. Record "
    "with a larger max_entries, or for a shorter time.",
    wrapped,
};
static const struct tp_warning warn_drift = {
    "drift", "the machine changed during the measurement",
    "The medians of the first and the second half of the steady replays differ by more than 15%.\n"
    "The interval beside the time assumes a constant machine, so it is too narrow here.\n"
    "Close other programs, pin the process (taskset), or raise --min-time.",
    drift};
static const struct tp_warning warn_shared_cores = {
    "shared-cores", "more threads than cores",
    "With --threads this process replays on more threads than it has cores, so some of them wait "
    "for\n"
    "a core at any time, and the allocator has no part in that: a thread that has lost its core "
    "holds\n"
    "up those that wait for its objects, or for a lock that it holds. Calls a second and 'waited' "
    "then\n"
    "differ from machine to machine and from run to run, and at best use up all cores together.\n"
    "--threads N with as many threads as cores avoids this: each replays several recorded threads.",
    shared_cores};
static const struct tp_warning warn_slow_build = {
    "slow-build", "not a release build: times are not comparable",
    "This tapool was not built with the release preset: its hot paths contain assertions or\n"
    "sanitizers. Memory figures and counts are exact; times do not compare with a release build.\n"
    "Build with: cmake --preset release && cmake --build --preset release",
    slow_build};

const struct tp_warning *const tp_warnings[] = {&warn_small_trace,
                                                &warn_page_per_block,
                                                &warn_memory_not_touched,
                                                &warn_put_refused,
                                                &warn_synthetic_time,
                                                &warn_idle_streams,
                                                &warn_shared_device,
                                                &warn_simulated_driver,
                                                &warn_unused_gpu,
                                                &warn_unsafe_reuse,
                                                &warn_aged_heap,
                                                &warn_recorded_settings,
                                                &warn_wrapped,
                                                &warn_drift,
                                                &warn_shared_cores,
                                                &warn_slow_build,
                                                NULL};

const struct tp_warning *tp_find_warning(const char *id)
{
    for (size_t i = 0; tp_warnings[i]; i++)
        if (!strcmp(tp_warnings[i]->id, id))
            return tp_warnings[i];
    return NULL;
}

bool tp_warning_of_all(const struct tp_warning *w, const struct tp_result *results, size_t count,
                       char text[TP_WARNINGS_TEXT])
{
    const struct tp_result *first = NULL;
    struct tp_str others = {0};
    for (size_t i = 0; i < count; i++) {
        char same[TP_WARNING_TEXT];
        if (!w->applies(&results[i], first ? same : text, TP_WARNING_TEXT))
            continue;
        if (first && !strcmp(same, text))
            continue; /* the same sentence is about both results */
        if (first)
            tp_str_item(&others, ", ", "%s", results[i].spec->label);
        first = first ? first : &results[i];
    }
    if (others.length)
        tp_append(text, TP_WARNINGS_TEXT, " Also: %s.", tp_str_text(&others));
    tp_str_drop(&others);
    return first != NULL;
}
