#!/usr/bin/env python3
"""Runs small PyTorch and JAX programs on a GPU and keeps what their allocators recorded and measured.

usage: gpu_runs.py [--seconds N] [--only TEXT] DIR

A process for each run of runs(), eight at a time; runs that need a full device come last, one by one. Writes
DIR/RUN.pickle.gz (PyTorch's memory snapshot), DIR/RUN.xplane.pb.gz (JAX's profile) and DIR/RUN.json: the
settings, and what the process reports of its own memory. tests/data/h200/ holds such results. After N
seconds (default 400) no run begins any more, and those left out are named. --only: runs whose name has TEXT.

Exit status: 0; 1 a run failed; 2 usage.
"""
import argparse
import concurrent.futures
import contextlib
import ctypes
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import time

MIB = 1 << 20
AT_ONCE, RUN_SECONDS = 8, 120
CONF = "PYTORCH_CUDA_ALLOC_CONF"


# ---- programs: each calls `step(i)` before step i ----

class Model:
    """A decoder of a language model, built from plain layers so that every tensor is PyTorch's own."""

    WIDTH, LAYERS, HEADS, WORDS, LONGEST = 512, 4, 8, 8192, 4096

    def __init__(self, torch, fused_attention):
        nn, width = torch.nn, self.WIDTH
        self.torch, self.fused = torch, fused_attention
        self.words, self.places = nn.Embedding(self.WORDS, width), nn.Embedding(self.LONGEST, width)
        self.blocks = [{"n1": nn.LayerNorm(width), "n2": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width),
                        "out": nn.Linear(width, width), "up": nn.Linear(width, 4 * width),
                        "down": nn.Linear(4 * width, width)} for _ in range(self.LAYERS)]
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, self.WORDS, bias=False)
        self.all = nn.ModuleList([self.words, self.places, *(nn.ModuleDict(b) for b in self.blocks), self.norm,
                                  self.head]).cuda()

    def attention(self, block, x):
        torch, (batch, length, width) = self.torch, x.shape
        each = width // self.HEADS
        q, k, v = block["qkv"](block["n1"](x)).view(batch, length, 3, self.HEADS, each).permute(2, 0, 3, 1, 4)
        if self.fused:
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            later = torch.ones(length, length, device=x.device, dtype=torch.bool).triu(1)
            y = torch.softmax((q @ k.transpose(-1, -2) * each ** -0.5).masked_fill(later, float("-inf")), -1) @ v
        return block["out"](y.transpose(1, 2).reshape(batch, length, width))

    def __call__(self, tokens):
        x = self.words(tokens) + self.places(self.torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = x + self.attention(block, x)
            x = x + block["down"](self.torch.nn.functional.gelu(block["up"](block["n2"](x))))
        return self.head(self.norm(x))

    def tokens(self, run):
        return self.torch.randint(0, self.WORDS, (run["batch"], run["ctx"]), device="cuda")


def gpt(torch, run, step):
    model = Model(torch, run.get("fused", False))
    amp = getattr(torch, run["amp"]) if "amp" in run else None
    scaler = torch.amp.GradScaler("cuda", enabled=amp == torch.float16)
    optimizer = torch.optim.AdamW(model.all.parameters(), lr=1e-4)
    cast = (lambda: torch.autocast("cuda", dtype=amp)) if amp else contextlib.nullcontext
    for i in range(3):
        step(i)
        tokens = model.tokens(run)
        if run.get("inference"):
            with torch.no_grad(), cast():
                model(tokens)
            continue
        with cast():
            loss = torch.nn.functional.cross_entropy(model(tokens).view(-1, Model.WORDS), tokens.view(-1))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def graph(torch, run, step):
    model = Model(torch, False)
    tokens, side = model.tokens(run), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad():
        with torch.cuda.stream(side):
            for i in range(2):
                step(i)
                model(tokens)
        torch.cuda.current_stream().wait_stream(side)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            model(tokens)
        captured.replay()
        model(tokens)


def steps_of(loss_of, optimizer, step):
    for i in range(3):
        step(i)
        loss_of().backward()
        optimizer.step()
        optimizer.zero_grad()


def resnet(torch, run, step):
    import torchvision
    model = torchvision.models.resnet18().cuda()

    def loss():
        images = torch.randn(run["batch"], 3, 128, 128, device="cuda")
        labels = torch.randint(0, 1000, (run["batch"],), device="cuda")
        return torch.nn.functional.cross_entropy(model(images), labels)

    steps_of(loss, torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9), step)


def hf_gpt2(torch, run, step):
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8, vocab_size=8192)).cuda()

    def loss():
        tokens = torch.randint(0, 8192, (run["batch"], run["ctx"]), device="cuda")
        return model(input_ids=tokens, labels=tokens).loss

    steps_of(loss, torch.optim.AdamW(model.parameters(), lr=1e-4), step)


def varlen(torch, run, step):
    """Training on batches of changing lengths, with an evaluation of a batch four times as large in between."""
    width, lengths = 1024, [96, 160, 64, 256, 128, 224, 80, 192]
    nn = torch.nn
    model = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
                                        nn.Linear(4 * width, width)) for _ in range(8)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    side = torch.cuda.Stream() if run.get("streams") else torch.cuda.current_stream()

    def forward(x):
        for block in model:
            x = x + block(x)
        return x

    def batch(size, length):
        with torch.cuda.stream(side):
            x = torch.randn(size, length, width, device="cuda")
        if run.get("streams"):
            torch.cuda.current_stream().wait_stream(side)
            x.record_stream(torch.cuda.current_stream())
        return x

    for i in range(24):
        step(i)
        loss = forward(batch(16, lengths[i % 8])).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        del loss
        if i % 6 == 5:
            with torch.no_grad():
                forward(torch.randn(64, lengths[i % 8], width, device="cuda"))
        if run.get("empty_every") and (i + 1) % run["empty_every"] == 0:
            torch.cuda.empty_cache()


def jax_program(run):
    """Returns the report; the program runs under JAX's profiler from its first computation on."""
    import jax
    import jax.numpy as jnp
    folder = run["path"] + ".profile"
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level, options.python_tracer_level = run.get("level", 2), 0

    def loss(weights, x):
        for w in weights:
            x = jax.nn.gelu(x @ w)
        return (x ** 2).mean()

    def update(weights, x):
        return [w - 1e-3 * g for w, g in zip(weights, jax.grad(loss)(weights, x))]

    jax.profiler.start_trace(folder, profiler_options=options)
    weights = [jax.random.normal(jax.random.key(0), (512, 512)) for _ in range(4)]
    update = jax.jit(update) if run.get("jit") else update
    for i in range(run["steps"]):
        weights = update(weights, jnp.ones(([64, 200, 96, 333, 128, 17, 256, 1000][i % 8], 512)) * i)
    jax.block_until_ready(weights)
    report = {"jax": jax.__version__, "stats": jax.devices()[0].memory_stats()}
    jax.profiler.stop_trace()
    pack(glob.glob(folder + "/**/*.xplane.pb", recursive=True)[0], run["path"] + ".xplane.pb.gz")
    shutil.rmtree(folder)
    return report


PROGRAMS = {"gpt": gpt, "graph": graph, "resnet": resnet, "hf_gpt2": hf_gpt2, "varlen": varlen}


# ---- one run, in a process of its own ----

def pack(source, target):
    with open(source, "rb") as whole, gzip.open(target, "wb") as packed:
        shutil.copyfileobj(whole, packed)


def limit_memory(torch, run):
    """Either PyTorch refuses, or the device is full and cudaMalloc does."""
    if "fraction_mib" in run:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(run["fraction_mib"] * MIB / total)
    if "leave_mib" in run:
        runtime = ctypes.CDLL("libcudart.so.%s" % torch.version.cuda.split(".")[0])
        size = torch.cuda.mem_get_info()[0] - run["leave_mib"] * MIB
        if runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(size)):
            raise MemoryError("the device could not be filled")


def torch_program(run):
    """Returns the report."""
    import torch
    torch.manual_seed(1)
    torch.cuda.init()
    limit_memory(torch, run)
    report, memory = {"torch": torch.__version__}, torch.cuda.memory
    snapshot = "backend:" not in os.environ.get(CONF, "")
    stacks = run.get("stacks")
    how = {"context": "all", "stacks": stacks} if stacks else {"context": None}

    def step(i):
        if snapshot and i == run.get("from_step", 0) > 0:
            report["stats_at_start"] = memory.memory_stats()
            memory._record_memory_history(max_entries=1000000, **how)

    if snapshot and not run.get("from_step"):
        memory._record_memory_history(max_entries=1000000, **how)
    try:
        PROGRAMS[run["program"]](torch, run, step)
        torch.cuda.synchronize()
    except torch.OutOfMemoryError as error:
        report["oom"] = str(error)
    report.update(stats=memory.memory_stats() if snapshot else {}, max_allocated=memory.max_memory_allocated(),
                  max_reserved=memory.max_memory_reserved())
    if snapshot:
        memory._dump_snapshot(run["path"] + ".pickle")
        pack(run["path"] + ".pickle", run["path"] + ".pickle.gz")
        os.remove(run["path"] + ".pickle")
    return report


def run_here(run):
    report = (jax_program if run["program"] == "jax" else torch_program)(run)
    with open(run["path"] + ".json", "w", encoding="utf-8") as file:
        json.dump(dict(report, run=run), file)


# ---- the runs ----

SETTINGS = [("default", ""), ("split32", "max_split_size_mb:32"), ("split128", "max_split_size_mb:128"),
            ("round4", "roundup_power2_divisions:4"),
            ("round1-split", "roundup_power2_divisions:1,max_split_size_mb:64"),
            ("expandable", "expandable_segments:True"),
            ("expsplit", "expandable_segments:True,max_split_size_mb:64"), ("gc", "garbage_collection_threshold:0.6")]
GROWING = "expandable_segments:True"
SERIES = [  # name, program, varied, values, the rest
    ("gpt-train-ctx%d", "gpt", "ctx", (128, 256, 512, 1024), {"batch": 4}),
    ("gpt-infer-ctx%d", "gpt", "ctx", (128, 256, 1024), {"batch": 4, "inference": True}),
    ("gpt-train-b%d", "gpt", "batch", (2, 4, 8, 32), {"ctx": 256, "fused": True}),
    ("gpt-bf16-ctx%d", "gpt", "ctx", (128, 256, 512), {"batch": 4, "amp": "bfloat16"}),
    ("gpt-fp16-b%d", "gpt", "batch", (2, 4, 16), {"ctx": 256, "amp": "float16", "fused": True}),
    ("resnet-b%d", "resnet", "batch", (4, 8, 32), {}),
    ("hf-gpt2-b%d", "hf_gpt2", "batch", (2, 4, 16), {"ctx": 256}),
    ("graph-b%d", "graph", "batch", (2, 4, 16), {"ctx": 256}),
]
VARLEN = [  # name, PYTORCH_CUDA_ALLOC_CONF, the rest
    ("fraction3000", "", {"fraction_mib": 3000, "stacks": "python"}),
    ("fraction3000-noframes", "", {"fraction_mib": 3000}),
    ("fraction2400", "", {"fraction_mib": 2400, "stacks": "python"}),
    ("fraction1500-oom", "", {"fraction_mib": 1500, "stacks": "python"}),
    ("empty", "", {"empty_every": 4, "stacks": "python"}),
    ("empty-noframes", "", {"empty_every": 4}),
    ("empty-fraction", "", {"empty_every": 7, "fraction_mib": 3000, "stacks": "python"}),
    ("midrun", "", {"from_step": 8, "stacks": "python"}),
    ("midrun-empty", "", {"from_step": 9, "empty_every": 4, "stacks": "python"}),
    ("midrun-split32", "max_split_size_mb:32", {"from_step": 8}),
    ("midrun-expandable", GROWING, {"from_step": 8}),
    ("expandable-fraction", GROWING, {"fraction_mib": 2400, "stacks": "python"}),
    ("expandable-empty", GROWING, {"empty_every": 4, "stacks": "python"}),
    ("leave3000", "", {"leave_mib": 3000, "stacks": "python"}),
    ("leave2500", "", {"leave_mib": 2500}),
    ("leave2200", "", {"leave_mib": 2200, "stacks": "python"}),
    ("leave2600-midrun", "", {"leave_mib": 2600, "from_step": 8, "stacks": "python"}),
    ("leave2400-expandable", GROWING, {"leave_mib": 2400, "stacks": "python"}),
]
JAX = [("jax-eager", {"steps": 12}, {}), ("jax-jit", {"steps": 24, "jit": True}, {}),
       ("jax-eager-grow", {"steps": 12}, {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}),
       ("jax-eager-level3", {"steps": 4, "level": 3}, {})]


def runs():
    """(settings, environment) of every run."""
    for form, program, varied, values, rest in SERIES:
        for value in values:
            yield dict(rest, name=form % value, program=program, stacks="all", **{varied: value}), {}
    for name, conf in SETTINGS:
        limit = {"fraction_mib": 6000} if name == "gc" else {}
        for prefix, streams in (("varlen-", False), ("varlen-streams-", True)):
            yield dict(limit, name=prefix + name, program="varlen", streams=streams), {CONF: conf}
    for name, conf, rest in VARLEN:
        yield dict(rest, name="varlen-" + name, program="varlen"), {CONF: conf}
    for name, rest in (("ctx512", {"batch": 4, "ctx": 512}), ("b8", {"batch": 8, "ctx": 256, "fused": True})):
        yield dict(rest, name="gpt-async-" + name, program="gpt"), {CONF: "backend:cudaMallocAsync"}
    for name, rest, env in JAX:
        yield dict(rest, name=name, program="jax"), dict(env, XLA_PYTHON_CLIENT_MEM_FRACTION=".02")


def start(run, env, deadline):
    """Returns whether the run succeeded; prints a line."""
    if time.monotonic() > deadline:
        print("not run, no time: " + run["name"], flush=True)
        return False
    own = {name: value for name, value in os.environ.items() if name not in (CONF, "PYTORCH_ALLOC_CONF")}
    own.update({name: value for name, value in env.items() if value}, TORCH_SYMBOLIZE_MODE="dladdr")
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--run", json.dumps(run)], env=own,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=RUN_SECONDS, text=True,
                              check=False)
        failed, words = done.returncode, done.stderr.strip().splitlines()
    except subprocess.TimeoutExpired:
        failed, words = True, ["%d seconds were not enough" % RUN_SECONDS]
    print("%-8s %s%s" % ("failed" if failed else "ok", run["name"], ": " + (words or ["no message"])[-1] if failed
                         else ""), flush=True)
    return not failed


def arguments():
    parser = argparse.ArgumentParser(prog="gpu_runs.py")
    parser.add_argument("--seconds", type=float, default=400, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("folder", nargs="?", metavar="DIR")
    args = parser.parse_args()
    if not args.run and not args.folder:
        parser.error("DIR is needed")
    return args


def main():
    args = arguments()
    if args.run:
        run_here(json.loads(args.run))
        return 0
    os.makedirs(args.folder, exist_ok=True)
    deadline = time.monotonic() + args.seconds
    chosen = [(dict(run, path=os.path.join(args.folder, run["name"])), env)
              for run, env in runs() if args.only in run["name"]]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = [pool.submit(start, run, env, deadline) for run, env in chosen if "leave_mib" not in run]
        good = [one.result() for one in waiting]
    good += [start(run, env, deadline) for run, env in chosen if "leave_mib" in run]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
