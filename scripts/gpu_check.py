#!/usr/bin/env python3
"""Replays device traces on a GPU with every strategy; scripts/gpu-check.sh calls it.

Writes into --out: NAME-none.json and NAME-spin.json for each trace (streams that are idle, and
streams that are busy as long as they were when the trace was recorded), goals-*.json, and results.md.
Exit status: 0, or 1 where a replay failed. An allocation that fails is a result, no failure.

A command that takes too long is interrupted, and what it has measured so far counts. Python 3.8,
standard library alone.
"""
import argparse
import datetime
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

STRATEGIES = [
    ("arena", "arena"),
    ("lru", "lru"),
    ("stream-pool", "stream-pool"),
    ("bump", "bump"),
    ("async-0", "async-0=cudaMallocAsync:release_threshold=0"),
    ("async-max", "async-max=cudaMallocAsync:release_threshold=max"),
    ("async-own", "async-own=cudaMallocAsync:pool=own,release_threshold=max"),
    ("direct", "direct"),
]
# profile, options; and those of --quick. Short ones: `direct` waits for the device in each call, and
# busy streams take the recorded time in each pass.
PROFILES = [
    ("training-step", ["--count", "4"], ["--count", "1", "--layers", "2", "--batch", "2"]),
    ("llm-decode", ["--count", "12"], ["--count", "1", "--layers", "2", "--hidden", "512"]),
    ("streams", ["--count", "5000"], ["--count", "300", "--live", "32"]),
]
GOAL_PROFILE = ("training-step", ["--count", "10"])
LIMITS = {"llm-decode": 4000}  # events that are read; of the others all
SHIPPED = ["tests/data/pytorch/training-step.pickle.gz"]
COMMAND_SECONDS = 150  # that one command may take
MIB = 1 << 20


# ---- running ----

class Check:
    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.failures = []  # sentences
        self.skipped = []   # what there was no time for
        self.recording = "not checked"
        self.min_time = "0" if args.quick else "50ms"

    def path(self, name):
        return os.path.join(self.args.out, name)

    def seconds_left(self):
        return self.end - time.monotonic()

    def run(self, command, keep_going=False):
        """(status, output, errors); interrupted when its time is over."""
        seconds = COMMAND_SECONDS if keep_going else min(COMMAND_SECONDS, max(1, self.seconds_left()))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace")
        try:
            out, errors = process.communicate(timeout=seconds)
            return process.returncode, out, errors
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            out, errors = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
        return -1, out, "interrupted after %d seconds" % seconds

    def fail(self, what, status, errors):
        lines = [line for line in errors.strip().splitlines() if line]
        sentence = next((line for line in lines if line.startswith("tapool: ")), None) or (
            lines[-1] if lines else "no word of why")
        self.failures.append("%s: exit status %d: %s" % (what, status, sentence))
        print("-- FAILED " + self.failures[-1], flush=True)


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def replay_once(check, trace, specs, options):
    command = [check.args.binary, "replay", trace, "--source", "cuda", "--json", "--no-fits",
               "--min-time", check.min_time, *options]
    for spec in specs:
        command += ["-s", spec]
    status, out, errors = check.run(command)
    return status, parsed(out), errors


def replay(check, name, trace, specs, *options):
    """The result of all strategies in one process; where that fails, of each in a process of its own,
    so that one strategy does not take the others' results along. Written to NAME.json."""
    if check.seconds_left() <= 0:
        check.skipped.append(name)
        return None
    print("-- replaying %s" % name, flush=True)
    status, result, errors = replay_once(check, trace, specs, options)
    if status == -1 and result is None:
        check.fail(name, status, errors)
    elif status == -1:
        check.skipped.append("%s, %s" % (name, errors))
    elif status or result is None:
        if len(specs) == 1:
            check.fail(name, status, errors)
        for spec in specs if len(specs) > 1 else []:
            alone, one, errors = replay_once(check, trace, [spec], options)
            if alone or one is None:
                check.fail("%s, %s" % (name, spec), alone, errors)
            elif result is None:
                result = one
            else:
                result["runs"] += one["runs"]
    if result is not None:
        with open(check.path(name + ".json"), "w", encoding="utf-8") as file:
            json.dump(result, file)
    return result


# ---- traces ----

def write_trace(path, name, events):
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"format": "tapool-trace", "version": 1,
                               "meta": {"name": name, "kind": "device"}}) + "\n")
        for op, ident, size in events:
            event = {"op": op, "id": ident}
            if op == "alloc":
                event["size"] = size
            file.write(json.dumps(event) + "\n")


def pairs(count):
    """One block of 1 MiB, allocated and freed: a hit from the second time on."""
    for _ in range(count):
        yield "alloc", 1, MIB
        yield "free", 1, 0


def ranges(count=64):
    """Blocks of sizes that no two share, all live at once: as many ranges as blocks."""
    for i in range(count):
        yield "alloc", i, 3 * MIB + i * 700 * 1024
    for i in range(count):
        yield "free", i, 0


def is_device(check, trace):
    status, out, _ = check.run([check.args.binary, "info", trace, "--json"])
    return not status and get(parsed(out), "trace", "kind") == "device"


def generate(check, path, profile, options):
    """The path, or None."""
    status, _, errors = check.run([check.args.binary, "gen", profile, "-f", "-o", path, *options])
    if status:
        check.fail("gen " + profile, status, errors)
    return None if status else path


def traces_of(check, folder):
    """(name, path) of what is to be replayed."""
    found = []
    for profile, options, quick in PROFILES:
        path = generate(check, os.path.join(folder, profile + ".tpt"), profile,
                        quick if check.args.quick else options)
        if path:
            found.append((profile, path))
    if not check.args.quick:
        for sample in sorted(glob.glob(os.path.join(check.args.root, "traces", "samples", "*.*"))):
            if not sample.endswith(".md") and is_device(check, sample):
                found.append((os.path.basename(sample).split(".")[0], sample))
        for shipped in SHIPPED:
            path = os.path.join(check.args.root, shipped)
            if os.path.exists(path):
                found.append((os.path.basename(path).split(".")[0] + "-snapshot", path))
    for trace in check.args.traces:
        found.append((file_name(trace), trace))
    return unique(found)


def file_name(trace):
    name = os.path.basename(trace).split(".")[0]
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name) or "trace"


def unique(found):
    seen, out = {}, []
    for name, path in found:
        seen[name] = seen.get(name, 0) + 1
        out.append((name if seen[name] == 1 else "%s-%d" % (name, seen[name]), path))
    return out


# ---- what a result says ----

def get(value, *path):
    for key in path:
        if isinstance(value, list):
            value = value[key] if key < len(value) else None
        elif isinstance(value, dict):
            value = value.get(key)
        else:
            return None
    return value


def run_of(result, label):
    for run in get(result, "runs") or []:
        if get(run, "strategy", "label") == label:
            return run
    return None


def gross_ns(run, name="ns_per_op"):
    """A call in a whole replay, the loop that plays it included."""
    net = get(run, "throughput", name)
    return None if net is None else net + (get(run, "throughput", "engine_ns_per_op") or 0)


def pair_p50(run):
    alloc, free = get(run, "latency", "alloc", "p50_ns"), get(run, "latency", "free", "p50_ns")
    return None if alloc is None or free is None else alloc + free


# ---- goals: (name, wanted, measured, verdict) ----

NOT = "not measured"


def verdict(reached):
    return "reached" if reached else "MISSED"


def goal_hit(result):
    ours, theirs = pair_p50(run_of(result, "stream-pool")), pair_p50(run_of(result, "async-max"))
    if ours is None or not theirs:
        return None, NOT
    return ("%d ns beside %d ns: 1/%.1f" % (ours, theirs, theirs / max(ours, 1)),
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
    runs = run_of(result, "direct"), run_of(result, "stream-pool")
    slow, fast = map(gross_ns, runs)
    if not slow or not fast:
        return None, NOT
    slow_cold, fast_cold = (gross_ns(run, "cold_ns_per_op") for run in runs)
    cold = "; the first replay %.1fx" % (slow_cold / fast_cold) if slow_cold and fast_cold else ""
    return ("%.1fx: %d ns and %.1f ns a call%s" % (slow / fast, slow, fast, cold),
            verdict(slow >= 20 * fast))


def goal_meter(result):
    said, worst = [], True
    for label in ("direct", "stream-pool"):
        run = run_of(result, label)
        missing = get(run, "devices", 0, "measured", "missing_at_peak_bytes")
        metered = get(run, "devices", 0, "measured", "reserved_then_bytes")
        count = get(run, "source_calls", "get")
        if missing is None or metered is None or not count:
            return None, NOT
        off = abs(missing - metered) / count / MIB
        said.append("%s: metered %.1f MiB, missing %.1f MiB, %.2f MiB a range of %d" % (
            label, metered / MIB, missing / MIB, off, count))
        worst = worst and off <= 2
    return "; ".join(said), verdict(worst)


def async_loop(check):
    """What tests/bench/async_loop.c prints; it lies beside tapool or above the tests."""
    program = os.path.join(os.path.dirname(check.args.binary), "async_loop")
    if not os.path.exists(program):
        return None, "there is no async_loop beside the binary (target async_loop)"
    status, out, errors = check.run([program] + (["1048576", "20", "5"] if check.args.quick else []))
    result = parsed(out)
    if status or result is None:
        check.fail("async_loop", status, errors)
        return None, "async_loop failed"
    with open(check.path("goals-async_loop.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)
    return result, ""


def measure_goals(check, folder):
    hit, meter = os.path.join(folder, "pairs.jsonl"), os.path.join(folder, "ranges.jsonl")
    write_trace(hit, "pairs", pairs(100 if check.args.quick else 10000))
    write_trace(meter, "ranges", ranges())
    training = generate(check, os.path.join(folder, "goal.tpt"), *(
        PROFILES[0][::2] if check.args.quick else GOAL_PROFILE))
    spec = dict(STRATEGIES)
    hits = replay(check, "goals-pairs", hit, [spec["stream-pool"], spec["async-max"]])
    loop, why = async_loop(check)
    whole = training and replay(check, "goals-training-step", training,
                                [spec["direct"], spec["stream-pool"]])
    meters = replay(check, "goals-ranges", meter, [spec["direct"], spec["stream-pool"]])
    goals = [
        ("`stream-pool`, a hit, p50 of alloc + p50 of free",
         "at most 1/5 of `cudaMallocAsync:release_threshold=max`", *goal_hit(hits)),
        ("`cudaMallocAsync`, own share of a call",
         "at most 50 ns over cuMemAllocAsync, cuMemFreeAsync", *goal_own_share(loop)),
        ("`direct` to `stream-pool`, whole replay of a training step", "at least 20x",
         *goal_whole_replay(whole)),
        ("`direct`, `stream-pool`: meter beside cuMemGetInfo", "within 2 MiB a range",
         *goal_meter(meters))]
    if why:
        goals[1] = (*goals[1][:2], why, NOT)
    return goals, hits or whole or meters


# ---- recording ----

# What tests/programs/gpu_program.c prints, and where the trace of its recording says the same.
RECORDED = [("alloc", ("operations", "alloc")), ("free", ("operations", "free")),
            ("sync", ("operations", "sync")), ("peak", ("peak_requested_bytes",))]


def find_program(check, name):
    folder = os.path.dirname(check.args.binary)
    places = [os.path.join(folder, name), os.path.join(folder, "tests", name)]
    return next((place for place in places if os.path.exists(place)), None)


def record_program(check, program, folder):
    """What the program says of itself, what its recording says, and the recording's remarks; or None."""
    trace = os.path.join(folder, "recorded.tpt")
    status, out, errors = check.run([check.args.binary, "record", "--cuda", "-f", "-o", trace, "--", program])
    if status:
        check.fail("record --cuda", status, errors)
        return None
    known = dict(line.split() for line in out.splitlines())
    status, out, errors = check.run([check.args.binary, "info", trace, "--json", "--strict"])
    if status:
        check.fail("record --cuda, info", status, errors or "nothing was recorded")
        return None
    info = parsed(out)
    with open(check.path("recorded.json"), "w", encoding="utf-8") as file:
        json.dump(info, file)
    return known, {name: str(get(info, *path)) for name, path in RECORDED}, get(info, "trace", "remarks")


def recording_line(check, folder):
    program = find_program(check, "gpu_program")
    if not program:
        return "not checked: there is no gpu_program beside the binary (target gpu_check)"
    found = record_program(check, program, folder)
    if not found:
        return "FAILED"
    known, recorded, remarks = found
    wrong = ["%s %s, not %s" % (name, recorded[name], known.get(name)) for name, _ in RECORDED
             if recorded[name] != known.get(name)]
    if wrong:
        check.failures.append("record --cuda: the recording has " + ", ".join(wrong))
        return "FAILED: " + ", ".join(wrong)
    return "the program's %s allocations, frees, synchronisations and peak, to the byte; %s" % (
        known["alloc"], "; ".join(remarks or ["no remarks"]))


# ---- the table ----

def device_of(result):
    return get(result, "runs", 0, "source", "device", 0) or {}


def is_simulated(result):
    """True too where nothing says that it is a real one."""
    return device_of(result).get("simulated") is not False


def number(value, form="%d"):
    return "-" if value is None else (form % value)


def mib(low, high=None):
    if low is None:
        return "-"
    text = "%.1f" % (low / MIB)
    return text if high is None or high == low else "%s to %.1f" % (text, high / MIB)


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


HEAD = ["trace", "strategy", "peak reserved, MiB", "ns per call", "alloc p50", "alloc p99", "free p50",
        "free p99", "driver calls", "failures"]


def row_of(name, run):
    latency = get(run, "latency") or {}
    return [name, get(run, "strategy", "label"), peak_of(run),
            number(get(run, "throughput", "ns_per_op"), "%.0f"),
            *(number(get(latency, kind, p)) for kind in ("alloc", "free") for p in ("p50_ns", "p99_ns")),
            number(calls_of(run)),
            number(get(run, "failed_allocations"))]


def table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * 2 + "--:|" * (len(rows[0]) - 2) if len(rows[0]) > 4
                 else "|" + "---|" * len(rows[0]))
    return lines


def suite_line(check):
    try:
        with open(check.path("tests.txt"), encoding="utf-8") as file:
            rows = [line.split() for line in file if line.strip()]
    except OSError:
        return "not run (--tests)"
    counts = [sum(int(row[i]) for row in rows) for i in (1, 2, 3)]
    return "%d passed, %d failed, %d skipped, in %d programs" % (*counts, len(rows))


def head_lines(check, result):
    device = device_of(result)
    tool, machine = get(result, "tool") or {}, get(result, "machine") or {}
    cuda = device.get("cuda_version") or 0
    lines = ["# What tapool measured on a GPU", ""]
    if is_simulated(result):
        lines += ["**The driver is simulated: it keeps books in host memory. No figure below means "
                  "anything.**", ""]
    lines += [
        "- device: %s, %s MiB" % (device.get("name", "not known"), mib(device.get("total_bytes"))),
        "- driver: %s, CUDA %d.%d%s" % (
            device.get("driver_release") or "not known", cuda // 1000, cuda % 1000 // 10,
            ", `%s`" % os.environ["TAPOOL_CUDA_DRIVER"] if "TAPOOL_CUDA_DRIVER" in os.environ else ""),
        "- date: %s UTC" % datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M"),
        "- tapool %s (%s, %s), %s, %s" % (
            tool.get("version"), tool.get("build"), tool.get("compiler"), machine.get("cpu"),
            machine.get("os")),
        "- suite of the source cuda on this driver: %s" % suite_line(check)]
    lines.append("- `tapool record --cuda` of tests/programs/gpu_program.c: %s" % check.recording)
    if check.args.quick:
        lines.append("- --quick: small traces, each played once")
    return lines + [""]


LEGEND = """Times are ns as seen from the CPU, the driver's calls included. Peak reserved is the meter's, or
the pool's own high-water mark, from the lowest to the highest over the passes. ns per call is that of
whole replays, less tapool's own share; p50 and p99 are of single calls, `-` where there were too few.
Driver calls are those of one replay. `async-0`, `async-max`: `cudaMallocAsync` with release_threshold 0
and max; `async-own`: max, in a pool of its own. `arena` does not know streams: with several, a program
would have to order reuse itself.
"""


def write_table(check, goals, any_result, results):
    lines = head_lines(check, any_result)
    lines += ["## Goals", ""] + table([["work", "wanted", "", "measured"]] + [
        [work, wanted, said, measured or "-"] for work, wanted, measured, said in goals]) + [""]
    for occupy, title in (("none", "Idle streams (`--occupy none`)"),
                          ("spin", "Streams as busy as they were (`--occupy spin`)")):
        rows = [row_of(name, run) for name, kind, result in results if kind == occupy
                for run in get(result, "runs") or []]
        lines += ["## " + title, ""] + (table([HEAD] + rows) if rows else ["nothing"]) + [""]
    lines += LEGEND.splitlines() + [""]
    for title, sentences in (("Failed", check.failures), ("No time for", check.skipped)):
        if sentences:
            lines += ["## " + title, ""] + ["- " + s for s in sentences] + [""]
    with open(check.path("results.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main():
    parser = argparse.ArgumentParser()
    for name in ("--binary", "--out", "--root"):
        parser.add_argument(name, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("traces", nargs="*")
    check = Check(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        check.recording = recording_line(check, folder)
        goals, first = measure_goals(check, folder)
        traces = traces_of(check, folder)
        results = []
        for occupy in ("none", "spin"):
            for name, path in traces:
                result = replay(check, "%s-%s" % (name, occupy), path, [s for _, s in STRATEGIES],
                                "--occupy", occupy, "--limit", str(LIMITS.get(name, 0)))
                results.append((name, occupy, result))
                first = first or result
    if is_simulated(first):
        goals = [(work, wanted, None, NOT) for work, wanted, _, _ in goals]
    write_table(check, goals, first, results)
    for work, _, measured, said in goals:
        print("  %-60s %-12s %s" % (work, said, measured or ""))
    sys.exit(1 if check.failures else 0)


main()
