#!/usr/bin/env bats
# replay --passes: only what is asked for is measured, and only that stands in the result.

bats_require_minimum_version 1.5.0
load common

members() { # JSON-FILE: those that a pass fills
    python3 -c '
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
filled = "memory source_calls failed_allocations throughput latency instructions devices".split()
print(" ".join(run["passes"]), "|", " ".join(name for name in filled if name in run))' "$1"
}

passes() { # LIST
    "$TAPOOL" replay sample:sqlite -s arena --json --min-time 0 --passes "$1" >"$BATS_TEST_TMPDIR/r.json"
    members "$BATS_TEST_TMPDIR/r.json"
}

@test "a result holds what its passes measured, and nothing else" {
    [ "$(passes usage)" = "usage | memory source_calls failed_allocations devices" ]
    [ "$(passes latency,throughput)" = "throughput latency | throughput latency" ]
    [ "$(passes count)" = "count | instructions" ]
    [ "$(passes usage,fits,verify)" = \
        "verify usage fits | memory source_calls failed_allocations devices" ]
    python3 -c '
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
assert run["verified"] is True and run["memory"]["fits_in_bytes"] > 0' "$BATS_TEST_TMPDIR/r.json"
}

@test "passes that cannot be are refused" {
    local replay=("$TAPOOL" replay sample:sqlite -s arena)
    refused 2 "^tapool: option 'passes' is 'nonsense', which is none of usage, throughput, latency, verify, fits, count$" \
        "${replay[@]}" --json --passes nonsense
    refused 2 "^tapool: option 'passes' is '', which is none of usage," "${replay[@]}" --json --passes usage,,latency
    refused 2 "^tapool: the pass 'fits' needs the pass 'usage'$" "${replay[@]}" --json --passes fits
    refused 2 "^tapool: option 'passes' is '', which is none of usage," "${replay[@]}" --json --passes ""
    refused 2 "^tapool: --passes goes with --format json$" "${replay[@]}" --passes usage
    refused 2 "^tapool: --passes and --verify exclude each other$" \
        "${replay[@]}" --json --passes usage --verify
}
