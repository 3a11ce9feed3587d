#!/usr/bin/env bash
# usage: scripts/validate.sh [--pages] [NAME...]
#
# Holds what tapool predicts of malloc libraries against what they really do: real programs, each
# recorded once under glibc, replayed with six libraries and settings, and really run five times with
# each. Prints the goals and a table of all cells; takes 10 minutes. README.md in this folder has the
# last result.
#
# --pages: holds what 'tapool why' says of resident memory at the end of five programs, and what a
# change of each would save by it, against the program with that change.
#
# NAME is one of sqlite, redis, python, git, cc1, xz, queue, pool, turns; with --pages one of turns,
# node, redis, python, git, git-threads, git-less, survivors (default: all). ROUNDS: how often each
# really runs (default: 5). TAPOOL: the tapool that predicts (default: that of build/release, which is
# built if need be). TALLY: CSV that gets a line for each cell, or change.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

if [ "${1:-}" = --help ]; then
    usage
    exit 0
fi
kind=validate
if [ "${1:-}" = --pages ]; then
    kind=validate_pages
    shift
fi
PORT=17801 # of redis-server, on this machine alone
need_packages "${BUILD_NEEDS[@]}" "cmd:python3|python3|Python 3" "cmd:sqlite3|sqlite3|sqlite3" \
    "cmd:redis-server|redis-server|redis" "cmd:redis-benchmark|redis-tools|the benchmark of redis" \
    "cmd:xz|xz-utils|xz" "cmd:node|nodejs|Node.js" "cmd:git|git|git" "cmd:g++|g++|a C++ compiler" \
    "file:/usr/lib/$(gcc -print-multiarch)/libjemalloc.so.2|libjemalloc2|jemalloc" \
    "file:/usr/lib/$(gcc -print-multiarch)/libmimalloc.so.2|libmimalloc2.0|mimalloc" \
    "file:/usr/lib/$(gcc -print-multiarch)/libtcmalloc.so.4|libgoogle-perftools4|tcmalloc"
WORK=$(mktemp -d)
trap 'rm -rf -- "$WORK"' EXIT
if [ -z "${TAPOOL:-}" ]; then
    configure release release -DTAPOOL_TESTS=OFF
    build release
    TAPOOL=$ROOT/build/release/tapool
fi
for program in watch_exit service_program turns_program survivors_program; do
    gcc -O1 -D_GNU_SOURCE -I"$ROOT" -pthread -o "$WORK/$program" "$ROOT/tests/programs/$program.c"
done
mkdir -p -- "$ROOT/build"
options=(--tapool "$TAPOOL" --watcher "$WORK/watch_exit" --work "$WORK" --rounds "${ROUNDS:-5}"
    --tally "${TALLY:-$ROOT/build/$kind.csv}")
if [ "$kind" = validate_pages ]; then
    python3 "$ROOT/scripts/validate_pages.py" "${options[@]}" "$@"
    exit
fi

# ---- what the programs work on ----

g++ -E -P -O2 -x c++ -o "$WORK/in.ii" - <<'END'
#include <bits/stdc++.h>
std::map<std::string, std::vector<int>> m; int main() { m["a"].push_back(1); }
END
echo "int x;" >"$WORK/idle.ii"
cat >"$WORK/work.sql" <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
    insert into t select i, 'row ' || i || hex(randomblob(i % 40)), i * 0.5 from n;
create index tb on t(b);
select count(*), max(c) from t group by substr(b, 1, 6) having count(*) > 3;
delete from t where a % 3 = 0;
END
cat >"$WORK/work.py" <<'END'
import json
rows = [{"id": i, "tags": [str(i + k) for k in range(4)]} for i in range(40000)]
for _ in range(3):
    rows = json.loads(json.dumps(rows))
END
head -c 12000000 "$WORK/in.ii" >"$WORK/data"
while [ "$(stat -c %s "$WORK/data")" -lt 24000000 ]; do cat "$WORK/in.ii" >>"$WORK/data"; done
python=$(python3 -c 'import sys; print(sys.executable)') # not a script that starts it
cc1=$(gcc -print-prog-name=cc1plus)
client="for i in \$(seq 100); do redis-cli -p $PORT ping >/dev/null 2>&1 && break; sleep 0.05; done
redis-benchmark -p $PORT -q -n 40000 -r 40000 -d 300 -t set,lpush,hset; redis-cli -p $PORT shutdown nosave || true"

cat >"$WORK/programs.json" <<END
[{"name": "sqlite", "words": ["sqlite3", ":memory:", ".read work.sql"], "idle": ["sqlite3", ":memory:", "select 1"]},
 {"name": "redis", "words": ["redis-server", "--port", "$PORT", "--save", "", "--bind", "127.0.0.1"],
  "idle": ["redis-server", "--version"], "client": $(python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$client")},
 {"name": "python", "words": ["$python", "-S", "work.py"], "idle": ["$python", "-S", "-c", "pass"],
  "env": {"PYTHONMALLOC": "malloc"}},
 {"name": "git", "words": ["git", "-C", "$ROOT", "--no-pager", "log", "--stat", "-n", "400"], "idle": ["git", "version"]},
 {"name": "cc1", "words": ["$cc1", "-fpreprocessed", "-O2", "-quiet", "in.ii", "-o", "out.s"],
  "idle": ["$cc1", "-fpreprocessed", "-O2", "-quiet", "idle.ii", "-o", "out.s"], "beside": true},
 {"name": "xz", "words": ["xz", "-3", "-T2", "--block-size=3MiB", "-k", "-c", "data"], "idle": ["xz", "--version"]},
 {"name": "queue", "words": ["./service_program", "queue", "30000"], "idle": ["./service_program", "queue", "0"]},
 {"name": "pool", "words": ["./service_program", "pool", "30000"], "idle": ["./service_program", "pool", "0"]},
 {"name": "turns", "words": ["./turns_program", "8", "24"], "idle": ["./turns_program", "1", "0"]}]
END
python3 "$ROOT/scripts/validate.py" --programs "$WORK/programs.json" "${options[@]}" "$@"
