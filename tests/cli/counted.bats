#!/usr/bin/env bats
# tapool check and instructions: what is counted, held and tallied. The valgrind here counts the same in
# whatever it runs.

# shellcheck disable=SC2154 # out, err, rc and WORK come from common.bash
load common
load gate

setup() {
    enter_folder
    ! sanitized || skip "a build with sanitizers does not run under valgrind"
    counting
}

@test "a count that the baseline holds is the one that is counted again" {
    trace '{"op":"alloc","id":1,"size":1000}' '{"op":"alloc","id":2,"size":70000}' '{"op":"free","id":1}' >a.json
    ok check a.json -s arena --update # 5000 instructions of 3 operations have no last decimal
    ok check --require instructions --export-json c.json
    is c.json '[(f["base"], f["now"], f["change"]) for f in d["findings"] if f["metric"] == "instructions"]' \
        '[(1666.666667, 1666.666667, 0)]'
    ok check --update
    lacks "$out" '^changed'
}

@test "trials of the gate read what a check says" {
    some_trace >a.json
    ok python3 "$TAPOOL_ROOT/scripts/gate_trials.py" aa 1 --tapool "$TAPOOL" --root "$TAPOOL_ROOT" \
        --tally tally.csv -- --pairs 14 --min-time 0ms --core none
    matches "$out" '^1 checks of a binary against itself'
    matches "$out" '^  false alarms, memory and counts +0$'
    matches "$out" '^  false alarms, instructions +0$'
    # what is counted is what a check finds: here a peak that grew and instructions that did
    ok python3 - "$TAPOOL_ROOT/scripts" <<'END'
import json, subprocess, os, sys
sys.path.insert(0, sys.argv[1])
import gate_trials
tapool = os.environ["TAPOOL"]
subprocess.run([tapool, "check", "a.json", "-s", "arena", "--update"], check=True, capture_output=True)
held = json.load(open("tapool-baseline.json"))
cell = held["cells"]["a.json"]["arena"]["host"]
cell["metrics"]["peak_reserved"] -= 4096
cell["instructions"]["per_op"] /= 2
json.dump(held, open("tapool-baseline.json", "w"))
row = gate_trials.row_of("aa", "", gate_trials.check(tapool, ".", "--base-bin", tapool, "--pairs", "14",
                                                     "--min-time", "0ms", "--core", "none"))
assert (row["regression_E"], row["regression_D"], row["exit"]) == (1, 1, 1), row
END
}
