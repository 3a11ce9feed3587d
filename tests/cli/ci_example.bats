#!/usr/bin/env bats
# scripts/ci-example, from end to end: a scratch repository of this source tree, in which commits are
# gated. tapool is built once; each commit after that compiles one file and links. Nothing here
# depends on times: a slowdown would have to be tenfold (--effect 9) in nearly all pairs.

# shellcheck disable=SC2154 # out, err and rc come from common.bash
load common

EXAMPLE=$TAPOOL_ROOT/scripts/ci-example
LRU=alloc/strategies/lru/lru.c

setup_file() {
    export REPO=$BATS_FILE_TMPDIR/repo
    export GIT_CONFIG_GLOBAL=$BATS_FILE_TMPDIR/gitconfig GIT_CONFIG_NOSYSTEM=1
    export CCACHE_BASEDIR=$BATS_FILE_TMPDIR CCACHE_NOHASHDIR=1
    unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITHUB_OUTPUT CFLAGS
    printf '[user]\n\tname = a\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n' >"$GIT_CONFIG_GLOBAL"
    mkdir -p "$REPO/tests"
    (
        cd "$TAPOOL_ROOT" || exit 1
        cp -r CMakeLists.txt README.md LICENSE alloc cmd cuda scripts traces "$REPO"
        cp -r tests/bench "$REPO/tests"
    )
    git -C "$REPO" init --quiet
    echo /build/ >"$REPO/.gitignore"
    commit "a project" >/dev/null
}

teardown_file() { rm -rf "$BATS_FILE_TMPDIR/repo"; }

commit() { # MESSAGE
    git -C "$REPO" add --all
    git -C "$REPO" commit --quiet --message "$1"
}

needs_tools() {
    for tool in git cmake ninja cc; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}

# gate ARG... -- CHECK-ARG...: as a CI would call it, quick to build.
gate() {
    local quick=(--cmake -DCMAKE_C_FLAGS_RELEASE=-O0)
    ! command -v ccache >/dev/null || quick+=(--cmake -DCMAKE_C_COMPILER_LAUNCHER=ccache)
    cd "$REPO" || return 1
    capture scripts/ci-example/gate.sh --base main "${quick[@]}" "$@"
}

# gated MESSAGE [CHECK-ARG...]: what is in the tree, as a commit on a branch of its own. Twelve pairs
# are few, and enough where times are not what is looked at.
gated() {
    local message=$1
    shift
    git -C "$REPO" diff --quiet && fail "nothing was changed"
    commit "$message"
    gate -- --pairs 12 --effect 9 --min-time 1ms "$@"
    findings=$REPO/build/gate/out
}

branch() { git -C "$REPO" checkout --quiet -B "$1" main; }

has_valgrind() { command -v valgrind >/dev/null; }

well_formed() { python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' "$1"; }

follows_schema() { # JSON
    ! python3 -c 'import jsonschema' 2>/dev/null ||
        python3 "$CLI/schema_check.py" valid "$TAPOOL_ROOT/cmd/gate/check.schema.json" "$1"
}

# Sets `python` to one that reads YAML.
needs_yaml() {
    python=''
    for candidate in python3 /usr/bin/python3; do
        ! "$candidate" -c 'import yaml' 2>/dev/null || python=$candidate
    done
    [ -n "$python" ] || skip "the Python module yaml is not installed (apt install python3-yaml)"
}

# patch_lru SED-PROGRAM: and it must change something.
patch_lru() { sed -i "$1" "$REPO"/alloc/strategies/{lru,cache}/*.[ch]; }

@test "without a baseline the gate says how to make one" {
    needs_tools
    gate
    [ "$rc" -eq 2 ] || fail "exit code $rc" "$(cat "$err")"
    matches "$err" 'HEAD has no parent: there is no base build'
    matches "$err" 'there is no tapool-baseline.json'
    matches "$err" '^hint: .*--update'
    [ ! -s "$out" ]
    is "$REPO/build/gate/out/check.json" "d['exit_code']" 2
    matches "$err" '^-- exit 2; in .*/build/gate/out: check.json check.xml check.md( check.html)?$'
    # a command line that is refused leaves nothing, and nothing of the run before
    gate -- --effect 0
    [ "$rc" -eq 2 ]
    matches "$err" '^-- exit 2; in .*/build/gate/out: nothing$'
    [ -z "$(ls "$REPO/build/gate/out")" ]
}

@test "a baseline, committed; a commit that adds a comment passes" {
    needs_tools
    built=$(echo "$REPO"/build/gate/bin/*/tapool)
    cd "$REPO"
    ok "$built" check sample:sqlite -s lru --update --reason "the first one"
    [ -s tapool-baseline.json ]
    commit "a baseline"
    branch comment
    echo '/* a comment */' >>"$LRU"
    gated "a comment" --require memory
    [ "$rc" -eq 0 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    matches "$out" '^PASS.*1 of 1 cell'
    matches "$err" 'tapool of [0-9a-f]+: building'
    matches "$out" 'latency +vs build/gate/base/tapool, 12 pairs'
    follows_schema "$findings/check.json"
    is "$findings/check.json" "d['exit_code']" 0
    is "$findings/check.json" "d['counts']['regression']" 0
    matches "$findings/check.md" '^## tapool check: PASS'
    # again: both binaries are kept
    gate -- --pairs 12 --effect 9 --min-time 1ms
    [ "$rc" -eq 0 ]
    lacks "$err" 'building'
}

@test "a commit that reserves twice as much fails, in class E; GitHub Actions is told" {
    needs_tools
    export GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$SCRATCH/summary
    branch memory
    patch_lru 's/bytes = cache_range(&st->cache, cache_key_size/bytes = 2 * cache_range(\&st->cache, cache_key_size/'
    gated "twice the memory"
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    matches "$out" '^REGRESSION +sqlite'
    matches "$out" '^  peak_reserved \+[0-9.]+% +.* -> .* allowed: 0$'
    matches "$out" '^FAIL.*: [0-9]+ of [0-9]+ values? worse, '
    is "$findings/check.json" "[f['class'] for f in d['findings'] if f['metric']=='peak_reserved'][0]" E
    is "$findings/check.json" "[f['verdict'] for f in d['findings'] if f['metric']=='peak_reserved'][0]" regression
    well_formed "$findings/check.xml"
    matches "$findings/check.xml" '<failure type="regression" message="[^"]*peak_reserved'
    matches "$out" '^::error title=tapool check%3A regression::.*peak_reserved'
    matches "$GITHUB_STEP_SUMMARY" '^## tapool check: FAIL'
}

@test "a commit that executes twice as many instructions fails, in class D alone" {
    needs_tools
    has_valgrind || skip "valgrind is not installed (apt install valgrind)"
    branch slow
    patch_lru 's/^    b->refs = 1;$/    for (volatile int i = 0; i < 260; i++)\n        ;\n&/'
    gated "twice the instructions" --require instructions
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    matches "$out" '^  instructions \+[0-9,.]+% +[0-9,.]+ -> [0-9,.]+, allowed: '
    is "$findings/check.json" "[f['metric'] for f in d['findings'] if f['verdict']=='regression']" "['instructions']"
    is "$findings/check.json" "[f['change'] > 1 for f in d['findings'] if f['metric']=='instructions'][0]" True
}

@test "a base that cannot be built is said, and its classes are not checked" {
    needs_tools
    branch broken
    echo 'int broken' >>"$REPO/$LRU"
    commit "does not compile"
    gate
    [ "$rc" -eq 2 ]
    matches "$err" 'cannot be built'
    patch_lru '/^int broken$/d'
    git -C "$REPO" branch --quiet --force broken-main HEAD
    commit "compiles again"
    gate --base broken-main
    [ "$rc" -eq 0 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    matches "$err" 'the merge base [0-9a-f]+ cannot be built: what needs it is NOT CHECKED'
    matches "$out" 'latency +NOT CHECKED: '
}

@test "wrong arguments are refused in a sentence" {
    needs_tools
    wrong() { # REGEX ARGUMENT...
        gate "${@:2}"
        [ "$rc" -eq 2 ] || fail "${*:2}: exit code $rc" || return 1
        matches "$err" "^gate.sh: $1$"
    }
    wrong "unknown argument '--nonsense'" --nonsense
    wrong "option '--base' needs a value" --base
    wrong "there is no 'nowhere'" --base nowhere
    wrong "'/' is in no git repository" --source /
    wrong "unknown argument 'check'" check
    gate --help
    [ "$rc" -eq 0 ]
    for option in source base work out cmake keys dry-run; do
        matches "$out" "^  --$option"
    done
}

@test "the workflow is YAML, installs what a build needs, and calls gate.sh as it wants to be called" {
    needs_tools
    needs_yaml
    # shellcheck source=scripts/lib.sh
    needed=$(. "$TAPOOL_ROOT/scripts/lib.sh" && printf '%s\n' "${BUILD_NEEDS[@]}" | cut -d '|' -f 2)
    PACKAGES="$needed valgrind" "$python" - "$EXAMPLE/tapool-gate.yml" >"$SCRATCH/runs" <<'END'
import os, sys, yaml
flow = yaml.safe_load(open(sys.argv[1]))
assert set(flow[True]) == {"pull_request", "push"}, flow[True]  # YAML 1.1 reads `on` as true
assert flow["permissions"] == {"contents": "read"}
(job,) = flow["jobs"].values()
steps = job["steps"]
assert all(("uses" in s) != ("run" in s) for s in steps)
assert steps[0]["with"]["fetch-depth"] == 0
installs = [s["run"] for s in steps if "apt-get" in s.get("run", "")]
assert set(os.environ["PACKAGES"].split()) <= set(installs[0].split()), installs
caches = {s["uses"].split("@")[0]: s["with"] for s in steps if s.get("uses", "").startswith("actions/cache")}
restore, save = caches["actions/cache/restore"], caches["actions/cache/save"]
for member in ("path", "key"):  # a cache is found only where both are the same
    assert restore[member].replace("outputs.base", "outputs.head") == save[member]
gates = [s["run"] for s in steps if "gate.sh" in s.get("run", "")]
assert len(gates) == 2 and len([g for g in gates if "--keys" in g]) == 1
for run in gates:
    print(run.replace("gate.sh ", "gate.sh --dry-run ", 1).replace("\\\n", " ").strip() if "--keys" not in run else run.strip())
END
    [ "$(wc -l <"$SCRATCH/runs")" -eq 2 ]
    cd "$REPO"
    git checkout --quiet comment
    export BASE=main GITHUB_OUTPUT=$SCRATCH/output
    ok bash -euo pipefail "$SCRATCH/runs"
    matches "$GITHUB_OUTPUT" "^head=$(git rev-parse HEAD)-[0-9a-f]{12}$"
    matches "$GITHUB_OUTPUT" "^base=$(git rev-parse main)-[0-9a-f]{12}$"
    matches "$out" '^tapool check --base-bin .*--require memory --require instructions$'
    # what follows -- is known to tapool check
    "$TAPOOL" check --help-all >"$SCRATCH/help"
    while read -r option; do
        grep -q -- " $option " "$SCRATCH/help" || fail "tapool check has no $option"
    done < <(grep -oE -- '--[a-z-]+' "$out")
}

# ---- the gate for authors of malloc libraries ----

# A repository of a library that passes all calls on, with $1 in its malloc.
library_with() {
    cat >"$LIBRARY/my.c" <<END
#include <stddef.h>
extern void *__libc_malloc(size_t size), *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);
void *malloc(size_t size) { $1 return __libc_malloc(size); }
void *realloc(void *p, size_t size) { return __libc_realloc(p, size); }
void free(void *p) { __libc_free(p); }
END
    git -C "$LIBRARY" add --all
    git -C "$LIBRARY" commit --quiet --message "malloc: $1"
}

gate_library() { # CHECK-ARGUMENT...
    cd "$LIBRARY" || return 1
    capture "$EXAMPLE/gate.sh" --base main --library libmy.so --tapool "$TAPOOL" \
        --build 'cc -O1 -shared -fPIC -fno-builtin -o libmy.so my.c' "$@"
}

@test "a library: the same code passes, some instructions more in malloc fail" {
    needs_tools
    has_valgrind || skip "valgrind is not installed"
    export LIBRARY=$SCRATCH/library
    git init --quiet "$LIBRARY"
    echo /build/ >"$LIBRARY/.gitignore"
    library_with ''
    git -C "$LIBRARY" checkout --quiet -b change
    library_with '/* a comment */'
    gate_library -- sample:jq --pairs 12 --effect 9 --min-time 1ms --require instructions
    [ "$rc" -eq 0 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    matches "$out" 'instructions +vs \./build/gate/base/libmy\.so, callgrind +1 of 1 cell'
    is "$LIBRARY/build/gate/out/check.json" "[f['verdict'] for f in d['findings'] if f['metric']=='instructions']" "['unchanged']"
    library_with 'static unsigned n; for (volatile int i = 0; n % 64 == 0 && i < 20; i++); n++;'
    gate_library -- sample:jq --pairs 12 --effect 9 --min-time 1ms --require instructions
    [ "$rc" -eq 1 ] || fail "exit code $rc" "$(cat "$out" "$err")"
    matches "$err" 'libmy.so of [0-9a-f]+: kept from before'
    matches "$out" '^REGRESSION +jq'
    matches "$LIBRARY/build/gate/out/check.md" '^## tapool check: FAIL'
    gate_library --keys
    matches "$out" "^head=$(git rev-parse HEAD)-[0-9a-f]{12}$"
    capture "$EXAMPLE/gate.sh" --base main --library libmy.so
    [ "$rc" -eq 2 ]
    matches "$err" 'a library needs --library and --build'
}

@test "the library workflow: what it calls is what gate.sh takes" {
    needs_tools
    needs_yaml
    "$python" - "$EXAMPLE/gate-library.yml" >"$SCRATCH/runs" <<'END'
import sys, yaml
flow = yaml.safe_load(open(sys.argv[1]))
(job,) = flow["jobs"].values()
assert all(("uses" in s) != ("run" in s) for s in job["steps"])
assert job["steps"][0]["with"]["fetch-depth"] == 0
for name, value in job["env"].items():
    if "${{" not in value:
        print("%s='%s'" % (name, value))
for step in job["steps"]:
    run = step.get("run", "").replace("\\\n", " ").strip()
    if "gate.sh" in run:
        print(run if "--keys" in run else run.replace("gate.sh ", "gate.sh --dry-run ", 1))
END
    branch library
    git -C "$REPO" commit --quiet --allow-empty --message "a library"
    cd "$REPO"
    export BASE=main GITHUB_OUTPUT=$SCRATCH/output
    ok bash -euo pipefail "$SCRATCH/runs"
    matches "$GITHUB_OUTPUT" "^head=$(git rev-parse HEAD)-[0-9a-f]{12}$"
    matches "$out" '^tapool check --strategy libmy=lib:\./build/gate/head/libmy\.so --base-lib \./build/gate/base/libmy\.so .*sample:jq'
}
