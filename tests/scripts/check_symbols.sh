#!/usr/bin/env bash
# usage: check_symbols.sh BUILD-DIR [ROOT]
#
# Checks the objects of a build: each plug-in exports exactly one symbol, a constant named
# tp_strategy_*, tp_source_*, tp_format_* or tp_profile_*; every other exported name starts with tp_;
# and no folder but cmd/ keeps mutable data at file scope. Prints one line per finding and exits 1
# when there is any.
#
# How: nm in its sysv format, which names the section. Symbols and sections that sanitizers and
# coverage add are left out; their builds also move data around, so mutability is judged only in
# plain ones.
set -euo pipefail
export LC_ALL=C

[ $# -ge 1 ] || { echo "usage: check_symbols.sh BUILD-DIR [ROOT]" >&2; exit 2; }
HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
BUILD=$(cd -- "$1" && pwd)
cd -- "${2:-$HERE/../..}"
NM=${NM:-nm}
bad=0
plugins=0

report() {
    printf '%s\n' "$*"
    bad=$((bad + 1))
}

# The object of a source: the newest, should several targets compile it.
object_of() { # SOURCE
    find "$BUILD" -path "*/$1.o" -printf '%T@ %p\n' | sort -rn | sed -n '1s/^[^ ]* //p'
}

# `name class section` of what an object defines.
symbols() { # OBJECT
    "$NM" -f sysv --defined-only "$1" | awk -F'|' '
        NF >= 7 { gsub(/ /, "", $1); gsub(/ /, "", $3); gsub(/[ \t]/, "", $7); print $1, $3, $7 }' |
        grep -vE '^(__|_)?(asan|odr_asan|tsan|ubsan|gcov|llvm|sanitizer|sancov|start|stop)_?|^\.L' || true
}

instrumented() { "$NM" -u "$1" | grep -qE '__(asan|tsan|ubsan|gcov|llvm_gcov|sanitizer)'; }

exported() { awk '$2 ~ /^[A-Z]$/ && $2 != "U" && $2 != "W" && $2 != "V" { print $1, $3 }'; }

check_plugin() { # SOURCE OBJECT PREFIX
    local names name section
    names=$(symbols "$2" | exported)
    plugins=$((plugins + 1))
    if [ "$(grep -c . <<<"$names")" -ne 1 ]; then
        report "$1: exports $(grep -c . <<<"$names") symbols instead of one:" \
            "$(cut -d' ' -f1 <<<"$names" | tr '\n' ' ')"
        return
    fi
    read -r name section <<<"$names"
    [[ $name == "$3"* ]] || report "$1: exports $name, which does not start with $3"
    [[ $section == .rodata* || $section == .data.rel.ro* ]] ||
        report "$1: $name is not constant data (section $section)"
}

check_common() { # SOURCE OBJECT
    local name section
    while read -r name section; do
        [[ $name == tp_* ]] || report "$1: exports $name, which does not start with tp_"
    done < <(symbols "$2" | exported)
    instrumented "$2" && return
    while read -r name _ section; do
        case $section in
        .data.rel.ro*) ;;
        .data* | .bss* | .tdata* | .tbss* | '*COM*')
            report "$1: $name is mutable data at file scope (section $section)" ;;
        esac
    done < <(symbols "$2")
}

for source in alloc/*.c alloc/strategies/*.c alloc/sources/*.c traces/*.c traces/formats/*.c \
    traces/profiles/*.c cuda/*.c; do
    [ -e "$source" ] || continue
    object=$(object_of "$source")
    if [ -z "$object" ]; then
        # cuda/ is built only where the toolkit is
        [[ $source == cuda/* ]] || report "$source: has no object in $BUILD"
        continue
    fi
    check_common "$source" "$object"
    case $source in
    alloc/strategies/*) check_plugin "$source" "$object" tp_strategy_ ;;
    alloc/sources/*) check_plugin "$source" "$object" tp_source_ ;;
    traces/formats/*) check_plugin "$source" "$object" tp_format_ ;;
    traces/profiles/*) check_plugin "$source" "$object" tp_profile_ ;;
    cuda/source_*) check_plugin "$source" "$object" tp_source_ ;;
    esac
done

[ "$plugins" -gt 0 ] || report "no plug-in found in $BUILD"
[ "$bad" -eq 0 ] || { echo "$bad findings"; exit 1; }
echo "$plugins plug-ins in order"
