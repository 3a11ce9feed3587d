# What the tests of tapool record share. The tasks are those of tests/programs/recorded_program.c.
# shellcheck shell=bash
# shellcheck disable=SC2154 # out, err and rc come from common.bash

RECORDED=${TAPOOL_RECORDED:-$(dirname "$TAPOOL")/tests/recorded}

record() { "$TAPOOL" record "$@"; }

# facts TRACE: what is in it, as the file `facts`. A recording is clean: nothing is repaired.
facts() {
    ok "$TAPOOL" info "$1" --json --strict || return 1
    is "$out" 'd["trace"]["repairs"]' '{}' || return 1
    ok "$TAPOOL" convert "$1" -o facts.jsonl -f || return 1
    python3 -S -E "$CLI/recorded_facts.py" facts.jsonl >facts
}

# says LINE...: lines of `facts`.
says() {
    local line
    for line; do
        grep -qxF -- "$line" facts || fail "facts lack '$line':" "$(cat facts)" || return 1
    done
}

# recording OPTION...: records with them, with the end as $rc. What is said about the trace is kept, its
# lines as one, in the file `said`.
recording() {
    capture record "$@"
    tr '\n' ' ' <"$err" >said
}

# recorded TASK [ARGUMENT]...: records it as a.tpt.
recorded() { recording -o a.tpt -f -- "$RECORDED" "$@"; }

# said REGEX: in what the last recording said.
said() { matches said "$1"; }

# nothing_left: no trace, and no recording in the way of the next.
nothing_left() {
    [ -z "$(ls ./*.tpt* 2>/dev/null)" ] || fail "$(ls)"
}
