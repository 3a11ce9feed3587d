#!/usr/bin/env bats
# Real traces made by others, which do not all go into the repository: what tapool says of them is what
# independent scripts counted in them. TAPOOL_SHARED names the folder that holds corpus/.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err and rc come from common.bash
load common
load browser

CORPUS=${TAPOOL_SHARED:-$TAPOOL_ROOT/../shared}/corpus

setup() {
    enter_folder
    [ -f "$CORPUS/README.md" ] || skip "there is no corpus of real traces in $CORPUS (TAPOOL_SHARED)"
}

info() { "$TAPOOL" info "$@"; }

# looked_at FILE [OPTION]...: what info says of a file of the corpus, as $out.
looked_at() {
    local file=$1
    shift
    ok info "$CORPUS/$file" "$@" --json
}

# holds WHAT: a Python condition on the document d, its trace t, its operations o, and the first device r
# of what was recorded.
holds() {
    python3 -S -E - "$out" "$1" <<'END' || return 1
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
r = d.get("recorded", {"devices": [None]})["devices"][0]
names = {"d": d, "t": d["trace"], "o": d["operations"], "r": r}
for condition in sys.argv[2].replace("\n", ";").split(";"):
    if not eval(condition.strip(), names):
        sys.exit("%s: it is not so that %s" % (d["trace"]["path"], condition.strip()))
END
}

# ---- PyTorch snapshots ----

# file, events, allocs, frees, frees of what was live before, peak of what was allocated in the trace,
# segments at the end and their bytes, segments taken and given back
snapshots() {
    cat <<'END'
complete-small.pickle                97   36   26   0  3249143816   9  3781165056 9 0
newest-format.pickle               5163 1721 1721   2 12877758464 216 14180941824 0 0
training-step.pickle.gz            6486 2162 2162 222  1999716608  96  4238344192 0 0
ring-wrapped.pickle.gz            10000 3331 3335 480  5709158400 872 20673724416 0 0
training-999-segments.pickle.gz   19464 6488 6488 329  7368201224 999 23842521088 0 0
training-22k.pickle.gz            22332 7591 7370 438  7331061768 400 12660506624 1 0
generated-unaligned.pickle         1040  520  520   0  2255398132   5   262144000 0 0
END
}

@test "PyTorch snapshots: counts, peaks, segments" {
    while read -r file events allocs frees unseen peak segments bytes taken given; do
        looked_at "pytorch/$file"
        holds "t['format'] == 'pytorch'; t['kind'] == 'device'; t['repairs'] == {}; t['events'] == $events
            o['alloc'] == $allocs; o['free'] == $frees; d['before']['freed_objects'] == $unseen
            d['peak_new_requested_bytes'] == $peak
            r['end_segments'] == $segments; r['end_reserved_bytes'] == $bytes
            r['segments_taken'] == $taken; r['segments_given_back'] == $given
            r['end_large_segments'] + r['end_small_segments'] == $segments; r['number'] == 0
            t['devices'] == 1; t['streams'] == (4 if 'unaligned' in t['path'] else 1)"
        looked_at "pytorch/$file" --strict
    done < <(snapshots)
}

@test "PyTorch snapshots: what is particular about each" {
    looked_at pytorch/complete-small.pickle
    holds "'initial_heap' not in t; r['start_reserved_bytes'] == 0; r['peak_reserved_bytes'] == 3781165056"
    holds "d['peak_requested_bytes'] == 3249143816; d['peak_requested_event'] == 53"
    holds "t['capture'] == 'PyTorch memory snapshot (pickle 4)'; 'defaults' in t['settings']"
    looked_at pytorch/ring-wrapped.pickle.gz
    holds "t['wrapped'] is True; any('ring buffer' in n for n in t['remarks']); d['before']['objects'] == 1317"
    looked_at pytorch/generated-unaligned.pickle
    holds "t['streams'] == 4; any('multiples of 512' in n for n in t['remarks'])"
    looked_at pytorch/training-22k.pickle.gz
    holds "r['start_reserved_bytes'] + 67108864 >= r['end_reserved_bytes']; d['before']['objects'] == 664"
    # with what was live before, requested: sums of PyTorch's own blocks are a little above
    for row in 'newest-format.pickle 13923997700 13927832064' 'training-step.pickle.gz 3849232640 3857699328' \
        'ring-wrapped.pickle.gz 15824637956 16087831040' 'training-999-segments.pickle.gz 22827925508 23167664640'; do
        read -r file requested blocks <<<"$row"
        looked_at "pytorch/$file"
        holds "d['peak_requested_bytes'] == $requested; $requested <= $blocks < 1.02 * $requested"
        holds "d['peak_place'] and ':' in d['peak_place']"
    done
}

@test "PyTorch snapshots without events" {
    for row in 'state-only-graph-pools.pickle 127 26189234176 recording (blocks have stack frames) with enabled' \
        'state-only-oldest-format.pickle 176 11844714496 not recording when this snapshot was dumped'; do
        read -r file segments bytes cause <<<"$row"
        looked_at "pytorch/$file"
        holds "r['end_segments'] == $segments; r['end_reserved_bytes'] == $bytes; t['events'] == 0"
        holds "d['nothing'].startswith('PyTorch was $cause')"
        grep -qF "no events: PyTorch was $cause" <("$TAPOOL" replay "$CORPUS/pytorch/$file" 2>&1)
        refused 3 "no events: PyTorch was" replay_once "$CORPUS/pytorch/$file"
        matches "$err" "^hint: .*'tapool info' shows the $segments segments$"
    done
}

@test "a training step: the screens of replay and info" {
    ln -s "$CORPUS/pytorch/training-step.pickle.gz" .
    ok tool fits 80 "$TAPOOL" info training-step.pickle.gz
    ok tool fits 80 "$TAPOOL" replay --min-time 0 training-step.pickle.gz
    ok replay_once training-step.pickle.gz --json
    python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
for run in d["runs"]:
    m = run["memory"]
    assert m["trace_peak_requested_bytes"] == 3849232640 and m["peak_requested_event"] == 1844, m
    assert run["failed_allocations"] == 0 and m["min_capacity_bytes"] <= m["peak_reserved_bytes"]
    assert m["at_trace_peak"]["reserved_bytes"] >= 3849232640
END
}

@test "a training step: less memory than it fits in is out of memory" {
    ok replay_once "$CORPUS/pytorch/training-step.pickle.gz" -s arena -s lru --capacity 3.75GiB
    matches "$out" 'lru  *OUT OF MEMORY' # in requests it would fit, in pages it does not
    matches "$out" 'arena  *fits'
    matches "$out" '^Pick arena: '
}

# ---- Umpire ----

@test "Umpire: allocators and their events" {
    # an allocation that a reallocate makes inside is part of it: 27 in output.omp, 189 in output.devices
    while read -r file allocators allocs frees reallocs; do
        looked_at "umpire/$file"
        holds "t['format'] == 'umpire'; t['capture'].startswith('Umpire 20')"
        holds "1 + t['left_out'].count('events,') + int(t['left_out'].split(' and ')[-1].split()[0]) == $allocators"
        [ "$allocators" -le 256 ] || continue
        looked_at "umpire/$file" --space all
        holds "o['alloc'] == $allocs; o['free'] == $frees; o['realloc'] == $reallocs; t['devices'] == $allocators"
    done <<'END'
output.replay               49 177 177 27
output.numa.replay          51 183 183 27
output.omp.replay           98 355 355 54
output.devices.replay.gz   401   -   -  -
END
    refused 3 ": more than 256 devices$" info "$CORPUS/umpire/output.devices.replay.gz" --space all
    matches "$err" '^hint: --space=NAME takes one memory space$'
}

# bats test_tags=nightly
@test "Umpire: the many allocators of output.devices, one after the other" {
    python3 - "$TAPOOL" "$CORPUS/umpire/output.devices.replay.gz" <<'END'
import gzip, json, subprocess, sys
tapool, path = sys.argv[1:]
names = [json.loads(l)["tags"]["allocator_name"] for l in gzip.open(path, "rt") if '"make_' in l]
assert len(names) == 401 and len(set(names)) == 401
open("log", "wb").write(gzip.open(path).read())
total, nothing = {"alloc": 0, "free": 0, "realloc": 0}, 0
for name in names:
    d = json.loads(subprocess.run([tapool, "info", "log", "--json", "--space", name],
                                  check=True, stdout=subprocess.PIPE).stdout)
    assert d["trace"]["space"] == name
    for key in total:
        total[key] += d["operations"][key]
    if d["trace"]["kind"] == "device":
        nothing += d["trace"]["repairs"].get("zero_size", 0)
# 1,642 lines of each, of which 189 stand in a reallocate; 0 bytes on a device are no allocation
assert total["alloc"] == total["free"] == 1642 - 189 - nothing and nothing == 72, (total, nothing)
END
}

@test "Umpire: the log of the tutorial, in the form of 2019" {
    looked_at umpire/tut_replay_log.json
    holds "t['events'] == 128; o['alloc'] == 64; o['free'] == 64; d['allocated']['bytes'] == 32880 + t['repairs']['zero_size']"
    holds "t['capture'] == 'Umpire 0.3.3 replay log'; d['peak_requested_bytes'] == 32880"
    ok info "$CORPUS/umpire/tut_replay_log.json"
    matches "$out" 'peak 32\.11 KiB'
}

# ---- the others ----

@test "Kineto: counts, devices, what was reserved, guesses" {
    "$TAPOOL" help formats | grep -q '^  kineto' || skip "this tapool does not read them"
    hta=kineto/hta_df_index_resolver.json.gz
    looked_at $hta --space all
    holds "t['events'] == 28010; t['threads'] == 2"
    looked_at $hta
    holds "t['format'] == 'kineto'; t['events'] == 26770; t['repairs'] == {}; o['alloc'] == o['free'] == 13385"
    holds "r['start_reserved_bytes'] == r['peak_reserved_bytes'] == r['end_reserved_bytes'] == 12782141440"
    holds "d['peak_new_requested_bytes'] == 2532893696; d['live_at_end'] == 1; d['live_at_end_bytes'] == 4096614400"
    holds "d['peak_requested_bytes'] == 6629508096; t['initial_heap']['bytes'] == 4096614400" # the highest Total Allocated
    ok info "$CORPUS/$hta"
    matches "$out" 'peak 6\.174 GiB'
    looked_at kineto/kineto_2021_no_addr.json.gz --space all
    holds "t['events'] == 12838; 'addresses' in t['unknown']; any('no addresses' in n for n in t['remarks'])"
}

@test "RMM: the rows of its documentation" {
    looked_at rmm/doc_record_replay_sample.csv
    holds "t['format'] == 'rmm'; t['events'] == 2; d['duration_ns'] == 16000; d['peak_requested_bytes'] == 1048576"
    looked_at rmm/doc_memory_debugging_sample_noheader.csv
    holds "t['events'] == 2; t['threads'] == 2; d['remote_frees'] == 1; d['peak_requested_bytes'] == 256"
    looked_at rmm/issue75_old_format_2019_excerpt.csv
    holds "t['events'] == 7; '2020' in t['capture']; 'threads' in t['unknown']; o['alloc'] == 7"
}

@test "rocprofv3: the sample of its documentation" {
    [ -d "$CORPUS/rocm" ] || skip "there is no $CORPUS/rocm"
    looked_at rocm/memory_allocation_trace.csv
    holds "t['format'] == 'rocprof'; o['alloc'] == o['free'] == 2; d['duration_ns'] == 341827; t['repairs'] == {}"
}

# The bytes live at once, with half-open lifetimes, in ten lines.
peak_of() {
    python3 -S -E - "$1" <<'END'
import csv, sys
steps, now, peak = [], 0, 0
for row in csv.DictReader(open(sys.argv[1])):
    steps += [(int(row["lower"]), 1, int(row["size"])), (int(row["upper"]), 0, -int(row["size"]))]
for _, _, change in sorted(steps):
    now += change
    peak = max(peak, now)
print(peak)
END
}

# bats test_tags=nightly
@test "buffers with lifetimes: as many, the peak, and what they fit in" {
    for file in minimalloc/A.1048576 minimalloc/D.1048576 minimalloc/J.1048576 minimalloc/K.1048576 \
        minimalloc/input.12 buffers/resnet50 buffers/bert_base buffers/pangu_2.6B; do
        looked_at "$file.csv"
        holds "t['format'] == 'minimalloc'; t['repairs'] == {}; o['alloc'] == o['free']; d['live_at_end'] == 0"
        holds "o['alloc'] == $(($(wc -l <"$CORPUS/$file.csv") - 1)); d['peak_requested_bytes'] == $(peak_of "$CORPUS/$file.csv")"
    done
    looked_at minimalloc/input.12.csv
    holds "d['peak_requested_bytes'] == 12"
    for name in A D J K; do
        ok replay_once "$CORPUS/minimalloc/$name.1048576.csv" -s lru -s stream-pool -s direct --source virtual:page=512 --json
        python3 - "$out" <<'END'
import json, sys
for run in json.load(open(sys.argv[1]))["runs"]:
    m = run["memory"]
    assert m["trace_peak_requested_bytes"] <= m["min_capacity_bytes"] <= 1048576, (run["strategy"]["name"], m)
END
    done
}
