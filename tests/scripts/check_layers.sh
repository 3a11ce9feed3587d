#!/usr/bin/env bash
# usage: check_layers.sh [ROOT [CHECK...]]
#
# Checks the tree: which room includes which (rooms.txt), circles of files, calls that only cmd/ may
# make, unique names of files and tags of types, words, texts, nested conditionals, lengths, branches of a function
# (where pmccabe is installed), headers that compile alone, and what lies in the top folder. Prints one line per
# finding, `path:line: what`, and exits 1 when there is any. CHECK: includes, calls, names, tags, words, texts,
# nested, lengths, branches, headers or top; all of them where none is named.
# check_checks.sh proves each check.
#
# How: c_text.awk takes comments away; the rest are regular expressions.
# Known weakness: a name built by a macro is not seen.
set -euo pipefail
export LC_ALL=C

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cd -- "${1:-$HERE/../..}"
shift || true
FINDINGS=$(mktemp)
trap 'rm -f -- "$FINDINGS"' EXIT

report() { printf '%s\n' "$*" >>"$FINDINGS"; }

FOLDERS=()
for folder in alloc cuda traces cmd tests scripts; do
    [ ! -d "$folder" ] || FOLDERS+=("$folder")
done
mapfile -t SOURCES < <(find "${FOLDERS[@]}" -type f -name '*.[ch]' | sort)

# C, POSIX and Linux: what libc and the compiler bring. Everything in <> that is not here is a library.
LIBC='assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdalign'
LIBC+='|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|tgmath|threads|time'
LIBC+='|uchar|wchar|wctype|alloca|dirent|dlfcn|elf|endian|byteswap|err|execinfo|fcntl|fnmatch|ftw'
LIBC+='|getopt|glob|langinfo|libgen|link|malloc|poll|pthread|pwd|regex|sched|search|semaphore|spawn'
LIBC+='|strings|sysexits|syslog|termios|ucontext|unistd|unwind|utime|cpuid|immintrin|x86intrin|arm_acle'
LIBC="((sys|linux|asm|arpa|gnu)/[a-z0-9_./-]+|$LIBC)[.]h"

# Every line of every file, without comments: read once.
TEXT=$(mktemp)
trap 'rm -f -- "$FINDINGS" "$TEXT"' EXIT
awk -v keep_strings=1 -f "$HERE/c_text.awk" "${SOURCES[@]}" /dev/null >"$TEXT"

check_includes() { awk -v libc="^($LIBC)\$" -f "$HERE/rooms.awk" "$HERE/rooms.txt" "$TEXT" >>"$FINDINGS"; }

# Only cmd/ talks to the user and ends the process; a child process may _exit.
check_calls() {
    local calls='(printf|vprintf|puts|putchar|perror|psignal|exit|quick_exit|abort|err|errx|warn|warnx)'
    local streams='(stdout|stderr|STDOUT_FILENO|STDERR_FILENO)'
    local character="'([^'\\\\]|\\\\.)+'" string='"([^"\\]|\\.)*"'
    grep -vE '^(cmd|tests)/' "$TEXT" |
        sed -E "s/$character/0/g; s/$string/\"\"/g" |
        grep -E "^[^:]*:[0-9]*:(.*[^A-Za-z0-9_.>])?(${calls}[[:space:]]*\(|${streams}([^A-Za-z0-9_]|\$))" |
        sed -E 's/^([^:]*:[0-9]*):[[:space:]]*/\1: only cmd\/ may print or exit: /' >>"$FINDINGS" || true
}

check_names() {
    local name
    while read -r name; do
        report "$(printf '%s\n' "${SOURCES[@]}" | grep -E "/$name\$" | tr '\n' ' '): name used twice"
    done < <(printf '%s\n' "${SOURCES[@]##*/}" | sort | uniq -d)
}

# A tag of a struct, union or enum is one thing in the whole product, whoever sees it. It is defined
# where a brace follows, on its line or alone on the next one.
check_tags() {
    awk '
        function define(tag, place) {
            if (tag in first) print place ": tag \"" tag "\" used twice, also in " first[tag]
            else first[tag] = place
        }
        /^(alloc|cmd|cuda|traces)[\/]/ {
            match($0, /^[^:]*:[0-9]*:/)
            place = substr($0, 1, RLENGTH - 1)
            text = substr($0, RLENGTH + 1)
            if (open != "" && text ~ /^[ \t]*[{]/) define(open, opened)
            open = ""
            while (match(text, /(^|[^A-Za-z0-9_])(struct|union|enum)[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*([{]|$)/)) {
                found = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                tag = found
                gsub(/[ \t{]+$/, "", tag)
                sub(/^.*[ \t]/, "", tag)
                if (found ~ /[{]$/) { define(tag, place) } else { open = tag; opened = place }
            }
        }' "$TEXT" >>"$FINDINGS"
}

# Words that the formatter takes for C++, and names that do not say of what. A choice between two places is
# no place to store into: a reader looks for the name that is assigned.
check_words() {
    awk -f "$HERE/c_text.awk" "${SOURCES[@]}" /dev/null | awk '
        {
            match($0, /^[^:]*:[0-9]*:/)
            place = substr($0, 1, RLENGTH - 1)
            text = substr($0, RLENGTH + 1)
            if (text ~ /(^|[^A-Za-z0-9_])(class|virtual|new|delete|template|this)([^A-Za-z0-9_]|$)/ &&
                text !~ /ROW[(]type, of, virtual[)]/)
                print place ": a word of C++"
        }
        /^(alloc|cmd|cuda|traces)[\/]/ {
            if (text ~ /^[ \t]*[*][(][^;=]*[?][^;=]*:[^;=]*[)][ \t]*[-+|&]?=[^=]/)
                print place ": stores into a choice"
            if (text ~ /^(static|INLINE|OUT_OF_LINE)[ ].*[ *](take|step|set|need|probe)[(]/)
                print place ": a name that does not say of what"
        }' >>"$FINDINGS"
}

# Texts that a person reads: those of the product, its pages, schemas and scripts. TEXTS names another texts.txt.
check_texts() {
    local others
    mapfile -t others < <(find "${FOLDERS[@]}" -type f \
        \( -path 'cmd/page/assets/*.js' -o -path 'scripts/*.sh' -o -name '*.schema.json' \) | sort)
    {
        grep -E '^(alloc|cmd|cuda|traces)/' "$TEXT" || true
        [ ${#others[@]} -eq 0 ] || awk '!/^[ \t]*(#|\/\/|\/?[*])/ { print FILENAME ":" FNR ":" $0 }' "${others[@]}"
    } | awk -f "$HERE/texts.awk" "${TEXTS:-$HERE/texts.txt}" /dev/stdin >>"$FINDINGS"
}

# A choice between three is an if, a function or a table. In these rooms, and what lies below them:
NESTED_ROOMS='alloc|cmd|cuda|tests|traces'
check_nested() {
    local sources
    mapfile -t sources < <(printf '%s\n' "${SOURCES[@]}" | grep -E "^($NESTED_ROOMS)/")
    awk -f "$HERE/c_text.awk" "${sources[@]}" /dev/null | awk -f "$HERE/nested.awk" >>"$FINDINGS"
}

# A body of a function opens and closes in the first column.
check_lengths() {
    find "${FOLDERS[@]}" -type f \
        \( -name '*.[ch]' -o -name '*.sh' -o -name '*.bats' -o -name '*.awk' -o -name '*.py' \) -print0 |
        xargs -0 -r awk '
            function ended() { if (lines > 800) print path ": " lines " lines, above 800" }
            FNR == 1 { ended(); path = FILENAME; start = 0 }
            { lines = FNR }
            path ~ /\.[ch]$/ && /^\{/ { start = FNR }
            path ~ /\.[ch]$/ && /^\}/ {
                if (start && FNR - start - 1 > 60)
                    print path ":" start ": a function of " FNR - start - 1 " lines, above 60"
                start = 0
            }
            END { ended() }' >>"$FINDINGS"
}

# McCabe's number of a function: 1, and 1 for each place where it branches.
check_branches() {
    command -v pmccabe >/dev/null || { echo "skipped: branches, pmccabe is not installed" >&2; return; }
    find "${FOLDERS[@]}" -type f -name '*.[ch]' ! -path 'tests/*' -exec pmccabe {} + 2>/dev/null |
        awk -F '\t' '$1 > 20 {
            sub(/\(/, ":", $6); sub(/\)/, "", $6)
            print $6 " branches too often: McCabe " $1 ", above 20" }' >>"$FINDINGS"
}

# The folder of the toolkit's headers, if there is one: beside nvcc, or where it installs itself.
cuda_headers() {
    local nvcc folder
    nvcc=$(command -v nvcc || true)
    for folder in "${nvcc:+$(dirname -- "$(readlink -f -- "$nvcc")")/../include}" \
        /usr/local/cuda/include; do
        if [ -e "$folder/cuda.h" ]; then
            echo "$folder"
            return
        fi
    done
}

# Prints a line unless the header compiles alone.
check_header() { # PATH
    local errors extra=()
    [[ $1 != *cuda/* || -z $TOOLKIT ]] || extra=(-isystem "$TOOLKIT")
    errors=$(echo "#include \"$1\"" | "${CC:-gcc}" -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -I. \
        $CFLAGS_OF_LIBRARIES "${extra[@]}" -include alloc/base/banned.h -fsyntax-only -x c - 2>&1) && return
    if [[ $1 == *cuda/* ]] && grep -qE "error: '?(cuda(Typedefs)?|cupti)\.h" <<<"$errors"; then
        echo "skipped: $1, the headers of CUDA are not installed" >&2
    else
        echo "$1: does not compile alone: $(grep -m 1 error <<<"$errors" || true)"
    fi
}

# Headers that no file includes first: where one does, the build compiles it alone.
headers_unproven() {
    awk '
        match($0, /^[^:]*[.]c:[0-9]*:#[ \t]*include[ \t]*/) {
            split($0, place, ":")
            if (!(place[1] in seen)) first[substr($0, RSTART + RLENGTH)]
            seen[place[1]]
        }
        END { for (header in first) { gsub(/["<> \t]/, "", header); print header } }' "$TEXT" | sort -u |
        comm -13 - <(printf '%s\n' "${SOURCES[@]}" | grep '[.]h$')
}

check_headers() {
    TOOLKIT=$(cuda_headers)
    CFLAGS_OF_LIBRARIES=$(pkg-config --cflags libcjson nettle 2>/dev/null || true)
    export TOOLKIT CFLAGS_OF_LIBRARIES
    export -f check_header
    headers_unproven | { grep -vxF alloc/base/banned.h || true; } |
        xargs -d '\n' -r -P "$(nproc)" -n 1 bash -c 'check_header "$1"' check_header >>"$FINDINGS"
}

# With git the tracked names count, without it those that are there, build folders aside.
list_top() {
    if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
        git ls-files | sed 's,/.*,,' | sort -u
    else
        find . -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name .git | sed 's,^\./,,' | sort
    fi
}

check_top() {
    local name
    while read -r name; do
        case $name in
        alloc | cmd | cuda | traces | scripts | tests) ;;
        CMakeLists.txt | CMakePresets.json | README.md | LICENSE | CHANGELOG.md | CONTRIBUTING.md) ;;
        CITATION.cff | SECURITY.md) ;;
        .clang-format | .clang-tidy | .gitignore | .ci | .github) ;;
        *) report "$name: does not belong in the top folder" ;;
        esac
    done < <(list_top)
}

[ "${#SOURCES[@]}" -gt 0 ] || report "$PWD: no *.c or *.h found"
[ $# -gt 0 ] || set -- includes calls names tags words texts nested lengths branches headers top
for check; do "check_$check"; done

if [ -s "$FINDINGS" ]; then
    cat -- "$FINDINGS"
    echo "$(wc -l <"$FINDINGS") findings"
    exit 1
fi
echo "${#SOURCES[@]} files in order"
