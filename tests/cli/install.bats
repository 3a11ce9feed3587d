#!/usr/bin/env bats
# `cmake --install`: what lies where, and that the installed tapool needs nothing of the source tree.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

setup_prefix() {
    BUILD=$(dirname "$TAPOOL")
    [ -f "$BUILD/CMakeCache.txt" ] || skip "$TAPOOL is not in a build folder of CMake"
    PREFIX=$SCRATCH/prefix
    capture cmake --install "$BUILD" --prefix "$PREFIX"
    [ "$rc" -eq 0 ] || fail "cmake --install failed:" "$(cat "$out" "$err")" || return 1
    share=$(find "$PREFIX" -type d -path '*/tapool/samples')
}

# As a user has it: nothing of this shell's environment, another folder.
installed() { (cd / && env -i "$PREFIX/bin/tapool" "$@"); }

@test "what is installed, and that it runs" {
    setup_prefix
    [ -x "$PREFIX/bin/tapool" ]
    for name in sqlite jq python-threads; do
        cmp "$share/$name.json" "$SAMPLES/$name.json"
    done
    [ -f "$share/README.md" ]
    [ -n "$(find "$PREFIX" -name LICENSE)" ]
    if [ -d "$BUILD/generated" ]; then # not under sanitizers
        for file in bash-completion/completions/tapool zsh/site-functions/_tapool man/man1/tapool.1 \
            man/man5/tapool-trace.5; do
            [ -s "$PREFIX/share/$file" ] || fail "no share/$file"
        done
        ok "$TAPOOL" __generate bash
        cmp "$out" "$PREFIX/share/bash-completion/completions/tapool" # of this binary, none older
    fi
    ok installed
    ok installed --version
    ok installed replay sample:sqlite --min-time 1ms
    matches "$out" '^sqlite\.json  '
    for name in sqlite jq python-threads; do
        ok installed replay "sample:$name" --min-time 0 --json
        is "$out" 'r["trace"]["name"]' "$name"
    done
}

@test "the installed tapool reads the installed samples, not the source tree's" {
    setup_prefix
    refused 3 "^tapool: unknown sample 'added'$" installed replay sample:added
    trace '{"op":"alloc","id":1,"size":64}' >"$share/added.json"
    ok installed replay sample:added -s arena --min-time 0 --json
    is "$out" 'r["trace"]["events"]' 1
    cp "$share/added.json" "$share/sqlite.json" # the one in the source tree has 6,170 events
    ok installed replay sample:sqlite -s arena --min-time 0 --json
    is "$out" 'r["trace"]["events"]' 1
    refused 3 "^tapool: unknown sample 'nonesuch'$" installed replay sample:nonesuch
    matches "$err" '^hint: there are: added, cc1, fleet-0, fleet-1, fleet-2, fleet-3, fleet-4, fleet-5, fleet-6, fleet-7, fleet-8, fleet-9, git, jq, llm-decode, node, python-threads, redis, sqlite, training-step, web$'
}

@test "the installation can be moved" {
    setup_prefix
    trace '{"op":"alloc","id":1,"size":64}' >"$share/added.json"
    mv "$PREFIX" "$SCRATCH/moved to here"
    PREFIX="$SCRATCH/moved to here"
    ok installed replay sample:added -s arena --min-time 0
    mkdir bin
    ln -s "$PREFIX/bin/tapool" bin/tapool
    ok bin/tapool replay sample:added -s system --min-time 0 # a child process is started anew
}

@test "TAPOOL_SAMPLES goes before all" {
    mkdir mine
    trace '{"op":"alloc","id":1,"size":64}' >mine/sqlite.json
    TAPOOL_SAMPLES=$PWD/mine ok replay_once sample:sqlite -s arena --json
    is "$out" 'r["trace"]["events"]' 1
    TAPOOL_SAMPLES=$PWD/mine ok replay_once sample:jq -s arena --json
    is "$out" 'r["trace"]["events"]' 12000
    TAPOOL_SAMPLES='' ok replay_once sample:sqlite -s arena --json
    is "$out" 'r["trace"]["events"]' 6170
}

@test "one version: of the binary, the build and the citation" {
    setup_prefix
    version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$BUILD/CMakeCache.txt")
    ok installed --version
    matches "$out" "^tapool $version( |\$)"
    grep -qx "version: $version" "$TAPOOL_ROOT/CITATION.cff"
}

# bats test_tags=nightly
@test "the Debian package is installed, used and removed on a bare system" {
    setup_prefix
    [ "$(id -u)" = 0 ] || skip "only root can enter a root of its own"
    for tool in debootstrap dpkg-shlibdeps; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
    (cd "$BUILD" && cpack -G DEB -B "$SCRATCH/packages") >"$out" 2>&1 || fail "cpack failed:" "$(cat "$out")"
    ok "$TAPOOL_ROOT/scripts/try-package.sh" "$SCRATCH"/packages/tapool_*.deb "$SCRATCH/bare"
    matches "$out" '^-- nothing is left behind$'
}
