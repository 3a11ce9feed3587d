#!/usr/bin/env bats
# The views of a page by keys, at the moments of the heap, on paper and of short traces (tests/browser/view_checks.py).

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

setup() {
    enter_folder
    needs_pages
}

@test "a trace of few events has whole events on its axes, and a policy any name" {
    { echo '{"format": "tapool-trace", "version": 1, "meta": {"name": "one"}}'
      echo '{"op": "alloc", "id": 1, "size": 4096}'; } >one.jsonl
    { cat one.jsonl; echo '{"op": "alloc", "id": 2, "size": 409600}'; echo '{"op": "free", "id": 1}'
      echo '{"op": "free", "id": 2}'; } >four.jsonl
    for name in one four; do
        ok play_once $name.jsonl -s __proto__=arena -s constructor=lru --export-html $name.html
    done
    looked_at one.html four.html --once
    noticed four.html <<'END'
s/Math.max\(1, nice\(/Math.max(0.1, nice(/
s/const keyOf = i => "line " \+ i/const keyOf = i => what.lines[i].name.split(":")[0]/
END
}

@test "the checks of views can fail" {
    ok play_once sample:sqlite -s arena -s lru --export-html a.html
    looked_at a.html --once
    noticed a.html <<'END'
s/ArrowLeft: e =>/ArrowUp: e =>/
s/"\+": \(\) => zoom\(0.5\)/"+": () => zoom(1)/
s/"0": seeAll/"0": () => 0/
s/role: "application"/role: ""/
s/"aria-live": "polite", id/"aria-live": "off", id/
s/x < low \|\| x > high \?/x < low ?/
s/ticks: page.ticks.events/ticks: page.ticks.bytes/
s/1 - curve\[share.part\]/1.01 - curve[share.part]/
s/resident, "resident", \{ name/resident, "events", { name/
s/list.push\(\.\.\.read/list.push(...[]/
s/of.read && at < event/of.read \&\& at > event/
s/note: "as last read"/note: "as read"/
s/"aria-valuetext"/"aria-text"/
s/page.moment.hear\(/(() => 0)(/
s/piece.parts\[0\], 0\)/piece.size, 0)/
s/details => details.open = true/details => details.open/
s/^\.paper main \{ width: 700px/.paper main { width: 900px/
s/, .chart canvas ~ canvas//
END
}
