#!/usr/bin/env bats
# Pinned memory of the host in PyTorch snapshots: a memory space of its own, and the strategy that
# replays its allocator. The snapshots are made by hand by its public rules (snapshot.py).

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

setup() { enter_folder; }

info() { "$TAPOOL" info "$@"; }
why() { "$TAPOOL" why "$@"; }
verify() { "$TAPOOL" verify "$@"; }

@test "a snapshot of pinned memory alone is a trace of the host" {
    for kind in pinned pinned-lists; do
        snapshot $kind >$kind.pickle
        ok info $kind.pickle --json
        is "$out" 'd["trace"]["kind"], d["trace"]["space"], d["trace"]["events"]' "('host', 'host (pinned)', 32)"
        is "$out" 'd.get("nothing")' None
        is "$out" 'd["recorded"]["by"]' 'PyTorch (pinned)'
    done
    ok info pinned.pickle
    matches "$out" '^  memory space  host \(pinned\)$'
    lacks "$out" 'not recording|GPU'
    refused 3 "^tapool: pinned\.pickle: no events: the memory space 'GPU' has none$" info pinned.pickle --space GPU
    refused 3 '^tapool: pinned\.pickle: device 0 has no events$' info pinned.pickle --device 0
    matches "$err" '^hint: events are of host \(pinned\)$'
}

@test "torch-pinned takes what the snapshot says was taken: 20.4 GiB asked take 32" {
    snapshot pinned >pinned.pickle
    ok "$TAPOOL" replay --min-time 0 pinned.pickle --json # the recorded strategy first, on simulated memory
    is "$out" '[r["strategy"]["name"] for r in d["runs"]][:2]' "['torch-pinned', 'arena']"
    is "$out" 'r["source"]["name"]' virtual
    is "$out" 'r["memory"]["peak_reserved_bytes"] == r["recorded"]["devices"][0]["peak_reserved_bytes"] == (32 << 30) + (132 << 20)' True
    is "$out" '[r["driver_calls"]["get"], r["driver_calls"]["put"]] == [r["recorded"]["devices"][0][k] for k in ("segments_taken", "segments_given_back")]' True
    # not rounded: pages of 4 KiB, and of four blocks of just over 3 MiB none serves the next
    ok "$TAPOOL" replay --min-time 0 pinned.pickle -s torch-pinned:conf=pinned_max_round_threshold_mb:1 --json
    is "$out" 'r["memory"]["peak_reserved_bytes"] == 21904334848 + (82 << 20) + 3 * 4096' True
}

@test "beside GPUs it is left out and named, and --space replays it" {
    snapshot both >both.pickle
    ok info both.pickle
    matches "$out" '^  memory space  GPU; left out: host \(pinned\) \(32 events, 20\.69 GiB\)'
    for space in 'host (pinned)' all; do
        ok info both.pickle --space "$space" --json
        is "$out" 'd["trace"]["space"]' "$space"
    done
    is "$out" 'd["trace"]["devices"]' 2
    snapshot p4 >p4.pickle # without it there is nothing to choose
    refused 3 "no memory space is called 'host \(pinned\)'" info p4.pickle --space 'host (pinned)'
    ok info p4.pickle
    lacks "$out" 'memory space'
}

@test "why and verify are about GPUs, and say so" {
    snapshot pinned >pinned.pickle
    snapshot both >both.pickle
    for command in why verify; do
        refused 3 '^tapool: pinned\.pickle: no events of a GPU: its 32 events are of pinned memory of the host$' $command pinned.pickle
        matches "$err" "^hint: 'tapool info' and 'tapool tune' show them: --space='host \(pinned\)'\$"
    done
    ok why both.pickle
    matches "$out" '^OUT OF MEMORY   20 MiB requested'
}

@test "tune tries the keys of pinned memory, and names the variable that has them" {
    tune() { "$TAPOOL" tune "$@"; }
    snapshot pinned >pinned.pickle
    snapshot both >both.pickle
    ok tune pinned.pickle
    matches "$out" '^24 settings     replayed by strategy torch-pinned; shown: references'
    matches "$out" '^  reserved +change +calls  PYTORCH_ALLOC_CONF$'
    matches "$out" '^  32\.13 GiB +- +6  PyTorch itself \(from the file\)$'
    matches "$out" '^  32\.13 GiB +base +6  defaults \(as recorded\)$'
    matches "$out" '^Set PYTORCH_ALLOC_CONF=pinned_max_cached_size_mb:256$'
    lacks "$out" 'CUDA|max_split_size|fidelity|verify'
    ok tune both.pickle --space 'host (pinned)' --json # the same advice from the same events
    is "$out" 'd["answer"]["verdict"], d["files"][0]["recorded"]["peak_reserved_bytes"] >> 20' "('set', 32900)"
    ok tune pinned.pickle --grid pinned_max_round_threshold_mb:64 --all # a danger is shown, and not advised
    matches "$out" 'pinned_max_round_threshold_mb:64 !$'
    matches "$out" '^Keep the defaults'
    refused 2 "PyTorch has no setting 'pinned_max_size_mb'" tune pinned.pickle --grid pinned_max_size_mb:64
    refused 3 'both\.pickle is of the strategy torch, pinned\.pickle of torch-pinned' tune pinned.pickle both.pickle
    ok tune both.pickle # of the GPU
    matches "$out" 'PYTORCH_CUDA_ALLOC_CONF'
}

@test "without events: why, as far as the file shows it" {
    while read -r kind cause; do
        snapshot "$kind" >"$kind.pickle"
        ok info "$kind.pickle" --json
        is "$out" 'd["nothing"]' "$cause"
        refused 3 'no events: ' replay_once "$kind.pickle"
        grep -qF "no events: $cause" "$err"
        ok why "$kind.pickle" --json
    done <<'END'
state PyTorch was not recording when this snapshot was dumped
left-out they were left out of the snapshot (include_traces=False)
framed PyTorch was recording (blocks have stack frames) with enabled="state", or was stopped before the dump, or they were left out (include_traces=False)
segments torch.cuda.memory_snapshot() gives segments, without events
END
}
