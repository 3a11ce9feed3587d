#!/usr/bin/env bash
# usage: check_recorder.sh LIBRARY...
#
# Checks that no page of a recorder library holds both code and something else, on machines with pages
# of up to 64 KiB. The recorder withdraws operators of C++ by a change in its table of symbols, and makes
# that page writable for it: were code on it, the next call would end the program. Prints one line per
# finding and exits 1 when there is any.
set -euo pipefail
export LC_ALL=C
PAGE=$((1 << 16))
[ $# -ge 1 ] || { echo "usage: check_recorder.sh LIBRARY..." >&2; exit 2; }

# "FIRST-PAGE LAST-PAGE ALIGNMENT code|data" for each segment that is loaded, and for the table of
# symbols, which may lie in a segment of code.
segments() {
    readelf -lW -- "$1" | sed -nE 's/^ +LOAD +0x[0-9a-f]+ (0x[0-9a-f]+) 0x[0-9a-f]+ 0x[0-9a-f]+ (0x[0-9a-f]+) (.*) (0x[0-9a-f]+)$/\1 \2 \4 \3/p' |
        while read -r at bytes align rights; do
            what=data
            [[ $rights != *E* ]] || what=code
            echo "$((at / PAGE)) $(((at + bytes - 1) / PAGE)) $((align)) $what"
        done
    readelf -SW -- "$1" | sed -nE 's/^ .*\] \.dynsym +DYNSYM +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) .*/\1 \2/p' |
        while read -r at bytes; do
            echo "$((0x$at / PAGE)) $(((0x$at + 0x$bytes - 1) / PAGE)) $PAGE data"
        done
}

bad=0
for library; do
    found=$(segments "$library")
    name=${library##*/}
    case $found in *code*) ;; *) echo "$name: no segment of code was found"; bad=1 ;; esac
    while read -r first last align what; do
        [ "$align" -ge "$PAGE" ] || { echo "$name: a segment is aligned to $align bytes, not to $PAGE"; bad=1; }
        [ "$what" = data ] || continue
        while read -r from to _ kind; do
            [ "$kind" = code ] && [ "$first" -le "$to" ] && [ "$from" -le "$last" ] || continue
            echo "$name: code and data share a page of $PAGE bytes"
            bad=1
        done <<<"$found"
    done <<<"$found"
done
[ "$bad" -eq 0 ] || exit 1
echo "$# libraries: code is on pages of its own"
