#!/usr/bin/env bats
# replay --passes: only what is asked for is measured, and only that stands in the result.

bats_require_minimum_version 1.5.0
load common

members() { # JSON-FILE: those that a pass fills
    python3 -c '
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
filled = "memory driver_calls failed_allocations throughput latency resident mapped instructions devices".split()
print(" ".join(run["passes"]), "|", " ".join(name for name in filled if name in run))' "$1"
}

passes() { # LIST
    "$TAPOOL" replay sample:sqlite -s arena --json --min-time 0 --passes "$1" >"$BATS_TEST_TMPDIR/r.json"
    members "$BATS_TEST_TMPDIR/r.json"
}

@test "a result holds what its passes measured, and nothing else" {
    [ "$(passes usage)" = "usage | memory driver_calls failed_allocations devices" ]
    [ "$(passes latency,throughput)" = "throughput latency | throughput latency" ]
    [ "$(passes count)" = "count | instructions" ]
    [ "$(passes resident)" = "resident | resident" ]
    [ "$(passes usage,mapped)" = "usage | memory driver_calls failed_allocations devices" ] # of a strategy it is known
    [ "$(passes usage,fits,verify)" = \
        "verify usage fits | memory driver_calls failed_allocations devices" ]
    python3 -c '
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
assert run["verified"] is True and run["memory"]["min_capacity_bytes"] > 0' "$BATS_TEST_TMPDIR/r.json"
}

# bats test_tags=nightly
@test "a cell that trusts address and size is verified without invalid frees" {
    cd "$BATS_TEST_TMPDIR"
    "$TAPOOL" check sample:sqlite -s arena:checks=no --update
    "$TAPOOL" check >out.txt
    grep -qE 'vs baseline, exact, verified +1 of 1 cell ' out.txt
}

@test "resident memory is measured on the host alone, for every strategy" {
    sanitized && skip "a sanitizer writes its shadow too"
    python3 - "$TAPOOL" <<'EOF'
import json, subprocess, sys

def run(*words):
    out = subprocess.run([sys.argv[1], "replay", "sample:sqlite", "--json", *words], check=True, capture_output=True)
    return json.loads(out.stdout)["runs"]

page = 4096
for r in run("--passes", "usage,resident", "-s", "system", "-s", "direct", "-s", "arena"):
    resident, needed = r["resident"], r["memory"]["trace_peak_requested_bytes"]
    if resident["passes"] == 0:
        print("# this kernel does not say")
        continue
    for what in ("at_peak", "peak", "end"):
        low, middle, high = (resident[what + end] for end in ("_low_bytes", "_bytes", "_high_bytes"))
        assert low <= middle <= high and low % page == 0, (what, resident)
    assert resident["at_peak_bytes"] <= resident["peak_bytes"]
    if r["strategy"]["name"] != "system":
        assert resident["at_peak_bytes"] > needed, (resident, needed)
    if r["strategy"]["name"] == "direct": # all that it holds is written, and 64 bytes a range
        held = r["memory"]["at_trace_peak"]["reserved_bytes"]
        assert held <= resident["at_peak_bytes"] <= held * 1.05 + 32 * page, (resident, held)
virtual, = run("--passes", "usage,resident", "-s", "direct", "--source", "virtual")
assert "resident" not in virtual and virtual["passes"] == ["usage"], virtual
EOF
}

@test "what a real allocator maps is the same in every replay" {
    sanitized && skip "the sanitizer's malloc takes no options of the C library's"
    python3 - "$TAPOOL" <<'EOF'
import json, subprocess, sys

def mapped(strategy="system"):
    out = subprocess.run([sys.argv[1], "replay", "sample:python-threads", "-s", strategy, "--json", "--passes", "mapped"],
                         check=True, capture_output=True)
    return json.loads(out.stdout)["runs"][0]["mapped"]

first = mapped()
if first["unknown"] is not None:
    assert all(first[k] is None for k in ("peak_bytes", "at_peak_bytes", "end_bytes", "get", "put")), first
    print("# cannot follow: " + first["unknown"])
    sys.exit(0)
assert first["peak_bytes"] >= first["at_peak_bytes"] > 0 and first["get"] > 0, first
for _ in range(4):
    assert mapped() == first
# more is taken at a time, and that is seen
padded = mapped("system:top_pad=1MiB")
assert padded["peak_bytes"] > first["peak_bytes"] and padded["get"] < first["get"], (padded, first)
EOF
}

@test "passes that cannot be are refused" {
    local replay=("$TAPOOL" replay sample:sqlite -s arena)
    refused 2 "^tapool: option 'passes' is 'nonsense', which is none of usage, throughput, latency, verify, fits, count, resident, mapped$" \
        "${replay[@]}" --json --passes nonsense
    refused 2 "^tapool: option 'passes' is '', which is none of usage," "${replay[@]}" --json --passes usage,,latency
    refused 2 "^tapool: the pass 'fits' needs the pass 'usage'$" "${replay[@]}" --json --passes fits
    refused 2 "^tapool: option 'passes' is '', which is none of usage," "${replay[@]}" --json --passes ""
    refused 2 "^tapool: --passes: the screen shows figures of all passes$" "${replay[@]}" --passes usage
    refused 2 "^tapool: --passes: --format markdown shows figures of all passes$" \
        "${replay[@]}" --passes usage --format markdown
    refused 2 "^tapool: --export-hgrm needs the pass 'latency'$" \
        "${replay[@]}" --json --passes usage --export-hgrm x.hgrm
    refused 2 "^tapool: --export-svg needs the pass 'usage'$" \
        "${replay[@]}" --json --passes latency --export-svg x.svg
    refused 2 "^tapool: --passes and --verify exclude each other$" \
        "${replay[@]}" --json --passes usage --verify
}

@test "exports have what the passes measured: a CSV the columns of it, and the others empty" {
    cd "$BATS_TEST_TMPDIR"
    local replay=("$TAPOOL" replay sample:sqlite -s arena -s bump --min-time 0 --json)
    "${replay[@]}" --passes usage --export-csv usage.csv --export-json usage.json --export-benchfmt usage.txt \
        --export-perfetto usage.perfetto --export-svg usage.svg --export-svg-heap heap.svg --export-snapshot heap.pickle \
        >/dev/null
    "${replay[@]}" --passes throughput,latency --export-csv times.csv --export-hgrm times.hgrm \
        --export-benchfmt times.txt >/dev/null
    "$TAPOOL" replay sample:sqlite -s arena -s bump --passes count --format csv >count.csv
    python3 - <<'EOF'
import csv
def rows(name):
    with open(name) as file:
        return list(csv.DictReader(file))
for name, full, empty in (("usage", "peak_reserved_bytes device source_name", "ns_per_op alloc_p50_ns"),
                          ("times", "ns_per_op alloc_p50_ns", "peak_reserved_bytes device"),
                          ("count", "trace_name strategy_label", "peak_reserved_bytes ns_per_op alloc_p50_ns device")):
    found = rows(name + ".csv")
    assert [row["strategy_label"] for row in found] == ["arena", "bump"], name
    assert set(found[0]) == set(rows("usage.csv")[0]), name
    for row in found:
        full_ones = [column for column in full.split() if not row[column]]
        assert not full_ones, (name, full_ones)
        assert not any(row[column] for column in empty.split()), (name, row)
lines = [line for line in open("usage.txt") if line.startswith("Benchmark")]
assert len(lines) == 2 and not any(" ns/op" in line or "-p50-" in line for line in lines), lines
lines = [line for line in open("times.txt") if line.startswith("Benchmark")]
assert lines and all(" ns/op" in line or "-mean-ns" in line for line in lines), lines
EOF
    [ -s usage.svg ] && [ -s heap.svg ] && [ -s usage.perfetto ] && [ -s heap-arena.pickle ] && [ -s times-arena-all.hgrm ]
}
