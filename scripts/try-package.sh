#!/usr/bin/env bash
# usage: scripts/try-package.sh PACKAGE.deb [FOLDER]
#
# Tries a package of scripts/release.sh as a user would, in a bare Debian of this machine's release in
# FOLDER (default: a temporary one, made with debootstrap): installs it, replays a sample, records a
# program and replays that, opens the manual page, removes it, and compares the files before and after.
# Needs root, debootstrap and the package archive.
#
# Exit status: 0 all of it worked; 1 something did not, said in the last line; 2 it cannot be tried here.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/root.sh
. "$ROOT/scripts/root.sh"

case ${1:---help} in
--help | -h)
    usage
    exit 0
    ;;
esac
package=$(readlink -f -- "$1")
[ -f "$package" ] || fail 2 "there is no package '$1'"
[ "$(id -u)" = 0 ] || fail 2 "a root of its own can only be entered by root"
have debootstrap || fail 2 "debootstrap is not here" "apt-get install debootstrap"

root=${2:-}
if [ -z "$root" ]; then
    root=$(mktemp -d)
    trap 'rm -rf -- "$root"' EXIT
fi
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
debian_root "$release" "$root" ca-certificates
cp -- /etc/resolv.conf "$root/etc/"

inside() { in_root "$root" DEBIAN_FRONTEND=noninteractive -- "$@"; }
step() { # TITLE COMMAND...
    local title=$1
    shift
    say "$title"
    inside "$@" >"$root/tmp/log" 2>&1 || {
        tail -n 20 -- "$root/tmp/log" >&2
        fail 1 "$title: failed"
    }
}

# Every path but those in which packages keep their books.
list() {
    find "$root" -xdev -mindepth 1 \( -path "$root/proc" -o -path "$root/dev" -o -path "$root/tmp" -o -path "$root/var/lib" \
        -o -path "$root/var/cache" -o -path "$root/var/log" \) -prune -o -printf '%P\n' | sort
}

step "the package lists are read" apt-get -qq update
step "a user is there" sh -c 'id ann 2>/dev/null || useradd -m ann'
list >"$root/tmp/before"
cp -- "$package" "$root/tmp/"
chmod 644 "$root/tmp/${package##*/}"
step "it is installed" apt-get -qq install --no-install-recommends "/tmp/${package##*/}"
as_ann() { step "$1" su ann -c "cd /tmp && set -e && $2"; }
as_ann "it says its version" 'tapool --version | grep "^tapool "'
as_ann "a sample is replayed" 'tapool replay sample:sqlite --strategy arena --min-time 0 | grep reserved'
as_ann "a program is recorded and replayed" \
    'rm -f ls.tpt && tapool record -o ls.tpt -- ls / && tapool replay ls.tpt --strategy lru --min-time 0 | grep reserved'
as_ann "call stacks are recorded" 'rm -f st.tpt && tapool record --stacks=8 -o st.tpt -- ls / && tapool info st.tpt --depth 3'
as_ann "manual pages, completions, schemas and headers are there" 'test -s /usr/share/doc/tapool/copyright &&
    zcat /usr/share/man/man1/tapool.1.gz | grep -q "^.SH NAME" && test -s /usr/share/man/man5/tapool-trace.5.gz &&
    test -s /usr/share/bash-completion/completions/tapool && test -s /usr/share/zsh/vendor-completions/_tapool &&
    test -s /usr/share/tapool/result.schema.json && test -s /usr/include/tapool/strategy.h'
step "it is removed" apt-get -qq purge --autoremove tapool
list >"$root/tmp/after"
left=$(comm -13 -- "$root/tmp/before" "$root/tmp/after")
[ -z "$left" ] || fail 1 "left behind after removal:
$left"
say "nothing is left behind"
