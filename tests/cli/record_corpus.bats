# The script that records real programs, with the program that is installed most often.
load common

SCRIPT=$BATS_TEST_DIRNAME/../../scripts/record-corpus.sh

@test "a program is recorded, by the tapool that is asked for" {
    command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed'
    "$TAPOOL" record -o probe.tpt -- sqlite3 :memory: 2>err </dev/null || skip "$(cat err)"
    run "$SCRIPT" --small made sqlite
    [ "$status" -eq 0 ] && [ "$(ls made)" = sqlite.tpt ] || fail "$output"
    ok "$TAPOOL" info made/sqlite.tpt
    matches "$out" 'program +sqlite3 :memory:'
}

@test "what cannot be recorded is said before anything is" {
    wrong() { # TEXT [ARGUMENT...]
        local text=$1
        shift
        run "$SCRIPT" "$@"
        [ "$status" -eq 2 ] && [[ $output == *"$text"* ]] || fail "status $status: $output"
    }
    wrong "unknown program 'nosuch'" made sqlite nosuch
    wrong 'no FOLDER'
    wrong "unknown option '--large'" --large made
    [ ! -e made ]
}
