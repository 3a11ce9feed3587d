#!/usr/bin/env bats
# tapool why: the screens, the forms, the exit codes. tests/unit/cmd/test_why.c holds the figures.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

DATA=$TAPOOL_ROOT/tests/data/pytorch
CORPUS=$TAPOOL_ROOT/../shared/corpus/pytorch

setup() { enter_folder; }

oom() { python3 "$CLI/oom_snapshot.py" "$1" >"$1.pickle"; }

@test "an out of memory: fragmented, and too big" {
    oom fragmented
    shown why-fragmented "$TAPOOL" why fragmented.pickle
    oom too-big
    fitting "$TAPOOL" why too-big.pickle
    matches "$out" '^Too big         live blocks and this request need 300 MiB, 130 MiB more than the capacity; the'
}

@test "an out of memory where segments grow" {
    oom growing
    shown why-growing "$TAPOOL" why growing.pickle
    ok "$TAPOOL" why growing.pickle --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))["devices"][0]
MIB = 1 << 20
# 30 and 30 MiB are free: a whole unit of 20 each; of 10 MiB on the device and these two are mapped, and 50 need three
assert d["memory"]["free_units"] == 2 and d["memory"]["free_bytes"] == 40 * MIB
r = d["request"]
assert (r["verdict"], r["segment_bytes"], r["fitting_bytes"]) == ("fragmented", 60 * MIB, 40 * MIB)
assert (r["in_the_way"]["makes"], r["in_the_way"]["blocks"], r["in_the_way"]["bytes"]) == ("free block", 1, 4 * MIB)
END
    ok "$TAPOOL" why growing.pickle --conf expandable_segments:True,max_split_size_mb:128
    grep -q 'blocks in the way are unknown: expandable_segments' "$out"
    not grep -q 'In the way' "$out"
}

@test "no out of memory: the peak, an event, the end, in full bytes" {
    cp "$DATA/training-step.pickle.gz" . # the screen names the file
    shown why-peak "$TAPOOL" why training-step.pickle.gz
    oom fragmented
    fitting "$TAPOOL" why fragmented.pickle --at 9 --depth 3 --bytes
    matches "$out" '^ = +167,772,160 B   reserved, 2 segments +100.0%$'
    matches "$out" '^  60 MiB +48\.4%  model\.py:21 forward < train\.py:88 step < tra\.+; 2 blocks, up to 500 us old$'
    ok "$TAPOOL" why fragmented.pickle --at end
    grep -q '^OUT OF MEMORY' "$out" # its last event is one
    ok "$TAPOOL" why fragmented.pickle --at peak
    grep -q '^Peak            most reserved memory: event 4 of 15' "$out"
    ok "$TAPOOL" why fragmented.pickle --at 0
    grep -q '^ =        0 B   reserved, 0 segments *-$' "$out"
}

@test "several devices, and one of them" {
    oom two
    ok "$TAPOOL" why two.pickle
    [ "$(grep -c '^OUT OF MEMORY' "$out")" -eq 2 ]
    grep -qx 'device 1' "$out"
    ok "$TAPOOL" why two.pickle --device 1
    [ "$(grep -c '^OUT OF MEMORY' "$out")" -eq 1 ]
    grep -q '^Too big' "$out"
    capture "$TAPOOL" why two.pickle --device 2
    [ "$rc" -eq 3 ]
    grep -q '^tapool: two.pickle: device 2 has no memory$' "$err"
}

@test "a snapshot without events is that of its end" {
    python3 "$CLI/snapshot.py" state >state.pickle
    fitting "$TAPOOL" why state.pickle
    matches "$out" '^At the end      no events: PyTorch was not recording when this snapshot was dumped$'
    matches "$out" '^ \+      2 MiB   1 unused segment +50\.0%   empty_cache\(\) would return it$'
}

@test "call stacks for a flame graph add up to what is live" {
    oom fragmented
    ok "$TAPOOL" why fragmented.pickle --format folded
    matches "$out" '^train\.py:90 main;train\.py:12 build;model\.py:8 __init__ 62914560$'
    [ "$(wc -l <"$out")" -eq 3 ]
    ok "$TAPOOL" why fragmented.pickle --export-folded stacks --export-json why.json
    python3 - <<'END'
import json
live = json.load(open("why.json"))["devices"][0]["memory"]["requested_bytes"]
assert sum(int(line.rsplit(" ", 1)[1]) for line in open("stacks")) == live
END
    capture "$TAPOOL" why fragmented.pickle --export-json why.json
    [ "$rc" -eq 2 ]
    grep -q "^tapool: 'why.json' exists$" "$err"
}

@test "an independent reckoning of a real file" {
    [ -f "$CORPUS/ring-wrapped.pickle.gz" ] || skip "the corpus is not here"
    ok "$TAPOOL" why "$CORPUS/ring-wrapped.pickle.gz"
    grep -q '^    14.74 GiB   1,320 live blocks' "$out"
    grep -q '^ +  3.312 GiB   166 unused segments' "$out"
    grep -q '^ =  19.25 GiB   reserved, 872 segments *100.0%$' "$out"
}

@test "another device: what would fit there" {
    oom fragmented
    ok "$TAPOOL" why fragmented.pickle --capacity 300MiB --reserve 60MiB
    matches "$out" '^Setting +peak reserved +change +in 240 MiB$'
    matches "$out" '^  as recorded +2[0-9][0-9] MiB +base +fits$'
    ok "$TAPOOL" why fragmented.pickle --capacity 300MiB --reserve 60MiB --json
    is "$out" "d['devices'][0]['settings_capacity_bytes']" 251658240
    is "$out" "d['devices'][0]['capacity_bytes']" 178257920
}

@test "what cannot be answered" {
    capture "$TAPOOL" why
    [ "$rc" -eq 2 ]
    oom fragmented
    capture "$TAPOOL" why fragmented.pickle --at 16
    [ "$rc" -eq 2 ]
    grep -q "^tapool: '--at 16': device 0 has 15 events$" "$err"
    capture "$TAPOOL" why "$DATA/complete-small.pickle" --at oom
    [ "$rc" -eq 2 ]
    grep -q '^tapool: device 0 did not run out of memory$' "$err"
    capture "$TAPOOL" why fragmented.pickle --conf max_split_size:40
    [ "$rc" -eq 2 ]
    grep -q "did you mean 'max_split_size_mb'?" "$err"
    capture "$TAPOOL" why missing.pickle
    [ "$rc" -eq 3 ]
    capture "$TAPOOL" why "$DATA/ORIGIN.md"
    [ "$rc" -eq 3 ]
    python3 "$CLI/snapshot.py" other >other.pickle
    capture "$TAPOOL" why other.pickle
    [ "$rc" -eq 3 ]
    head -c 1500 fragmented.pickle >cut.pickle
    capture "$TAPOOL" why cut.pickle
    [ "$rc" -eq 3 ]
    [ ! -s "$out" ]
}
