#!/usr/bin/env bash
# Checks how scripts/lib.sh installs packages, on a machine that is made up: PATH holds a few tools
# and an apt-get that notes its arguments and brings the programs named in them.
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
WORK=$(mktemp -d)
trap 'rm -rf -- "$WORK"' EXIT
bad=0
done_checks=0

# A machine without compilers; every call of apt-get and sudo lands in $WORK/calls.
fresh_machine() { # ID [PROGRAM...]
    local tool
    rm -rf -- "${WORK:?}/bin"
    mkdir -p -- "$WORK/bin"
    : >"$WORK/calls"
    for tool in bash env dirname sed sort head grep cat ln chmod; do
        ln -s -- "$(command -v "$tool")" "$WORK/bin/$tool"
    done
    program id "echo $1"
    shift
    for tool in "$@"; do program "$tool" ':'; done
}

program() { # NAME LINE
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$WORK/bin/$1"
    chmod +x "$WORK/bin/$1"
}

with_apt() {
    # shellcheck disable=SC2016
    program apt-get 'echo "apt-get $*" >>"$WORK/calls"
        [ "$2" = install ] || exit "${UPDATE_STATUS:-0}"
        for name in "$@"; do [ "$name" = gone ] || ln -sf "$(command -v cat)" "$WORK/bin/$name"; done'
}

# shellcheck disable=SC2016
with_sudo() { program sudo 'echo "sudo $1" >>"$WORK/calls"; exec "$@"'; }

# Sets STATUS and OUTPUT of asking for two programs.
ask() { # INSTALL [ROW...]
    local install=$1 rows=('cmd:cc1|cc1|a compiler' 'cmd:mk1|mk1|a build tool')
    shift
    [ $# -eq 0 ] || rows=("$@")
    STATUS=0
    # shellcheck disable=SC2016
    OUTPUT=$(env -i PATH="$WORK/bin" WORK="$WORK" UPDATE_STATUS="${UPDATE_STATUS:-0}" \
        bash -euo pipefail -c '. "$1"; INSTALL=$2; shift 2; need_packages "$@"; echo ready' ask \
        "$HERE/../../scripts/lib.sh" "$install" "${rows[@]}" 2>&1) || STATUS=$?
}

expect() { # WHAT STATUS WORDS CALLS
    local calls
    calls=$(tr '\n' ';' <"$WORK/calls")
    done_checks=$((done_checks + 1))
    if [ "$STATUS" -ne "$2" ] || [[ $OUTPUT != *"$3"* ]] || [ "$calls" != "$4" ]; then
        printf 'not ok: %s\n  status %d, calls %s\n  %s\n' "$1" "$STATUS" "$calls" "$OUTPUT"
        bad=$((bad + 1))
    fi
}

get='apt-get -qq install -y --no-install-recommends'

fresh_machine 0 cc1 mk1
with_apt
ask yes
expect "nothing is missing: nothing happens" 0 ready ''

fresh_machine 0 cc1
with_apt
ask yes
expect "only what is missing is installed" 0 '-- installing with apt-get: mk1' \
    "apt-get -qq update;$get mk1;"
ask yes
expect "the second time there is nothing to do" 0 ready "apt-get -qq update;$get mk1;"

fresh_machine 1000
with_apt
with_sudo
ask yes
expect "without root through sudo" 0 ready \
    "sudo env;apt-get -qq update;sudo env;$get cc1 mk1;"

fresh_machine 1000
with_apt
ask yes
expect "without root and sudo: the command to run" 2 \
    'as root: apt-get install --no-install-recommends cc1 mk1' ''

fresh_machine 0
with_apt
ask no
expect "--no-install: the command to run" 2 \
    'hint: apt-get install --no-install-recommends cc1 mk1' ''

fresh_machine 1000
with_apt
ask no
expect "--no-install without root" 2 'hint: sudo apt-get install' ''

fresh_machine 0 mk1
ask yes
expect "no apt-get: what is needed, by purpose" 2 'a compiler' ''

fresh_machine 0
with_apt
UPDATE_STATUS=100 ask yes
expect "lists that cannot be refreshed do not stop it" 0 ready "apt-get -qq update;$get cc1 mk1;"

fresh_machine 0
with_apt
ask yes 'cmd:gone|gone|a program that its package does not bring'
expect "an installation that does not help is an error" 2 'still missing' \
    "apt-get -qq update;$get gone;"

if [ "$bad" -gt 0 ]; then
    echo "$bad of $done_checks checks of the set-up failed"
    exit 1
fi
echo "$done_checks checks of the set-up passed"
