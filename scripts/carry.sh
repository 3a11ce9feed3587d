# shellcheck shell=bash
# Shared by the scripts that pack tapool for other machines: the libraries that travel with it. Sourced
# after lib.sh, never run. Programs are read from standard input, one path a line.

# NAME PATH of each library that a program asks for, in turn or itself, but for glibc's own.
libraries() { # PROGRAM
    local glibc='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util))\.so'
    ldd "$1" | sed -nE "s/^\t(\S+) => (.*) \(0x.*/\1 \2/; /$glibc/d; /^lib/p"
}

place_libraries() { # FOLDER
    local program name path
    while read -r program; do
        while read -r name path; do
            [ -e "$path" ] || fail 2 "$name, which ${program##*/} needs, is not here"
            [ -e "$1/$name" ] || cp -L -- "$path" "$1/$name"
        done < <(libraries "$program")
    done
}

# A library that travels is used only if the loader finds it before the machine's own.
check_libraries() { # FOLDER
    local program name path
    while read -r program; do
        while read -r name path; do
            [ "$(readlink -f -- "$path")" = "$(readlink -f -- "$1/$name")" ] ||
                fail 1 "${program##*/} would take $name from $path" "the build needs TAPOOL_CARRIED=ON"
        done < <(libraries "$program")
    done
}

# The newest version of glibc's symbols that is asked for.
glibc_of() { # FOLDER
    find "$1" -type f \( -perm -u+x -o -path '*/lib/*' \) -exec objdump -T {} + 2>/dev/null |
        grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1 | tr _ ' '
}
