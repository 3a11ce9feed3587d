#!/usr/bin/env bats
# tapool record --stacks: who holds the memory is named, and a stack can be taken wherever malloc can be
# called. The tasks are those of tests/programs/called_program.c.

# shellcheck disable=SC2154,SC2030,SC2031 # out, err and rc come from common.bash
load common

CALLED=${TAPOOL_CALLED:-$(dirname "$TAPOOL")/tests/called}

setup() {
    enter_folder
    built=$(dirname "$TAPOOL")/libtapool_record_stacks.so
}

# recorded OPTION... -- TASK...: records the task as a.tpt, and writes the place of each event that has one
# into `places`, "bytes place" a line.
recorded() {
    [ -e "$built" ] || skip "built without call stacks"
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    capture "$TAPOOL" record -f -o a.tpt "${options[@]}" -- "$CALLED" "$@"
    tr '\n' ' ' <"$err" | tr -s ' ' >said
    [ "$rc" -eq 0 ] || fail "$(cat "$err")" || return 1
    ok "$TAPOOL" convert a.tpt -f -o a.jsonl || return 1
    sed -n 's/.*"size": \([0-9]*\).*"place": "\(.*\)"}/\1 \2/p' a.jsonl >places
}

named() { ! grep -q 'without libdw' said || skip "built without libdw"; }

# places_of REGEX: how many.
places_of() { grep -cE -- "$1" places || true; }

@test "every allocation: each has the function that asked" {
    recorded --stacks 16 --stack-every 1 -- small
    named
    [ "$(places_of '^60 called_program\.c:[0-9]+ f$')" -eq 20000 ]
    [ "$(places_of '^40 called_program\.c:[0-9]+ g$')" -eq 20000 ]
    matches said 'call stacks: of each allocation'
}

@test "a share of the small ones, and each large one" {
    recorded --stacks 16 -- small
    named
    [ "$(places_of '^60 .* f$')" -gt 100 ]
    [ "$(places_of '^60 .* f$')" -lt 400 ]
    matches said 'of each allocation of 16 KiB or more, and of one in 100 below that'
    recorded --stacks 16 -- large
    [ "$(places_of '^60000 .* f$')" -eq 100 ]
    [ "$(places_of '^40000 .* g$')" -eq 100 ]
}

# held LIMIT...: the shares of f and g at the peak, in percent, and whether they are estimated.
held() {
    ok "$TAPOOL" info a.tpt --json || return 1
    python3 -S -E - "$out" "$@" <<'END'
import json, sys
held = json.load(open(sys.argv[1]))["peak_sites"]
low, high, estimated = float(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "estimated"
share = {p["place"].split()[-1]: 100 * p["bytes"] / held["bytes"] for p in held["places"]}
assert low <= share["f"] <= high and 100 - high <= share["g"] <= 100 - low, share
assert held["estimated"] == estimated, held
assert sum(p["bytes"] for p in held["places"]) + held["unknown_bytes"] >= 0.999 * held["bytes"], held
assert all(any("main" in c for c in p["callers"]) for p in held["places"] if p["place"][-1] in "fg"), held
END
}

@test "info says who holds the memory at the peak: f 60%, g 40%" {
    recorded --stacks 16 --stack-every 1 -- small
    named
    held 60 60.01 exact
    ok "$TAPOOL" info a.tpt
    matches "$out" '^Live memory at the peak by allocation site: [0-9.]+ [KMGi]*B$'
    matches "$out" '60\.0%  called_program\.c:[0-9]+ f, from called_program\.c:[0-9]+ main'
    matches "$out" '40\.0%  called_program\.c:[0-9]+ g'
    lacks "$out" "__libc_start|_start" # what starts a program asks for nothing
    recorded --stacks 16 -- large
    held 60 60.01 exact
    recorded --stacks 16 -- small
    held 48 72 estimated
    ok "$TAPOOL" info a.tpt
    matches "$out" 'by allocation site: [0-9.]+ [KMGi]*B, estimated$'
    # JSON leaves the callers out, says so, and is estimated as before
    ok "$TAPOOL" convert a.tpt -f -o b.json
    matches "$out" 'the callers stay behind, a \.tpt keeps them'
    ok "$TAPOOL" info b.json
    matches "$out" 'by allocation site: [0-9.]+ [KMGi]*B, estimated$'
    lacks "$out" ', from '
    # a trace without the stacks still has the places
    ok "$TAPOOL" convert a.tpt -f -o b.tpt --compress
    ok "$TAPOOL" info b.tpt
    matches "$out" 'called_program\.c:[0-9]+ f .by [0-9]+ blocks., from'
}

@test "callers that do not agree: the largest are named with their shares, and most is not all" {
    recorded --stacks 16 --stack-every 1 -- shared
    named
    ok "$TAPOOL" info a.tpt
    local place='called_program\.c:[0-9]+'
    tr -s '\n ' ' ' <"$out" >screen
    matches screen "$place f, from $place forty \(40\.0%\), c.*\.\.\.( |\$)"
    matches screen "$place g, mostly from $place four_fifths < "
    ok "$TAPOOL" info a.tpt --json
    grep -oE '"place":[[:space:]]+"[^"]*(forty|thirty_five|twenty_five)"' "$out" | grep -oE '[a-z_]+"$' >names
    printf '%s"\n' forty thirty_five twenty_five | diff - names
    recorded --stacks 16 --stack-every 1 -- small
    ok "$TAPOOL" info a.tpt
    lacks "$out" mostly
}

@test "without --stacks there are none" {
    recorded -- small
    [ ! -s places ]
    ! matches said 'call stack'
}

@test "deep recursion, threads that fork, signals: the program ends as it does alone" {
    recorded --stacks 64 --stack-every 1 -- deep
    [ "$(places_of '^16 ')" -eq 1000 ]
    recorded --stacks 8 --stack-every 3 --follow fork -- threads
    recorded --stacks 8 --stack-every 1 -- signals
    [ "$(places_of '^20 ')" -eq 2000 ]
}

@test "libraries that come and go, in one another's place" {
    command -v cc >/dev/null || skip "there is no C compiler"
    for name in first second; do
        printf '#include <stdlib.h>\nvoid *%s(size_t n) { return malloc(n); }\n' "$name" >"$name.c"
        cc -shared -fPIC -fno-builtin -o "./$name.so" "$name.c"
    done
    recorded --stacks 8 -- libraries "$PWD/first.so" "$PWD/second.so"
    named
    [ "$(places_of '^50000 first \(first\.so\)$')" -eq 20 ]
    [ "$(places_of '^50000 second \(second\.so\)$')" -eq 20 ]
}

@test "a library that is built anew under its name, and mapped where it was, has its own functions" {
    command -v cc >/dev/null || skip "there is no C compiler"
    for name in first other; do
        printf '#include <stdlib.h>\nvoid *%s(size_t n) { return malloc(n); }\n' "$name" >"$name.c"
        cc -shared -fPIC -fno-builtin -Wl,--build-id -o "./$name.so" "$name.c"
    done
    cat >anew.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void *use(const char *function)
{
    void *library = dlopen("./it.so", RTLD_NOW);
    void *(*call)(size_t) = (void *(*)(size_t))dlsym(library, function);
    free(call(50000));
    dlclose(library);
    return (void *)call;
}
int main(void)
{
    void *was = rename("first.so", "it.so") ? NULL : use("first");
    void *is = rename("other.so", "it.so") ? NULL : use("other");
    puts(was == is ? "in one place" : "elsewhere");
    return 0;
}
END
    cc -fno-builtin -o anew anew.c -ldl
    CALLED=./anew
    recorded --stacks 8 --
    named
    [ "$(places_of '^50000 other \(it\.so\)$')" -eq 1 ] || fail "$(cat places)"
    [ "$(places_of '^50000 it\.so\+0x')" -eq 1 ] || fail "$(cat places)" # the file of then is gone
}

@test "a library that first calls while the recording is stopped is known afterwards" {
    command -v cc >/dev/null || skip "there is no C compiler"
    printf '#include <stdlib.h>\nvoid *grow(void *p, size_t n) { p = realloc(p, n); return p; }\n' >grow.c
    cc -shared -fPIC -fno-builtin -o ./libgrow.so grow.c
    cat >stops.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
void *grow(void *p, size_t n);
int main(void)
{
    void *p = malloc(100);
    kill(getppid(), SIGUSR2);
    usleep(300000);
    p = grow(p, 40000);
    kill(getppid(), SIGUSR2);
    usleep(300000);
    p = grow(p, 50000);
    free(p);
    return 0;
}
END
    cc -fno-builtin -o stops stops.c ./libgrow.so
    CALLED=./stops
    recorded --stacks 8 --
    named
    [ "$(places_of '^50000 grow \(libgrow\.so\)$')" -eq 1 ]
    [ "$(places_of '^40000 ')" -eq 0 ]
}

@test "the path of a program that forbids itself calls of the system is known by then" {
    has_counter || skip "times are not those of the processor's counter: the recording ends at once"
    for how in filter call; do
        CALLED=$(dirname "$TAPOOL")/tests/recorded
        recorded --stacks 8 --stack-size 102 --stack-every 1000000 -- confines $how
        named
        [ "$(places_of '^103 .*take')" -eq 10 ]
    done
}

@test "a stack that ends nowhere ends what is looked at" {
    [ "$(uname -m)" = x86_64 ] || skip "the fiber is written for x86-64"
    recorded --stacks 8 --stack-every 1 -- fibers
    named
    [ "$(places_of '^77 called_program\.c:[0-9]+ run_fiber$')" -eq 10 ]
}

@test "a stack that ends at its mapping, and tables that are wrong: the program ends as it does alone" {
    [ "$(uname -m)" = x86_64 ] || skip "the code is written for x86-64"
    recorded --stacks 8 --stack-every 1 -- edges
    named
    [ "$(places_of '^77 called_program\.c:[0-9]+ run_fiber$')" -eq 10 ]
    recorded --stacks 8 --stack-every 1 -- wild
    [ "$(places_of '^79 called_program\.c:[0-9]+ allocate_wild$')" -eq 10 ]
}

@test "a copy of the program that frees before it allocates has its stacks" {
    recorded --stacks 8 --follow fork -- heirs
    named
    local child
    for child in a.[0-9]*.tpt; do
        ok "$TAPOOL" convert "$child" -f -o child.jsonl
        matches child.jsonl '"size": 70000.*"place": "called_program\.c:[0-9]+ f"'
    done
}

@test "a frame that was realigned leads to its caller" {
    [ "$(uname -m)" = x86_64 ] || skip "the tables are those of x86-64"
    command -v gcc >/dev/null || skip "there is no gcc"
    cat >wide.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) void aligned(int n)
{
    volatile char some[n] __attribute__((aligned(64))), more[64] __attribute__((aligned(64)));
    some[0] = more[0] = 1;
    free(malloc(60000 + some[0]));
}
__attribute__((noinline)) void caller(int n) { aligned(n); __asm__ volatile(""); }
int main(int argc, char **argv) { (void)argv; caller(100 * argc); return 0; }
END
    gcc -g -O2 -fno-builtin -o wide wide.c
    readelf --debug-dump=frames wide 2>/dev/null | grep -q 'DW_CFA_def_cfa_expression (DW_OP_breg6' ||
        skip "this compiler realigns in another way"
    CALLED=./wide
    recorded --stacks 8 --
    named
    ok "$TAPOOL" info a.tpt
    tr -s ' \n' ' ' <"$out" >screen
    matches screen 'wide\.c:[0-9]+ aligned, from wide\.c:[0-9]+ caller'
}

# bats test_tags=nightly
@test "what the program's unwinder has locked is not waited for, nor in its children" {
    recorded --stacks 8 --stack-every 1 --follow fork -- registers
    [ "$(ls a.*.tpt | wc -l)" -eq 40 ]
}

@test "a program that is started by a link has the name of the link" {
    command -v cc >/dev/null || skip "there is no C compiler"
    printf '#include <stdlib.h>\nint main(void) { free(malloc(70000)); return 0; }\n' >own.c
    mkdir -p files
    cc -fno-builtin -o files/own own.c
    ln -s files/own other
    for CALLED in ./other "$PWD/other"; do
        recorded --stacks 8 --
        named
        [ "$(places_of '^70000 main \(other\)$')" -eq 1 ] || fail "$(cat places)"
    done
    CALLED=files/own
    recorded --stacks 8 --
    [ "$(places_of '^70000 main \(own\)$')" -eq 1 ] || fail "$(cat places)"
}

@test "a recorder that is not there is said" {
    mkdir -p alone
    cp "$TAPOOL" "$(dirname "$TAPOOL")/libtapool_record.so" alone/
    capture alone/tapool record --stacks 8 -o b.tpt -- "$CALLED" small
    [ "$rc" -eq 2 ]
    matches "$err" '--stacks: this tapool was built without call stacks'
    [ ! -e b.tpt ]
    [ ! -e b.tpt.recording ]
}

@test "memory of GPUs has no call stacks" {
    refused 2 '^tapool: --stacks records calls of malloc, which --cuda leaves out$' \
        "$TAPOOL" record --cuda --stacks 4 -o a.tpt -- true
}
