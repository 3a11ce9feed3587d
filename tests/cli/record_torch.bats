# scripts/record_torch.py, driven with a stand-in for PyTorch: it has the four functions that the
# script calls and writes a snapshot of one event, so that what is tested is the script and not
# PyTorch.
load common

SCRIPT=$BATS_TEST_DIRNAME/../../scripts/record_torch.py

# A package `torch` whose GPU is there or not.
stand_in() { # yes|no
    mkdir -p lib/torch
    cat >lib/torch/__init__.py <<END
import pickle, sys, types
class OutOfMemoryError(RuntimeError): pass
_observers, _log = [], []
def _dump(path):
    event = {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames": []}
    with open(path, "wb") as f:
        pickle.dump({"segments": [], "device_traces": [[event] * len(_log)]}, f)
def _run_out():
    for observe in _observers:
        observe(0, 512, 0, 0)
    raise OutOfMemoryError("CUDA out of memory")
memory = types.SimpleNamespace(_record_memory_history=lambda **k: _log.append(k), _dump_snapshot=_dump)
cuda = types.SimpleNamespace(is_available=lambda: "$1" == "yes", memory=memory)
_C = types.SimpleNamespace(_cuda_attach_out_of_memory_observer=_observers.append)
END
    export PYTHONPATH=$PWD/lib
}

@test "a program is recorded from its first line, with its arguments and its status" {
    stand_in yes
    echo 'import sys, torch; print(torch._log, sys.argv, sys.path[0]); sys.exit(7)' >train.py
    run python3 "$SCRIPT" -o s.pickle --max-entries 10 --no-stacks train.py --lr 3
    [ "$status" -eq 7 ] || fail "$output"
    [[ $output == *"{'max_entries': 10, 'context': None}"*"'train.py', '--lr', '3'"*"$PWD"* ]] || fail "$output"
    ok "$TAPOOL" info s.pickle
    matches "$out" 'PyTorch'
    [ ! -e s-oom.pickle ] && [ ! -e s.pickle.part ]
}

@test "when memory runs out a snapshot of that moment is written, once, whoever catches it" {
    stand_in yes
    cat >train.py <<'END'
import torch
try:
    torch._run_out()
except torch.OutOfMemoryError:
    pass
torch._run_out()
END
    RANK=3 run python3 "$SCRIPT" -o 's{rank}.pickle' train.py
    [ "$status" -eq 1 ] || fail "$output"
    [ "$(grep -c 'wrote s3-oom.pickle' <<<"$output")" -eq 1 ] || fail "$output"
    ok "$TAPOOL" info s3-oom.pickle
    ok "$TAPOOL" info s3.pickle
}

@test "a program is recorded at several sizes, each in a process of its own" {
    stand_in yes
    echo 'import os, sys; print(sys.argv[1:], os.getpid()); sys.exit(sys.argv[2] == "13")' >train.py
    run python3 "$SCRIPT" --sizes 2,4 -o 'b{size}.pickle' train.py --batch {size}
    [ "$status" -eq 0 ] || fail "$output"
    [[ $output == *"['--batch', '2']"*"['--batch', '4']"*"next: tapool predict b2.pickle@2 b4.pickle@4 --at N"* ]] || fail "$output"
    [ "$(grep -o '\] [0-9]*' <<<"$output" | sort -u | wc -l)" -eq 2 ]
    ok "$TAPOOL" predict b2.pickle@2 b4.pickle@4 --at 8
    run python3 "$SCRIPT" --sizes 2,13,4 train.py --batch {size}
    [ "$status" -eq 1 ] && [[ $output == *'size 13 ended with status 1'* ]] || fail "$output"
    [ -e snapshot-2.pickle ] && [ ! -e snapshot-4.pickle ]
    for words in '--sizes 2 train.py {size}' '--sizes 2,x train.py {size}' '--sizes 2,4 train.py'; do
        # shellcheck disable=SC2086 # words
        run python3 "$SCRIPT" $words
        [ "$status" -eq 2 ] || fail "$words: $output"
    done
}

@test "without a GPU, or without PyTorch, that is said" {
    stand_in no
    echo 'print("ran")' >train.py
    run python3 "$SCRIPT" train.py
    [ "$status" -eq 0 ] && [[ $output == *'no GPU'*ran* ]] || fail "$output"
    [ ! -e snapshot.pickle ]
    unset PYTHONPATH
    python3 -c 'import torch' 2>/dev/null && skip 'this Python has PyTorch'
    run python3 "$SCRIPT" train.py
    [ "$status" -eq 2 ] && [[ $output == *'no PyTorch'* ]] || fail "$output"
}

@test "a snapshot that cannot be written does not hide what the program did" {
    stand_in yes
    echo 'import sys; sys.exit(5)' >train.py
    run python3 "$SCRIPT" -o nosuch/s.pickle train.py
    [ "$status" -eq 5 ] && [[ $output == *"'nosuch/s.pickle' could not be written"* ]] || fail "$output"
}
