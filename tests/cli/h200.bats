# tests/data/h200: what tapool predicts of real runs beside what PyTorch measured in them.
load common

@test "every address of the snapshots is reproduced, and the predictions are those of predicted.csv" {
    ok "$BATS_TEST_DIRNAME/h200.py" "$TAPOOL" "$TAPOOL_ROOT/tests/data/h200"
    diff -u "$TAPOOL_ROOT/tests/data/h200/predicted.csv" "$out" || fail "the predictions have changed"
}

# The files are of PyTorch 2.11.0, as their README says.
@test "the release is read from the events of a snapshot" {
    ok "$TAPOOL" convert "$TAPOOL_ROOT/tests/data/h200/gpt-bf16-ctx128.pickle.zst" -o -
    grep -q '"allocator_release": *"2.11"' "$out"
}

@test "what tune advises of a real run needed less in another real run" {
    for program in varlen varlen-streams; do
        ok "$TAPOOL" tune "$TAPOOL_ROOT/tests/data/h200/$program-default.pickle.zst" --json --grid \
            'expandable_segments:default|True,max_split_size_mb:default|128|32,roundup_power2_divisions:default|4'
        python3 - "$out" "$TAPOOL_ROOT/tests/data/h200/measured.csv" "$program" <<'END' || fail "$program: $(cat "$out")"
import csv, json, sys
tune, program = json.load(open(sys.argv[1])), sys.argv[3] + "-"
with open(sys.argv[2], newline="") as file:
    real = {row["conf"]: int(row["max_reserved_bytes"]) for row in csv.DictReader(file)
            if row["run"].startswith(program) and "fraction" not in row["limit"] and "free" not in row["limit"]
            and row["recorded_from_step"] == "0" and "empty" not in row["run"]
            and (program == "varlen-streams-") == row["run"].startswith("varlen-streams-")}
for name in ("best", "least_memory", "simplest"):
    setting = tune["settings"][tune["answer"][name]]
    sys.exit("%s: not measured" % setting["setting"]) if setting["setting"] not in real else None
    assert real[setting["setting"]] < real[""], (setting["setting"], real)
    assert abs(setting["peak_reserved_bytes"] / real[setting["setting"]] - 1) < 0.01, (setting["setting"], real)
END
    done
}
