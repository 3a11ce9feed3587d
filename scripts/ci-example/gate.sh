#!/usr/bin/env bash
# usage: gate.sh [OPTION]... [-- CHECK-ARGUMENT...]
#
# Gates the commit that is checked out: builds tapool from it and from the merge base, runs
# `tapool check --base-bin MERGE-BASE` and leaves the findings in files. The exit status is that of
# tapool check (tapool help ci): 0 no regression, 1 regression, 5 inconclusive.
#
#   --source DIR   the checkout (default: the current folder's)
#   --base REF     the branch that this is to be merged into (default: origin/main). Where HEAD is in
#                  it already, HEAD is compared with its parent
#   --work DIR     where things are built and binaries kept (default: DIR/build/gate)
#   --out DIR      where check.json, check.xml (JUnit), check.md and check.html go (default: WORK/out);
#                  the page is left out where tapool was built without libjs-dygraphs
#   --cmake ARG    one more argument for cmake; may be repeated
#   --library FILE what is gated is a malloc library, not tapool: the file that --build leaves in the
#                  checkout. tapool check --base-lib compares both; the traces follow --
#   --build CMD    builds it, in a shell at the top of the checkout
#   --tapool FILE  the tapool that checks libraries (default: that of the search path)
#   --keys         print `head=...` and `base=...`, the names under which WORK/bin keeps the two
#                  binaries, for a cache of the CI; nothing is built
#   --dry-run      print what would be built and run; nothing is
#   --help         this text
#
# What follows -- goes to tapool check, as --require latency. Commits are gated, not files that are
# changed since.
#
# How: both commits are checked out, one after the other, into one worktree and built in one build
# folder, the base first. What is the same in both is compiled once, and both binaries have the same
# paths in them. A binary is kept under WORK/bin/COMMIT-TOOLS, where TOOLS is a hash of compiler,
# CMake and arguments: a binary of another compiler is not taken for the base.
#
# Known weakness: an old base that cannot be built is said and left out; then classes that need it are
# NOT CHECKED, and only --require makes that fail.
set -euo pipefail

say() { printf '%s\n' "-- $*" >&2; }

fail() { # SENTENCE [HINT]
    printf 'gate.sh: %s\n' "$1" >&2
    [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
    exit 2
}

usage() { sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

source=.
base_ref=origin/main
work=''
out=''
mode=run
cmake_arguments=()
library=''
build_command=''
tapool=tapool

value() { # OPTION COUNT
    [ "$2" -ge 2 ] || fail "option '$1' needs a value" "--help lists all"
}

while [ $# -gt 0 ]; do
    case $1 in
    --source | --base | --work | --out | --cmake | --library | --build | --tapool) value "$1" $# ;;&
    --source) source=$2 ;;
    --base) base_ref=$2 ;;
    --work) work=$2 ;;
    --out) out=$2 ;;
    --cmake) cmake_arguments+=("$2") ;;
    --library) library=$2 ;;
    --build) build_command=$2 ;;
    --tapool) tapool=$2 ;;
    --keys) mode=keys ;;
    --dry-run) mode=dry ;;
    --help | -h)
        usage
        exit 0
        ;;
    --)
        shift
        break
        ;;
    *) fail "unknown argument '$1'" "--help lists all; what is for tapool check follows --" ;;
    esac
    case $1 in
    --source | --base | --work | --out | --cmake | --library | --build | --tapool) shift 2 ;;
    *) shift ;;
    esac
done

[ -z "$library$build_command" ] || { [ -n "$library" ] && [ -n "$build_command" ]; } ||
    fail "a library needs --library and --build" "--library libmy.so --build 'make libmy.so'"
what=tapool # that is built
file=tapool # that is kept
[ -z "$library" ] || { what=$library && file=${library##*/}; }

# ---- which commits ----

git_in() { git -C "$source" "$@"; }

top=$(git -C "$source" rev-parse --show-toplevel 2>/dev/null) ||
    fail "'$source' is in no git repository"
source=$top
mkdir -p -- "${work:=$source/build/gate}"
work=$(cd -- "$work" && pwd)
out=${out:-$work/out}

# The newest commit of the base branch that HEAD holds; HEAD's parent where that is HEAD itself.
merge_base() {
    local found
    git_in rev-parse --verify --quiet "$base_ref^{commit}" >/dev/null ||
        fail "there is no '$base_ref'" "git fetch origin; --base REF names another branch"
    found=$(git_in merge-base HEAD "$base_ref") ||
        fail "HEAD and '$base_ref' have no commit in common" "fetch all of the history: fetch-depth: 0"
    if [ "$found" = "$head" ]; then
        found=$(git_in rev-parse --verify --quiet 'HEAD^1^{commit}') || found=''
    fi
    printf '%s\n' "$found"
}

# What a binary depends on beside its commit.
tools() {
    { "${CC:-cc}" --version && cmake --version && printf '%s\n' "$(uname -m)" "${CC:-}" "${CFLAGS:-}" \
        "${cmake_arguments[@]}" "$library" "$build_command"; } | git hash-object --stdin | cut -c 1-12
}

head=$(git_in rev-parse HEAD)
base=$(merge_base)
tools=$(tools)

if [ "$mode" = keys ]; then
    printf 'head=%s\nbase=%s\n' "$head-$tools" "${base:-none}-$tools"
    exit 0
fi

# ---- building ----

# Only what changed from the commit built before is compiled again.
compile() { # COMMIT
    local tree=$work/tree
    git_in worktree prune
    if [ -e "$tree/.git" ]; then
        git -C "$tree" checkout --quiet --force --detach "$1" || return 1
    else
        git_in worktree add --quiet --force --detach "$tree" "$1" || return 1
    fi
    if [ -n "$library" ]; then
        (cd -- "$tree" && bash -c "$build_command") && mkdir -p -- "$work/build" &&
            cp -- "$tree/$library" "$work/build/$file"
        return
    fi
    cmake -S "$tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTAPOOL_TESTS=OFF \
        -DTAPOOL_CUDA=OFF "${cmake_arguments[@]}" || return 1
    cmake --build "$work/build" --target tapool
}

build() { # COMMIT
    compile "$1" >"$work/build.log" 2>&1 && return
    tail -n 30 -- "$work/build.log" >&2
    return 1
}

# Makes WORK/NAME/FILE what is built of a commit: kept, or built now.
binary_of() { # COMMIT NAME
    local kept=$work/bin/$1-$tools
    ln -sfn -- "bin/$1-$tools" "$work/$2"
    if [ -e "$kept/$file" ]; then
        say "$what of ${1:0:12}: kept from before"
        return
    fi
    say "$what of ${1:0:12}: building"
    build "$1" || return 1
    mkdir -p -- "$kept"
    cp -- "$work/build/$file" "$kept/$file.new"
    mv -- "$kept/$file.new" "$kept/$file" # whole or not at all
}

near=${work#"$source"/} # as short in reports as it can be
side=--base-bin
cells=()
if [ -n "$library" ]; then
    [[ $near = /* ]] || near=./$near
    side=--base-lib
    cells=(--strategy "${file%%.*}=lib:$near/head/$file")
else
    tapool=$near/head/tapool
fi

if [ "$mode" = dry ]; then
    printf 'head %s\nbase %s\n' "$head" "${base:-none}"
    printf 'tapool check%s --export-json %s --export-junit %s --export-markdown %s --export-html %s -f%s\n' \
        "${cells:+ ${cells[*]}}${base:+ $side $near/base/$file}" "$out/check.json" "$out/check.xml" \
        "$out/check.md" "$out/check.html" "${*:+ $*}"
    exit 0
fi

base_arguments=()
if [ -z "$base" ]; then
    say "HEAD has no parent: there is no base build"
elif binary_of "$base" base; then
    base_arguments=("$side" "$near/base/$file")
else
    say "the merge base ${base:0:12} cannot be built: what needs it is NOT CHECKED"
fi
binary_of "$head" head || fail "$what of ${head:0:12} cannot be built" "all of it is in $work/build.log"
[ -z "$library" ] || [ "${#base_arguments[@]}" -gt 0 ] ||
    fail "there is no base library to compare with" "a library has no baseline: the merge base must build"
base_arguments=("${cells[@]}" "${base_arguments[@]}")

# ---- checking ----

mkdir -p -- "$out"
out=$(cd -- "$out" && pwd)
findings=("$out/check.json" "$out/check.xml" "$out/check.md" "$out/check.html")
rm -f -- "${findings[@]}" # those of another run are not taken for this one's

# Without a trace compare does nothing, but says first what it could not write.
page=(--export-html "$out/check.html")
cd -- "$source" # where tapool-baseline.json is
said=$("$tapool" compare "${page[@]}" 2>&1 || true)
[[ $said != *'built without'* ]] || page=()
say "tapool check ${base_arguments[*]} $*"
status=0
"$tapool" check "${base_arguments[@]}" --export-json "$out/check.json" --export-junit "$out/check.xml" \
    --export-markdown "$out/check.md" "${page[@]}" --force "$@" || status=$?
written=''
for file in "${findings[@]}"; do
    [ ! -e "$file" ] || written="$written ${file##*/}"
done
say "exit $status; in $out:${written:- nothing}"
exit "$status"
