#!/usr/bin/env bats
# The views of a page by keys, at the moments of the heap, on paper and of short traces (tests/browser/view_checks.py).

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load browser

setup() {
    enter_folder
    needs_pages
}

@test "a trace of few events has whole events on its axes, and a strategy any name" {
    { echo '{"format": "tapool-trace", "version": 1, "meta": {"name": "one"}}'
      echo '{"op": "alloc", "id": 1, "size": 4096}'; } >one.jsonl
    { cat one.jsonl; echo '{"op": "alloc", "id": 2, "size": 409600}'; echo '{"op": "free", "id": 1}'
      echo '{"op": "free", "id": 2}'; } >four.jsonl
    for name in one four; do
        ok replay_once $name.jsonl -s __proto__=arena -s constructor=lru --export-html $name.html
    done
    looked_at one.html four.html --once
    noticed four.html <<'END'
s/Math.max\(1, nice\(/Math.max(0.1, nice(/
s/const keyOf = i => "line " \+ i/const keyOf = i => what.lines[i].name.split(":")[0]/
END
}

@test "the checks of views can fail" {
    ok replay_once sample:sqlite -s arena -s lru --export-html a.html
    looked_at a.html --once
    noticed a.html <<'END'
s/ArrowLeft: e =>/ArrowUp: e =>/ ## fragmentation left goes to row
s/"\+": \(\) => zoom\(0.5\)/"+": () => zoom(1)/ ## latency \+ shows
s/role: "application"/role: ""/ ## role, name, place and text \['',
s/under.setAttribute\("aria-live", "polite"\)/under.setAttribute("aria-live", "off")/ ## 'off'\]
s/ticks: page.ticks.events/ticks: page.ticks.bytes/ ## fragmentation has the events \['0 B'
s/1 - curve\[share.part\]/1.01 - curve[share.part]/ ## fragmentation is drawn as
s/resident, "resident", \{ name/resident, "events", { name/ ## arena: resident is at most [0-9]+ and not
s/"aria-valuetext"/"aria-text"/ ## the slider of the heap stays
s/page.moment.hear\(/(() => 0)(/ ## At the trace peak
s/details => details.open = true/details => details.open/ ## closed on paper
s/^\.paper main \{ width: 700px/.paper main { width: 900px/ ## cut on paper
s/, .chart canvas ~ canvas// ## covered on paper

s/"0": seeAll/"0": () => 0/ ## latency 0 shows
s/x < low \|\| x > high \?/x < low ?/ ## a point at None is not in
s/list.push\(\.\.\.read/list.push(...[]/ ## arena: resident is at most None
s/piece.parts\[0\], 0\)/piece.size, 0)/ ## the areas are of After event

s/of.read && at < event/of.read \&\& at > event/ ## memory says event 1,

s/note: "as last read"/note: "as read"/ ## arena: resident is at most None
END
}

@test "the checks of live memory by site over time can fail" {
    ok replay_once "$TAPOOL_ROOT/tests/data/pytorch/complete-small.pickle" -s torch -s arena --export-html a.html --export-json a.json
    looked_at a.html --once --json a.json
    noticed a.html --json a.json <<'END'
s/page.values\(bytes\[i\]\)/page.values(bytes[0])/ ## site-curve says
s/page.stretch.tell\(figure, now\)/now/ ## a chart shows
s/page.chosen.hear\(/(() => 0)(/ ## the map does not follow

s/values\[i\] = sum \+= isShown/values[i] = 1 + (sum += isShown/;s/\? values\[i\] : 0;$/? values[i] : 0);/ ## site-curve reaches
s/page.point.tell\(figure/(() => 0)(figure/ ## a chart speaks of

s/sum \+= isShown\(what.lines\[i\]\)/sum += true/ ## an area that is hidden
END
}

# hovered PAGE TRACE POINTS: what differs between the points of memory over time and the trace is in `found`.
hovered() { python3 "$CLI/../browser/hover_places.py" "$@" >found 2>errors || fail "$(cat found errors)"; }

# named_right PAGE TRACE POINTS: nothing does.
named_right() {
    hovered "$@"
    [ ! -s found ] || fail "$1: $(cat found)"
}

@test "a point of memory over time names who asked for what changed there, or for what is freed" {
    needs_browser
    local data="$TAPOOL_ROOT/tests/data/pytorch" name change
    for name in complete-small.pickle training-step.pickle.gz; do
        ok "$TAPOOL" convert "$data/$name" -o trace.jsonl -f
        ok replay_once "$data/$name" -s torch -s arena --export-html replay.html -f
        named_right replay.html trace.jsonl 40
        ok "$TAPOOL" info "$data/$name" --export-html info.html -f
        named_right info.html trace.jsonl 20
    done
    ok "$TAPOOL" info "$data/$name" trace.jsonl --export-html pair.html
    named_right pair.html trace.jsonl 20
    ok replay_once trace.jsonl -s torch -s arena --export-html replay.html -f
    named_right replay.html trace.jsonl 20
    while read -r change; do
        sed -E "$change" replay.html >bad.html
        not cmp -s replay.html bad.html || fail "changes nothing: $change"
        hovered bad.html trace.jsonl 20
        [ -s found ] || fail "not seen: $change"
    done <<'END'
s/value % 2 !== freed/value % 2 === freed/
s/places.texts\[Math.floor\(value/places.texts[1 + Math.floor(value/
s/freed = page.frames.freedOf\(run, event\)/freed = page.frames.freedOf(run, event + 1)/
END
}
