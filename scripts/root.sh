# shellcheck shell=bash
# Shared by the scripts that run commands in a root of its own. Sourced after lib.sh, never run.

# A user gets the right to mount in a namespace of his own.
own_namespace() {
    local as=(unshare --mount)
    [ "$(id -u)" = 0 ] || as+=(--map-root-user)
    "${as[@]}" "$@"
}

# Runs a command in a root that has /proc, /dev and the named folders of this machine, each at its own
# path, or with -b at another one; its environment holds the named variables alone. Mounts are of a
# namespace of their own and go with it.
in_root() { # ROOT [FOLDER | -b FOLDER PLACE | NAME=VALUE]... -- COMMAND...
    local root=$1 binds=(/proc /proc /dev /dev) variables=() i
    shift
    while [ "$1" != -- ]; do
        case $1 in
        -b) binds+=("$2" "$3") && shift 2 ;;
        [A-Z]*=*) variables+=("$1") ;;
        *) binds+=("$1" "$1") ;;
        esac
        shift
    done
    shift
    for ((i = 1; i < ${#binds[@]}; i += 2)); do mkdir -p -- "$root${binds[i]}"; done
    # shellcheck disable=SC2016 # of the inner shell
    own_namespace bash -euc 'root=$1; shift
        while [ "$1" != -- ]; do mount --rbind -- "$1" "$root$2"; shift 2; done; shift
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 "$@"' \
        in "$root" "${binds[@]}" -- "${variables[@]}" chroot "$root" "$@"
}

# A bare Debian in FOLDER, unless there is one. Whatever else is in FOLDER stays, and is an error.
debian_root() { # SUITE FOLDER PACKAGE,PACKAGE...
    [ ! -x "$2/usr/bin/apt-get" ] || return 0
    say "making a bare Debian $1 in $2 (two minutes)"
    rm -rf -- "$2.part"
    debootstrap --variant=minbase --include="$3" "$1" "$2.part" >"$2.log" 2>&1 ||
        fail 2 "debootstrap failed" "all of its output is in $2.log"
    rmdir -- "$2" 2>/dev/null || true # an empty one
    mv -T -- "$2.part" "$2"
    rm -f -- "$2.log"
}
