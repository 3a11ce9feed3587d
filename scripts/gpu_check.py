#!/usr/bin/env python3
"""Asks a GPU what it does and measures on it; scripts/gpu-check.sh calls it.

    facts -> probe -> suite -> record -> goals -> torch -> replays -> facts
               |        |        |         |        |         |
               +--------+--------+---------+--------+---------+-----> results.md, written after each

Writes into --out, besides results.md: facts.txt, probe.txt, suite.txt, a JSON file of each replay, and at
the end gpu-check.tar.gz, which holds all of it in the few files of CARRIED. Where it is interrupted, or
its seconds are over, what was found by then is there.

Exit status: 0, or 1 where a test, a question of the probe or a replay failed, or it was interrupted. An
allocation that fails is a result, no failure. Python 3.8, standard library alone.
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import sys
import tarfile
import tempfile

import gpu_table
from gpu_run import Check, get, parsed

STRATEGIES = [
    ("arena", "arena"),
    ("lru", "lru"),
    ("stream-pool", "stream-pool"),
    ("stream-pool-max", "stream-pool-max=stream-pool:release_threshold=max"),
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
PROGRAM_SECONDS, TORCH_SECONDS = 120, 200
# The driver reads it once in a process, so that each number has a run of its own.
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
PROBES = [("the driver's own number of connections", {CONNECTIONS: None}, ["--seconds", "16"]),
          ("32 connections", {CONNECTIONS: "32"}, ["--seconds", "4", "streams"])]
PROBE_LIMIT = 25  # a probe that goes on after its seconds
LONG_PROGRAMS = ["test_conformance", "test_property"]  # of every source; left out with --quick
CARRIED = ["results.md", "results.json", "facts.txt", "probe.txt", "suite.txt", "torch.json",
           "torch-snapshot.pickle.gz"]
SMI_FACTS = "temperature.gpu,clocks.sm,clocks.mem,power.draw,utilization.gpu,memory.used"
MIB = gpu_table.MIB


# ---- facts ----

def facts(check, found, when):
    if shutil.which("nvidia-smi") is None:
        return
    _, out, errors = check.run(["nvidia-smi", "-q"], 20)
    check.append("facts.txt", "nvidia-smi -q, " + when, out + errors)
    status, out, _ = check.run(["nvidia-smi", "--query-gpu=" + SMI_FACTS, "--format=csv,noheader"], 20)
    if not status:
        found.facts += [(when, line) for line in out.splitlines()]


# ---- probe ----

def probe(check, found, _):
    program = check.beside("cuda_probe")
    if not program:
        print("-- there is no cuda_probe beside the binary: the driver was not asked")
        return
    for title, env, words in PROBES:
        if check.no_time_for("probe, " + title):
            continue
        print("-- probe, %s" % title, flush=True)
        status, out, errors = check.run([program, *words], PROBE_LIMIT, env)
        print(out, end="", flush=True)
        check.append("probe.txt", title, out + errors)
        found.probes.append((title, [re.split(r" {2,}", line, maxsplit=1)
                                     for line in out.splitlines() if "  " in line]))
        if status:
            failed = [line for line in out.splitlines() if "FAILED" in line]
            check.fail("probe, " + title, status, "\n".join(failed) or errors)


# ---- suite ----

def counted(word, text):
    """The number in cmocka's last lines, such as `[  PASSED  ] 12 test(s).`"""
    numbers = re.findall(r"^\[ *%s *\] (\d+) test" % word, text, re.M)
    return int(numbers[-1]) if numbers else 0


def run_program(check, path):
    """(name, passed, failed, skipped), or None where the time of all was over before its end."""
    status, out, errors = check.run([path], PROGRAM_SECONDS, {
        "TAPOOL_TEST_REAL_CUDA": "1", "TAPOOL_ROOT": check.args.root})
    text = out + errors
    row = [os.path.basename(path)] + [counted(word, text) for word in ("PASSED", "FAILED", "SKIPPED")]
    if status and not row[2]:  # it crashed, or was too slow
        row[2] = 1
    check.append("suite.txt", row[0], text)
    if status == -1 and check.seconds_left() <= 0:
        check.skipped.append("%s, %s" % (row[0], errors))
        return None
    print("-- %s: %d passed, %d failed, %d skipped" % tuple(row), flush=True)
    if row[2]:
        print("\n".join(text.splitlines()[-30:]), flush=True)
        check.failed("%s: %d failed; its output is in suite.txt" % (row[0], row[2]))
    return row


def suite(check, found, _):
    tests = check.args.tests
    programs = sorted(glob.glob(os.path.join(tests, "test_cuda_*"))) if tests else []
    if not check.args.quick:
        programs += [os.path.join(tests, name) for name in LONG_PROGRAMS]
    programs = [path for path in programs if os.path.isfile(path) and os.access(path, os.X_OK)]
    if not programs:
        print("-- there is no test_cuda_* (--tests): the suite was not run")
        return
    found.suite = []
    for path in programs:
        row = None if check.no_time_for(os.path.basename(path)) else run_program(check, path)
        found.suite += [row] if row else []
        gpu_table.write_table(check, found)


# ---- recording ----

# What tests/programs/gpu_program.c prints, and where the trace of its recording says the same.
RECORDED = [("alloc", ("operations", "alloc")), ("free", ("operations", "free")),
            ("sync", ("operations", "sync")), ("peak", ("peak_requested_bytes",))]


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
    check.write_json("recorded", info)
    return known, {name: str(get(info, *path)) for name, path in RECORDED}, get(info, "trace", "remarks")


def recording_line(check, folder):
    program = check.beside("gpu_program")
    if not program:
        return "not checked: there is no gpu_program beside the binary (target gpu_check)"
    if check.no_time_for("record --cuda"):
        return "not checked: no time"
    found = record_program(check, program, folder)
    if not found:
        return "FAILED"
    known, recorded, remarks = found
    wrong = ["%s %s, not %s" % (name, recorded[name], known.get(name)) for name, _ in RECORDED
             if recorded[name] != known.get(name)]
    if wrong:
        check.failed("record --cuda: the recording has " + ", ".join(wrong))
        return "FAILED: " + ", ".join(wrong)
    return "the program's %s allocations, frees, synchronisations and peak, to the byte; %s" % (
        known["alloc"], "; ".join(remarks or ["no remarks"]))


def record(check, found, folder):
    found.recording = recording_line(check, folder)


# ---- traces ----

def write_trace(path, name, events):
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"format": "tapool-trace", "version": 1,
                               "meta": {"name": name, "kind": "device"}}) + "\n")
        for op, ident, size in events:
            event = {"op": op}
            if op != "sync":
                event["id"] = ident
            if op == "alloc":
                event["size"] = size
            file.write(json.dumps(event) + "\n")


def pairs(count):
    """One block of 1 MiB, allocated and freed: a hit from the second time on. Each 128 pairs are
    waited for, untimed, so that the driver's queue, with room for a thousand things, never fills."""
    for i in range(count):
        yield "alloc", 1, MIB
        yield "free", 1, 0
        if i % 128 == 127:
            yield "sync", 0, 0


def ranges(count=64):
    """Blocks of sizes that no two share, all live at once: as many ranges as blocks."""
    for i in range(count):
        yield "alloc", i, 3 * MIB + i * 700 * 1024
    for i in range(count):
        yield "free", i, 0


def traces_of(check, folder):
    """(name, path) of what is to be replayed."""
    found = []
    for profile, options, quick in PROFILES:
        path = check.generate(os.path.join(folder, profile + ".tpt"), profile,
                              quick if check.args.quick else options)
        if path:
            found.append((profile, path))
    if not check.args.quick:
        for sample in sorted(glob.glob(os.path.join(check.args.root, "traces", "samples", "*.*"))):
            if not sample.endswith(".md") and check.is_device(sample):
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


# ---- goals ----

def own_share(check):
    """By what tests/bench/async_loop.c prints."""
    program = check.beside("async_loop")
    if not program:
        return "there is no async_loop beside the binary (target async_loop)", gpu_table.NOT
    if check.no_time_for("async_loop"):
        return "no time", gpu_table.NOT
    status, out, errors = check.run([program] + (["1048576", "20", "5"] if check.args.quick else []))
    result = parsed(out)
    if status or result is None:
        check.fail("async_loop", status, errors)
        return "async_loop failed", gpu_table.NOT
    check.write_json("goals-async_loop", result)
    return gpu_table.goal_own_share(result)


def hits(check, folder):
    trace = os.path.join(folder, "pairs.jsonl")
    write_trace(trace, "pairs", pairs(100 if check.args.quick else 10000))
    return replayed(check, "goals-pairs", trace, "stream-pool-max", "async-max")


def whole(check, folder):
    trace = check.generate(os.path.join(folder, "goal.tpt"), *(
        PROFILES[0][::2] if check.args.quick else GOAL_PROFILE))
    return trace and replayed(check, "goals-training-step", trace, "direct", "stream-pool-max")


def meters(check, folder):
    trace = os.path.join(folder, "ranges.jsonl")
    write_trace(trace, "ranges", ranges())
    return replayed(check, "goals-ranges", trace, "direct", "stream-pool-max")


def replayed(check, name, trace, *labels):
    return check.replay(name, trace, [dict(STRATEGIES)[label] for label in labels])


# work, wanted, and what says (measured, verdict)
GOALS = [
    ("`stream-pool:release_threshold=max`, a hit, p50 of alloc + p50 of free",
     "at most 1/5 of `cudaMallocAsync:release_threshold=max`",
     lambda check, folder: gpu_table.goal_hit(hits(check, folder))),
    ("`cudaMallocAsync`, own share of a call", "at most 50 ns over cuMemAllocAsync, cuMemFreeAsync",
     lambda check, folder: own_share(check)),
    ("`direct` to `stream-pool:release_threshold=max`, whole replay of a training step", "at least 20x",
     lambda check, folder: gpu_table.goal_whole_replay(whole(check, folder))),
    ("`direct`, `stream-pool:release_threshold=max`: meter beside cuMemGetInfo", "within 2 MiB a range",
     lambda check, folder: gpu_table.goal_meter(meters(check, folder))),
]


def goals(check, found, folder):
    for work, wanted, measure in GOALS:
        found.goals.append((work, wanted, *measure(check, folder)))
        gpu_table.write_table(check, found)


# ---- PyTorch ----

def torch(check, found, _):
    """With the site's packages, which this program goes without."""
    if check.no_time_for("torch"):
        return
    status, out, errors = check.run(
        [sys.executable, os.path.join(check.args.root, "scripts", "torch_truth.py"), "--binary",
         check.args.binary, "--out", check.args.out], TORCH_SECONDS)
    print(out, end="", flush=True)
    if status:
        check.fail("torch_truth.py", status, errors)
        return
    check.written |= {"torch.json", "torch-snapshot.pickle.gz"} & set(os.listdir(check.args.out))
    with open(check.path("torch.json"), encoding="utf-8") as file:
        found.torch = json.load(file)


# ---- replays ----

def replays(check, found, folder):
    for name, path in traces_of(check, folder):
        for occupy in ("none", "spin"):
            result = check.replay("%s-%s" % (name, occupy), path, [s for _, s in STRATEGIES],
                                  "--occupy", occupy, "--limit", str(LIMITS.get(name, 0)))
            if result:
                found.results.append((name, occupy, result))
                gpu_table.write_table(check, found)


# ---- all of it ----

STEPS = [("probe", probe), ("suite", suite), ("record", record), ("goals", goals), ("torch", torch),
         ("replays", replays)]


def carry(check):
    """Everything in one archive of few files; its path."""
    check.write("results.json", json.dumps(check.results))
    path = check.path("gpu-check.tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        for name in CARRIED:
            if name in check.written:
                archive.add(check.path(name), name)
    return path


def run_steps(check, found):
    with tempfile.TemporaryDirectory() as folder:
        for name, step in STEPS:
            if name in check.args.steps.split(","):
                step(check, found, folder)
                gpu_table.write_table(check, found)


SIGNALS = (signal.SIGINT, signal.SIGTERM)


def be_interrupted(_number, _frame):
    """Once: what comes after that only writes down what was found."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("--binary", "--out", "--root"):
        parser.add_argument(name, required=True)
    parser.add_argument("--tests", default="")
    parser.add_argument("--first", required=True, help="a result, for what it says of the device")
    parser.add_argument("--doctor", required=True, help="what `tapool doctor` said")
    parser.add_argument("--steps", required=True, help="names, with commas")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("traces", nargs="*")
    return parser.parse_args()


def main():
    args = arguments()
    check, found = Check(args), gpu_table.Found()
    for number in SIGNALS:
        signal.signal(number, be_interrupted)
    with open(args.first, encoding="utf-8") as file:
        found.any_result = json.load(file)
    with open(args.doctor, encoding="utf-8") as file:
        check.append("facts.txt", "tapool doctor", file.read())
    facts(check, found, "before")
    gpu_table.write_table(check, found)
    try:
        run_steps(check, found)
        facts(check, found, "after")
    except KeyboardInterrupt:
        check.failed("interrupted: what is missing was not measured")
    gpu_table.write_table(check, found)
    archive = carry(check)
    for work, _, measured, said in gpu_table.judged(found):
        print(("  %-60s %-12s %s" % (work, said, measured or "")).rstrip())
    print("-- all of it, to carry home: %s, %.1f MiB" % (archive, os.path.getsize(archive) / MIB))
    print(check.path("results.md"), flush=True)
    sys.exit(1 if check.failures else 0)


main()
