#!/usr/bin/env bash
# usage: scripts/bare.sh --check | COMMAND [ARGUMENT...]
#
# Runs a command as on a fresh Debian or Ubuntu on which scripts/test.sh has installed what it names and
# nothing else: in a root that holds the files of the essential packages, of git, of those that
# scripts/lib.sh names for building and testing, and of what they depend on. What this machine has
# beside them, such as make or the CUDA Toolkit, is not there. The repository is, at its own path, with
# a build folder of its own (build/bare); what lies beside the repository is not.
#
#   --check        runs nothing: exit status 0 where this machine can do it
#   --help         this text
#
# Exit status: that of the command; 2 where this machine cannot do it (no dpkg, no namespaces).
#
# Known weakness: of the files that packages make while they are installed, only those of /etc and what
# alternatives link to come along.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/root.sh
. "$ROOT/scripts/root.sh"

BARE=$ROOT/build/bare-root

possible() {
    have dpkg-query && have unshare && have chroot && own_namespace true 2>/dev/null
}

# The packages of the rows of lib.sh, one a line.
named_packages() {
    local row
    for row in "${BUILD_NEEDS[@]}" "${TEST_NEEDS[@]}"; do
        IFS='|' read -r _ row _ <<<"$row"
        printf '%s\n' "$row"
    done
}

# Those, git, the essential ones, and what they depend on. Of alternatives the first that is installed
# counts, as apt would have it, and of several that provide a name the first.
packages() {
    # shellcheck disable=SC2016 # fields of dpkg-query
    dpkg-query -W -f '${db:Status-Abbrev}\t${Package}\t${Essential}\t${Pre-Depends},${Depends}\t${Provides}\n' |
        awk -F'\t' -v named="git $(named_packages | tr '\n' ' ')" '
            $1 !~ /^ii/ { next }
            {
                gsub(/ *\([^)]*\)|:[a-z0-9]+| /, "")
                depends[$2] = $4
                if ($3 == "yes") named = named " " $2
                count = split($5, provided, ",")
                for (i = 1; i <= count; i++) if (!(provided[i] in provider)) provider[provided[i]] = $2
            }
            function installed(name) { return name in depends ? name : provider[name] }
            function want(name) {
                if (name == "" || name in seen) return
                seen[name] = 1
                queue[++last] = name
                print name
            }
            END {
                count = split(named, names, " ")
                for (i = 1; i <= count; i++) want(installed(names[i]))
                for (next_one = 1; next_one <= last; next_one++) {
                    clauses = split(depends[queue[next_one]], clause, ",")
                    for (c = 1; c <= clauses; c++) {
                        count = split(clause[c], names, "|")
                        for (i = 1; i <= count && installed(names[i]) == ""; i++);
                        if (i <= count) want(installed(names[i]))
                    }
                }
            }'
}

# Of /etc all that this user may read: packages make files there while they are installed. Links to
# alternatives are in no package's list.
files() {
    packages | xargs dpkg-query -L | grep -v '^/usr/share/\(doc\|man\|locale\|info\)/'
    find /usr/bin /usr/sbin -maxdepth 1 -lname '/etc/alternatives/*'
    find /etc -readable ! -type d
}

# The links of a merged /usr come first: packages name files through them. A list may name a file that
# was left out when its package was installed.
make_root() {
    local top
    rm -rf -- "$BARE"
    mkdir -p -- "$BARE"/{dev,proc,tmp,"$ROOT"} "$ROOT/build/bare"
    chmod 1777 "$BARE/tmp"
    for top in /bin /sbin /lib /lib32 /lib64 /libx32; do
        [ ! -L "$top" ] || { cp -P -- "$top" "$BARE/" && mkdir -p -- "$BARE$(readlink -f "$top")"; }
    done
    files | sort -u | tar -C / -c --no-recursion --ignore-failed-read -T - 2>/dev/null |
        tar -C "$BARE" -x --keep-directory-symlink
}

# The command, with what has to be there of this machine.
enter() {
    # shellcheck disable=SC2016 # of the inner shell
    in_root "$BARE" "$ROOT" -b "$ROOT/build/bare" "$ROOT/build" ${CI:+CI="$CI"} -- \
        sh -c 'ldconfig; cd -- "$0" && exec "$@"' "$ROOT" "$@"
}

case ${1:---help} in
--help | -h) usage ;;
--check) possible ;;
*)
    possible || fail 2 "this machine cannot be bared: that needs dpkg, and the right to mount in a namespace"
    make_root
    enter "$@"
    ;;
esac
