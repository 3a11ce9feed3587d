#!/usr/bin/env bats
# Pictures of memory over time beyond what exports.bats compares: themes, how much is drawn, what is too
# much to be drawn, and what the lines beside those of the strategies say.

# shellcheck disable=SC2154 # out, err and rc come from common.bash
load common

svg() { python3 "$CLI/svg_check.py" "$@"; }

# seen FILE EXPRESSION VALUE: of the charts and the themes of a picture.
seen() {
    local got
    got=$(python3 -c 'import sys
sys.path.insert(0, sys.argv[1])
import svg_check
charts, themes, remarks = svg_check.parse(sys.argv[2])
print(eval(sys.argv[3]))' "$CLI" "$1" "$2") || fail "$2 of $1" || return 1
    [ "$got" = "$3" ] || fail "$2 is $got, not $3"
}

@test "themes: both in a file, or one of them; they differ in colours alone" {
    for theme in auto light dark; do
        ok replay_once sample:sqlite -s arena --svg-theme "$theme" --export-svg "$theme.svg"
    done
    seen auto.svg 'sorted(themes)' "['dark', 'light']"
    seen light.svg 'sorted(themes)' "['light']"
    seen dark.svg 'sorted(themes)' "['dark']"
    not cmp -s light.svg dark.svg
    diff <(sed '/^\.tp-chart/d' light.svg) <(sed '/^\.tp-chart/d' dark.svg)
    diff <(sed '/^\.tp-chart\|^}\|^@media/d' auto.svg) <(sed '/^\.tp-chart/d' dark.svg)
    refused 2 'none of auto, light, dark' replay_once sample:sqlite --svg-theme blue
}

@test "the same figures give the same bytes" {
    ok replay_once sample:jq -s arena -s bump --export-svg one.svg
    ok replay_once sample:jq -s arena -s bump --export-svg other.svg
    cmp one.svg other.svg
}

# bats test_tags=nightly
@test "the picture of the first page is what its script draws, of the command beside it" {
    "$TAPOOL_ROOT/scripts/picture.sh" .
    for theme in light dark; do
        cmp "picture-$theme.svg" "$TAPOOL_ROOT/scripts/picture-$theme.svg"
        seen "picture-$theme.svg" 'list(themes)' "['$theme']"
    done
    command=$(sed -n 's/^    tapool \(.*\) --export-svg memory.svg$/\1/p' "$TAPOOL_ROOT/README.md")
    [ -n "$command" ]
    cp "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" .
    # shellcheck disable=SC2086 # the words of a command
    ok "$TAPOOL" $command --min-time 0 --export-svg memory.svg --svg-theme dark
    cmp memory.svg picture-dark.svg
}

@test "the recorded allocator, the capacity and the first request that failed are lines" {
    trace=$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz
    quick=(--no-fits --bound-time 0)
    ok replay_once "$trace" -s torch -s lru "${quick[@]}" --export-svg x.svg
    seen x.svg 'charts[0].lines["recorded, PyTorch"][0]' '3.947 GiB'
    seen x.svg 'charts[0].marks' '[]'
    ok replay_once "$trace" -s torch -s lru "${quick[@]}" --capacity 3.8GiB --export-svg x.svg -f
    seen x.svg 'charts[0].marks' "['lru: no room for 147.2 MiB at event 1,834']"
    seen x.svg 'sum("Capacity 3.8 GiB" == t for t in charts[0].texts)' 1
    # one far above would press all lines down
    ok replay_once "$trace" -s torch "${quick[@]}" --capacity 80GiB --export-svg x.svg -f
    seen x.svg '"Capacity: 80 GiB, above this chart." in charts[0].texts' True
    # what a recording ran out of
    python3 "$CLI/oom_snapshot.py" fragmented >oom.pickle
    ok replay_once oom.pickle -s arena "${quick[@]}" --export-svg x.svg -f
    seen x.svg 'any(m.startswith("recorded, PyTorch: no room for") for m in charts[0].marks)' True
}

@test "one line for strategies that did the same, none where nothing is known" {
    device_trace >gpu.json
    ok replay_once gpu.json -s lru -s stream-pool:release_threshold=max -s arena --export-svg x.svg
    seen x.svg 'sorted(charts[0].lines)' "['arena', 'lru, stream-pool', 'requested']"
    [ -n "${TAPOOL_MALLOCS:-}" ] || return 0
    ok replay_once sample:sqlite -s "lib:$TAPOOL_MALLOCS/silent.so" --export-svg x.svg -f
    seen x.svg 'list(charts[0].lines), [t.split(":")[0] for t in charts[0].texts if "Not" in t]' \
        "(['requested'], ['Not drawn, as nothing says what it holds over time'])"
    seen x.svg 'charts[0].lines["requested"][0]' '308.1 KiB'
}

# bats test_tags=nightly
@test "more than there is room for: drawn coarser, left out by name, never large" {
    many=()
    for i in $(seq 20); do many+=(-s "n$i=arena:first_range=$((i * 64))KiB"); done
    ok "$TAPOOL" gen random-replace -o long.tpt
    ok replay_once long.tpt sample:sqlite "${many[@]}" --export-svg x.svg
    seen x.svg '[len(c.lines) for c in charts]' '[16, 16]'
    # every strategy is in a line of its own or of several, or named below
    seen x.svg '[sum(any("n%d" % i in t.replace(",", " ").replace(".", " ").split() for t in list(c.lines) + [t for t in c.texts if "want of room" in t]) for i in range(1, 21)) for c in charts]' '[20, 20]'
    # nine devices in eight charts
    python3 - >nine.json <<'END'
import json
print(json.dumps({"format": "tapool-trace", "version": 1, "meta": {"name": "nine", "kind": "device"},
                  "streams": [{"id": i, "device": i} for i in range(9)],
                  "events": [{"op": "alloc", "id": i, "size": 1 << 20, "stream": i} for i in range(9)]}))
END
    ok replay_once nine.json -s arena --export-svg x.svg -f
    seen x.svg 'len(charts), charts[7].title, remarks' "(8, 'nine: memory over time, device 7', ['1 more device not drawn'])"
}

# heaps REPLAY...: the picture of the heaps says and draws what the JSON of the same replay has.
heaps() {
    ok replay_once "$@" --export-svg-heap h.svg --export-json h.json -f
    python3 "$CLI/svg_heap_check.py" h.svg h.json >found 2>&1 || fail "$(cat found)"
}

# of_heaps EXPRESSION VALUE: of the charts and the themes of that picture.
of_heaps() {
    local got
    got=$(python3 -c 'import sys
sys.path.insert(0, sys.argv[1])
import svg_heap_check
charts, themes, remarks = svg_heap_check.parse("h.svg")
print(eval(sys.argv[2]))' "$CLI" "$1") || fail "$1" || return 1
    [ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

# bats test_tags=nightly
@test "the heap at the peak: every kind at its length, told apart without colours, small for any heap" {
    heaps "$TAPOOL_ROOT/tests/data/pytorch/training-step.pickle.gz" -s torch -s arena -s lru -s direct --capacity 4GiB --no-fits
    [ "$(cat found)" -eq 4 ]
    of_heaps 'sorted(themes)' "['dark', 'light']"
    heaps sample:jq -s arena -s bump -s lru -s system
    of_heaps 'charts[0].legend' "['live', 'cached', 'free', 'dead', 'internal']"
    of_heaps 'charts[0].texts[-1]' 'Not drawn, as nothing says what lies where: system.'
    captured_trace >rich.json
    heaps rich.json sample:sqlite -s arena -s direct
    of_heaps '[len(c.heaps) for c in charts]' '[2, 2, 2]'
    heaps sample:redis -s direct -s arena
    [ "$(stat -c %s h.svg)" -lt 102400 ]
    # a picture that says something else than the result is seen, in words as in lengths
    sed -E 's/[0-9.]+ MiB live/1 MiB live/g' h.svg >bad.svg
    not python3 "$CLI/svg_heap_check.py" bad.svg h.json
    python3 -S -E - <<'END'
import re
text = open("h.svg").read()
at = text.index('class="c0"', text.index('class="heap"')) # the live blocks of the first heap: most of their strokes go
d = re.compile(r' d="([^"]*)"').search(text, at)
open("bad.svg", "w").write(text[:d.start(1)] + re.sub(r"(h[\d.]+).*", r"\1", d.group(1)) + text[d.end(1):])
END
    not python3 "$CLI/svg_heap_check.py" bad.svg h.json
    ok replay sample:jq --passes usage --format json --export-svg-heap u.svg
    ok replay sample:jq --json --export-svg-heap v.svg
    cmp u.svg v.svg
}

@test "the heap of who failed before the peak is that of its first failure; without frames there is none" {
    { echo '{"format": "tapool-trace", "version": 1, "meta": {"kind": "device"}}'
      for i in {1..40}; do echo '{"op": "alloc", "id": '"$i"', "size": 3000000}'; done; } >full.jsonl
    heaps full.jsonl -s arena -s torch --capacity 64MiB --on-oom stop
    of_heaps '[h.figures.split("; ")[1][:9] for h in charts[0].heaps]' "['1 request', '1 request']"
    heaps full.jsonl -s arena -s torch --capacity 64MiB
    ok replay_once full.jsonl -s arena --frames 0 --export-svg-heap h.svg -f
    of_heaps 'charts[0].texts[-1]' 'Not drawn, as nothing says what lies where: arena.'
    sed 's|"kind"|"name": "</svg><script>alert(1)</script>\&amp;\\u202e", "kind"|' full.jsonl >hostile.jsonl
    heaps hostile.jsonl -s arena
    of_heaps 'charts[0].title.startswith("</svg><script>alert(1)</script>&amp;")' True
    many=()
    for i in $(seq 10); do many+=(-s "n$i=arena"); done
    ok replay_once full.jsonl "${many[@]}" --export-svg-heap h.svg -f
    of_heaps '(len(charts[0].heaps), remarks)' "(8, ['2 more heaps not drawn'])"
}
