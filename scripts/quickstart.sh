#!/usr/bin/env bash
# usage: scripts/quickstart.sh [--no-install]
#
# Builds tapool in build/release and replays a shipped trace. On Debian and Ubuntu it first installs
# what is missing (gcc, cmake, ninja, pkg-config, cJSON, nettle, libinih) and says so. May be run
# again.
#
#   --no-install   install nothing: say what is missing and exit 2
#   --help         this text
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
  build/release/tapool replay sample:jq           the usual strategies on another trace, one table
  build/release/tapool strategies arena           what this strategy does, its options and defaults
  build/release/tapool replay YOUR-TRACE.json     a trace of your own: tapool help format
NEXT
