#!/usr/bin/env bats
# Frames of the heap in the data of a page: their number, what they are of, and that their rows add up to what was
# reserved.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

setup() {
    enter_folder
    needs_pages
}

# framed TRACE [OPTION...]: replays it into a.html and checks the frames, of which frames_check.py says what it wants.
framed() {
    ok replay_once "$@" --export-html a.html -f
    python3 -S -E -B "$CLI/frames_check.py" a.html >found 2>&1 || fail "$(cat found)"
}

# bats test_tags=nightly
@test "every strategy with a walk has frames whose rows are its reserved bytes" {
    framed sample:sqlite -s arena -s lru -s bump -s direct -s system
    grep -x 'arena [1-9][0-9]*' found
    grep -x 'direct [1-9][0-9]*' found
    grep -x 'system 0' found
}

@test "--frames says how many; the extremes are always there" {
    framed sample:jq -s arena --frames 9
    grep -x 'arena 9' found
    framed sample:jq -s arena --frames 1
    grep -x 'arena [345]' found
    framed sample:jq -s arena --frames 0
    grep -x 'arena 0' found
    refused 2 "'frames' is 513" "$TAPOOL" replay sample:jq -s arena --frames 513 --export-html b.html
}

@test "a full device has the frame of its first failure; frames are the same in every replay" {
    ok "$TAPOOL" gen training-step --count 3 -o t.tpt
    framed t.tpt -s torch -s arena --capacity 6GiB
    grep -x 'torch failed' found
    cp found before
    framed t.tpt -s torch -s arena --capacity 6GiB
    diff before found
}
