/* The rows of the registry, one for each figure. Their order is that of the documents:
 * tapool.result/2, CSV, `replay -v` and `help metrics`. figure_rows.c includes this file twice with
 * its own definitions of the macros below: once for all rows, once for the rows that are compared.
 * Included anywhere else the file is empty.
 *
 *     COMPARED(rank, ...)   a metric, which --metric, --sort, --fail-on and the baseline accept.
 *                           `rank` is its index in tp_metrics, which fixes its place in tables and
 *                           the random seed of its tests; a new metric takes the next free rank
 *     REPORTED(...)         a figure of the documents only
 *     TERM(word)            the meaning of a figure is that of this term (cmd/ui/terms.h)
 *     LINE(name, meaning)   a line of `help metrics` only: for what is no single value, or is
 *                           explained at another place than its row
 *
 * To add a figure: add its field (alloc/engine/run.h), compute it, and add a row here. A value that
 * is not simply a field needs a function in figure_rows.c: GET_REAL(share_reused). A test demands
 * that result.schema.json describes the figure. */

#ifdef COMPARED
/* clang-format off */

/* ---- memory, by device ---- */

REPORTED(BYTES(trace_peak_requested), BENCHMARK("trace-peak-requested-B"),
         MEANS("most requested bytes, whether or not the strategy served them"))
COMPARED(1, EXACT_BYTES(peak_requested),
         MEANS("most requested bytes among those that the strategy served"))
REPORTED(DEVICE("memory.", peak_requested_event, COUNT), FIELD(peak_requested_event))
COMPARED(2, EXACT_BYTES(peak_allocated), BENCHMARK("peak-allocated-B"),
         MEANS("most allocated bytes: requested and rounding"))
COMPARED(0, EXACT_BYTES(peak_reserved), BENCHMARK("peak-reserved-B"),
         MEANS("most reserved bytes"))
REPORTED(DEVICE("memory.", peak_reserved_event, COUNT), FIELD(peak_reserved_event))
REPORTED(RANGE(peak_reserved_bytes, 0), COLUMN("measured_peak_reserved_low_bytes"))
REPORTED(RANGE(peak_reserved_bytes, 1), COLUMN("measured_peak_reserved_high_bytes"))
COMPARED(3, EXACT_BYTES(peak_carved),
         MEANS("most bytes of reserved memory that blocks, spans or tables have used"))
COMPARED(4, EXACT_BYTES(peak_metadata),
         MEANS("most bytes of the strategy's bookkeeping outside the memory it manages"))
COMPARED(5, EXACT_BYTES(end_reserved), BENCHMARK("end-reserved-B"),
         MEANS("reserved bytes after the last event"))
REPORTED(BYTES(capacity), MEANS("memory of the device, if known (--capacity)"))
COMPARED(6, EXACT(MEMORY), MEMORY_BYTES(min_capacity), GET_WHOLE(min_capacity),
         BENCHMARK("min-capacity-B"), TERM("min capacity"))
COMPARED(7, EXACT(MEMORY), DEVICE("memory.", overhead, RATIO), FIELD(overhead),
         SHARE_OF("memory.trace_peak_requested_bytes"),
         MEANS("peak of (reserved + metadata) / trace_peak_requested; 1 is the minimum"))
REPORTED(MEMORY_BYTES(lower_bound), GET_WHOLE(lower_bound),
         TERM("lower bound"))
REPORTED(MEMORY_BYTES(best_packing), GET_WHOLE(best_packing),
         TERM("best packing"))
COMPARED(57, EXACT(MEMORY), DEVICE("memory.", regret, RATIO), GET_REAL(regret),
         SHARE_OF("memory.best_packing_bytes"),
         TERM("regret"))
LINE("at_trace_peak", "all of these, and free bytes, at the event of trace_peak_requested")
LINE("class", "class of memory figures: E exact, R report only (real GPU or allocator)")
COMPARED(8, UNUSED(internal_fragmentation, "at_trace_peak.allocated"),
         MEANS("1 - requested / allocated, at the trace peak and weighted"))
COMPARED(9, UNUSED(internal_fragmentation_weighted, "mean_allocated"))
COMPARED(12, UNUSED(external_fragmentation, "at_trace_peak.span"))
COMPARED(10, UNUSED(unused_reserved, "at_trace_peak.reserved"),
         MEANS("1 - allocated / reserved, at the trace peak and weighted"))
COMPARED(11, UNUSED(unused_reserved_weighted, "mean_reserved"))
REPORTED(BYTES(mean_allocated),
         MEANS("allocated bytes, weighted; mean_reserved: reserved bytes, weighted. The "
               "weighted shares refer to these."))
REPORTED(BYTES(mean_reserved))
LINE("external_fragmentation", "1 - largest / all free spans that can serve any size")
REPORTED(MEMORY_WORD("weight"), GET_TEXT(weight), COLUMN("memory_weight"))
REPORTED(MEMORY_WORD("class"), GET_TEXT(memory_class), COLUMN("memory_class"))
REPORTED(MEMORY_WORD("informative"), GET_FLAG(is_informative), COLUMN("memory_informative"))
REPORTED(AT_PEAK(event, COUNT, event))
REPORTED(AT_PEAK(time_ns, NS, time_ns))
REPORTED(AT_PEAK(requested_bytes, BYTES, requested))
REPORTED(AT_PEAK(allocated_bytes, BYTES, allocated))
REPORTED(AT_PEAK(reserved_bytes, BYTES, reserved))
REPORTED(AT_PEAK(free_bytes, BYTES, free_bytes), BENCHMARK("at-trace-peak-free-B"))
REPORTED(AT_PEAK(free_blocks, COUNT, free_blocks))
REPORTED(AT_PEAK(largest_free_block_bytes, BYTES, largest))
REPORTED(AT_PEAK(cached_bytes, BYTES, cached), NO_COLUMN)
REPORTED(AT_PEAK(span_bytes, BYTES, span), NO_COLUMN)
REPORTED(AT_PEAK(dead_bytes, BYTES, dead), NO_COLUMN)
REPORTED(AT_PEAK(internal_bytes, BYTES, internal), NO_COLUMN)
REPORTED(AT_PEAK(page_rest_bytes, BYTES, page_rest), NO_COLUMN)

/* ---- calls to the source, by device ---- */

LINE("library", "the library that served malloc, for a real allocator")
LINE("driver_calls", "get, put, wait: driver or system calls, mappings included; their bytes")
COMPARED(60, CALLS(total, COUNT), GET_WHOLE(all_calls), .metric_class = TP_CLASS_REPORT,
         HEAD(NULL, "calls"), MEANS("get + put"))
COMPARED(13, CALLS(get, COUNT), FIELD(gets), HEAD(NULL, "allocs"),
         BENCHMARK("driver-get-calls"))
COMPARED(14, CALLS(put, COUNT), FIELD(puts), HEAD(NULL, "frees"),
         BENCHMARK("driver-put-calls"))
COMPARED(15, CALLS(wait, COUNT), FIELD(waits), HEAD(NULL, "waits"))
COMPARED(16, CALLS(get_bytes, BYTES), FIELD(get_bytes), .follows = TP_FAMILY_MEMORY,
         HEAD(NULL, "get bytes"))
COMPARED(17, CALLS(put_bytes, BYTES), FIELD(put_bytes), .follows = TP_FAMILY_MEMORY,
         HEAD(NULL, "put bytes"))
REPORTED(DEVICE("driver_calls.", wait_ns, NS), GET_WHOLE(wait_ns))
REPORTED(DEVICE("driver_calls.", fallback, COUNT), GET_WHOLE(fallbacks))
REPORTED(DEVICE("driver_calls.", retry, COUNT), GET_WHOLE(retries))
COMPARED(19, CALLS(warm_calls, COUNT), FIELD(next_calls), .metric_class = TP_CLASS_REPORT,
         HEAD("warm", "calls"),
         TERM("warm driver calls"))
REPORTED(DEVICE("driver_calls.", allocations, COUNT), FIELD(allocations))
COMPARED(18, EXACT(CALLS), DEVICE("driver_calls.", hit_rate, SHARE), .better = TP_BETTER_MORE,
         .allowed = SHARE_ALLOWED, SHARE_OF("driver_calls.allocations"), GET_REAL(share_reused),
         TERM("hit rate"))
LINE("fallback", "allocations that the strategy's rules pass directly to the source")
LINE("retry", "refused requests that were repeated after all free memory was returned")
REPORTED(DEVICE("plan.", followed, COUNT), FIELD(planned), NO_COLUMN)
REPORTED(DEVICE("plan.", followed_bytes, BYTES), FIELD(planned_bytes), NO_COLUMN)
REPORTED(DEVICE("plan.", deviated, COUNT), FIELD(unplanned), NO_COLUMN)
REPORTED(DEVICE("plan.", deviated_bytes, BYTES), FIELD(unplanned_bytes), NO_COLUMN)
LINE("plan", "planned: requests of a step that got their place in the plan, or deviated; bytes")
REPORTED(MEASURED(missing_at_peak_bytes, BYTES, missing_at_peak), NO_COLUMN)
REPORTED(MEASURED(reserved_then_bytes, BYTES, reserved_then), NO_COLUMN)
REPORTED(MEASURED(free_at_start_bytes, BYTES, free_at_start), NO_COLUMN)
REPORTED(MEASURED(total_bytes, BYTES, total), NO_COLUMN)
REPORTED(MEASURED(free_at_failure_bytes, BYTES, free_at_failure), NO_COLUMN)
REPORTED(MEASURED(pool_unused_at_failure_bytes, BYTES, pool_unused_at_failure), NO_COLUMN)
REPORTED(MEASURED(driver.calls, COUNT, driver.calls))
REPORTED(MEASURED(driver.ns, NS, driver.ns))
REPORTED(MEASURED(driver.syncs, COUNT, driver.syncs), NO_COLUMN)
REPORTED(MEASURED(driver.event_waits, COUNT, driver.event_waits), NO_COLUMN)
REPORTED(MEASURED(driver.works, COUNT, driver.works), NO_COLUMN)
REPORTED(MEASURED(driver.held_back, COUNT, driver.held_back), NO_COLUMN)
REPORTED(MEASURED(driver.busy_asked_ns, NS, driver.busy_asked_ns), NO_COLUMN)
REPORTED(MEASURED(driver.busy_spent_ns, NS, driver.busy_spent_ns), NO_COLUMN)

/* ---- memory of the process, by the kernel ---- */

COMPARED(45, RESIDENT_METRIC("peak_resident", peak), HEAD("peak", "resident"),
         MEANS("on host: most private memory of the process, counted by the kernel, with "
               "every block written, read each time requested bytes changed by 1%; median "
               "of three replays; low, high: minimum and maximum"))
REPORTED(RESIDENT(peak, low))
REPORTED(RESIDENT(peak, high))
COMPARED(46, RESIDENT_METRIC("resident_at_peak", at_peak), HEAD("resident", "at peak"),
         MEANS("resident bytes at the trace peak. A change of resident memory or of a part "
               "of it by up to 64 KiB is none."))
REPORTED(RESIDENT(at_peak, low))
REPORTED(RESIDENT(at_peak, high))
COMPARED(47, RESIDENT_METRIC("end_resident", end), MEANS("resident bytes after the last event"))
REPORTED(RESIDENT(end, low))
REPORTED(RESIDENT(end, high))
COMPARED(58, RESIDENT_BYTES("start_resident", start, 0), RUN_FIELD(resident.start),
         HEAD("+ at", "start"),
         MEANS("RSS that a preloaded library adds to a process before the first event"))
COMPARED(59, RESIDENT_BYTES("total_resident", total, 0), GET_WHOLE(total_resident),
         HEAD("total", "resident"), MEANS("peak_resident + start_resident"))
REPORTED(PAGES(at_peak, resident, "pages_at_peak"))
REPORTED(PAGES(at_peak, live, "live_at_peak"))
COMPARED(61, PAGES_METRIC("rounding_at_peak", at_peak, rounding, "rounding", 0),
         HEAD("rounding", "at peak"),
         MEANS("resident bytes of rounding; end_rounding: after the last event"))
COMPARED(62, PAGES_METRIC("partly_free_at_peak", at_peak, partly_free, "partly free pages", 0.05),
         HEAD("partly free", "at peak"),
         MEANS("freed bytes of resident pages with live blocks; end_partly_free: after "
               "the last event"))
COMPARED(63, PAGES_METRIC("free_pages_at_peak", at_peak, free_pages, "free pages", 0.05),
         HEAD("free pages", "at peak"),
         MEANS("freed bytes of resident pages without live blocks; end_free_pages: after "
               "the last event"))
COMPARED(64, PAGES_METRIC("own_at_peak", at_peak, own, "never part of a block", 0),
         HEAD("own", "at peak"),
         MEANS("resident bytes that were never part of a block; end_own: after the last "
               "event"))
REPORTED(PAGES(end, resident, "end_pages"))
REPORTED(PAGES(end, live, "end_live"))
COMPARED(65, PAGES_METRIC("end_rounding", end, rounding, "rounding", 0),
         HEAD("rounding", "at end"))
COMPARED(66, PAGES_METRIC("end_partly_free", end, partly_free, "partly free pages", 0.05),
         HEAD("partly free", "at end"))
COMPARED(67, PAGES_METRIC("end_free_pages", end, free_pages, "free pages", 0.05),
         HEAD("free pages", "at end"))
COMPARED(68, PAGES_METRIC("end_own", end, own, "never part of a block", 0),
         HEAD("own", "at end"))
REPORTED(PAGES_ERROR(at_peak, resident), NO_COLUMN)
REPORTED(PAGES_ERROR(at_peak, live), NO_COLUMN)
REPORTED(PAGES_ERROR(at_peak, rounding), NO_COLUMN)
REPORTED(PAGES_ERROR(at_peak, partly_free), NO_COLUMN)
REPORTED(PAGES_ERROR(at_peak, free_pages), NO_COLUMN)
REPORTED(PAGES_ERROR(at_peak, own), NO_COLUMN)
REPORTED(PAGES_ERROR(end, resident), NO_COLUMN)
REPORTED(PAGES_ERROR(end, live), NO_COLUMN)
REPORTED(PAGES_ERROR(end, rounding), NO_COLUMN)
REPORTED(PAGES_ERROR(end, partly_free), NO_COLUMN)
REPORTED(PAGES_ERROR(end, free_pages), NO_COLUMN)
REPORTED(PAGES_ERROR(end, own), NO_COLUMN)
REPORTED(BESIDE_PAGES(at_peak, huge_page))
REPORTED(BESIDE_PAGES(at_peak, locked))
REPORTED(BESIDE_PAGES(at_peak, shared_live))
REPORTED(BESIDE_PAGES(end, huge_page))
REPORTED(BESIDE_PAGES(end, locked))
REPORTED(BESIDE_PAGES(end, shared_live))
REPORTED(RUN("resident.", pages_by, COUNT), GET_TEXT(pages_by))
REPORTED(RUN("resident.", pages_every, COUNT), RUN_FIELD(resident.pages_every))
REPORTED(RUN("resident.", passes, COUNT), RUN_FIELD(resident.passes))
REPORTED(RUN("resident.", threads, COUNT), RUN_FIELD(resident.threads))
REPORTED(RUN("resident.", huge_pages, COUNT), GET_FLAG(has_huge_pages))

/* ---- what a real allocator has mapped, by its calls of the kernel ---- */

COMPARED(51, MAPPED_METRIC("peak_mapped", "peak_bytes", BYTES, peak_mapped, MEMORY),
         MEANS("most writable bytes that a real allocator had mapped above those before "
               "the first event: exact for one build on one machine. Mappings at startup "
               "are left out: 0 means that they were enough."))
COMPARED(52, MAPPED_METRIC("mapped_at_peak", "at_peak_bytes", BYTES, mapped_at_peak, MEMORY),
         MEANS("mapped bytes at the trace peak; mapped.end: after the last event"))
REPORTED(MAPPED("mapped.end_bytes", "end_bytes", BYTES, end_mapped))
COMPARED(53, MAPPED_METRIC("mapped_gets", "get", COUNT, mapped_gets, CALLS),
         HEAD("gets", "mapped"),
         MEANS("calls of mmap, mremap and brk that get memory; mapped_puts: of munmap, "
               "mremap, brk and madvise (DONTNEED, FREE) that return it"))
COMPARED(54, MAPPED("mapped_puts", "put", COUNT, mapped_puts), .metric_class = TP_CLASS_REPORT,
         .family = TP_FAMILY_CALLS,
         HEAD("returns", "mapped"))
REPORTED(RUN("mapped.", threads, COUNT), RUN_FIELD(mapped.threads))
REPORTED(RUN("mapped.", fixed_addresses, COUNT), GET_FLAG(has_fixed_addresses))
REPORTED(RUN("mapped.", unknown, COUNT), GET_TEXT(why_not_mapped))

/* ---- what failed: by device, then on all of them ---- */

REPORTED(DEVICE("", failed_allocations, COUNT), FIELD(failed_allocations),
         BENCHMARK("failed-allocations"))
REPORTED(DEVICE("", failed_initial_blocks, COUNT), FIELD(failed_initial))
REPORTED(FAILED_BY(demand, DEMAND))
REPORTED(FAILED_BY(fragmentation, FRAGMENTATION))
REPORTED(FAILED_BY(strategy, STRATEGY))
REPORTED(FAILED_BY(unknown, UNKNOWN))
REPORTED(FAILED_BY(guard, GUARD))
COMPARED(20, COUNT_OF(failed_allocations), GET_WHOLE(failed), NO_COLUMN,
         MEANS("allocations that failed; first_failed_event is the first one"))
REPORTED(RUN("", failed_initial_blocks, COUNT), GET_WHOLE(failed_initial), NO_COLUMN)
LINE("failed_by", "demand: requested bytes exceed the device; fragmentation: they would fit; "
     "strategy: the strategy refused by a rule of its own; unknown; guard: tapool "
     "stopped a host replay at over 16 times the requested bytes")
LINE("first_failure", "the first failed request, and free bytes at that event")
LINE("phases", "peaks between the marks of the trace, by name of the mark")
LINE("curve", "requested, allocated, reserved by event; at most 4,096 points")
REPORTED(RUN("", first_failed_event, COUNT), GET_WHOLE(first_failed_event))
COMPARED(21, COUNT_OF(skipped_operations), RUN_FIELD(skipped_operations),
         MEANS("operations on objects whose allocation failed: not replayed, not timed"))
COMPARED(22, COUNT_OF(skipped_trims), RUN_FIELD(skipped_trims),
         MEANS("trims that the strategy does not support"))

/* ---- times ---- */

COMPARED(24, THROUGHPUT(ns_per_op, NOISY, 0.05), GET_SPEED(ns), HEAD("", "ns/op"),
         MEANS("steady time of an operation, replay overhead subtracted; null: nothing was "
               "timed, or nothing remains; low, high: 95% CI"))
REPORTED(RUN("throughput.", ci95_low_ns_per_op, NS), GET_SPEED(low))
REPORTED(RUN("throughput.", ci95_high_ns_per_op, NS), GET_SPEED(high))
COMPARED(43, THROUGHPUT(cold_ns_per_op, REPORT, 0), GET_SPEED(cold),
         HEAD("cold", "ns/op"),
         TERM("cold ns/op"))
COMPARED(44, THROUGHPUT(replay_overhead_ns_per_op, REPORT, 0), GET_SPEED(engine),
         HEAD("replay", "overhead"),
         MEANS("replay overhead, measured with a strategy (or malloc) that does nothing"))
REPORTED(RUN("throughput.", threads_replayed, COUNT), GET_WHOLE(threads_replayed),
         MEANS("threads of the timed replays (--threads); with several, ns_per_op is the "
               "time a call took its thread, waiting for locks included"))
COMPARED(56, THROUGHPUT_OF_THREADS(wall_ns_per_op), GET_REAL(wall_ns),
         HEAD("wall", "ns/op"),
         MEANS("elapsed time per call of all threads, from the first to the last call of "
               "each window, replay overhead included; low, high: 95% CI"))
REPORTED(RUN("throughput.", ci95_low_wall_ns_per_op, NS), GET_REAL(wall_low), .of_threads = true)
REPORTED(RUN("throughput.", ci95_high_wall_ns_per_op, NS), GET_REAL(wall_high), .of_threads = true)
REPORTED(RUN("throughput.", window_ns, NS), GET_REAL(window_ns), .of_threads = true,
         MEANS("elapsed time of a whole window, at whose end all threads meet: the median; "
               "low, high: 95% CI"))
REPORTED(RUN("throughput.", ci95_low_window_ns, NS), GET_REAL(window_low), .of_threads = true)
REPORTED(RUN("throughput.", ci95_high_window_ns, NS), GET_REAL(window_high), .of_threads = true)
COMPARED(48, OF_THREADS(calls_per_second, COUNT), .better = TP_BETTER_MORE,
         GET_WHOLE(calls_per_second), HEAD("calls", "per second"),
         MEANS("calls per second of several threads, by elapsed time"))
COMPARED(49, OF_THREADS(speedup, RATIO), .better = TP_BETTER_MORE, GET_REAL(speedup),
         HEAD("against", "one thread"),
         MEANS("one thread's elapsed time for the same calls in a process of its own / "
               "theirs; 2 threads: at best 2. null: a library with threads of its own, "
               "which a fork lacks"))
COMPARED(50, OF_THREADS(waited, SHARE), GET_REAL(waited), HEAD("", "waited"),
         MEANS("share of thread time spent waiting for an object of another thread; part "
               "of wall_ns_per_op, not of ns_per_op"))
COMPARED(55, OF_THREADS(blocked, SHARE), GET_REAL(blocked), HEAD("", "blocked"),
         MEANS("share of thread time that calls spent without a core: in a lock, a page "
               "fault, or preempted; part of ns_per_op"))
REPORTED(RUN("throughput.", one_lock, COUNT), GET_FLAG(one_lock),
         MEANS("several threads share one lock around every call: the strategy's own, or "
               "tapool's if the strategy has none"))
REPORTED(RUN("instructions.", total, COUNT), RUN_FIELD(instructions), NO_COLUMN)
COMPARED(23, .name = "instructions", .path = "instructions.per_op",
         .unit = TP_UNIT_INSTRUCTIONS, TIME(INSTRUCTIONS, 0.01), GET_REAL(instructions_per_op),
         NO_COLUMN,
         MEANS("instructions of one replay, if the machine can count (--passes count); "
               "per_op: per operation. Reading the trace and the kernel are left out."))
REPORTED(RUN("instructions.", counter, COUNT), GET_TEXT(counter), NO_COLUMN)
REPORTED(RUN("throughput.", replayed_once, COUNT), GET_FLAG(is_replayed_once),
         MEANS("the trace takes longer than --min-time: all times are cold"))
REPORTED(RUN("throughput.", replays, COUNT), RUN_FIELD(throughput.replays))
REPORTED(RUN("throughput.", replays_per_run, COUNT), GET_WHOLE(replays_per_run), NO_COLUMN)
REPORTED(.name = "latency_sampled_operations", .path = "latency_sampled_operations",
         .unit = TP_UNIT_COUNT)
LATENCIES(alloc, ALLOC, COMPARED, 25)
LATENCIES(free, FREE, COMPARED, 31)
LATENCIES(realloc, REALLOC, COMPARED, 37)
LATENCIES(sync, SYNC, NOT_COMPARED, 0)
LATENCIES(other, OTHER, NOT_COMPARED, 0)
LINE("latency", "alloc, free, realloc, sync, other: count, mean, min, p50, p90, p99, p99_9, "
     "max, buckets. sync of a real GPU: the driver's call after the work is done")

/* ---- what a real device answered ---- */

LINE("measured", "figures of a real GPU; ranges are [minimum, maximum] over the replays")
LINE("pool_used", "most requested bytes of the driver's pool, by its high-water mark; its "
     "rounding is unknown, so peak_allocated is null")
LINE("missing_at_peak",
     "decrease of cuMemGetInfo's free bytes; reserved_then: reserved bytes then")
LINE("free_at_start", "free bytes of the device before the replay; free_at_failure: at the first "
     "failure")
LINE("pool_unused_at_failure", "bytes that the driver's pool had reserved then without a block")
LINE("driver", "calls into the driver in one replay, ns inside them; of these syncs, "
     "event_waits; works: kernels queued by --occupy; held_back: untimed waits "
     "for room in a stream's queue")
LINE("busy_asked_ns", "busy time that --occupy spin planned for the busiest stream; "
     "busy_spent_ns: time it took, launches and waits included")
LINE("occupy", "simulated GPU work per allocation (--occupy); occupy_scale: its factor")
LINE("empty_ns", "reading of a call that does nothing: subtracted from every latency")
/* clang-format on */
#endif
