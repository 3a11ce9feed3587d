#!/usr/bin/env bash
# usage: scripts/release.sh [--deb | --tarball] [FOLDER]
#
# Makes what is released, in FOLDER (default build/packages), with checksums in SHA256SUMS:
#
#   tapool_VERSION_ARCH.deb                 for the Debian or Ubuntu that this is, and newer ones
#   tapool-VERSION-linux-MACHINE.tar.gz     for any Linux with glibc 2.31 or newer: built in a root of
#                                           Debian 11, with the libraries that tapool needs. It has no
#                                           `record --stacks`, which glibc before 2.35 does not allow
#
#   --deb       make the package only, which needs no root
#   --tarball   make the tarball only
#   --help      this text
#
# The CUDA Toolkit is used where it is found: without it tapool has no source `cuda`. Exit status: 0; 1 a
# build failed; 2 a wrong argument or something missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/carry.sh
. "$ROOT/scripts/carry.sh"
# shellcheck source=scripts/root.sh
. "$ROOT/scripts/root.sh"

SUITE=bullseye
OLD=$ROOT/build/$SUITE
# Without dygraphs, which that Debian lacks: the scripts of this machine are used.
OLD_PACKAGES="g++ libc6-dev binutils cmake ninja-build pkg-config libcjson-dev nettle-dev libinih-dev \
zlib1g-dev libzstd-dev libsqlite3-dev libdw-dev"
DYGRAPHS=/usr/share/javascript/dygraphs

make_package() { # FOLDER
    local work
    say "building in $ROOT/build/release"
    configure release release -DTAPOOL_CARRIED=OFF -DTAPOOL_STATIC_DEPENDENCIES=OFF
    build release >"$ROOT/build/release.log" 2>&1 || {
        tail -n 40 -- "$ROOT/build/release.log" >&2
        fail 1 "the build failed" "all of its output is in build/release.log"
    }
    work=$(mktemp -d)
    (cd -- "$ROOT/build/release" && cpack -G DEB -B "$work" >"$ROOT/build/cpack.log" 2>&1) || {
        cat -- "$ROOT/build/cpack.log" >&2
        fail 1 "cpack failed"
    }
    mv -- "$work"/*.deb "$1/"
    rm -rf -- "$work"
}

# In the old root: builds, and packs what is installed with the libraries it needs.
pack_here() { # NAME FOLDER
    local stage=/tmp/stage/$1
    cmake -S "$ROOT" -B /tmp/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DTAPOOL_TESTS=OFF -DTAPOOL_CARRIED=ON \
        -DTAPOOL_STATIC_DEPENDENCIES=ON -DCMAKE_INSTALL_LIBDIR=lib
    cmake --build /tmp/build --parallel "$(cores)"
    rm -rf -- /tmp/stage
    cmake --install /tmp/build --strip --prefix "$stage"
    cp -- "$ROOT/LICENSE" "$stage/"
    echo "$stage/bin/tapool" | place_libraries "$stage/lib"
    echo "$stage/bin/tapool" | check_libraries "$stage/lib"
    "$stage/bin/tapool" replay sample:sqlite -s arena --min-time 0 >/dev/null
    tar c --owner=0 --group=0 -C /tmp/stage "$1" | gzip -9n >"$2/$1.tar.gz"
    say "$1.tar.gz needs $(glibc_of "$stage") or newer"
}

# The folder of the CUDA Toolkit; nothing where there is none.
toolkit_folder() {
    local nvcc=${CUDA_PATH:-/usr/local/cuda}/bin/nvcc
    [ -x "$nvcc" ] || nvcc=$(command -v nvcc) || return 0
    dirname -- "$(dirname -- "$(readlink -f -- "$nvcc")")"
}

make_tarball() { # FOLDER
    local folder there=()
    [ "$(id -u)" = 0 ] || fail 2 "the tarball is built in a root of its own, and entering it needs root" \
        "sudo $0; or --deb for the package only"
    for folder in "$DYGRAPHS" "$(toolkit_folder)"; do
        [ ! -d "$folder" ] || there+=("$folder")
    done
    debian_root "$SUITE" "$OLD" "${OLD_PACKAGES// /,}"
    say "building the tarball in $OLD"
    in_root "$OLD" "$ROOT" "$1" "${there[@]}" CUDA_PATH="$(toolkit_folder)" -- "$ROOT/scripts/release.sh" --pack "tapool-$(project_version)-linux-$(uname -m)" "$1" >"$OLD.log" 2>&1 || {
        tail -n 40 -- "$OLD.log" >&2
        fail 1 "the tarball was not made" "all of its output is in build/$SUITE.log"
    }
    sed -n 's/^-- \(tapool-.*\)/-- \1/p' "$OLD.log"
}

made=(package tarball)
case ${1:-} in
--help | -h)
    usage
    exit 0
    ;;
--pack) # of the call above
    pack_here "$2" "$3"
    exit 0
    ;;
--deb) made=(package) && shift ;;
--tarball) made=(tarball) && shift ;;
-*) fail 2 "unknown option '$1'" "--help lists all" ;;
esac
[ $# -le 1 ] || fail 2 "one folder is written, and '$2' is a second one"

[ -d "$ROOT/tests/versions/$(project_version)" ] ||
    fail 2 "tests/versions has no files of version $(project_version)" "scripts/keep-version.sh writes them"
need_packages "${BUILD_NEEDS[@]}" "${PACKAGE_NEEDS[@]}"
need_cmake
out=${1:-$ROOT/build/packages}
mkdir -p -- "$ROOT/build" "$out"
out=$(cd -- "$out" && pwd)
for each in "${made[@]}"; do "make_$each" "$out"; done
(cd -- "$out" && find . -name 'tapool*' -printf '%f\n' | sort | xargs sha256sum -- >SHA256SUMS)
cat -- "$out/SHA256SUMS"
