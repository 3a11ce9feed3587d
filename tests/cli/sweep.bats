#!/usr/bin/env bats
# tapool sweep: the plan, the cells, the store, shards, and what goes wrong. The answers: sweep_answers.bats.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

# traces COUNT: so many small traces in traces/.
traces() {
    mkdir -p traces
    for ((i = 1; i <= $1; i++)); do
        "$TAPOOL" gen random-replace --seed "$i" --count 400 -o "traces/t$i.tpt" >/dev/null
    done
}

# plan LINE...: plan.ini over traces/*.tpt.
plan() { printf '%s\n' '[sweep]' 'trace = traces/*.tpt' "$@" >plan.ini; }

# asked STORE SQL
asked() {
    python3 - "$@" <<END
import sqlite3, sys
for row in sqlite3.connect("file:%s?mode=${mode:-ro}" % sys.argv[1], uri=True).execute(sys.argv[2]):
    print("|".join("" if value is None else str(value) for value in row))
END
}

# computed N STORED: the numbers that the last sweep said.
computed() {
    matches "$out" "cells?: $1 computed in .*, $2 already stored, 0 failed"
}

@test "a cell has the figures of tapool replay, and is computed once" {
    traces 3
    plan 'strategy = arena:arena_size=1MiB|4MiB,classes=fine|coarse6' 'strategy = lru'
    ok "$TAPOOL" sweep plan.ini
    matches "$out" '^15 cells: 15 computed in .*, 0 already stored, 0 failed \(3 traces x 5 settings\)$'
    matches "$out" '^Next: tapool sweep --report plan.sqlite$'
    [ "$(asked plan.sqlite 'SELECT count(*), count(DISTINCT name) FROM cells')" = '15|15' ]
    while IFS='|' read -r trace setting peak calls; do
        "$TAPOOL" replay "$trace" -s "$setting" --passes usage --json >one.json
        python3 - one.json "$peak" "$calls" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
assert run["memory"]["peak_reserved_bytes"] == int(sys.argv[2]), run["memory"]
assert run["driver_calls"]["get"] == int(sys.argv[3]), run["driver_calls"]
END
        compared=$((${compared:-0} + 1))
    done < <(asked plan.sqlite 'SELECT trace, setting, peak_reserved, driver_calls_get FROM results')
    [ "$compared" -eq 15 ]
    [ "$(asked plan.sqlite "SELECT count(*) FROM tidy WHERE metric = 'peak_reserved'")" = 15 ]
    [ "$(asked plan.sqlite "SELECT value FROM options JOIN settings ON id = options.setting WHERE settings.setting = 'arena:arena_size=1MiB,classes=fine' ORDER BY name")" = "$(printf '1MiB\nfine')" ]
    ok "$TAPOOL" sweep plan.ini
    computed 0 15
    plan 'strategy = arena:arena_size=1MiB|4MiB|16MiB,classes=fine|coarse6' 'strategy = lru'
    ok "$TAPOOL" sweep plan.ini
    computed 6 15
    "$TAPOOL" gen random-replace --seed 77 --count 400 -o traces/t2.tpt -f >/dev/null
    ok "$TAPOOL" sweep plan.ini
    computed 7 14
    [ ! -e plan.sqlite-pending ]
}

@test "a sweep without a plan has the options of its command line" {
    traces 2
    ok "$TAPOOL" sweep 'traces/*.tpt' --exclude 't2*' -s 'lru:capacity_bytes=default|1MiB' -s bump -o out.sqlite -j 1
    matches "$out" '^3 cells: 3 computed in .*\(1 trace x 3 settings\)$'
    [ "$(asked out.sqlite 'SELECT setting FROM settings ORDER BY id')" = "$(printf '%s\n' lru 'lru:capacity_bytes=1MiB' bump)" ]
    [ "$(asked out.sqlite 'SELECT path FROM traces')" = traces/t1.tpt ]
}

@test "a plan is relative to its folder" {
    mkdir -p there
    cd there || return 1
    traces 1
    plan 'strategy = lru' 'store = its.sqlite'
    cd .. || return 1
    ok "$TAPOOL" sweep there/plan.ini
    [ "$(asked there/its.sqlite 'SELECT path FROM traces')" = traces/t1.tpt ]
    ok "$TAPOOL" sweep --cite there/plan.ini
    matches "$out" '^@software\{tapool,$'
    matches "$out" '^1 cell of 1 trace and 1 setting, computed with tapool [0-9.]+ \('
}

@test "torch:conf=tune is the grid of tapool tune, and a grid of its settings may be given" {
    "$TAPOOL" gen training-step --layers 2 -o step.tpt >/dev/null
    printf '%s\n' '[sweep]' 'trace = step.tpt' 'strategy = torch:conf=tune' >tune.ini
    ok "$TAPOOL" sweep tune.ini -n
    cells=$(sed -nE '1s/ cells.*//p' "$out")
    [ "$cells" -ge 50 ]
    [ ! -e tune.sqlite ]
    printf '%s\n' '[sweep]' 'trace = step.tpt' \
        'strategy = torch:conf={max_split_size_mb=default|64,roundup_power2_divisions=default|8}' \
        'capacity = 1GiB' 'capacity = 0' >torch.ini
    ok "$TAPOOL" sweep torch.ini
    computed 8 0
    [ "$(asked torch.sqlite 'SELECT count(*) FROM settings WHERE setting LIKE "%--capacity 1GiB"')" = 4 ]
    [ "$(asked torch.sqlite "SELECT count(*) FROM options WHERE name = 'max_split_size_mb' AND value = '64'")" = 4 ]
    [ "$(asked torch.sqlite "SELECT count(DISTINCT peak_reserved) > 0, min(lower_bound) > 0 FROM results")" = '1|1' ]
}

@test "settings of a malloc library are grids too" {
    traces 1
    ok "$TAPOOL" sweep traces/t1.tpt -s 'glibc:arena_max=1|2' -s system --passes resident -o m.sqlite
    computed 3 0
    [ "$(asked m.sqlite "SELECT name, value FROM options ORDER BY value")" = "$(printf 'arena_max|1\narena_max|2')" ]
    [ "$(asked m.sqlite 'SELECT count(*) FROM cells WHERE peak_resident > 0 AND machine != ""')" = 3 ]
}

@test "times are rows of their own, of this machine" {
    traces 2
    ok "$TAPOOL" sweep 'traces/*' -s lru -s bump --passes usage,throughput --min-time 1ms -o t.sqlite
    computed 8 0
    [ "$(asked t.sqlite "SELECT passes, count(*), count(peak_reserved), count(ns_per_op), count(nullif(machine, '')) FROM cells GROUP BY passes ORDER BY passes")" = "$(printf 'throughput|4|0|4|4\nusage|4|4|0|0')" ] ||
        fail "$(asked t.sqlite 'SELECT passes, peak_reserved, ns_per_op, machine FROM cells')"
    ok "$TAPOOL" sweep 'traces/*' -s lru -s bump --passes usage -o t.sqlite
    computed 0 4
    ok "$TAPOOL" sweep traces/t1.tpt -s system -s lru -o e.sqlite
    ok env MALLOC_ARENA_MAX=1 "$TAPOOL" sweep traces/t1.tpt -s system -s lru -o e.sqlite
    computed 1 1
    ok "$TAPOOL" sweep --cite e.sqlite
    matches "$out" '; seed 1; MALLOC_ARENA_MAX=1\.$'
}

@test "shards have each cell once, and joined they are the store of one sweep" {
    traces 9
    plan 'strategy = arena:arena_size=1MiB|4MiB,classes=fine|coarse6' 'strategy = lru' 'strategy = bump'
    for ((i = 1; i <= 4; i++)); do
        ok "$TAPOOL" sweep plan.ini --shard "$i/4"
        sum=$((${sum:-0} + $(asked "plan.shard-$i-of-4.sqlite" 'SELECT count(*) FROM cells')))
    done
    [ "$sum" -eq 54 ]
    mv plan.shard-3-of-4.sqlite away
    refused 3 "^tapool: 1 shard of 4 not there: 3$" "$TAPOOL" sweep plan.ini --merge
    cp plan.shard-2-of-4.sqlite plan.shard-3-of-4.sqlite
    refused 3 "^tapool: plan.shard-3-of-4.sqlite: shard 3/4 is not done$" "$TAPOOL" sweep plan.ini --merge
    mv away plan.shard-3-of-4.sqlite
    cp plan.shard-2-of-4.sqlite plan.shard-2-of-5.sqlite
    refused 3 "^tapool: plan.shard-2-of-5.sqlite: there are also shards of 4$" "$TAPOOL" sweep plan.ini --merge
    rm plan.shard-2-of-5.sqlite
    ok "$TAPOOL" sweep plan.ini --merge
    matches "$out" '^4 stores joined: 54 cells$'
    ok "$TAPOOL" sweep plan.ini
    computed 0 54
    ok "$TAPOOL" sweep --report plan.sqlite --export-csv joined.csv
    ok "$TAPOOL" sweep plan.ini -o whole.sqlite
    ok "$TAPOOL" sweep --report whole.sqlite --export-csv whole.csv
    cmp joined.csv whole.csv
    [ "$(wc -l <whole.csv)" -eq 55 ]
    refused 2 "'--shard 5/4' is not of the form I/N" "$TAPOOL" sweep plan.ini --shard 5/4
}

# killed: a sweep that is killed at a random moment.
killed() {
    "$TAPOOL" sweep plan.ini >/dev/null 2>&1 &
    local pid=$!
    sleep "$(printf '0.%03d' $((RANDOM % ${1:-400})))"
    kill -KILL "$pid" 2>/dev/null || :
    wait "$pid" 2>/dev/null || :
}

# lives TIMES: what was stored or pending when a sweep was killed is not computed again, and the store is whole.
lives() {
    traces 12
    plan 'strategy = arena:arena_size=1MiB|2MiB|4MiB|8MiB|16MiB,classes=fine|coarse6' 'strategy = torch' 'strategy = lru'
    for ((kill = 0; kill < $1; kill++)); do
        rm -f plan.sqlite*
        killed 300
        killed 300
        # a commit that was cut off is undone by whoever opens the store for writing: here in a copy
        rm -rf copy && mkdir copy && cp plan.sqlite* copy 2>/dev/null || :
        had=$(mode=rw asked copy/plan.sqlite 'SELECT count(*) FROM cells' 2>/dev/null || echo 0)
        pending=$(grep -c '^{"cell".*}$' plan.sqlite-pending 2>/dev/null || :)
        ok "$TAPOOL" sweep plan.ini
        stored=$(sed -nE 's/.*, ([0-9,]+) already stored.*/\1/p' "$out")
        # a commit may have been done whose lines were still there
        [ "$stored" -ge "$had" ] && [ "$stored" -ge "${pending:-0}" ] && [ "$stored" -le $((had + ${pending:-0})) ] ||
            fail "$had were stored, ${pending:-0} pending, and then $stored are there"
        [ "$(asked plan.sqlite 'SELECT count(*), count(DISTINCT name) FROM cells')" = '144|144' ]
        [ "$(asked plan.sqlite 'PRAGMA integrity_check')" = ok ]
    done
}

@test "a sweep that is killed loses nothing" { lives 3; }

# bats test_tags=nightly
@test "a sweep that is killed at 20 moments loses nothing" { lives 20; }

@test "a sweep that is interrupted says where it is, and goes on there" {
    traces 12
    plan 'strategy = arena:arena_size=1MiB|2MiB|4MiB|8MiB|16MiB,classes=fine|coarse6' 'strategy = torch'
    "$TAPOOL" gen random-replace --seed 5 --count 300000 -o traces/large.tpt >/dev/null
    "$TAPOOL" sweep plan.ini >said 2>"$SCRATCH/err" &
    pid=$!
    for ((i = 0; i < 500; i++)); do
        ! grep -qs '"cell"' plan.sqlite-pending || break
        sleep 0.01
    done
    kill -TERM "$pid"
    rc=0
    wait "$pid" || rc=$?
    [ "$rc" -eq 143 ] || fail "exit code $rc" "$(cat "$SCRATCH/err")"
    grep -qE '^tapool: interrupted: [0-9]+ of 143 cells are stored$' "$SCRATCH/err" || fail "$(cat "$SCRATCH/err")"
    before=$(asked plan.sqlite 'SELECT count(*) FROM cells')
    ok "$TAPOOL" sweep plan.ini
    matches "$out" ", $before already stored"
    [ "$(asked plan.sqlite 'SELECT count(*) FROM cells')" = 143 ]
}

@test "a bad trace fails its cells and no others; what is solved is forgotten" {
    traces 2
    echo '{"op": "free", "id": 7}' >traces/bad.tpt
    plan 'strategy = lru' 'strategy = bump'
    capture "$TAPOOL" sweep plan.ini
    [ "$rc" -eq 3 ]
    matches "$out" '^6 cells: 4 computed in .*, 0 already stored, 2 failed'
    matches "$out" '^Failed$'
    matches "$out" '^    traces/bad.tpt$'
    one_sentence "$err"
    matches "$err" '^tapool: 2 cells failed; the first: '
    [ "$(asked plan.sqlite 'SELECT path FROM failures')" = traces/bad.tpt ]
    cp traces/t1.tpt traces/bad.tpt
    capture "$TAPOOL" sweep plan.ini
    [ "$rc" -eq 2 ]
    matches "$err" "the same program as 'traces/(bad|t1).tpt', which is in the sweep"
    "$TAPOOL" gen random-replace --seed 9 --count 400 -o traces/bad.tpt -f >/dev/null
    ok "$TAPOOL" sweep plan.ini
    computed 2 4
    [ "$(asked plan.sqlite 'SELECT count(*) FROM failures')" = 0 ]
}

@test "a plan that is wrong is refused with its place before anything is computed" {
    traces 1
    plan 'strategy = arena:arena_sise=1MiB'
    refused 2 "^tapool: plan.ini:3: strategy 'arena' has no option 'arena_sise'" "$TAPOOL" sweep plan.ini
    plan 'strategy = lru' 'strategy = arena:classes=fine|rough'
    refused 2 "^tapool: plan.ini:4: .*'?rough'?" "$TAPOOL" sweep plan.ini
    plan 'strategy = arena:classes=fine|coarse6' 'strategy = arena'
    refused 2 "^tapool: plan.ini:4: 'arena' is the same setting as 'arena:classes=fine' of plan.ini:3$" "$TAPOOL" sweep plan.ini
    plan 'strategy = torch:conf={max_split_size_mb=64|128},version=2.5'
    refused 2 "^tapool: plan.ini:3: options of 'torch' follow its conf: 'version=2.5'$" "$TAPOOL" sweep plan.ini
    plan 'strategy = small=arena'
    refused 2 "^tapool: plan.ini:3: 'small=arena' has a label$" "$TAPOOL" sweep plan.ini
    plan 'strategy = lru' 'trace = nothing/*.json'
    refused 2 "^tapool: plan.ini: no trace matches 'nothing/\*.json'$" "$TAPOOL" sweep plan.ini
    plan 'strategy = lru' 'passes = usage,speed'
    refused 2 "^tapool: plan.ini:4: .*speed" "$TAPOOL" sweep plan.ini
    plan 'strategy = lru' 'strategies = bump'
    refused 2 "^tapool: plan.ini:4: unknown option 'strategies'" "$TAPOOL" sweep plan.ini
    plan 'strategy = lru' '[replay]' 'seed = 2'
    refused 2 "^tapool: plan.ini:5: a plan has no section \[replay\]$" "$TAPOOL" sweep plan.ini
    plan 'exclude = *' 'strategy = lru'
    refused 2 '^tapool: the sweep has no traces$' "$TAPOOL" sweep plan.ini
    plan
    refused 2 '^tapool: the sweep has no strategies$' "$TAPOOL" sweep plan.ini
    plan 'strategy = lru' 'source = cuda'
    refused 2 '^tapool: a sweep does not replay on a GPU$' "$TAPOOL" sweep plan.ini
    refused 2 '^tapool: sweep needs a plan or traces$' "$TAPOOL" sweep
    refused 2 "^tapool: two plans" "$TAPOOL" sweep plan.ini other.ini
    refused 2 "^tapool: 'traces' is a folder$" "$TAPOOL" sweep traces -s lru
    [ ! -e plan.sqlite ]
}

@test "a store that is none, or another's, is refused and left as it is" {
    traces 1
    plan 'strategy = lru'
    echo 'no store at all, but some words that are long enough to be read' >plan.sqlite
    cp plan.sqlite before
    refused 3 '^tapool: plan.sqlite: file is not a database$' "$TAPOOL" sweep plan.ini
    cmp plan.sqlite before
    rm plan.sqlite*
    python3 -c 'import sqlite3; d = sqlite3.connect("plan.sqlite"); d.execute("CREATE TABLE t (a)"); d.commit()'
    refused 3 '^tapool: plan.sqlite: an SQLite file, but no store of a sweep$' "$TAPOOL" sweep plan.ini
    rm plan.sqlite*
    ok "$TAPOOL" sweep plan.ini
    python3 -c 'import sqlite3; d = sqlite3.connect("plan.sqlite"); d.execute("PRAGMA user_version = 7"); d.commit()'
    refused 3 '^tapool: plan.sqlite: a store of schema 7, this tapool has 1$' "$TAPOOL" sweep plan.ini
    refused 3 '^tapool: plan.sqlite: a store of schema 7' "$TAPOOL" sweep --report plan.sqlite
    refused 3 '^tapool: nowhere.sqlite: No such file' "$TAPOOL" sweep --report nowhere.sqlite
}

@test "pending lines of somebody else are not believed" {
    traces 1
    plan 'strategy = lru'
    for line in '{"cell":{"name":"zz"}}' '[]' '{"failure":{"path":7}}' '{"cell":{"name":"00112233445566778899aabbccddeeff","identity":"00112233445566778899aabbccddeeff","setting":"x","passes":"usage","tool":"t","machine":"","seconds":1,"values":{"peak_reserved":"much"}}}' \
        '{"cell":{"name":"00112233445566778899aabbccddeeff","identity":"00112233445566778899aabbccddeeff","setting":"x","passes":"usage","tool":"t","machine":"","seconds":1,"values":{}}}'; do
        rm -f plan.sqlite*
        echo "$line" >plan.sqlite-pending
        capture "$TAPOOL" sweep plan.ini
        [ "$rc" -ge 3 ] || fail "taken: $line"
        one_sentence "$err"
        matches "$err" 'plan.sqlite'
    done
    rm -f plan.sqlite*
    printf '{"cell":{"name":"0011' >plan.sqlite-pending # cut off, as by a kill
    ok "$TAPOOL" sweep plan.ini
    computed 1 0
}

@test "two sweeps do not write to one store" {
    traces 2
    plan 'strategy = lru'
    "$TAPOOL" gen random-replace --seed 5 --count 120000 -o traces/large.tpt >/dev/null
    "$TAPOOL" sweep plan.ini >/dev/null &
    pid=$!
    for ((i = 0; i < 200; i++)); do
        [ ! -e plan.sqlite ] || break
        sleep 0.01
    done
    refused 4 '^tapool: plan.sqlite: another sweep writes to this store$' "$TAPOOL" sweep plan.ini
    wait "$pid"
    ok "$TAPOOL" sweep plan.ini
    computed 0 3
}

@test "a full disk is an error, and what was stored stays" {
    traces 6
    plan 'strategy = arena:arena_size=1MiB|2MiB|4MiB,classes=fine|coarse6'
    ok "$TAPOOL" sweep plan.ini --exclude 't[3-6]*'
    capture bash -c 'ulimit -f $(($(stat -c %s plan.sqlite) / 1024 + 1)); exec "$TAPOOL" sweep plan.ini'
    [ "$rc" -eq 4 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    one_sentence "$err"
    matches "$err" 'plan.sqlite'
    [ "$(asked plan.sqlite 'PRAGMA integrity_check')" = ok ]
    [ "$(asked plan.sqlite 'SELECT count(*) FROM cells')" -ge 12 ]
    ok "$TAPOOL" sweep plan.ini
    [ "$(asked plan.sqlite 'SELECT count(*) FROM cells')" = 36 ]
}

@test "a dry run says what to expect and writes nothing" {
    traces 2
    plan 'strategy = lru' 'strategy = bump' 'passes = usage,latency'
    ok "$TAPOOL" sweep plan.ini --dry-run
    matches "$out" '^8 cells: 2 traces x 2 settings$'
    matches "$out" '^  to compute +8 cells$'
    matches "$out" '^  time +about '
    matches "$out" '^  disk +about .* in plan.sqlite$'
    [ "$(echo *)" = 'plan.ini traces' ]
}

@test "variables that set mallocs decide on the cells of a real allocator, and on no others" {
    traces 1
    ok "$TAPOOL" sweep traces/t1.tpt -s system -s lru -o m.sqlite
    computed 2 0
    ok env MALLOC_TOP_PAD_=16777216 "$TAPOOL" sweep traces/t1.tpt -s system -s lru -o m.sqlite
    computed 1 1
    ok env MALLOC_TOP_PAD_=16777216 "$TAPOOL" sweep traces/t1.tpt -s system -s lru -o m.sqlite
    computed 0 2
    [ "$(asked m.sqlite "SELECT value FROM sweep WHERE name = 'environment'")" = MALLOC_TOP_PAD_=16777216 ]
}

@test "a plug-in whose file has changed is another setting" {
    plugin=${TAPOOL%/*}/tests/misfit.so
    [ -f "$plugin" ] || skip "$TAPOOL is not in a build folder"
    traces 1
    cp "$plugin" one.so
    ok "$TAPOOL" sweep traces/t1.tpt -s 'plugin:./one.so,first=0|64' -o p.sqlite
    computed 2 0
    echo >>one.so
    ok "$TAPOOL" sweep traces/t1.tpt -s 'plugin:./one.so,first=0|64' -o p.sqlite
    computed 2 0
    cp "$plugin" two.so
    ok "$TAPOOL" sweep traces/t1.tpt -s plugin:./one.so -s plugin:./two.so -o q.sqlite
    computed 2 0
}

@test "a plan of a strategy that has changed is another setting" {
    "$TAPOOL" gen training-step --layers 2 -o step.tpt >/dev/null
    ok "$TAPOOL" plan step.tpt -o step.plan
    ok "$TAPOOL" sweep step.tpt -s planned:plan=step.plan -o p.sqlite
    computed 1 0
    echo '# a comment' >>step.plan
    ok "$TAPOOL" sweep step.tpt -s planned:plan=step.plan -o p.sqlite
    computed 1 0
    ok "$TAPOOL" sweep step.tpt -s planned:plan=step.plan -o p.sqlite
    computed 0 1
}

@test "a file of a setting that changes while the sweep runs fails its cells" {
    plugin=${TAPOOL%/*}/tests/misfit.so
    [ -f "$plugin" ] || skip "$TAPOOL is not in a build folder"
    "$TAPOOL" gen random-replace --seed 5 --count 300000 -o large.tpt >/dev/null
    cp "$plugin" one.so
    "$TAPOOL" sweep large.tpt -s plugin:./one.so -o p.sqlite >said 2>"$SCRATCH/err" &
    pid=$!
    for ((i = 0; i < 1000; i++)); do
        [ ! -e p.sqlite ] || break
        sleep 0.005
    done
    kill -STOP "$pid" # its workers go on
    echo >>one.so
    kill -CONT "$pid"
    rc=0
    wait "$pid" || rc=$?
    [ "$rc" -eq 3 ] || fail "exit code $rc" "$(cat "$SCRATCH/err")"
    grep -q "'./one.so' has changed since the sweep began" "$SCRATCH/err" || fail "$(cat "$SCRATCH/err")"
    [ "$(asked p.sqlite 'SELECT count(*) FROM cells')" = 0 ]
}

@test "a plan may lie in a folder whose name has the characters of a glob" {
    mkdir -p 'a [1] *b\c'
    cd 'a [1] *b\c' || return 1
    traces 1
    printf '[sweep]\r\ntrace = traces/*.tpt\r\nstrategy = lru\r\n' >'p[2].ini'
    cd .. || return 1
    ok "$TAPOOL" sweep 'a [1] *b\c/p[2].ini' --shard 1/1
    [ "$(asked 'a [1] *b\c/p[2].shard-1-of-1.sqlite' 'SELECT path FROM traces')" = traces/t1.tpt ]
    ok "$TAPOOL" sweep --merge 'a [1] *b\c/p[2].ini'
    matches "$out" '^1 store joined: 1 cell$'
}

@test "what is not a regular file is no trace and no store" {
    traces 1
    mkfifo pipe
    refused 2 "^tapool: 'pipe' is not a regular file$" timeout 20 "$TAPOOL" sweep pipe -s lru
    refused 2 "^tapool: '/dev/zero' is not a regular file$" timeout 20 "$TAPOOL" sweep /dev/zero -s lru
}

@test "a trace that was replaced by one of its size and its time is opened again" {
    printf 'id,lower,upper,size\n1,0,5,%s\n' 1000 >one.csv
    printf 'id,lower,upper,size\n1,0,5,%s\n' 9000 >two.csv
    touch -d '2026-01-01' one.csv two.csv
    ok "$TAPOOL" sweep one.csv -s lru -o s.sqlite
    cp -p two.csv one.csv
    ok "$TAPOOL" sweep one.csv -s lru -o s.sqlite
    computed 1 0
}

@test "stores are joined in any order of the words, and none into itself" {
    traces 2
    plan 'strategy = lru'
    ok "$TAPOOL" sweep traces/t1.tpt -s lru -o one.sqlite
    ok "$TAPOOL" sweep traces/t2.tpt -s lru -o two.sqlite
    ok "$TAPOOL" sweep --merge one.sqlite plan.ini two.sqlite
    matches "$out" '^2 stores joined: 2 cells$'
    ok "$TAPOOL" sweep --merge one.sqlite one.sqlite two.sqlite -o again.sqlite
    matches "$out" '^3 stores joined: 2 cells$'
    refused 2 "^tapool: 'one.sqlite' cannot be joined into itself$" "$TAPOOL" sweep --merge one.sqlite -o one.sqlite
    [ "$(asked one.sqlite 'SELECT count(*) FROM cells')" = 1 ]
}

@test "shards of two sets are not taken for one that is complete" {
    traces 3
    plan 'strategy = lru'
    for shard in 1/3 2/3 1/2; do
        ok "$TAPOOL" sweep plan.ini --shard "$shard"
    done
    refused 3 '^tapool: plan.shard-1-of-3.sqlite: there are also shards of 2$' "$TAPOOL" sweep plan.ini --merge
    ok "$TAPOOL" sweep plan.ini --merge --partial
}

@test "a store that is a folder or a pipe is refused, and no file is left" {
    traces 1
    mkdir folder.sqlite
    mkfifo pipe.sqlite line.sqlite-pending
    for store in folder pipe line; do
        capture timeout 20 "$TAPOOL" sweep traces/t1.tpt -s lru -o "$store.sqlite"
        [ "$rc" -eq 3 ] || [ "$rc" -eq 4 ] || fail "exit code $rc of $store"
        matches "$err" '^tapool: [a-z.-]*: not a regular file$'
    done
    refused 3 '^tapool: pipe.sqlite: not a regular file$' timeout 20 "$TAPOOL" sweep --report pipe.sqlite
    [ "$(echo *)" = 'folder.sqlite line.sqlite-pending pipe.sqlite traces' ] || fail "$(echo *)"
    ok "$TAPOOL" sweep traces/t1.tpt -s lru -o one.sqlite
    mkfifo one.sqlite-pending
    refused 4 '^tapool: one.sqlite-pending: not a regular file$' timeout 20 "$TAPOOL" sweep --merge one.sqlite -o two.sqlite
}

@test "a store with views for tables is refused" {
    traces 1
    ok "$TAPOOL" sweep traces/t1.tpt -s lru -o v.sqlite
    python3 - <<'END'
import sqlite3
d = sqlite3.connect("v.sqlite")
names = [row[1] for row in d.execute("PRAGMA table_info(cells)")]
d.executescript("DROP VIEW tidy; DROP VIEW results; ALTER TABLE cells RENAME TO old; CREATE VIEW cells AS"
    " WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT %s FROM c" % ",".join("x AS " + n for n in names))
END
    for words in '--cite v.sqlite' '--report v.sqlite' '--merge v.sqlite -o to.sqlite' 'traces/t1.tpt -s lru -o v.sqlite'; do
        # shellcheck disable=SC2086 # words
        refused 3 '^tapool: v.sqlite: its tables are not those of a store of a sweep$' timeout 20 "$TAPOOL" sweep $words
    done
}

@test "a sweep that was killed while it committed is put right by the next one" {
    traces 1
    ok "$TAPOOL" sweep traces/t1.tpt -s lru -o s.sqlite
    python3 - <<'END' || :
import os, sqlite3
d = sqlite3.connect("s.sqlite", isolation_level=None)
d.executescript("PRAGMA cache_size = 2; BEGIN; CREATE TABLE z (a)")
d.executemany("INSERT INTO z VALUES (?)", [("x" * 1000,)] * 1000)
os.kill(os.getpid(), 9)
END
    refused 4 '^tapool: s.sqlite: attempt to write a readonly database$' "$TAPOOL" sweep --report s.sqlite
    matches "$err" '^hint: a sweep was killed while it wrote'
    ok "$TAPOOL" sweep traces/t1.tpt -s lru -o s.sqlite
    computed 0 1
    ok "$TAPOOL" sweep --report s.sqlite
}

@test "a failure of a trace that is solved without opening it is forgotten" {
    traces 1
    cp traces/t1.tpt traces/copy.tpt
    capture "$TAPOOL" sweep 'traces/*' -s lru -o s.sqlite -j 1
    [ "$rc" -eq 2 ]
    [ "$(asked s.sqlite 'SELECT path FROM failures')" = traces/t1.tpt ]
    ok "$TAPOOL" sweep traces/t1.tpt -s lru -o s.sqlite
    computed 0 1
    [ "$(asked s.sqlite 'SELECT count(*) FROM failures')" = 0 ]
}

@test "a command line of very many words fits in the store" {
    traces 1
    ok bash -c 'words=(); for ((i = 0; i < 12000; i++)); do words+=(././././././././././././././././././././././././././././././././././././././././././././././././././traces/t1.tpt); done
        exec "$TAPOOL" sweep "${words[@]}" -s lru -o s.sqlite'
    computed 1 0
    [ "$(asked s.sqlite "SELECT length(value) < 300000 AND value LIKE '%...' FROM sweep WHERE name = 'plan'")" = 1 ]
}
