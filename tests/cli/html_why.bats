#!/usr/bin/env bats
# The pages of why, tune and predict. A real browser looks at them where there is one (tests/browser/page_check.py), and
# their figures are those of the JSON written in the same run.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load browser

DATA=$TAPOOL_ROOT/tests/data/pytorch
CORPUS=$TAPOOL_ROOT/../shared/corpus/pytorch

setup() {
    enter_folder
    needs_pages
}

oom() { python3 "$CLI/oom_snapshot.py" "$1" >"$1.pickle"; }

# pages COMMAND FILE... [OPTION]...: writes page.html and result.json, anew.
pages() {
    ok "$TAPOOL" "$@" --export-html page.html --export-json result.json --force || return 1
    [ "$(stat -c %s page.html)" -lt 3000000 ] || fail "$(stat -c %s page.html) bytes"
}

# compared_at [--once]: the browser finds nothing wrong, nor figures that are not those of the JSON.
compared_at() {
    looked_at page.html --json result.json "$@" || return 1
    matches compared '^[1-9][0-9]* figures compared'
}

@test "why: out of memory, in every width and theme" {
    oom fragmented
    pages why fragmented.pickle
    lacks page.html "$PWD"
    grep -qx '<pre>tapool why fragmented.pickle --export-json result.json --export-html page.html --force</pre>' page.html
    ok "$TAPOOL" why fragmented.pickle --format html
    matches "$out" '^<!DOCTYPE html>'
    compared_at
}

# bats test_tags=nightly
@test "why: several devices, segments that grow, a request that is too big" {
    oom two
    pages why two.pickle
    [ "$(grep -c '<article>' page.html)" -eq 2 ]
    compared_at --once
    pages why two.pickle --device 1
    compared_at --once
    oom growing
    pages why growing.pickle --depth 3 --by age
    compared_at --once
}

# bats test_tags=nightly
@test "a screenshot has every chart of a page, which is drawn without being scrolled" {
    needs_browser
    cp "$DATA/training-step.pickle.gz" "$DATA/complete-small.pickle" .
    ok replay_once training-step.pickle.gz -s torch -s lru --no-fits --bound-time 0 --export-html replay.html
    ok "$TAPOOL" compare sample:jq -s arena -s lru --rounds 3 --export-html compare.html
    device_trace >a.json
    ok "$TAPOOL" check a.json -s arena -s lru --update
    capture "$TAPOOL" check --pairs 13 --base-strategy lru --export-html check.html
    [ "$rc" -le 1 ]
    grep -q 'data-view="times"' check.html
    ok "$TAPOOL" info training-step.pickle.gz --export-html info.html
    ok "$TAPOOL" why training-step.pickle.gz --export-html why.html
    sanitized && cp why.html pages.html ||
        ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc arena --try-time 0 --export-html pages.html
    ok "$TAPOOL" tune complete-small.pickle --grid 'max_split_size_mb:default|32' --export-html tune.html
    ok "$TAPOOL" predict "${runs[@]:0:2}" --at 1024 --export-html predict.html
    shot() { python3 "$CLI/../browser/page_shot.py" "$@" >found 2>errors; }
    shot {replay,compare,check,info,why,pages,tune,predict}.html || fail "$(cat found errors)"
    # neither idle time nor the load draws anything
    sed 's/addEventListener("load"/addEventListener("never"/' replay.html >bad.html
    not shot bad.html
    grep -q 'never drawn while idle: latency' found
}

# bats test_tags=nightly
@test "why: no out of memory, no event yet, no events at all" {
    pages why "$DATA/training-step.pickle.gz"
    compared_at
    oom fragmented
    pages why fragmented.pickle --at 0
    compared_at --once
    python3 "$CLI/snapshot.py" state >state.pickle
    pages why state.pickle
    compared_at --once
    for file in "$CORPUS"/{ring-wrapped.pickle.gz,newest-format.pickle}; do
        [ -f "$file" ] || continue
        pages why "$file"
        compared_at --once
    done
}

@test "why: the map and the curve are exact" {
    oom fragmented
    pages why fragmented.pickle
    python3 - <<'END'
import base64, itertools, json, re
page = json.loads(re.search(r'id="data">(.*?)</script>', open("page.html").read(), re.S).group(1))
d = page["devices"][0]
MIB = 1 << 20
curve = {name: list(itertools.accumulate(v)) for name, v in d["page"]["devices"][0]["recorded"].items()}
at = dict(zip(curve["events"], zip(curve["requested"], curve["reserved"])))
assert at[0] == (0, 0) and at[1] == (0, 60 * MIB) and at[4] == (160 * MIB, 160 * MIB), at
assert at[15] == (100 * MIB, 160 * MIB) and curve["ns"][0] == 0 and curve["ns"][-1] == 3500000, curve
frames = d["page"]["frames"]
numbers, value, shift = [], 0, 0
for byte in base64.b64decode(frames["born"]):
    value |= (byte & 127) << shift
    shift = shift + 7 if byte & 128 else 0
    if not byte & 128:
        numbers.append(value)
        value = 0
# pairs: how far the number of a block is above the one before it, and the event that allocated it
assert numbers == [1, 2, 1, 8, 1, 10], numbers
# one block is in the way: 4 MiB behind the first hole of the second segment
assert frames["marks"] == [[(60 + 30) * MIB, 4 * MIB]], frames["marks"]
END
}

# bats test_tags=nightly
@test "why: places and names stay text" {
    oom fragmented
    name=$'a\'<b>&"\u202e.pickle'
    python3 - "$name" <<'END'
import pickle, sys
snapshot = pickle.load(open("fragmented.pickle", "rb"))
bad = "</script><script>document.title=1//\"<img src=x onerror=document.title=2>&lt;!--\u202e"
for events in snapshot["device_traces"]:
    for event in events:
        for frame in event["frames"]:
            frame["name"] += bad
pickle.dump(snapshot, open(sys.argv[1], "wb"), protocol=4)
END
    pages why "$name"
    [ "$(grep -c '</script' page.html)" -eq "$(grep -c '^</script>$\|id="data">.*</script>$' page.html)" ]
    lacks page.html '<img'
    lacks page.html $'\u202e'
    compared_at
    pages tune "$name" --grid max_split_size_mb:64
    lacks page.html '<b>&"'
    compared_at --once
}

# bats test_tags=nightly
@test "why: a heap of many blocks fits, whatever they are called" {
    python3 - <<'END'
import pickle
def block(address, i):
    return {"address": address, "size": 512, "requested_size": 500, "state": "inactive" if i % 3 == 0 else "active_allocated",
            "frames": [{"filename": "<&>" * 30 + ".py", "line": i % 5000, "name": "f"}]}
segments = [{"device": s % 4, "address": (s + 1) << 24, "total_size": 512 * 200, "stream": 0, "segment_type": "small",
             "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
             "blocks": [block(((s + 1) << 24) + 512 * i, s * 200 + i) for i in range(200)]} for s in range(400)]
pickle.dump({"segments": segments, "device_traces": [], "allocator_settings": {}}, open("big.pickle", "wb"), protocol=4)
END
    pages why big.pickle
    [ "$(grep -c '<article>' page.html)" -eq 4 ]
    python3 - <<'END'
import json, re
page = json.loads(re.search(r'id="data">(.*?)</script>', open("page.html").read(), re.S).group(1))
assert all(d["page"]["frames"]["devices"][0] for d in page["devices"])
END
}

@test "why of a host trace: the map of pages, its slider and the parts over time" {
    sanitized && skip "a sanitizer has a malloc of its own"
    TAPOOL_LIBRARY_PATH=$PWD pages why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc glibc --try-time 0
    compared_at
    ok "$TAPOOL" why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc arena --try-time 0 --format html
    matches "$out" '^<!DOCTYPE html>'
}

# bats test_tags=nightly
@test "why of a host trace: cells of several pages, sites, alternatives, and many moments" {
    sanitized && skip "a sanitizer has a malloc of its own"
    local survivors=${TAPOOL_SURVIVORS:-$(dirname "$TAPOOL")/tests/survivors}
    export TAPOOL_LIBRARY_PATH=$PWD
    "$TAPOOL" record -o s.tpt --stacks 4 -- "$survivors" >knows 2>said || fail "$(cat said)"
    pages why s.tpt --malloc glibc
    matches page.html '"cell_pages":4,'
    compared_at --cells
    pages why s.tpt --malloc glibc --try-time 0 --frames 63
    matches page.html '"cell_pages":16,'
    compared_at --once
    pages why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc glibc --try-time 0 --at 0 --by age
    compared_at --once
}

@test "tune: settings, chart and files" {
    cp "$DATA/complete-small.pickle" "$DATA/training-step.pickle.gz" .
    pages tune complete-small.pickle --capacity 8GiB
    compared_at
    pages tune complete-small.pickle training-step.pickle.gz --capacity 3.7GiB \
        --grid 'max_split_size_mb:default|32|128,roundup_power2_divisions:default|4'
    compared_at --once
    pages tune complete-small.pickle --grid 'expandable_segments:True,max_split_size_mb:32'
    matches page.html '(^|<p>)!: '
    compared_at --once
    pages tune complete-small.pickle
    matches page.html 'per_process_memory_fraction.* needs the device'
    compared_at --once
    ok "$TAPOOL" tune complete-small.pickle --grid max_split_size_mb:32 --format html
    matches "$out" '^<!DOCTYPE html>'
}

runs=("$TAPOOL_ROOT"/tests/data/h200/gpt-train-ctx{128.pickle.zst@ctx=128,256.pickle.zst@ctx=256,512.pickle.zst@ctx=512})

@test "predict: the answer, the curve and the sites" {
    pages predict "${runs[@]}" --at 1024 --fits 8GiB
    compared_at
    pages predict "${runs[@]:0:2}" --fits 8GiB
    compared_at --once
    pages predict "${runs[@]:1:2}" --at 64
    compared_at --once
    ok "$TAPOOL" predict "${runs[@]}" --at 1024 --format html
    matches "$out" '^<!DOCTYPE html>'
    capture "$TAPOOL" predict "${runs[1]/256.pickle/1024.pickle}" "${runs[2]}" --at 2048 --export-html none.html
    [ "$rc" -eq 3 ] && [ ! -e none.html ]
    matches "$err" 'no curve to draw: there is no prediction$'
}

@test "why: of a trace that was predicted" {
    ok "$TAPOOL" predict "${runs[@]:1}" --at 1024 -o p.tpt
    pages why p.tpt --capacity 2GiB
    compared_at --once
}

# bats test_tags=nightly
@test "predict: as many sites as a page holds" {
    python3 "$CLI/made_runs.py" 64 sites=8000 >64.jsonl
    python3 "$CLI/made_runs.py" 128 sites=8000 >128.jsonl
    pages predict 64.jsonl@64 128.jsonl@128 --at 512
    matches page.html '[0-9,]+ sites more: --json'
}

@test "files are looked at before any work" {
    oom fragmented
    echo mine >page.html
    for command in why tune; do
        refused 2 "'page.html' exists" "$TAPOOL" $command fragmented.pickle --export-html page.html
        refused 2 "'page.html' exists" "$TAPOOL" $command missing.pickle --export-json page.html
        refused 2 'needs a file' "$TAPOOL" $command fragmented.pickle --export-html -
        refused 2 'name the same file' "$TAPOOL" $command fragmented.pickle --export-html x --export-json x
    done
    [ "$(cat page.html)" = mine ]
}

@test "files are there though nobody reads on what is printed" {
    oom fragmented
    for command in why tune info; do
        "$TAPOOL" $command fragmented.pickle --format html --export-json $command.json | head -c 1 >/dev/null || true
        [ -s $command.json ] || fail "$command wrote no file"
    done
}

# bats test_tags=nightly
@test "tune: of more settings than a page holds those stay that the answer names, then the lowest peaks" {
    sanitized && skip "minutes under a sanitizer"
    cp "$DATA/complete-small.pickle" .
    local zeros grids=()
    zeros=$(printf '0%.0s' {1..900})
    for i in {1..5}; do
        grids+=(--grid "garbage_collection_threshold:0.$i${zeros}1,max_split_size_mb:$(seq -s '|' 21 300)")
    done
    pages tune complete-small.pickle "${grids[@]}"
    matches page.html '^<p>And [0-9,]+ more settings would make the page too large: --export-json has them\.</p>$'
    looked_at page.html --figures --json result.json
}

# bats test_tags=nightly
@test "the check of the page of a host trace can fail" {
    sanitized && skip "a sanitizer has a malloc of its own"
    TAPOOL_LIBRARY_PATH=$PWD pages why "$TAPOOL_ROOT/traces/samples/sqlite.json" --malloc glibc --try-time 0
    compared_at --once --cells
    noticed page.html --json result.json <<'END'
s/page.view\("page-map"/page.view("nothing"/
s/page.view\("page-parts"/page.view("nothing"/
s/(<td class="n">)([0-9.]+ KiB)/\19\2/
s/"live_bytes":([0-9])/"live_bytes":9\1/
s/("cells":"....)./\1C/
s/page.chosen.hear\(figure, event => move/page.chosen.hear(figure, event => (x => x)/
s/ArrowRight: \(\) => choose\(chosen \+ 1\), ArrowUp: \(\) => row\(-1\), ArrowDown: \(\) => row\(1\),//
s/chosen < 0 \? draw\(\) : choose\(chosen\);/;/
s/slider.value = at;/at = last;/
END
}

# bats test_tags=nightly
@test "the checks of these pages can fail" {
    oom fragmented
    cp "$DATA/complete-small.pickle" .
    pages why fragmented.pickle
    compared_at --once --cells
    mv page.html why.html && mv result.json why.json
    pages tune complete-small.pickle --grid 'max_split_size_mb:32|64' --capacity 3.7GiB
    compared_at --once --cells
    mv page.html tune.html && mv result.json tune.json
    noticed why.html --json why.json <<'END'
s/page.view\("recorded"/page.view("nothing"/
s/page.view\("heap"/page.view("nothing"/
s/<td class="n">60 MiB/<td class="n">61 MiB/
s/(largest free block for it: <b>)30/\131/
s/<dd class="bad">Fragmented/<dd class="bad">Refused/
/<dl class="figures">/,/<\/dl>/s/(<dd class="[a-z]*">[+-]?)([0-9])/\19\2/
s/"reserved":\[0,62914560/"reserved":[0,62914561/
s/--soft: #595959/--soft: #d0d0d0/
END
    noticed tune.html --json tune.json <<'END'
s/page.view\("trade"/page.view("nothing"/
s/class="n">3.041 GiB/class="n">3.042 GiB/
s/\[back, on\] = /[on, back] = /
s/^max_split_size_mb:64</max_split_size_mb:65</
s/ and 1 equal setting</ and 2 equal settings</
s/(<dd class="code">.*):32/\1:33/
/<dl class="figures">/,/<\/dl>/s/(<dd class="[a-z]*">[+-]?)([0-9])/\19\2/
END
    pages predict "${runs[@]}" --at 1024
    compared_at --once --cells
    mv page.html predict.html && mv result.json predict.json
    noticed predict.html --json predict.json <<'END'
s/<td class="n">2.018 GiB/<td class="n">2.019 GiB/
s/(<circle cx="[0-9.]+" cy=")([0-9]+)/\16\2/
s/128: 521.5 MiB, recorded/128: 521.5 MiB/
s/1.841 GiB   event/1.842 GiB   event/
s/>1.898 GiB/>1.899 GiB/
/<dl class="figures">/,/<\/dl>/s/(<dd class="[a-z]*">[+-]?)([0-9])/\19\2/
END
}
