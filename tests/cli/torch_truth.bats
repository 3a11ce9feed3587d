# scripts/torch_truth.py, driven with a stand-in for PyTorch that says so: it has the calls that the script makes
# and trains nothing, so that what is tested is arguments, files and arithmetic, not PyTorch.
load common

SCRIPT=$BATS_TEST_DIRNAME/../../scripts/torch_truth.py

# A package `torch` whose GPU is there or not. Its process reserves what REAL says, which grows with each process.
stand_in() { # yes|no
    mkdir -p lib/torch
    cat >lib/torch/__init__.py <<END
import contextlib, os, pickle, types
__version__ = "a stand-in"
class Anything:
    def __call__(self, *a, **k): return self
    def __getattr__(self, name): return Anything()
    def __add__(self, other): return self
    __radd__ = __add__
    def __iter__(self): return iter(())
nn = optim = Anything()
randn = manual_seed = Anything()
no_grad = contextlib.nullcontext
_backend = "cudaMallocAsync" if "cudaMallocAsync" in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "") else "native"
_events = []
def _record(**options):
    assert _backend == "native" and options["max_entries"] > 0
    for i in range(4):
        _events.append({"action": "alloc", "addr": 4096 + (i << 26), "size": 33 << 20, "stream": 0, "frames": []})
def _dump(path):
    with open(path, "wb") as f:
        pickle.dump({"segments": [], "device_traces": [_events]}, f)
def _reserved():
    with open("processes", "a+") as f:
        f.write(_backend + "\n"); f.seek(0)
        return (100 + len(f.readlines())) << 20
memory = types.SimpleNamespace(_record_memory_history=_record, _dump_snapshot=_dump)
cuda = types.SimpleNamespace(is_available=lambda: "$1" == "yes", memory=memory, synchronize=lambda: None,
    get_allocator_backend=lambda: _backend, get_device_name=lambda n: "a stand-in",
    max_memory_allocated=lambda: 33 << 20, max_memory_reserved=_reserved)
END
    export PYTHONPATH=$PWD/lib
}

# bats test_tags=nightly
@test "predicted, real and their difference, from a process each; the snapshot is kept" {
    [ -f "${TAPOOL_FAKE_CUDA_PATH:-}" ] || skip "there is no simulated driver (TAPOOL_FAKE_CUDA_PATH)"
    export TAPOOL_CUDA_DRIVER=$TAPOOL_FAKE_CUDA_PATH TAPOOL_FAKE_CUDA_REPORT=$WORK/books
    stand_in yes
    mkdir results
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True ok python3 "$SCRIPT" --binary "$TAPOOL" --out results
    [ "$(head -n 1 processes)" = native ] && [ "$(grep -c cudaMallocAsync processes)" -eq 3 ] ||
        fail "processes: $(cat processes)"
    is results/torch.json 'd["real_reserved_bytes"]' '[106954752, 108003328, 109051904]'
    is results/torch.json 'd["native_reserved_bytes"]' 105906176
    # four blocks of 33 MiB, in steps of 34 of the simulated pool
    is results/torch.json 'd["predicted_reserved_bytes"]' '[142606336, 142606336]'
    is results/torch.json 'd["simulated"]' True
    matches "$out" '^- max_memory_reserved under cudaMallocAsync, real: 103.0 MiB \[102.0, 104.0\]$'
    matches "$out" '^- predicted from the snapshot: 136.0 MiB \[136.0, 136.0\]$'
    matches "$out" '^- difference: \+32.04% to \+32.04% of the median$'
    matches "$out" 'simulated: the difference means nothing$'
    # one more process for each setting, in any order; blocks of 40 MiB by divisions, units of 20 MiB where segments grow
    is results/torch.json '[row["conf"] for row in d["settings"]][::5]' "['', 'expandable_segments:True']"
    is results/torch.json 'sorted(row["real_reserved_bytes"] >> 20 for row in d["settings"])' \
        '[105, 106, 107, 108, 109, 110, 111]'
    is results/torch.json '[row["predicted_reserved_bytes"] >> 20 for row in d["settings"]]' \
        '[136, 136, 136, 160, 136, 140, 140]'
    matches "$out" '^| default | 1[01][0-9].0 | 136.0 | '
    gzip -dc results/torch-snapshot.pickle.gz >snapshot.pickle
    ok "$TAPOOL" info snapshot.pickle
    matches "$out" 'PyTorch'
}

@test "without PyTorch, or without a GPU for it, that is said: exit 0" {
    stand_in no
    ok python3 "$SCRIPT" --binary "$TAPOOL" --out .
    is torch.json 'd["skipped"]' 'PyTorch finds no GPU'
    unset PYTHONPATH
    python3 -c 'import torch' 2>/dev/null && skip 'this Python has PyTorch'
    ok python3 "$SCRIPT" --binary "$TAPOOL" --out .
    matches "$out" '^torch_truth.py: skipped: this Python has no PyTorch'
}

@test "what fails is one sentence: exit 1; wrong arguments: exit 2" {
    stand_in yes
    capture python3 "$SCRIPT" --binary ./nonesuch --out .
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$err")"
    matches "$err" "^torch_truth.py: .*nonesuch"
    sed -i 's/^_backend = .*/_backend = "something"/' lib/torch/__init__.py
    capture python3 "$SCRIPT" --binary "$TAPOOL" --out .
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$err")"
    [ ! -e torch.json ] || fail "there is a result"
    for arguments in '' '--binary x' '--binary x --out . --rounds 0'; do
        # shellcheck disable=SC2086
        capture python3 "$SCRIPT" $arguments
        [ "$rc" -eq 2 ] || fail "exit code $rc of: $arguments"
    done
}
