#!/usr/bin/env bash
# usage: check_symbols.sh BUILD-DIR [ROOT]
#
# Checks the objects of a build: each plug-in exports one constant, tp_strategy_*, tp_source_* or
# tp_profile_*, and one that is a folder nothing else but what begins with its own name; a format's
# folder exports tp_format_* and tp_writer_* constants, and beside them what begins with tp_ and its
# name; every other exported name begins with tp_; and no folder but cmd/ keeps mutable data at file
# scope. The executable exports the names that are marked TP_API, for plug-ins, and no other. Prints
# one line per finding and exits 1 when there is any.
#
# How: nm in its sysv format, which names the section, once for all objects. Symbols and sections that
# sanitizers and coverage add are left out; their builds also move data around, so mutability is
# judged only in plain ones.
set -euo pipefail
export LC_ALL=C

[ $# -ge 1 ] || { echo "usage: check_symbols.sh BUILD-DIR [ROOT]" >&2; exit 2; }
HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
BUILD=$(cd -- "$1" && pwd)
cd -- "${2:-$HERE/../..}"
NM=${NM:-nm}
WORK=$(mktemp -d)
trap 'rm -rf -- "$WORK"' EXIT

# `source object`, separated by a tab: the newest object, should several targets compile a source.
find alloc traces cuda -type f -name '*.c' | sort >"$WORK/sources"
find "$BUILD" -name '*.c.o' -printf '%T@\t%p\n' | sort -n | cut -f 2 | awk '
    NR == FNR { wanted[$0] = 1; next }
    { source = $0; sub(/\.o$/, "", source)
      while (!(source in wanted) && sub(/^[^\/]*\//, "", source)) ;
      if (source in wanted) object[source] = $0 }
    END { for (s in object) print s "\t" object[s] }' "$WORK/sources" - | sort >"$WORK/objects"

# nm's file is everything before the last colon in front of the first bar.
cut -f 2 "$WORK/objects" | xargs -d '\n' -r "$NM" -A -f sysv --defined-only >"$WORK/defined" 2>"$WORK/errors" ||
    { cat -- "$WORK/errors"; exit 1; }
cut -f 2 "$WORK/objects" | xargs -d '\n' -r "$NM" -A -f posix -u |
    grep -E '__(asan|tsan|ubsan|gcov|llvm_gcov|sanitizer)' | sed 's/: .*//' | sort -u >"$WORK/instrumented" || true

awk -f "$HERE/symbols.awk" "$WORK/sources" "$WORK/objects" "$WORK/instrumented" "$WORK/defined" >"$WORK/findings"
if ! grep -q '^ok ' "$WORK/findings"; then
    cat -- "$WORK/findings"
    echo "$(wc -l <"$WORK/findings") findings"
    exit 1
fi
# What plug-ins may call: the names that are marked TP_API in the headers, and no other.
if [ -x "$BUILD/tapool" ]; then
    "$NM" -D --defined-only "$BUILD/tapool" | sed -n 's/^.* [A-Z] \(tp_[a-z_]*\)$/\1/p' | sort >"$WORK/exported"
    sed -n 's/^TP_API [^(]*[ *]\(tp_[a-z_]*\)(.*/\1/p' alloc/*.h alloc/base/*.h | sort >"$WORK/promised"
    if ! diff "$WORK/promised" "$WORK/exported" |
        sed -n 's/^< \(.*\)/\1 is TP_API, and not exported/p; s/^> \(.*\)/\1 is exported, and not TP_API/p' |
        tee "$WORK/wrong" | { ! grep .; }; then
        exit 1
    fi
fi
sed 's/^ok //' "$WORK/findings"
