#!/usr/bin/env bash
# usage: check_symbols.sh BUILD-DIR [ROOT]
#
# Checks the objects of a build: each plug-in exports one constant, tp_strategy_*, tp_source_* or
# tp_profile_*, and one that is a folder nothing else but what begins with its own name; a format's
# folder exports tp_format_* and tp_writer_* constants, and beside them what begins with tp_ and its
# name; every other exported name begins with tp_; and no folder but cmd/ keeps mutable data at file
# scope. The executable exports the names that are marked TP_API, for plug-ins, and no other. And no
# file calls one that leads back to it: a strategy counts as one file, and so does the replayer with its
# threads. Prints one line per finding and exits 1 when there is any.
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

# objects_of SOURCES: `source object`, separated by a tab: the newest object, should several targets
# compile a source.
objects_of() {
    find "$BUILD" -name '*.c.o' -printf '%T@\t%p\n' | sort -n | cut -f 2 | awk '
        NR == FNR { wanted[$0] = 1; next }
        { source = $0; sub(/\.o$/, "", source)
          while (!(source in wanted) && sub(/^[^\/]*\//, "", source)) ;
          if (source in wanted) object[source] = $0 }
        END { for (s in object) print s "\t" object[s] }' "$1" - | sort
}
find alloc traces cuda -type f -name '*.c' | sort >"$WORK/sources"
objects_of "$WORK/sources" >"$WORK/objects"

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

# Circles of calls. The library that goes into a recorded program has names of the C library, and is
# left out.
find alloc traces cuda cmd -type f -name '*.c' ! -path 'cmd/preload/*' | sort >"$WORK/all"
objects_of "$WORK/all" >"$WORK/objects"
cut -f 2 "$WORK/objects" | xargs -d '\n' -r "$NM" -A -f posix | awk '
    function unit(source) {
        if (source ~ /^alloc\/strategies\/[^\/]*\//) {
            match(source, /^alloc\/strategies\/[^\/]*/)
            return substr(source, 1, RLENGTH)
        }
        return source ~ /^alloc\/engine\/(crew|instance|replay_loop)\.c$/ ? "alloc/engine/replay_loop.c" : source
    }
    NR == FNR { split($0, of, "\t"); source[of[2]] = of[1]; next }
    { object = $1; sub(/:$/, "", object); from = unit(source[object]) }
    $3 == "T" { defines[$2] = from }
    $3 == "U" { calls[from, $2] = 1 }
    END { for (call in calls) {
              split(call, of, SUBSEP)
              if (of[2] in defines && defines[of[2]] != of[1]) print of[1], defines[of[2]]
          } }' "$WORK/objects" - | sort -u >"$WORK/calls"
if ! tsort "$WORK/calls" >"$WORK/order" 2>"$WORK/loops"; then
    sed -n 's/^tsort: [^:]*: input contains a loop:$/files call each other in a circle:/p; s/^tsort: \([a-z].*\.c\)$/  \1/p' "$WORK/loops"
    exit 1
fi
sed 's/^ok //' "$WORK/findings"
