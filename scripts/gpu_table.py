"""What scripts/gpu_check.py makes of its results: the goals, and the table in results.md, which is written
anew after every step, with what there is by then."""
import datetime
import os

from gpu_run import get

MIB = 1 << 20
NOT = "not measured"


class Found:
    """What the steps have found so far; None or empty: that step did not run, or has not yet."""

    def __init__(self):
        self.probes = []       # (title, lines of (question, answer))
        self.suite = None      # (program, passed, failed, skipped)
        self.recording = "not checked"
        self.goals = []        # (work, wanted, measured, verdict)
        self.torch = None      # what torch_truth.py wrote
        self.results = []      # (trace, occupy, result)
        self.any_result = None  # one, for what it says of the tool, the machine and the device
        self.facts = []        # (when, line of nvidia-smi)


# ---- what a result says ----

def run_of(result, label):
    for run in get(result, "runs") or []:
        if get(run, "strategy", "label") == label:
            return run
    return None


def gross_ns(run, name="ns_per_op"):
    """A call in a whole replay, the loop that replays it included."""
    net = get(run, "throughput", name)
    return None if net is None else net + (get(run, "throughput", "replay_overhead_ns_per_op") or 0)


def quantile(latency, share):
    """ns, from the histogram; None without one."""
    buckets = get(latency, "buckets") or []
    rest = share * sum(calls for _, calls in buckets)
    for ns, calls in buckets:
        rest -= calls
        if rest <= 0:
            return ns
    return None


def pair_ns(run, share=None):
    """An allocation and a free: the medians, or that quantile of each."""
    sides = [get(run, "latency", kind) for kind in ("alloc", "free")]
    values = [get(side, "p50_ns") if share is None else quantile(side, share) for side in sides]
    return None if None in values else sum(values)


def device_of(result):
    return get(result, "runs", 0, "source", "device", 0) or {}


def is_simulated(result):
    """True too where nothing says that it is a real one."""
    return device_of(result).get("simulated") is not False


# ---- goals: (measured, verdict) ----

def verdict(reached):
    return "reached" if reached else "MISSED"


def goal_hit(result):
    runs = run_of(result, "stream-pool-max"), run_of(result, "async-max")
    ours, theirs = map(pair_ns, runs)
    if ours is None or not theirs:
        return None, NOT
    said = ["%d ns [%s, %s]" % (middle, *(number(pair_ns(run, share)) for share in (0.25, 0.75)))
            for middle, run in zip((ours, theirs), runs)]
    return ("%s beside %s: 1/%.1f" % (*said, theirs / max(ours, 1)),
            verdict(ours * 5 <= theirs))


def goal_own_share(loop):
    own = get(loop, "own_ns_per_call")
    if own is None:
        return None, NOT
    return ("%.1f ns [%.1f, %.1f]; bare %.1f, strategy %.1f" % (
        own, loop["own_low_ns"], loop["own_high_ns"], loop["bare_ns_per_call"],
        loop["strategy_ns_per_call"]), verdict(own <= 50))


def goal_whole_replay(result):
    """Judged by the steady state, which is what `ns per call` is; the first replay stands beside it."""
    runs = run_of(result, "direct"), run_of(result, "stream-pool-max")
    slow, fast = map(gross_ns, runs)
    if not slow or not fast:
        return None, NOT
    low, high = ([gross_ns(run, end + "_ns_per_op") for end in ("low", "high")] for run in runs)
    span = (" [%.1f, %.1f]" % (low[0] / high[1], low[1] / high[0])
            if None not in low + high and 0 not in high else "")
    slow_cold, fast_cold = (gross_ns(run, "cold_ns_per_op") for run in runs)
    cold = "; the first replay %.1fx" % (slow_cold / fast_cold) if slow_cold and fast_cold else ""
    return ("%.1fx%s: %d ns and %.1f ns a call%s" % (slow / fast, span, slow, fast, cold),
            verdict(slow >= 20 * fast))


def goal_meter(result):
    said, good = [], True
    for label in ("direct", "stream-pool-max"):
        run = run_of(result, label)
        missing = get(run, "devices", 0, "measured", "missing_at_peak_bytes")
        metered = get(run, "devices", 0, "measured", "reserved_then_bytes")
        count = get(run, "driver_calls", "get")
        if missing is None or metered is None or not count:
            return None, NOT
        off = abs(missing - metered) / count / MIB
        said.append("%s: metered %.1f MiB, missing %.1f MiB, %.2f MiB a range of %d" % (
            label, metered / MIB, missing / MIB, off, count))
        good = good and off <= 2
    return "; ".join(said), verdict(good)


# ---- cells ----

def number(value, form="%d"):
    return "-" if value is None else (form % value)


def mib(low, high=None):
    if low is None:
        return "-"
    text = "%.1f" % (low / MIB)
    return text if high is None or high == low else "%s to %.1f" % (text, high / MIB)


def with_span(value, low, high, form):
    if value is None or low is None or high is None:
        return number(value, form)
    return "%s [%s, %s]" % (form % value, form % low, form % high)


def measured_of(run, *path):
    """Of each device."""
    return [get(device, "measured", *path) for device in get(run, "devices") or []]


def peak_of(run):
    spans = measured_of(run, "peak_reserved_bytes")
    if not spans or not all(spans):
        return "-"
    return mib(sum(low for low, _ in spans), sum(high for _, high in spans))


def calls_of(run):
    calls = measured_of(run, "driver", "calls")
    return None if not calls or None in calls else sum(calls)


def middle_of(latency):
    return with_span(get(latency, "p50_ns"), quantile(latency, 0.25), quantile(latency, 0.75), "%d")


HEAD = ["trace", "strategy", "peak reserved, MiB", "ns/op", "alloc p50", "alloc p99", "free p50",
        "free p99", "driver calls", "failures", ""]


def row_of(name, run):
    times, alloc, free = get(run, "throughput"), get(run, "latency", "alloc"), get(run, "latency", "free")
    return [name, get(run, "strategy", "label"), peak_of(run),
            with_span(*(get(times, end + "ns_per_op") for end in ("", "ci95_low_", "ci95_high_")), "%.0f"),
            middle_of(alloc), number(get(alloc, "p99_ns")), middle_of(free), number(get(free, "p99_ns")),
            number(calls_of(run)), number(get(run, "failed_allocations")),
            "replayed_once" if get(times, "replayed_once") else ""]


def table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * 2 + "--:|" * (len(rows[0]) - 2) if len(rows[0]) > 4
                 else "|" + "---|" * len(rows[0]))
    return lines


# ---- sections ----

def suite_line(rows):
    if rows is None:
        return "not run"
    counts = [sum(row[i] for row in rows) for i in (1, 2, 3)]
    return "%d passed, %d failed, %d skipped, in %d program%s" % (*counts, len(rows), "s"[len(rows) == 1:])


def tool_lines(result):
    """Of the first result; before there is one, nothing."""
    if result is None:
        return []
    device = device_of(result)
    tool, machine = get(result, "tool") or {}, get(result, "machine") or {}
    cuda = device.get("cuda_version") or 0
    return [
        "- device: %s, %s MiB" % (device.get("name", "not known"), mib(device.get("total_bytes"))),
        "- driver: %s, CUDA %d.%d%s" % (
            device.get("driver_release") or "not known", cuda // 1000, cuda % 1000 // 10,
            ", `%s`" % os.environ["TAPOOL_CUDA_DRIVER"] if "TAPOOL_CUDA_DRIVER" in os.environ else ""),
        "- tapool %s (%s, %s), %s, %s" % (
            tool.get("version"), tool.get("build"), tool.get("compiler"), machine.get("cpu"),
            machine.get("os"))]


def bundle_lines(check):
    """What scripts/gpu-bundle.sh noted, where this was packed by it."""
    try:
        with open(os.path.join(check.args.root, "BUNDLE"), encoding="utf-8") as file:
            return ["- packed: " + ", ".join(file.read().splitlines())]
    except OSError:
        return []


def head_lines(check, found):
    lines = ["# What tapool measured on a GPU", ""]
    if is_simulated(found.any_result):
        lines += ["**The driver is simulated: it keeps books in host memory. No figure below means "
                  "anything.**", ""]
    lines += tool_lines(found.any_result) + bundle_lines(check)
    lines.append("- date: %s UTC" % datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M"))
    lines += ["- GPU %s: %s" % fact for fact in found.facts]
    lines.append("- suite of the source cuda on this driver: %s" % suite_line(found.suite))
    lines.append("- `tapool record --cuda` of tests/programs/gpu_program.c: %s" % found.recording)
    if check.args.quick:
        lines.append("- --quick: small traces, each replayed once")
    return lines + [""]


def probe_lines(found):
    lines = []
    for title, answers in found.probes:
        lines += ["## Probe, %s" % title, ""] + table([["question", "median [least, most]"]] + [
            list(answer) for answer in answers]) + [""]
    return lines


def judged(found):
    """The goals, none of them measured on a simulated driver."""
    if is_simulated(found.any_result):
        return [(work, wanted, None, NOT) for work, wanted, _, _ in found.goals]
    return found.goals


def goal_lines(found):
    if not found.goals:
        return []
    return ["## Goals", ""] + table([["work", "wanted", "", "measured"]] + [
        [work, wanted, said, measured or "-"] for work, wanted, measured, said in judged(found)]) + [""]


def torch_lines(found):
    if found.torch is None:
        return []
    lines = ["## PyTorch", ""]
    if "skipped" in found.torch:
        return lines + ["skipped: " + found.torch["skipped"], ""]
    return lines + found.torch["lines"] + [""]


REPLAYS = """Times are ns as seen from the CPU, the driver's calls included. Peak reserved is the meter's, or
the pool's own high-water mark, from the lowest to the highest over the passes. ns per call is that of
whole replays, less tapool's own share, with the 95% interval of the median; p50 and p99 are of single
calls, p50 with the quartiles, `-` where there were too few. `replayed_once`: one replay took longer than
--min-time, so that its times are cold ones. Driver calls are those of one replay. `async-0`, `async-max`:
`cudaMallocAsync` with release_threshold 0 and max; `async-own`: max, in a pool of its own. `arena` does not
know streams: with several, a program would have to order reuse itself.
"""


def replay_lines(found):
    if not found.results:
        return []
    lines = []
    for occupy, title in (("none", "Idle streams (`--occupy none`)"),
                          ("spin", "Streams as busy as they were (`--occupy spin`)")):
        rows = [row_of(name, run) for name, kind, result in found.results if kind == occupy
                for run in get(result, "runs") or []]
        lines += ["## " + title, ""] + (table([HEAD] + rows) if rows else ["nothing"]) + [""]
    return lines + REPLAYS.splitlines() + [""]


def write_table(check, found):
    lines = head_lines(check, found) + probe_lines(found) + goal_lines(found)
    lines += torch_lines(found) + replay_lines(found)
    for title, sentences in (("Failed", check.failures), ("No time for", check.skipped)):
        if sentences:
            lines += ["## " + title, ""] + ["- " + s for s in sentences] + [""]
    check.write("results.md", "\n".join(lines))
