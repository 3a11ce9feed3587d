# tests/data/h200: what tapool predicts of real runs beside what PyTorch measured in them.
load common

@test "every address of the snapshots is reproduced, and the predictions are those of predicted.csv" {
    ok "$BATS_TEST_DIRNAME/h200.py" "$TAPOOL" "$TAPOOL_ROOT/tests/data/h200"
    diff -u "$TAPOOL_ROOT/tests/data/h200/predicted.csv" "$out" || fail "the predictions have changed"
}
