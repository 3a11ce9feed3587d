#!/usr/bin/env python3
r"""Compares tapool's predictions with PyTorch: how much does one program reserve under other allocator settings?

    PyTorch, default settings ---> snapshot ---> tapool replay -s torch:conf=SETTING ---> predicted
                                            \--> tapool replay -s cudaMallocAsync -----> predicted
    PyTorch, the same program with SETTING, a process for each ------------------------> real
    PyTorch, the same program with cudaMallocAsync, in ROUNDS processes ---------------> real

usage: torch_truth.py --binary TAPOOL --out DIR [--rounds N]
       torch_truth.py --train [--snapshot FILE]     the program of these processes: one JSON object on stdout

The program is a small model that is trained on batches of changing lengths, with an evaluation in
between. Writes DIR/torch.json and DIR/torch-snapshot.pickle.gz, and prints predicted and real bytes and
their difference. TAPOOL_CUDA_DRIVER is for tapool alone: PyTorch takes the system's driver.

Exit status: 0, also where there is no PyTorch or no GPU that it can use, which torch.json says; 1 a
process failed; 2 usage. Known weakness: memory that libraries take past the allocator of PyTorch is in
neither number.
"""
import argparse
import concurrent.futures
import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

MIB = 1 << 20
SPEC = "cudaMallocAsync:release_threshold=max"  # what PyTorch sets its pool to
DEFAULT, ASYNC = "", "backend:cudaMallocAsync"  # values of PYTORCH_CUDA_ALLOC_CONF
SETTINGS = [DEFAULT, "max_split_size_mb:32", "max_split_size_mb:128", "roundup_power2_divisions:4",
            "roundup_power2_divisions:1,max_split_size_mb:64", "expandable_segments:True",
            "expandable_segments:True,max_split_size_mb:64"]
AT_ONCE = 4  # processes that share the GPU while reserved memory is read, which is a process's own
NO_GPU = 3  # of --train: PyTorch is there, and no GPU that it can use


# ---- the program: runs in a process of its own ----

WIDTH, LAYERS, BATCH = 1024, 8, 16
LENGTHS = [96, 160, 64, 256, 128, 224, 80, 192]  # of the batches, over and over
STEPS, EVALUATE_EVERY = 24, 6


def model_of(torch):
    def block():
        return torch.nn.Sequential(torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 4 * WIDTH),
                                   torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))

    return torch.nn.ModuleList([block() for _ in range(LAYERS)]).to("cuda")


def forward(model, batch):
    for block in model:
        batch = batch + block(batch)
    return batch


def train(torch):
    torch.manual_seed(1)
    model = model_of(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(STEPS):
        length = LENGTHS[step % len(LENGTHS)]
        loss = forward(model, torch.randn(BATCH, length, WIDTH, device="cuda")).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % EVALUATE_EVERY == EVALUATE_EVERY - 1:
            with torch.no_grad():
                forward(model, torch.randn(4 * BATCH, length, WIDTH, device="cuda"))
    torch.cuda.synchronize()


def train_here(snapshot):
    import torch
    if not torch.cuda.is_available():
        return NO_GPU
    if snapshot:
        torch.cuda.memory._record_memory_history(max_entries=1000000, context=None)
    train(torch)
    if snapshot:
        torch.cuda.memory._dump_snapshot(snapshot)
    print(json.dumps({"backend": torch.cuda.get_allocator_backend(), "torch": torch.__version__,
                      "device": torch.cuda.get_device_name(0),
                      "max_allocated_bytes": torch.cuda.max_memory_allocated(),
                      "max_reserved_bytes": torch.cuda.max_memory_reserved()}))
    return 0


# ---- the comparison ----

class Failed(Exception):
    """A sentence."""


def output_of(command, env=None):
    """(status, stdout). The last line of stderr is the sentence of what failed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
    if done.returncode not in (0, NO_GPU):
        lines = done.stderr.strip().splitlines() or ["no word of why"]
        raise Failed("%s: exit status %d: %s" % (
            os.path.basename(command[0]), done.returncode, lines[-1]))
    return done.returncode, done.stdout


def trained(conf, snapshot=None):
    """The report of a process that trains with that setting; None: no GPU."""
    env = dict(os.environ)
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        env.pop(name, None)
    if conf:
        env["PYTORCH_CUDA_ALLOC_CONF"] = conf
    status, out = output_of([sys.executable, os.path.abspath(__file__), "--train"] +
                            (["--snapshot", snapshot] if snapshot else []), env)
    if status == NO_GPU:
        return None
    said = json.loads(out.strip().splitlines()[-1])
    backend = "cudaMallocAsync" if conf == ASYNC else "native"
    if said["backend"] != backend:
        raise Failed("PyTorch took the backend %s, not %s" % (said["backend"], backend))
    return said


def replayed(binary, snapshot, *options):
    """The run of one replay, as JSON."""
    _, out = output_of([binary, "replay", snapshot, *options, "--json", "--no-fits", "--min-time", "100ms"])
    return json.loads(out)["runs"][0]


def predicted(binary, snapshot):
    """[least, most] bytes that the pool has reserved, over the passes; and whether on a simulated driver."""
    run = replayed(binary, snapshot, "--source", "cuda", "-s", SPEC)
    spans = [device["measured"]["peak_reserved_bytes"] for device in run["devices"]]
    if None in spans:
        raise Failed("the replay has no peak of reserved memory")
    return [sum(span[i] for span in spans) for i in (0, 1)], run["source"]["device"][0]["simulated"]


def span(values):
    return "%.1f MiB [%.1f, %.1f]" % tuple(
        value / MIB for value in (sorted(values)[len(values) // 2], min(values), max(values)))


def per_cent(guess, real):
    return "%+.2f%%" % (100.0 * (guess - real) / real)


def lines_of(result):
    real, guess = result["real_reserved_bytes"], result["predicted_reserved_bytes"]
    lines = ["- PyTorch %s, %s: %d processes with cudaMallocAsync, one with its own allocator, which "
             "reserved %.1f MiB" % (result["torch"], result["device"], len(real),
                                    result["native_reserved_bytes"] / MIB),
             "- max_memory_reserved under cudaMallocAsync, real: " + span(real),
             "- predicted from the snapshot: " + span(guess)]
    middle = sorted(real)[len(real) // 2]
    lines.append("- difference: %s to %s of the median" % (
        per_cent(guess[0], middle), per_cent(guess[1], middle)))
    if result["simulated"]:
        lines.append("- the driver of the replay is simulated: the difference means nothing")
    return lines


def settings_table(binary, snapshot):
    """For each of SETTINGS: the bytes that a process reserves, and that tapool predicts on a virtual device."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        reports = list(pool.map(trained, SETTINGS))
    rows = []
    for conf, report in zip(SETTINGS, reports):
        run = replayed(binary, snapshot, "--source", "virtual", "-s", "torch:conf={%s}" % conf)
        rows.append({"conf": conf, "real_reserved_bytes": report["max_reserved_bytes"],
                     "predicted_reserved_bytes": run["memory"]["peak_reserved_bytes"]})
    return rows


def settings_lines(rows):
    lines = ["", "| PYTORCH_CUDA_ALLOC_CONF | max_memory_reserved, MiB | predicted, MiB | difference |",
             "|---|--:|--:|--:|"]
    for row in rows:
        real, guess = row["real_reserved_bytes"], row["predicted_reserved_bytes"]
        lines.append("| %s | %.1f | %.1f | %s |" % ("`%s`" % row["conf"] if row["conf"] else "default", real / MIB,
                                                    guess / MIB, per_cent(guess, real)))
    return lines


def compare(binary, out, rounds):
    """The content of torch.json."""
    if importlib.util.find_spec("torch") is None:
        return {"skipped": "this Python has no PyTorch: " + sys.executable}
    with tempfile.TemporaryDirectory() as folder:
        snapshot = os.path.join(folder, "snapshot.pickle")
        native = trained(DEFAULT, snapshot)
        if native is None:
            return {"skipped": "PyTorch finds no GPU"}
        guess, simulated = predicted(binary, snapshot)
        with open(snapshot, "rb") as whole, gzip.open(
                os.path.join(out, "torch-snapshot.pickle.gz"), "wb") as packed:
            shutil.copyfileobj(whole, packed)
        real = [trained(ASYNC) for _ in range(rounds)]
        settings = settings_table(binary, snapshot)
    result = {"torch": native["torch"], "device": native["device"],
              "native_allocated_bytes": native["max_allocated_bytes"],
              "native_reserved_bytes": native["max_reserved_bytes"],
              "real_allocated_bytes": [one["max_allocated_bytes"] for one in real],
              "real_reserved_bytes": [one["max_reserved_bytes"] for one in real],
              "predicted_reserved_bytes": guess, "simulated": simulated, "settings": settings}
    result["lines"] = lines_of(result) + settings_lines(settings)
    return result


def arguments():
    what = argparse.ArgumentParser(prog="torch_truth.py")
    what.add_argument("--binary", metavar="TAPOOL")
    what.add_argument("--out", metavar="DIR")
    what.add_argument("--rounds", type=int, default=3, metavar="N")
    what.add_argument("--train", action="store_true")
    what.add_argument("--snapshot", metavar="FILE")
    args = what.parse_args()
    if not args.train and not (args.binary and args.out):
        what.error("--binary and --out are needed")
    if args.rounds < 1:
        what.error("--rounds: at least 1")
    return args


def main():
    args = arguments()
    if args.train:
        return train_here(args.snapshot)
    try:
        result = compare(args.binary, args.out, args.rounds)
    except (Failed, OSError, ValueError, LookupError) as error:
        print("torch_truth.py: %s" % error, file=sys.stderr)
        return 1
    with open(os.path.join(args.out, "torch.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)
    print("\n".join(result.get("lines") or ["torch_truth.py: skipped: " + result["skipped"]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
