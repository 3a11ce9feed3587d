#!/usr/bin/env bash
# usage: scripts/quickstart.sh [--no-install]
#
# Build tapool in build/release and replay a sample trace. On Debian and Ubuntu, install missing
# packages first (gcc, cmake, ninja, pkg-config, cJSON, nettle, libinih, SQLite). Safe to run again.
#
#   --no-install   list missing packages and exit with 2
#   --help         print this text
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

for argument in "$@"; do
    case $argument in
    --no-install) INSTALL=no ;;
    --help | -h)
        usage
        exit 0
        ;;
    *) fail 2 "unknown argument '$argument'" "--help lists all" ;;
    esac
done

from=$PWD
need_packages "${BUILD_NEEDS[@]}"
need_cmake
mkdir -p -- "$ROOT/build"

say_cuda
say "building in $ROOT/build/release"
configure release release
build release >"$ROOT/build/release.log" 2>&1 || {
    cat -- "$ROOT/build/release.log" >&2
    fail 1 "the build failed" "the output above is in build/release.log"
}

cd -- "$ROOT"
printf '\n$ build/release/tapool replay sample:sqlite --strategy arena\n'
build/release/tapool replay sample:sqlite --strategy arena

printf '\nNext:\n'
[ "$from" = "$ROOT" ] || printf '  cd %q\n' "$ROOT"
cat <<'NEXT'
  build/release/tapool replay sample:jq           compare the default strategies on another sample
  build/release/tapool strategies arena           show a strategy, its options and defaults
  build/release/tapool record -o T.tpt -- CMD     record a program of yours, then replay T.tpt
NEXT
