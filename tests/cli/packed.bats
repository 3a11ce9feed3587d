#!/usr/bin/env bats
# Packed traces: the same program as unpacked, from files and stdin; damage and bombs are refused.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

# Both tools, or what there is of them.
packers() {
    for tool in gzip zstd; do
        if command -v "$tool" >/dev/null; then
            echo "$tool"
        fi
    done
}

# pack TOOL FILE: to stdout.
pack() { "$1" -q -c "$2"; }

info() { "$TAPOOL" info "$@"; }

hash_of() { grep '"program_hash"' "$1"; }

# same_program ARGUMENT...: its program has the hash in $expected.
same_program() {
    ok info "$@" --json || return 1
    [ "$(hash_of "$out")" = "$expected" ] || fail "not $expected:" "$(hash_of "$out")"
}

setup() {
    enter_folder
    [ -n "$(packers)" ] || skip "neither gzip nor zstd is installed"
}

@test "a packed sample is the same program, as a file and on stdin" {
    ok info "$SAMPLES/sqlite.json" --json
    expected=$(hash_of "$out")
    for packer in $(packers); do
        pack "$packer" "$SAMPLES/sqlite.json" >"sqlite.json.$packer"
        same_program "sqlite.json.$packer"
        same_program - <"sqlite.json.$packer"
        same_program <(cat "sqlite.json.$packer")
        cat "sqlite.json.$packer" "sqlite.json.$packer" >two
        refused 3 "^tapool: two:[0-9]+: something follows the end of the trace$" info two
        matches "$err" "^hint: lines and bytes are counted in the unpacked trace$"
        ok replay_once "sqlite.json.$packer" -s arena
        ok replay_once - -s arena <"sqlite.json.$packer"
    done
}

@test "a trace called x.json.gz is called x" {
    trace '{"op":"alloc","id":1,"size":64}' >plain
    pack "$(packers | head -n 1)" plain >x.json.gz
    ok info x.json.gz --json
    matches "$out" '"path":.*"x\.json\.gz"'
    matches "$out" '"name":.*"x"'
}

# bats test_tags=nightly
@test "cut, damaged, followed by something, packed twice, empty" {
    for packer in $(packers); do
        pack "$packer" "$SAMPLES/jq.json" >whole
        size=$(wc -c <whole)
        for cut in 9 100 $((size / 2)) $((size - 1)); do
            head -c "$cut" whole >cut.x
            refused 3 "^tapool: cut\.x: the $packer data ends too early: truncated\?$" info cut.x
            refused 3 "^tapool: stdin: the $packer data ends too early: truncated\?$" replay_once - <cut.x
        done
        { head -c $((size / 2)) whole && head -c 300 /dev/zero && tail -c +$((size / 2 + 301)) whole; } >damaged
        refused 3 "^tapool: damaged: the $packer data is damaged at byte [0-9]+$" info damaged
        { cat whole && echo more; } >more.x
        refused 3 "^tapool: more\.x: something else follows the end of the $packer data at byte $size$" info more.x
        pack "$packer" whole >twice
        refused 3 "^tapool: twice: packed twice: $packer inside $packer$" info twice
        matches "$err" "^hint: unpack it once with '$packer -d'$"
        : | "$packer" -c >nothing
        refused 3 "^tapool: nothing: unpacks to nothing: no trace in it$" info nothing
    done
}

@test "zeros behind gzip are padding" {
    command -v gzip >/dev/null || skip "gzip is not installed"
    { gzip -c "$SAMPLES/jq.json" && head -c 5000 /dev/zero; } >padded.gz
    ok info padded.gz
}

@test "a bomb is refused, and --max-memory reads on" {
    {
        printf '{ "format": "tapool-trace", "version": 1, "events": ['
        printf '{"op":"alloc","id":1,"size":64}'
        head -c 50000000 /dev/zero | tr '\0' ' '
        printf ']}\n'
    } >bomb.json
    for packer in $(packers); do
        pack "$packer" bomb.json >bomb
        for command in info replay_once; do
            refused 3 "^tapool: bomb: unpacks to more than 16 MiB from [0-9.,]+ (B|KiB): a decompression bomb\?$" \
                "$command" --max-memory 16MiB bomb
            matches "$err" "^hint: --max-memory=SIZE reads on$"
        done
        ok info --max-memory=64MiB bomb
        ok info bomb
    done
    refused 2 "max-memory" info --max-memory 1 bomb
}

@test "a zstd window is taken from --max-memory" {
    command -v zstd >/dev/null || skip "zstd is not installed"
    zstd -q -c --long=25 <"$SAMPLES/jq.json" >far.zst
    ok info far.zst
    refused 3 "^tapool: far\.zst: to unpack the zstd data takes more than 16 MiB$" info --max-memory 16MiB far.zst
    matches "$err" "^hint: --max-memory=SIZE reads on$"
}

@test "a Git LFS pointer in place of a packed trace" {
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n' >x.gz
    refused 3 "^tapool: x\.gz is a Git LFS pointer" info x.gz
    matches "$err" "^hint: git lfs pull$"
}
