#!/usr/bin/env bats
# Metadata of PyTorch snapshots: what the program said of its memory, and later of a live block. The
# snapshot is made by hand (snapshot.py labelled).

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

setup() {
    enter_folder
    snapshot labelled >labelled.pickle
}

info() { "$TAPOOL" info "$@"; }
why() { "$TAPOOL" why "$@"; }

rows='{p["place"]: int(p["bytes"]) for p in d["peak_sites"]["places"]}'

@test "info --by metadata: live memory by what the program said of it" {
    ok info labelled.pickle --by metadata --json
    is "$out" "$rows" "{'freed; of a block that is freed': 8192, 'activations; saved for backward': 4096, 'weights': 1536, '[mallocWithAddress]; (long text)': 512}"
    is "$out" '[(r["why"], int(r["bytes"])) for r in d["peak_sites"]["rests"]]' "[('without metadata', 2048)]"
    ok info labelled.pickle --by metadata --at 14 --json # the address of what was freed was used again
    is "$out" "sorted(${rows/peak_/})" "['[mallocWithAddress]; (long text)', 'activations; saved for backward', 'again', 'weights']"
    ok info labelled.pickle --by metadata
    matches "$out" '^Live memory at the peak by metadata: [0-9.]+ [KMGi]*B$'
    matches "$out" '^  4 KiB +25\.0%  activations; saved for backward; 1 block'
    matches "$out" '4 annotations of live blocks \(annotate\), without effect on memory\.'
    lacks "$out" 'kind that is not known'
}

@test "why --by metadata: what was said up to the event" {
    ok why labelled.pickle --by metadata --at 14
    matches "$out" '^  4 KiB +47?[0-9.]+%  activations; saved for backward; 1 block'
    ok why labelled.pickle --by metadata --at 4
    matches "$out" '^  4 KiB .*  activations; 1 block'
    lacks "$out" 'saved for backward'
    ok "$TAPOOL" verify labelled.pickle
    matches "$out" '^fidelity 7 of 7 addresses'
}

@test "an exported snapshot keeps them" {
    for strategy in torch arena; do
        ok "$TAPOOL" replay --min-time 0 labelled.pickle -s $strategy --export-snapshot $strategy.pickle
        python3 "$CLI/snapshot_check.py" $strategy.pickle
        ok info labelled.pickle --by metadata --json
        query "$out" "$rows" >first
        ok info $strategy.pickle --by metadata --json
        query "$out" "$rows" >second
        diff first second
    done
    snapshot p4 >p4.pickle
    ok "$TAPOOL" replay --min-time 0 p4.pickle -s torch --export-snapshot plain.pickle
    ! grep -q user_metadata plain.pickle
}

@test "a file without metadata says that nothing is known" {
    snapshot p4 >p4.pickle
    refused 3 'p4\.pickle: live memory by site is not known' info p4.pickle --by metadata
}
