#!/usr/bin/env bash
# usage: scripts/check-format.sh [--fix]
#
# Checks every *.c and *.h against .clang-format. clang-format 14 decides: other versions differ in
# details, so without it the check is skipped, which it says.
#
#   --fix    rewrite instead the files that differ from the last commit
#   --help   this text
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

mode=(--dry-run -Werror)
case ${1:-} in
--fix) mode=(-i) ;;
--help | -h)
    usage
    exit 0
    ;;
"") ;;
*) fail 2 "unknown argument '$1'" "--help lists all" ;;
esac

tool=
for candidate in clang-format-14 clang-format; do
    if have "$candidate" && "$candidate" --version | grep -q 'version 14\.'; then
        tool=$candidate
        break
    fi
done
if [ -z "$tool" ]; then
    say "skipped: clang-format 14 is not here (apt-get install clang-format-14)"
    exit 0
fi

cd -- "$ROOT"
# the tracked files; in a tree without git those of the source folders
list_files() {
    if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$ROOT" ]; then
        if [ "${mode[0]}" = -i ]; then
            git diff HEAD --name-only --diff-filter=d -z -- '*.c' '*.h'
            git ls-files --others --exclude-standard -z -- '*.c' '*.h'
        else
            git ls-files -z -- '*.c' '*.h'
        fi
    else
        find alloc cmd cuda traces tests -type f -name '*.[ch]' -print0
    fi
}
mapfile -d '' -t files < <(list_files)
if [ "${#files[@]}" -eq 0 ]; then
    [ "${mode[0]}" = -i ] || fail 1 "found no *.c or *.h"
    exit 0
fi
"$tool" "${mode[@]}" "${files[@]}"
say "clang-format: ${#files[@]} files in order"
