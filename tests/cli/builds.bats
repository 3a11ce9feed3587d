#!/usr/bin/env bats
# Exact figures (class E) are a pure function of trace, strategy, options and source: the same from every
# compiler, every kind of build and on every machine. Held against figures that are kept in
# tests/data/class_e, made by a release build with gcc, and against TAPOOL_OTHER_BUILD, another tapool:
# scripts/test.sh names the plain build by gcc where it tests those by clang and with sanitizers.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

KEPT=$TAPOOL_ROOT/tests/data/class_e
strategies=(arena lru bump direct stream-pool)

# make_traces TAPOOL: the synthetic ones, each from its seed.
make_traces() {
    "$1" gen web-server --count 40 -o web.tpt
    "$1" gen streams --count 300 -o streams.tpt
    "$1" gen training-step --count 2 --layers 4 -o training.tpt
}

# figures TAPOOL SOURCE TRACE [PASSES]: one a line.
figures() {
    local args=() s
    for s in "${strategies[@]}"; do args+=(-s "$s"); done
    "$1" replay "$3" "${args[@]}" --source "$2" --passes "${4:-usage}" --json >result.json || return 1
    python3 -S -E "$CLI/class_e.py" result.json -source -devices -curve
}

samples() {
    local s
    for s in "$SAMPLES"/*.json; do basename "$s" .json; done
}

# all TAPOOL: every trace on every source that it can have, one file each.
all() {
    local s source
    make_traces "$1" || return 1
    for s in $(samples); do
        for source in host virtual; do figures "$1" $source "sample:$s" >"$s.$source" || return 1; done
    done
    for source in host virtual; do figures "$1" $source web.tpt >web.$source || return 1; done
    for s in streams training; do figures "$1" virtual $s.tpt usage,fits >$s.virtual || return 1; done
}

# Those of the build under test, once for both tests.
setup_file() {
    mkdir "$BATS_FILE_TMPDIR/own"
    cd "$BATS_FILE_TMPDIR/own" || return 1
    all "$TAPOOL"
    rm result.json # with times and the name of the build
}

@test "exact figures are those that another build on another machine found" {
    cd "$BATS_FILE_TMPDIR/own"
    [ "$(samples | wc -l)" -ge 3 ]
    for file in *.virtual; do
        kept=$KEPT/${file%.virtual}.txt
        if [ -n "${UPDATE_GOLDEN:-}" ]; then
            cp "$file" "$kept"
            continue
        fi
        [ "$(wc -l <"$file")" -gt 200 ] || fail "$file: $(wc -l <"$file") lines"
        diff -u "$kept" "$file" >&2 || fail "$file is not as it was; if that is meant: UPDATE_GOLDEN=1"
    done
    # where memory comes from is no matter, but for what whole pages are
    [ "$(getconf PAGESIZE)" -eq 4096 ] || skip "pages here are not those of the figures"
    for file in *.host; do diff "${file%.host}.virtual" "$file" >&2 || fail "$file differs"; done
}

@test "exact figures are those of another build: compiler, optimisation, sanitizers" {
    [ -n "${TAPOOL_OTHER_BUILD:-}" ] || skip "TAPOOL_OTHER_BUILD names no other tapool"
    [ -x "$TAPOOL_OTHER_BUILD" ] || fail "TAPOOL_OTHER_BUILD=$TAPOOL_OTHER_BUILD is no program"
    [ "$("$TAPOOL" --version)" != "$("$TAPOOL_OTHER_BUILD" --version)" ] || skip "it is built as this one"
    mkdir other
    (cd other && all "$TAPOOL_OTHER_BUILD" && rm result.json)
    diff -r "$BATS_FILE_TMPDIR/own" other >&2 || fail "two builds differ"
}
