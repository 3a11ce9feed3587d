#!/usr/bin/env python3
"""Runs a PyTorch program and leaves a snapshot of its GPU memory's history, from its first step on.

usage: record_torch.py [-o FILE] [--max-entries N] [--no-stacks] SCRIPT [ARGUMENT...]
       record_torch.py [OPTION...] -m MODULE [ARGUMENT...]
       record_torch.py --sizes 2,4 [OPTION...] SCRIPT --batch {size}

The program need not be changed: PyTorch's recording is switched on before its first line, and the
snapshot is written when it ends, however it ends. When memory runs out the first time, a snapshot
is written beside it at that moment (NAME-oom.pickle), because the stack that holds the tensors is
unwound afterwards. The program's exit status stays its own.

With --sizes the program runs once for each size, in a process of its own, with {size} replaced in
its arguments and in FILE; tapool predict tells from these runs what a larger size needs.

Then: tapool replay FILE. What the file says, and its limits: tapool help snapshots.

Known weaknesses: a program that switches the recording on itself begins a new one. Children that
the program starts are not recorded; for torchrun, start this script by it, with --no-python and an
-o of its own for each rank ('{rank}' in FILE stands for the rank).
"""
import argparse
import os
import runpy
import subprocess
import sys


def arguments(words):
    what = argparse.ArgumentParser(
        prog="record_torch.py", description="Runs a PyTorch program and leaves a snapshot of the "
        "history of its GPU memory, from its first step on.")
    what.add_argument("-o", "--output", default="snapshot.pickle", metavar="FILE",
                      help="the snapshot (default snapshot.pickle); {rank} is replaced by $RANK")
    what.add_argument("--max-entries", type=int, default=1000000, metavar="N",
                      help="events that are kept, the newest (default 1000000)")
    what.add_argument("--no-stacks", action="store_true",
                      help="without the calls that led to each event: smaller, and faster")
    what.add_argument("--sizes", metavar="N,N",
                      help="run once for each of these sizes, which replace {size} in the arguments")
    what.add_argument("-m", dest="module", action="store_true",
                      help="SCRIPT is the name of a module")
    what.add_argument("script", metavar="SCRIPT")
    what.add_argument("rest", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    return what.parse_args(words)


def say(text):
    print("record_torch.py: " + text, file=sys.stderr)


def dump(memory, path):
    """Writes a snapshot, whole or not at all."""
    part = path + ".part"
    try:
        memory._dump_snapshot(part)
        os.replace(part, path)
    except Exception as error:  # pylint: disable=broad-except
        # what went wrong here must not hide what the program did
        say("'%s' could not be written: %s" % (path, error))
        return
    say("wrote %s; next: tapool replay %s" % (path, path))


def at_first_oom(torch, path):
    """What PyTorch calls before it gives up; it says only once what memory looked like."""
    seen = []

    def observe(_device, _wanted, _held, _free):
        if not seen:
            seen.append(True)
            dump(torch.cuda.memory, path)

    torch._C._cuda_attach_out_of_memory_observer(observe)


def start(torch, args, output):
    if not torch.cuda.is_available():
        say("PyTorch finds no GPU here; the program runs unrecorded")
        return False
    stacks = {"context": None} if args.no_stacks else {}
    torch.cuda.memory._record_memory_history(max_entries=args.max_entries, **stacks)
    base, ending = os.path.splitext(output)
    at_first_oom(torch, base + "-oom" + ending)
    return True


def run_sizes(args):
    """Each size in a process of its own, so that each begins with an empty GPU."""
    output = args.output if "{size}" in args.output else "snapshot-{size}.pickle"
    sizes = args.sizes.split(",")
    if not all(size.isdigit() for size in sizes) or len(set(sizes)) < 2:
        say("--sizes takes two or more whole numbers, as 2,4")
        return 2
    if not any("{size}" in word for word in args.rest):
        say("no argument of the program has {size} in it: every run would be the same")
        return 2
    options = ["--max-entries", str(args.max_entries)] + ["--no-stacks"] * args.no_stacks + ["-m"] * args.module
    for size in sizes:
        words = [word.replace("{size}", size) for word in args.rest]
        command = [sys.executable, os.path.abspath(__file__), "-o", output.replace("{size}", size)]
        status = subprocess.call(command + options + [args.script] + words)
        if status:
            say("size %s ended with status %d" % (size, status))
            return status if status > 0 else 1
    say("next: tapool predict %s --at N" % " ".join(output.replace("{size}", size) + "@" + size for size in sizes))
    return 0


def main():
    args = arguments(sys.argv[1:])
    if args.sizes:
        return run_sizes(args)
    output = args.output.replace("{rank}", os.environ.get("RANK", "0"))
    try:
        import torch
    except ImportError:
        say("this Python has no PyTorch: %s" % sys.executable)
        return 2
    recorded = start(torch, args, output)
    sys.argv = [args.script] + args.rest
    try:
        if args.module:
            runpy.run_module(args.script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(args.script))
            runpy.run_path(args.script, run_name="__main__")
    finally:
        if recorded:
            dump(torch.cuda.memory, output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
