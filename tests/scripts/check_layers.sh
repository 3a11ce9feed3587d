#!/usr/bin/env bash
# usage: check_layers.sh [ROOT]
#
# Checks the tree: include directions between the folders, calls that only cmd/ may make, unique
# names, lengths, headers that compile alone, and what lies in the top folder. Prints one line per
# finding, `path:line: what`, and exits 1 when there is any. check_checks.sh proves each check.
#
# How: c_text.awk takes comments away (and strings, for calls); the rest are regular expressions.
# Known weakness: a name built by a macro is not seen.
set -euo pipefail
export LC_ALL=C

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cd -- "${1:-$HERE/../..}"
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
LIBC+='|strings|sysexits|syslog|termios|ucontext|unistd|utime|cpuid|immintrin|x86intrin|arm_acle'
LIBC="<((sys|linux|asm|arpa)/[a-z0-9_./]+|$LIBC)\.h>"

STRATEGY_HEADERS='"alloc/(strategy|source|err|opt|program|addr_map|tree|steps|lock)\.h"'
SOURCE_HEADERS='"alloc/(source|err|opt|program|addr_map|tree|steps|device_pages|random)\.h"'
PROFILE_HEADERS='"alloc/(program|err|opt|random)\.h"|"traces/(profile|event)\.h"'
TRACE_LIBRARIES='<(cjson/cJSON|cJSON|zlib|zstd|zstd_errors|openssl/[a-z0-9_]+)\.h>'
CUDA_LIBRARIES='<(cuda[A-Za-z0-9_]*|nvml|cupti[a-z0-9_]*)\.h>'

# The includes that a file may have, as one regular expression; empty = all.
allowed_includes() { # PATH
    case $1 in
    alloc/strategies/*) echo "$LIBC|$STRATEGY_HEADERS|\"alloc/strategies/[a-z0-9_]+\.h\"" ;;
    alloc/sources/*) echo "$LIBC|$SOURCE_HEADERS|\"alloc/sources/[a-z0-9_]+\.h\"" ;;
    alloc/*) echo "$LIBC|\"alloc/[a-z0-9_]+\.h\"" ;;
    cuda/*) echo "$LIBC|$SOURCE_HEADERS|$CUDA_LIBRARIES|\"cuda/[a-z0-9_]+\.h\"" ;;
    traces/profiles/*)
        echo "$LIBC|$PROFILE_HEADERS|\"traces/profiles/[a-z0-9_]+\.h\""
        ;;
    traces/*)
        echo "$LIBC|$TRACE_LIBRARIES|\"alloc/(program|err|opt|units|spool|spill|budget)\.h\"|\"traces/[a-z0-9_/]+\.h\""
        ;;
    esac
}

check_includes() {
    local path allowed line what
    for path in "${SOURCES[@]}"; do
        allowed=$(allowed_includes "$path")
        while IFS=: read -r line what; do
            if [[ $what == '"'* && (! -e ${what//\"/} || $what == *..*) ]]; then
                report "$path:$line: $what is not written from the root"
            fi
            [ -z "$allowed" ] || [[ $what =~ ^($allowed)$ ]] ||
                report "$path:$line: $what may not be included from here"
        done < <(awk -v keep_strings=1 -f "$HERE/c_text.awk" "$path" |
            sed -nE 's/^([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*([^[:space:]]*).*/\1:\2/p')
    done
}

# Only cmd/ talks to the user and ends the process; a child process may _exit.
check_calls() {
    local path line found
    local calls='(printf|vprintf|puts|putchar|perror|psignal|exit|quick_exit|abort|err|errx|warn|warnx)'
    local streams='(stdout|stderr|STDOUT_FILENO|STDERR_FILENO)'
    for path in "${SOURCES[@]}"; do
        case $path in cmd/* | tests/*) continue ;; esac
        while IFS=: read -r line found; do
            report "$path:$line: only cmd/ may print or exit:${found//  /}"
        done < <(awk -f "$HERE/c_text.awk" "$path" |
            grep -E "(^|[^A-Za-z0-9_.>])(${calls}[[:space:]]*\(|${streams}([^A-Za-z0-9_]|\$))")
    done
}

check_names() {
    local name
    while read -r name; do
        report "$(printf '%s\n' "${SOURCES[@]}" | grep -E "/$name\$" | tr '\n' ' '): name used twice"
    done < <(printf '%s\n' "${SOURCES[@]##*/}" | sort | uniq -d)
}

check_lengths() {
    local path
    while read -r path; do
        [ "$(wc -l <"$path")" -le 800 ] || report "$path: $(wc -l <"$path") lines, above 800"
    done < <(find "${FOLDERS[@]}" -type f \
        \( -name '*.[ch]' -o -name '*.sh' -o -name '*.bats' -o -name '*.awk' -o -name '*.py' \))
    # a body opens and closes in the first column
    for path in "${SOURCES[@]}"; do
        awk -v path="$path" '
            /^\{/ { start = NR }
            /^\}/ { if (start && NR - start - 1 > 60)
                        print path ":" start ": a function of " NR - start - 1 " lines, above 60"
                    start = 0 }' "$path" >>"$FINDINGS"
    done
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

check_headers() {
    local path cc=${CC:-gcc} cflags=() toolkit extra
    read -ra cflags <<<"$(pkg-config --cflags libcjson libcrypto 2>/dev/null || true)"
    toolkit=$(cuda_headers)
    for path in "${SOURCES[@]}"; do
        [[ $path == *.h && $path != alloc/banned.h ]] || continue
        extra=()
        [[ $path != cuda/* || -z $toolkit ]] || extra=(-isystem "$toolkit")
        if ! echo "#include \"$path\"" | "$cc" -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -I. \
            "${cflags[@]}" "${extra[@]}" -include alloc/banned.h -fsyntax-only -x c - \
            >"$FINDINGS.cc" 2>&1; then
            if [[ $path == cuda/* ]] && grep -qE "error: '?cuda(Typedefs)?\.h" "$FINDINGS.cc"; then
                echo "skipped: $path, cuda.h is not installed"
            else
                report "$path: does not compile alone: $(grep -m 1 error "$FINDINGS.cc" || true)"
            fi
        fi
        rm -f -- "$FINDINGS.cc"
    done
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
        .clang-format | .clang-tidy | .gitignore | .ci) ;;
        *) report "$name: does not belong in the top folder" ;;
        esac
    done < <(list_top)
}

[ "${#SOURCES[@]}" -gt 0 ] || report "$PWD: no *.c or *.h found"
check_includes
check_calls
check_names
check_lengths
check_headers
check_top

if [ -s "$FINDINGS" ]; then
    cat -- "$FINDINGS"
    echo "$(wc -l <"$FINDINGS") findings"
    exit 1
fi
echo "${#SOURCES[@]} files in order"
