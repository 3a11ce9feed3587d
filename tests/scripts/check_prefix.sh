#!/usr/bin/env bash
# usage: check_prefix.sh [ROOT]
#
# Checks scripts/dependencies.cmake: libraries are taken from a prefix, without pkg-config, and what is
# missing is named. Only configures: prefixes here hold empty files. CMAKE_GENERATOR says with which
# build tool; without it, with the one that scripts/lib.sh installs.
set -euo pipefail
export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}

ROOT=$(cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/../..}" && pwd)
WORK=$(mktemp -d)
trap 'rm -rf -- "$WORK"' EXIT
bad=0
done_checks=0

place() { # PATH...
    local path
    for path in "$@"; do
        mkdir -p -- "$WORK/${path%/*}"
        : >"$WORK/$path"
    done
}

# Only what the file itself needs: the compiler of the tests, no test, no toolkit.
mkdir -- "$WORK/project"
cat >"$WORK/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.21)
project(prefix LANGUAGES C)
find_package(Threads REQUIRED)
include($ROOT/scripts/dependencies.cmake)
tapool_dependency(cjson "cJSON" none-such-module cjson/cJSON.h cjson libcjson-dev)
get_target_property(folder tapool_cjson INTERFACE_INCLUDE_DIRECTORIES)
message(STATUS "headers: \${folder}")
END

expect() { # WHAT STATUS WORDS CMAKE-ARGUMENT...
    local what=$1 wanted=$2 words=$3 status=0 output
    shift 3
    rm -f -- "$WORK/build/CMakeCache.txt"
    output=$(cmake -S "$WORK/project" -B "$WORK/build" "$@" 2>&1) || status=1
    output=$(tr -s '[:space:]' ' ' <<<"$output")
    done_checks=$((done_checks + 1))
    if [ "$status" -ne "$wanted" ] || [[ $output != *$words* ]]; then
        printf 'not ok: %s\n  status %d\n  %s\n' "$what" "$status" "$output"
        bad=$((bad + 1))
    fi
}

place a/include/cjson/cJSON.h a/lib/libcjson.so a/lib/libcjson.a \
    b/include/cJSON.h b/lib64/libcjson.so c/usr/include/cjson/cJSON.h \
    c/usr/lib/x86_64-linux-gnu/libcjson.a d/include/cjson/cJSON.h

expect "a prefix of its own" 0 "tapool_cjson: $WORK/a/lib/libcjson.so -- headers: $WORK/a/include" \
    -DTAPOOL_CJSON_PREFIX="$WORK/a"
expect "archives first" 0 "tapool_cjson: $WORK/a/lib/libcjson.a" \
    -DTAPOOL_DEPENDENCIES_PREFIX="$WORK/a" -DTAPOOL_STATIC_DEPENDENCIES=ON
expect "the header as its source has it" 0 "/b/lib64/libcjson.so -- headers: $WORK/build/dependencies" \
    -DTAPOOL_DEPENDENCIES_PREFIX="$WORK/b" -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
expect "an unpacked package" 0 "/c/usr/lib/x86_64-linux-gnu/libcjson.a -- headers: $WORK/c/usr/include" \
    -DTAPOOL_CJSON_PREFIX="$WORK/c"
expect "a header without its library" 1 "cJSON is not in TAPOOL_CJSON_PREFIX=$WORK/d: looked there for \
include/cjson/cJSON.h and libcjson.so" -DTAPOOL_CJSON_PREFIX="$WORK/d"
expect "nowhere" 1 "-DTAPOOL_CJSON_PREFIX=DIR" \
    -DTAPOOL_DEPENDENCIES_PREFIX="$WORK/d" -DCMAKE_FIND_ROOT_PATH="$WORK/d" \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY

if [ "$bad" -gt 0 ]; then
    echo "$bad of $done_checks checks of the prefixes failed"
    exit 1
fi
echo "$done_checks checks of the prefixes passed"
