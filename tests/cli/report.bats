#!/usr/bin/env bats
# What a report says of a trace and of its strategies, where a shorter word would mislead.

load common

@test "a malloc in front of the C library's is named, and its memory is what is resident" {
    sanitized && skip "the sanitizer's malloc cannot be replaced"
    library=$(ldconfig -p | awk '/libjemalloc\.so\.2/ { print $NF; exit }')
    [ -n "$library" ] || skip "libjemalloc.so.2 is not installed"
    ok "$TAPOOL" strategies
    matches "$out" '^  system +glibc '
    export LD_PRELOAD=$library
    ok "$TAPOOL" strategies
    matches "$out" '^  system +libjemalloc.so.2 +host'
    ok replay_once sample:sqlite -s system -s arena
    matches "$out" '^  system +[0-9.]+ .iB +[0-9.]+x .* - +- +- +-$' # resident, as of every row
    matches "$out" '^  system is libjemalloc.so.2: its address space and calls are not visible[.]$'
    lacks "$out" '0 B'
    ok replay_once sample:sqlite -s system
    matches "$out" 'libjemalloc.so.2, in its own process'
    matches "$out" '^ +[0-9.]+ .iB +peak resident: private memory, every block written; validated'
    matches "$out" '^Summary: system, .* [0-9.]+ .iB resident for [0-9.]+ .iB requested$'
    ok replay_once sample:sqlite -s system --json
    is "$out" 'r["strategy"]["library"]' libjemalloc.so.2
    is "$out" 'set(r["strategy"]["options"].values())' "{'default'}"
    is "$out" '[r["memory"][k] for k in ("peak_reserved_bytes", "end_reserved_bytes", "overhead", "unused_reserved", "curve")]' \
        '[None, None, None, None, []]'
    is "$out" 'r["memory"]["at_trace_peak"]["requested_bytes"] > 0, r["memory"]["at_trace_peak"]["free_bytes"]' '(True, None)'
    ok "$TAPOOL" compare sample:sqlite -s arena -s system --rounds 2 --min-time 0 --metric peak_reserved
    matches "$out" '^  system +- +-$'
    lacks "$out" '-100'
    matches "$out" '^note +system is libjemalloc.so.2: its address space and calls are not visible[.]$'
    ok "$TAPOOL" compare sample:sqlite -s arena -s system --rounds 2 --min-time 0 --json
    is "$out" '[x.get("library") for x in d["tables"][0]["rows"]], d["notes"][0][:26]' \
        "([None, 'libjemalloc.so.2'], 'system is libjemalloc.so.2')"
    refused 2 "^tapool: sample:sqlite: strategy 'system': 'top_pad' sets the C library's malloc, and libjemalloc.so.2 answers in its place$" \
        replay_once sample:sqlite -s system:top_pad=1MiB
}

# bats test_tags=nightly
@test "the library behind a real allocator is named below every table" {
    local said='system, lazy are glibc [0-9.]+: address space from its own statistics; its calls are not visible[.]'
    ok replay_once sample:sqlite -s system -s lazy=system -s arena
    matches "$out" "^  $said\$"
    ok replay_once sample:sqlite -s system -s lazy=system -s arena --export-json a.json --export-markdown a.md
    matches a.md "$said"
    is a.json '[x["strategy"].get("library", "")[:6] for x in d["runs"]]' "['glibc ', 'glibc ', '']"
    ok "$TAPOOL" compare sample:sqlite -s system -s lazy=system -s arena --rounds 2 --min-time 0
    tr '\n' ' ' <"$out" | tr -s ' ' >line
    matches line "note $said"
    ok "$TAPOOL" compare a.json --format markdown
    matches "$out" "$said"
    ok "$TAPOOL" compare a.json
    tr '\n' ' ' <"$out" | tr -s ' ' >line
    matches line "note $said"
}

@test "counts of a head add up: what no strategy sees is named" {
    snapshot p4 >x.pickle
    for words in "replay --min-time 0 -s direct -s lru" info; do
        # shellcheck disable=SC2086
        ok "$TAPOOL" $words x.pickle
        tr '\n' ' ' <"$out" | tr -s ' ' >line
        matches line '9 events .*2 alloc, 2 free, 2 free requested, 1 of segments, 1 out of memory, 1 without effect'
    done
}

@test "threads that a format does not record are not counted" {
    ok replay_once "$TAPOOL_ROOT/tests/data/valgrind/calls.txt" -s arena
    matches "$out" 'events?.*, threads not recorded: '
    lacks "$out" '1 thread:'
    ok replay_once sample:sqlite -s arena
    matches "$out" ', 1 thread: '
}

@test "who asks last at the peak is not said to hold it" {
    snapshot p4 >x.pickle
    for words in "replay --min-time 0 -s direct -s lru" info; do
        # shellcheck disable=SC2086
        ok "$TAPOOL" $words x.pickle
        tr '\n' ' ' <"$out" | tr -s ' ' >line
        matches line '; last allocation there: train.py:7 step \(>99.9% of the peak\)'
    done
}

@test "a loop: the calls of the next pass stand beside the first's, and decide" {
    head='{"format":"tapool-trace","version":1,"meta":{"kind":"device","name":"loop"LOOP}}'
    for i in $(seq 1 40); do
        printf '{"op":"alloc","id":%d,"size":%d}\n{"op":"free","id":%d}\n' "$i" $((4194304 + i * 4096)) "$i"
    done >events
    { echo "${head/LOOP/}" && cat events; } >once.jsonl
    { echo "${head/LOOP/,\"loop\":true}" && cat events; } >loop.jsonl
    ok replay_once once.jsonl -s lru -s direct
    lacks "$out" ' next'
    ok replay_once once.jsonl -s direct --json
    is "$out" 'r["trace"]["loop"], r["driver_calls"]["get"] + r["driver_calls"]["put"], r["driver_calls"]["warm_calls"]' \
        '(False, 80, 80)'
    ok "$TAPOOL" convert loop.jsonl -o loop.tpt
    ok "$TAPOOL" convert loop.tpt -o loop.json
    for file in loop.jsonl loop.tpt loop.json; do
        ok replay_once "$file" -s lru -s direct
        matches "$out" ' calls +calls +hit rate'
        ok replay_once "$file" -s lru --json
        is "$out" 'r["trace"]["loop"], r["driver_calls"]["warm_calls"]' '(True, 0)'
    done
    # as much live at the end as before the first event: no word is needed
    { echo "${head/LOOP/}" && echo '{"op":"initial","id":99,"size":8192}' && cat events; } >period.jsonl
    ok replay_once period.jsonl -s lru --json
    is "$out" 'r["trace"]["loop"]' True
}

# The allocator of holes.py: segments that touch, an expandable one of which pages come and go.
# bats test_tags=nightly
@test "the largest free piece of the recorded allocator is where the file says that blocks lay" {
    for seed in $(seq 1 40); do
        truth=$(python3 "$CLI/holes.py" "$seed" x.pickle)
        ok "$TAPOOL" replay x.pickle --passes usage -s direct --json
        is "$out" 'r["recorded"]["devices"][0]["at_trace_peak_largest_free_bytes"]' "$truth" ||
            fail "seed $seed"
    done
    ok replay_once x.pickle -s direct -s lru --bytes
    matches "$out" "^  recorded, PyTorch .* B [(]$(python3 -c "print(f'{$truth:,}')") B[)]"
    matches "$out" 'its free memory includes rounding and blocks that were not'
    lacks "$out" 'largest free block is not known'
    ok "$TAPOOL" convert x.pickle -o x.tpt
    ok "$TAPOOL" convert x.tpt -o x.json
    for file in x.tpt x.json; do # as good as the file itself
        ok "$TAPOOL" replay $file --passes usage -s direct --json
        is "$out" 'r["recorded"]["devices"][0]["at_trace_peak_largest_free_bytes"]' "$truth"
    done
}

@test "where a file does not tell the largest free piece, that is said, and why" {
    python3 "$CLI/holes.py" 1 x.pickle broken >truth
    ok replay_once x.pickle -s direct -s lru
    matches "$out" '^  recorded, PyTorch .* [0-9.]+ MiB +[0-9]+ +[0-9.]+%'
    matches "$out" 'Its largest free block is not known: the addresses in the file contradict each other[.]$'
    python3 "$CLI/holes.py" 1 x.pickle >truth
    ok replay_once x.pickle -s direct -s lru --limit 100 # what came later tells what was there
    matches "$out" 'Its largest free block is not known: the file has no segment addresses[.]$'
    ok replay_once x.pickle -s direct --limit 100 --json
    is "$out" 'r["recorded"]["devices"][0]["at_trace_peak_largest_free_bytes"]' None
    ok "$TAPOOL" convert x.pickle --from 50: -o part.tpt
    ok replay_once part.tpt -s direct -s lru
    lacks "$out" 'recorded, PyTorch'
    snapshot p4 >oom.pickle # the program ran out: what was free then, beside what it asked for
    ok replay_once oom.pickle -s direct -s lru
    matches "$out" '^  recorded, PyTorch +4 MiB .* 3.999 MiB [(]2 MiB[)] '
}
