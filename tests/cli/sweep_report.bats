#!/usr/bin/env bats
# The answers of tapool sweep --report. Stores are those of made_store.py, which computes from the tables, cell by cell,
# what the answers have to be.

# shellcheck disable=SC2154 # out, err and rc come from common.bash
load common
load browser

SCHEMA=$TAPOOL_ROOT/cmd/sweep/sweep.schema.json

setup() {
    enter_folder
    ok "$TAPOOL" sweep sample:jq -s bump -o empty.sqlite
}

# filled STORE TRACES SETTINGS [KEY=VALUE]...
filled() {
    cp empty.sqlite "$1"
    python3 -S -E "$CLI/made_store.py" fill "$@"
}

# right STORE OPTION...: the JSON and the CSV of the answers are those that are computed here.
right() {
    local store=$1
    shift
    ok "$TAPOOL" sweep --report "$store" "$@" --json || return 1
    cp "$out" answers.json
    python3 -S -E "$CLI/made_store.py" expect "$store" answers.json || return 1
    ok "$TAPOOL" sweep --report "$store" --format csv || return 1
    python3 -S -E "$CLI/made_store.py" csv "$store" "$out"
}

@test "answers of stores with failures, gaps, times, unknown packings, and of very few rows" {
    filled a.sqlite 30 40 failed=2
    right a.sqlite --metric peak_reserved --metric driver_calls.total --metric hit_rate
    is answers.json '[len(a["fronts"]) for a in d["answers"]]' '[1, 0, 1]'
    is answers.json 'all(a["effects"] and len(a["profiles"]) == 4 for a in d["answers"])' True
    filled a.sqlite 40 60 failed=1 missing=1 seed=4
    right a.sqlite
    is answers.json '0 < d["answers"][0]["settings_competing"] < 60' True
    filled a.sqlite 12 100 timed=1 unsolved=300 unbound=300
    right a.sqlite --metric peak_reserved --metric ns_per_op
    is answers.json 'd["machine"], [len(a["fronts"]) for a in d["answers"]]' "('box', [2, 1])"
    is answers.json '0 < d["answers"][0]["traces_over_lower_bound"] < 12' True
    filled a.sqlite 3 70
    right a.sqlite # more settings than the heat map has columns
    filled a.sqlite 250 3
    right a.sqlite # more traces than it has rows
    is answers.json 'len(d["answers"][0]["heat_map"]["traces"])' 200
    filled a.sqlite 1 3
    right a.sqlite
    filled a.sqlite 3 1
    right a.sqlite
    filled a.sqlite 2 40 failed=900
    right a.sqlite
    is answers.json 'd["answers"][0]["best"]["setting"]' None
    ok "$TAPOOL" sweep --report a.sqlite
    matches "$out" '^No setting has all traces without a failure\.$'
}

@test "a planted error in what is expected is found" {
    filled a.sqlite 10 20
    ok "$TAPOOL" sweep --report a.sqlite --export-json a.json --export-csv a.csv
    sed 's/"within_1_percent":[[:space:]]*\([0-9]\)/"within_1_percent": 1\1/' a.json >b.json
    capture python3 -S -E "$CLI/made_store.py" expect a.sqlite b.json
    [ "$rc" -eq 1 ]
    sed '5s/,\([0-9]\)/,1\1/' a.csv >b.csv
    capture python3 -S -E "$CLI/made_store.py" csv a.sqlite b.csv
    [ "$rc" -eq 1 ]
}

@test "the JSON follows its schema" {
    filled a.sqlite 30 40 failed=2 timed=1
    python3 -S -E "$CLI/hostile_store.py" failures a.sqlite
    ok "$TAPOOL" sweep --report a.sqlite --json
    cp "$out" a.json
    schema shape "$SCHEMA"
    schema shared "$TAPOOL_ROOT/cmd/info/info.schema.json" "$SCHEMA"
    schema valid "$SCHEMA" a.json
    schema mutants "$SCHEMA" a.json
    schema covered "$SCHEMA" a.json
}

@test "the screen: the best first, and what is left out" {
    filled a.sqlite 12 20
    ok "$TAPOOL" sweep --report a.sqlite
    golden sweep-report <"$out"
    # of several tapools and machines those of the newest row
    python3 -S -E - <<'END'
import sqlite3
db = sqlite3.connect("a.sqlite")
db.execute("UPDATE cells SET tool = 'old' WHERE id <= 20")
db.execute("UPDATE cells SET machine = 'far' WHERE id BETWEEN 21 AND 30")
db.execute("UPDATE cells SET machine = 'near' WHERE id > 235")
db.execute("UPDATE cells SET peak_reserved = -1 WHERE id IN (100, 101)")
db.execute("INSERT OR REPLACE INTO sweep VALUES ('plan cells', '480')")
db.commit()
END
    ok "$TAPOOL" sweep --report a.sqlite
    matches "$out" '^a\.sqlite: 12 traces x 20 settings, 210 of 480 cells, no failures$'
    matches "$out" '^Replayed by tapool abc-1; times of near$'
    matches "$out" '^Left out: 20 cells of another tapool; 10 cells measured on another machine; 2 values not a'
    ok "$TAPOOL" sweep --report a.sqlite --json
    is "$out" 'd["left_out"]' "{'other_tools': 20, 'other_machines': 10, 'unknown': 0, 'older': 0, 'invalid_values': 2}"
}

@test "the newest of two cells of one trace and setting counts" {
    filled a.sqlite 6 10
    cp a.sqlite b.sqlite
    python3 -S -E - <<'END'
import sqlite3
db = sqlite3.connect("b.sqlite")
db.execute("CREATE TEMP TABLE t AS SELECT * FROM cells WHERE id = 7")
db.execute("UPDATE t SET id = 1000, name = x'00'")
db.execute("INSERT INTO cells SELECT * FROM t")
db.execute("UPDATE cells SET peak_reserved = 10 * peak_reserved WHERE id = 7")
db.commit()
END
    ok "$TAPOOL" sweep --report a.sqlite --format csv
    cp "$out" a.csv
    ok "$TAPOOL" sweep --report b.sqlite --format csv
    cmp a.csv "$out"
    ok "$TAPOOL" sweep --report b.sqlite --json
    is "$out" 'd["left_out"]["older"]' 1
}

@test "failures: at most ten are listed, and such settings are not the best" {
    filled a.sqlite 20 10
    ok "$TAPOOL" sweep --report a.sqlite --json
    best=$(query "$out" 'd["answers"][0]["best"]["setting"]')
    BEST=$best python3 -S -E - <<'END'
import os
import sqlite3
db = sqlite3.connect("a.sqlite")
path = db.execute("SELECT path FROM traces WHERE id = 4").fetchone()[0]
db.execute("INSERT INTO failures VALUES (?, ?, 'usage', 4, 'timed out')", (path, os.environ["BEST"]))
for i in range(12):
    db.execute("INSERT INTO failures VALUES (?, '', '', 3, 'is damaged')", ("/bad/%02d.tpt" % i,))
db.commit()
END
    ok "$TAPOOL" sweep --report a.sqlite
    lacks "$out" "^Best setting for all traces: $best\$"
    matches "$out" '^Best setting for all traces: '
    matches "$out" '^  1 setting failed on a trace and cannot be the best\.$'
    matches "$out" '^  /bad/00\.tpt: is damaged$'
    matches "$out" '^  3 failures not shown: --export-json has all$'
    [ "$(grep -c 'is damaged' "$out")" -eq 10 ]
    ok "$TAPOOL" sweep --report a.sqlite --json
    is "$out" 'd["failure_count"], len(d["failures"])' '(13, 13)'
    is "$out" '[s["failed"] for s in d["answers"][0]["settings"]]' '[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]'
}

@test "stores with the same cells give the same bytes, in whatever order they were computed" {
    filled a.sqlite 12 20
    cp a.sqlite b.sqlite
    python3 -S -E - <<'END'
import sqlite3
db = sqlite3.connect("b.sqlite")
db.executescript("""
    UPDATE cells SET id = -id; UPDATE cells SET id = 5000 + (-id * 7919) % 1009;
    UPDATE cells SET trace = trace + 100, setting = 200 - setting, seconds = 77;
    UPDATE options SET setting = 200 - setting;
    UPDATE settings SET id = -id; UPDATE settings SET id = 200 + id;
    UPDATE traces SET id = id + 100;""")
db.commit()
END
    for form in csv json svg; do
        ok "$TAPOOL" sweep --report a.sqlite --export-$form a.$form
        mv a.sqlite c.sqlite
        mv b.sqlite a.sqlite
        ok "$TAPOOL" sweep --report a.sqlite --export-$form b.$form
        mv a.sqlite b.sqlite
        mv c.sqlite a.sqlite
        cmp a.$form b.$form
    done
}

@test "stores that somebody else made are refused, or what is wrong in them is left out" {
    local name
    for name in $(python3 -S -E "$CLI/hostile_store.py" names); do
        filled a.sqlite 20 30
        python3 -S -E "$CLI/hostile_store.py" "$name" a.sqlite
        capture timeout 60 "$TAPOOL" sweep --report a.sqlite -f --metric peak_reserved --metric driver_calls.total \
            --export-csv h.csv --export-json "h-$name.json" --export-svg h.svg
        echo "$name $rc" >>codes
        [ "$rc" -eq 0 ] || one_sentence "$err"
    done
    schema valid "$SCHEMA" h-*.json
    grep -vE ' (0|3)$' codes && fail "$(cat codes)"
    [ "$(grep -c ' 3$' codes)" -eq 10 ] || fail "$(cat codes)"
    refused 3 'a\.sqlite: its settings have more than 64 different options' "$TAPOOL" sweep --report a.sqlite
    filled a.sqlite 20 30
    python3 -S -E "$CLI/hostile_store.py" view a.sqlite
    refused 3 'a\.sqlite: its tables are not those of a store of a sweep' "$TAPOOL" sweep --report a.sqlite
    filled a.sqlite 20 30
    python3 -S -E "$CLI/hostile_store.py" markup a.sqlite
    ok "$TAPOOL" sweep --report a.sqlite --export-svg m.svg --export-csv m.csv
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("m.svg")'
    matches m.csv ",'=cmd"
}

# bats test_tags=nightly
@test "damaged files are refused or read, without a crash" {
    local seed
    filled a.sqlite 20 30
    for seed in {1..40}; do
        cp a.sqlite b.sqlite
        python3 -S -E "$CLI/hostile_store.py" flip b.sqlite "$seed"
        capture timeout 60 "$TAPOOL" sweep --report b.sqlite -f --export-csv h.csv --export-svg h.svg
        [[ $rc = @(0|3|4) ]] || fail "seed $seed: exit code $rc" "$(cat "$err")"
    done
}

@test "metrics and files that cannot be had are refused before any work" {
    filled a.sqlite 5 5
    refused 2 "unknown metric 'peak_reservd'" "$TAPOOL" sweep --report a.sqlite --metric peak_reservd
    refused 3 "no cell has the metric 'ns_per_op'" "$TAPOOL" sweep --report a.sqlite --metric ns_per_op
    matches "$err" '^hint: it is measured by --passes throughput$'
    echo mine >a.csv
    refused 2 "a.csv" "$TAPOOL" sweep --report a.sqlite --export-csv a.csv
    [ "$(cat a.csv)" = mine ]
}

# bats test_tags=nightly
@test "the page shows the figures of the JSON" {
    needs_pages
    filled a.sqlite 40 50 failed=1 timed=1
    ok "$TAPOOL" sweep --report a.sqlite --metric peak_reserved --metric ns_per_op --export-html a.html --export-json a.json
    looked_at a.html --json a.json
    noticed a.html --json a.json <<'END'
s/Best setting for all traces: [a-z]/&x/ ## not said: Best setting
s@(<td[^>]*>)1\.@\12.@ ## ranking, .*stands there
s/class="h3" d="M[0-9]+/&9/ ## squares of other levels
s/<circle class/<g class/ ## dots of
END
}
