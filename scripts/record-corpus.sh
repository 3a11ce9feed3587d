#!/usr/bin/env bash
# Records real programs with 'tapool record', for benchmarks (bench.sh --peers reads TAPOOL_TRACES).
#
# usage: scripts/record-corpus.sh [--small] FOLDER [NAME...]
#
# Leaves FOLDER/NAME.tpt, of some 10^6 to 10^7 events each (xz: a few hundred, of many MB), in a few
# minutes and 150 MB. NAME is one of cc1, git, node, python, redis, sqlite, xz; without one all are
# recorded whose program is installed. --small makes those of traces/samples: the same programs with
# less to do.
#
# TAPOOL: the tapool that records (default: that of build/release, which is built if need be).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

PORT=17799 # of redis-server, on this machine alone
small=no

# size SMALL LARGE: how much there is to do.
size() { if [ "$small" = yes ]; then echo "$1"; else echo "$2"; fi; }

record() { # NAME [OPTION...] -- PROGRAM [ARGUMENT...]
    local name=$1
    shift
    "$TAPOOL" record -f -o "$FOLDER/$name.tpt" "$@" >"$WORK/$name.out"
}

# A compiler on one file of tapool, or on the headers of the C++ library.
record_cc1() {
    local program=cc1 source=id_map.c
    if [ "$small" = yes ]; then
        gcc -E -P -O2 -D_GNU_SOURCE -I"$ROOT" "$ROOT/alloc/base/id_map.c" >"$WORK/$source"
    else
        program=cc1plus source=all.cc
        echo '#include <bits/stdc++.h>
std::map<std::string, std::vector<int>> m; int main() { m["a"].push_back(1); }' >"$WORK/in.cc"
        g++ -E -P -O2 "$WORK/in.cc" >"$WORK/$source"
    fi
    (cd "$WORK" && record cc1 -- "$(gcc -print-prog-name=$program)" -fpreprocessed -O2 -quiet \
        "$source" -o out.s)
}

# Where this is no clone, or a shallow one, there is a history of one's own to look at.
record_git() {
    (cd "$ROOT" && record git -- git --no-pager log --stat -n "$(size 100 1500)")
}

record_node() {
    local times
    times=$(size 2000 50000)
    record node --max-events "$(size 150000 none)" -- node -e "const o = {}; for (let i = 0; i < $times; i++) o['k' + i % 500] = JSON.parse(JSON.stringify({a: [i], b: 'x'.repeat(i % 200)}));"
}

record_python() {
    record python -- python3 -c "import json, threading, zlib
def work():
    for i in range($(size 200 20000)):
        zlib.compress(json.dumps({'a': list(range(i % 300))}).encode())
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]"
}

# The server of a cache with threads for its connections, under its own benchmark, whose rates are
# printed. These threads never sleep: more of them than cores take a hundred times as long.
record_redis() {
    local requests server threads
    requests=$(size 1500 100000)
    threads=$(size 4 $(($(cores) < 4 ? $(cores) : 4)))
    record redis -- redis-server --bind 127.0.0.1 --port $PORT --save '' --io-threads "$threads" \
        --io-threads-do-reads yes &
    server=$!
    for _ in $(seq 50); do
        redis-cli -p $PORT ping >/dev/null 2>&1 && break
        sleep 0.1
    done
    redis-benchmark -p $PORT --csv -c 20 -n "$requests" -t set,get,lpush,lpop
    redis-cli -p $PORT shutdown nosave || true
    wait "$server"
}

record_sqlite() {
    record sqlite -- sqlite3 :memory: "create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < $(size 2000 500000))
insert into t select x, hex(x * x) from c;
create index i on t(b); select count(*), sum(a) from t group by b % 97; delete from t where a % 3;"
}

record_xz() {
    head -c "$(size 1000000 50000000)" /dev/zero >"$WORK/zero"
    record xz -- xz -T2 -0 -k -c "$WORK/zero"
}

# name | the program that it needs
TABLE="cc1 gcc
git git
node node
python python3
redis redis-server
sqlite sqlite3
xz xz"

main() {
    local names name program
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) usage && exit ;;
        --small) small=yes ;;
        -*) fail 2 "unknown option '$1'" "$0 --help" ;;
        *) break ;;
        esac
        shift
    done
    [ $# -gt 0 ] || fail 2 'no FOLDER was given' "$0 --help"
    FOLDER=$1
    shift
    names=${*:-$(cut -d' ' -f1 <<<"$TABLE")}
    for name in $names; do
        grep -q "^$name " <<<"$TABLE" || fail 2 "unknown program '$name'" "$0 --help"
    done
    if [ -z "${TAPOOL:-}" ]; then
        mkdir -p "$ROOT/build"
        configure release release
        build release tapool tapool_record >/dev/null
        TAPOOL=$ROOT/build/release/tapool
    fi
    mkdir -p "$FOLDER"
    FOLDER=$(cd "$FOLDER" && pwd)
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    for name in $names; do
        program=$(sed -n "s/^$name //p" <<<"$TABLE")
        if have "$program"; then
            "record_$name"
        else
            say "$name: $program is not installed, left out"
        fi
    done
}

main "$@"
