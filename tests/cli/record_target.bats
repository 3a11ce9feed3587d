#!/usr/bin/env bats
# tapool record: how the program is named, what cannot be recorded, and where the trace may not lie.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common
load record

@test "a program that is missing, is none, or is for another machine" {
    refused 127 "^tapool: 'no-such-program' was not found$" record -o a.tpt -- no-such-program
    refused 127 "^tapool: './nor-this' was not found$" record -o a.tpt -- ./nor-this
    echo text >text
    refused 126 "^tapool: './text' is not an executable program$" record -o a.tpt -- ./text
    refused 126 "^tapool: '/' is not an executable program$" record -o a.tpt -- /
    cp "$RECORDED" foreign
    printf '\363\000' | dd of=foreign bs=1 seek=18 conv=notrunc status=none # RISC-V
    refused 3 "foreign' cannot be recorded: it is built for another architecture$" record -o a.tpt -- ./foreign
    local machine=267 # arm64; there, x86-64
    [ "$(uname -m)" = x86_64 ] || machine=076
    for change in '4 1' "18 $machine"; do # 32 bits, another machine
        cp "$RECORDED" foreign
        # shellcheck disable=SC2059 # the byte, in octal
        printf "\\${change#* }" | dd of=foreign bs=1 seek="${change% *}" conv=notrunc status=none
        refused 3 "foreign' cannot be recorded: it is built for another architecture$" record -o a.tpt -- ./foreign
    done
    echo '#!/no/such/interpreter' >script
    chmod +x script
    refused 126 "^tapool: './script' cannot be started: No such file or directory$" record -o a.tpt -- ./script
    refused 2 '^tapool: record needs a program to run$' record -o a.tpt
    [ "$(ls)" = "$(printf 'foreign\nscript\ntext')" ] || fail "$(ls)"
}

@test "a static program, and one with other rights" {
    refused 3 "cannot be recorded: it is statically linked, so no library can be preloaded$" \
        record -o a.tpt -- "$(dirname "$RECORDED")/no_loader"
    printf '#!%s\n' "$(dirname "$RECORDED")/no_loader" >script
    chmod +x script
    refused 3 "no_loader' cannot be recorded: it is statically linked" record -o a.tpt -- ./script
    if [ "$(uname -m)" = x86_64 ]; then
        sed 's,/lib64/ld-linux-x86-64.so.2,/lib/ld-musl-x86_64.so.1\x00\x00\x00,' "$RECORDED" >musl
        chmod +x musl
        refused 3 "musl' cannot be recorded: its C library is musl, and the recorder's is glibc$" \
            record -o a.tpt -- ./musl takes 5
    fi
    cp "$RECORDED" other
    if [ "$(id -u)" -eq 0 ]; then
        chown 65534 other
        chmod u+s other
        refused 3 "other' cannot be recorded: it is setuid, setgid or has capabilities$" \
            record -o a.tpt -- ./other takes 5
    fi
    [ ! -e a.tpt ] && [ ! -e a.tpt.recording ]
}

@test "a program whose malloc is its own" {
    recording -o a.tpt -f -- "$(dirname "$RECORDED")/own_malloc"
    [ "$rc" -eq 3 ] || fail "$rc"
    said "^tapool: nothing was recorded: the program has its own malloc, from a sanitizer or an allocator linked into it hint: build it without"
    nothing_left
}

@test "a program that is built with a sanitizer is refused before it starts" {
    local compiler sanitizer name built=
    echo 'int main(void) { return 0; }' >empty.c
    for compiler in cc gcc clang; do
        for sanitizer in address:Address hwaddress:HWAddress memory:Memory thread:Thread; do
            name=${sanitizer#*:}Sanitizer
            "$compiler" "-fsanitize=${sanitizer%:*}" -o tried empty.c 2>/dev/null || continue
            mv tried built # a compiler that has no such sanitizer removes what was there
            built=yes
            refused 3 "^tapool: './built' cannot be recorded: it is built with $name, which has its own malloc$" \
                record -o a.tpt ./built
        done
    done
    [ -n "$built" ] || skip "there is no compiler with a sanitizer"
    printf '#!%s\n' "$PWD/built" >script
    chmod +x script
    refused 3 "built' cannot be recorded: it is built with" record -o a.tpt ./script
    nothing_left
    # the one without a malloc of its own
    if cc -fsanitize=undefined -o built empty.c 2>/dev/null; then
        recording -o a.tpt ./built
        [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    fi
}

@test "an output that cannot be written: before the program starts" {
    refused 4 "a\.tpt' cannot be written" record -o no/such/a.tpt -- sh -c 'touch ran'
    echo mine >mine.tpt
    refused 2 "mine\.tpt' exists" record -o mine.tpt -- sh -c 'touch ran'
    refused 2 "-o needs a file: standard output belongs to the program$" record -o - -- sh -c 'touch ran'
    mkfifo queue
    for output in /dev/full /dev/null queue; do
        for force in '' -f; do
            # shellcheck disable=SC2086 # may be none
            refused 2 "^tapool: '$output' is not a regular file$" \
                timeout 20 "$TAPOOL" record $force -o "$output" sh -c 'touch ran'
        done
    done
    [ ! -e ran ]
    [ "$(cat mine.tpt)" = mine ]
    recording -o mine.tpt -f -- "$RECORDED" takes 5
    facts mine.tpt
    says 'alloc 5'
}

@test "the program itself is not overwritten" {
    cp "$RECORDED" prog
    cp prog expected
    ln -s prog link
    for output in prog ./prog link; do
        for program in ./prog "$PWD/link"; do
            refused 2 "^tapool: '$output' is the program to record$" record -f -o "$output" -- "$program" takes 5
        done
    done
    cmp expected prog
    [ "$(ls)" = "$(printf 'expected\nlink\nprog')" ] || fail "$(ls)"
}

@test "options end at the program, with -- and without" {
    for dashes in '' --; do
        # shellcheck disable=SC2086 # may be none
        recording -f -o a.tpt $dashes sh -c 'echo "$@"' name -o --port=80 -f -- -h --help
        [ "$rc" -eq 0 ] || fail "$(cat "$err")"
        [ "$(cat "$out")" = '-o --port=80 -f -- -h --help' ] || fail "$(cat "$out")"
    done
    recording "$RECORDED" takes 5 --follow all --no-such-option
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    facts recorded.tpt
    says 'size 101 5'
    # other commands take options anywhere
    ok "$TAPOOL" info a.tpt --json
}

@test "a script without #! is run by the shell, as from a shell" {
    # shellcheck disable=SC2016 # the script expands it
    printf 'echo "$0 $1"\nexec "$2" takes 5\n' >script
    chmod +x script
    recording -o a.tpt ./script 'a b' "$RECORDED"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    [ "$(cat "$out")" = './script a b' ] || fail "$(cat "$out")"
    facts a.tpt
    says 'size 101 5'
    # in the folder that an empty part of PATH means
    PATH=:$PATH recording -f -o a.tpt script 'a b' "$RECORDED"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    : >script
    recording -f -o a.tpt ./script
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
}

@test "marks of a program at a fixed address, and of one at any" {
    cat >marks.c <<'C'
#include <stdlib.h>
#include "cmd/preload/mark.h"
int main(void)
{
    TAPOOL_MARK("here");
    free(malloc(100));
    return 0;
}
C
    local how compiler
    for compiler in gcc clang; do
        ! command -v "$compiler" >/dev/null || for how in '-fno-pie -no-pie' '-fpie -pie'; do
            # shellcheck disable=SC2086 # two words
            "$compiler" -O2 -fno-builtin -Wall -Wextra -Werror $how -I"$TAPOOL_ROOT" marks.c -o marks
            ./marks
            recording -o a.tpt -f -- ./marks
            facts a.tpt
            says "mark here 0"
        done
    done
}
