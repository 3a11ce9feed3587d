# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder: messages, packages, CMake. Sourced, never run; prints what it
# does, installs only what is missing, and may be run any number of times.
#
# Known weakness: packages are installed with apt-get alone. Elsewhere it says what is needed.

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
INSTALL=yes

say() { printf '%s\n' "-- $*"; }

fail() { # STATUS SENTENCE [HINT]
    printf '%s: %s\n' "${0##*/}" "$2" >&2
    [ -z "${3:-}" ] || printf 'hint: %s\n' "$3" >&2
    exit "$1"
}

have() { command -v "$1" >/dev/null 2>&1; }

cores() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }

# The first comment of the calling script is its help text.
usage() { sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

project_version() { sed -n 's/^project(tapool VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt"; }

# What may be needed: probe | Debian package | what for. A probe is cmd:NAME (a program),
# pc:NAME (a pkg-config module), py:NAME (a module of Python 3) or file:PATH.
BUILD_NEEDS=(
    "cmd:gcc|gcc|the C compiler gcc"
    "file:/usr/include/stdio.h|libc6-dev|the headers of the C library"
    "cmd:cmake|cmake|CMake 3.21 or newer"
    "cmd:ninja|ninja-build|the build tool ninja"
    "cmd:pkg-config|pkg-config|pkg-config"
    "pc:libcjson|libcjson-dev|cJSON (JSON in and out)"
    "pc:nettle|nettle-dev|nettle (SHA-256)"
    "pc:inih|libinih-dev|libinih (the configuration file)"
    "pc:zlib|zlib1g-dev|zlib (traces in .gz)"
    "pc:libzstd|libzstd-dev|zstd (traces in .zst)"
    "pc:sqlite3|libsqlite3-dev|SQLite (the store of a sweep)"
    "pc:libdw|libdw-dev|libdw of elfutils (functions of recorded call stacks; it builds without)"
    "file:/usr/share/javascript/dygraphs/dygraph.min.js|libjs-dygraphs|dygraphs (charts of --export-html; it builds without)"
)
TEST_NEEDS=(
    "pc:cmocka|libcmocka-dev|cmocka (unit tests)"
    "cmd:bats|bats|bats (tests of the command line)"
    "cmd:python3|python3|Python 3 (tests read the JSON that tapool writes)"
    "py:yaml|python3-yaml|the Python module yaml (a test reads the workflow of scripts/ci-example)"
    "py:jsonschema|python3-jsonschema|the Python module jsonschema (tests hold that JSON against its schema)"
    "cmd:valgrind|valgrind|valgrind (tests count instructions)"
    "cmd:pmccabe|pmccabe|pmccabe (a test counts the branches of functions)"
)
BROWSER_NEEDS=("cmd:chromium|chromium|Chromium (looks at the pages of --export-html)")
PACKAGE_NEEDS=(
    "cmd:dpkg-shlibdeps|dpkg-dev|dpkg-shlibdeps (what the Debian package depends on)"
    "cmd:debootstrap|debootstrap|debootstrap (a bare Debian to build or try a package in)"
)
CLUSTER_NEEDS=(
    "cmd:slurmctld|slurm-wlm|Slurm (a sweep runs on a cluster of one node)"
    "cmd:parallel|parallel|GNU parallel (a sweep runs in it)"
)
CLANG_NEEDS=("cmd:clang|clang|clang (the second compiler)")
# Never installed from here: several GB, and of the version that fits the driver. Without it all is
# built but the source cuda.
CUDA_NEEDS=("cmd:nvcc|nvidia-cuda-toolkit|the CUDA Toolkit, 12.0 or newer: nvcc and cuda.h")

# Another Python may come first here; the bare machine of scripts/bare.sh has the system's.
system_imports() { # MODULE
    ! { have dpkg && [ -x /usr/bin/python3 ]; } || /usr/bin/python3 -c "import $1" >/dev/null 2>&1
}

probe() { # PROBE PACKAGE
    case $1 in
    cmd:*) have "${1#cmd:}" ;;
    pc:*) have pkg-config && pkg-config --exists "${1#pc:}" ;;
    py:*) have python3 && python3 -c "import ${1#py:}" >/dev/null 2>&1 && system_imports "${1#py:}" ;;
    file:*) [ -e "${1#file:}" ] ;;
    esac || { have dpkg && dpkg -s "$2" 2>/dev/null | grep -q '^Status: install ok installed'; }
}

# The rows of "$@" whose probe fails.
missing_rows() {
    local row what package
    for row in "$@"; do
        IFS='|' read -r what package _ <<<"$row"
        probe "$what" "$package" || printf '%s\n' "$row"
    done
}

# Installs what the rows name and is not there, or says what is missing and exits 2.
need_packages() {
    local rows packages=() as_root=() row
    mapfile -t rows < <(missing_rows "$@")
    [ "${#rows[@]}" -gt 0 ] || return 0
    for row in "${rows[@]}"; do
        IFS='|' read -r _ row _ <<<"$row"
        packages+=("$row")
    done
    if ! have apt-get; then
        say "missing, and this is not Debian or Ubuntu; please install:"
        printf '     %s\n' "${rows[@]##*|}"
        exit 2
    fi
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    if [ "$INSTALL" = no ]; then
        fail 2 "missing: ${packages[*]}" \
            "${as_root[*]:+sudo }apt-get install --no-install-recommends ${packages[*]}"
    fi
    if [ "${#as_root[@]}" -gt 0 ] && ! have sudo; then
        fail 2 "missing: ${packages[*]}; installing them needs root, and sudo is not here" \
            "as root: apt-get install --no-install-recommends ${packages[*]}"
    fi
    install_packages "${as_root[*]}" "${packages[@]}"
    mapfile -t rows < <(missing_rows "$@")
    [ "${#rows[@]}" -eq 0 ] || fail 2 "still missing after the installation: ${rows[*]##*|}"
}

has_toolkit() {
    local toolkit=${CUDA_PATH:-/usr/local/cuda}
    [ -z "$(missing_rows "${CUDA_NEEDS[@]}")" ] || [ -x "$toolkit/bin/nvcc" ]
}

# Says what the build will not have, and how to get it.
say_cuda() {
    ! has_toolkit || return 0
    say "without the source cuda (all else is there): it needs ${CUDA_NEEDS[0]##*|}, which is too large"
    say "to be installed by this script: https://developer.nvidia.com/cuda-downloads"
}

install_packages() { # SUDO-OR-NOTHING PACKAGE...
    local as_root=()
    [ -z "$1" ] || as_root=("$1")
    shift
    say "installing with apt-get: $*"
    local quiet=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    # an index that cannot be refreshed may still know the packages: the installation decides
    "${quiet[@]}" update || say "apt-get update failed; trying with the package lists that are here"
    "${quiet[@]}" install -y --no-install-recommends "$@" >/dev/null ||
        fail 2 "apt-get could not install: $*"
}

need_cmake() {
    local version
    version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
    [ "$(printf '3.21\n%s\n' "$version" | sort -V | head -n 1)" = 3.21 ] ||
        fail 2 "CMake $version is too old: 3.21 is needed" \
            "https://cmake.org/download, https://apt.kitware.com or: pipx install cmake"
}

# A build folder that was made in another place (a copied tree) or with a generator that is gone
# cannot be used again.
drop_stale() { # BUILD-DIR
    local cache=$1/CMakeCache.txt home generator
    [ -f "$cache" ] || return 0
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
    generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$cache")
    if [ "$home" != "$ROOT" ] || { [ "$generator" = Ninja ] && ! have ninja; }; then
        say "making ${1#"$ROOT"/} anew: it was made for another place or another build tool"
        rm -rf -- "$1"
    fi
}

# Configures PRESET into build/NAME; ninja and ccache are used where they are.
configure() { # PRESET NAME [ARGUMENT...]
    local preset=$1 dir=$ROOT/build/$2 extra=()
    shift 2
    drop_stale "$dir"
    if [ ! -f "$dir/CMakeCache.txt" ]; then
        have ninja || extra+=(-G "Unix Makefiles")
        ! have ccache || extra+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    else
        extra+=(-G "$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$dir/CMakeCache.txt")")
    fi
    (cd -- "$ROOT" && cmake --preset "$preset" -B "$dir" "${extra[@]}" "$@" >"$dir.log" 2>&1) || {
        cat -- "$dir.log" >&2
        return 1
    }
}

build() { # NAME [TARGET...]
    local dir=$ROOT/build/$1
    shift
    cmake --build "$dir" --parallel "$(cores)" --target "${@:-all}"
}
