#!/usr/bin/env bats
# What `tapool __generate` writes, held against what tapool itself says: every command, option, choice,
# strategy, source, profile and topic stands in the completions of both shells and in the man page.
# The script for bash is used as bash uses it.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

setup() {
    enter_folder
    for kind in bash zsh man man-trace; do
        "$TAPOOL" __generate "$kind" >"$SCRATCH/$kind"
    done
}

# complete WORD...: what bash offers for the last word, one a line. Words come as bash cuts them.
complete_words() {
    # shellcheck disable=SC2016 # for the other bash
    env -i PATH="$PATH" LC_ALL=C.UTF-8 "$BASH" --norc -c '
        . "$1" || exit 1
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _tapool || exit 1
        ((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"' bash "$SCRATCH/bash" "$@"
}

# offers 'WORDS IN ORDER' WORD...
offers() {
    local wanted=$1 got
    shift
    got=$(complete_words "$@" | tr '\n' ' ')
    [ "${got% }" = "$wanted" ] || fail "for '$*':" "$got" "instead of:" "$wanted"
}

# among WORD... -- WORD...: these are offered, maybe beside others.
among() {
    local wanted=()
    while [ "$1" != -- ]; do
        wanted+=("$1")
        shift
    done
    shift
    complete_words "$@" >got
    for word in "${wanted[@]}"; do
        grep -qxF -- "$word" got || fail "for '$*' no '$word' in:" "$(cat got)" || return 1
    done
}

@test "no drift: all that tapool knows stands in the completions and in the man page" {
    python3 - "$TAPOOL" "$SCRATCH" <<'END'
import re, subprocess, sys
tapool, scratch = sys.argv[1:]
def say(*words):
    return subprocess.run([tapool, *words], capture_output=True, text=True, check=True).stdout
man = open(scratch + "/man").read().replace("\\-", "-").replace("\\fB", " ").replace("\\fR", " ")
shells = {name: open(scratch + "/" + name).read() for name in ("bash", "zsh")}
missing = []
def expect(word, where, text, before=r"(?<![\w-])", after=r"(?![\w-])"):
    if not re.search(before + re.escape(word) + after, text):
        missing.append((where, word))
def everywhere(word):
    expect(word, "man", man)
    for name, text in shells.items():
        expect(word, name, text)
listed = say("help")
commands = re.findall(r"^  (\w+)", listed.split("Commands\n")[1].split("\n\n")[0], re.M)
topics = re.findall(r"^  (\w+)", listed.split("TOPIC\n")[1].split("\n\n")[0], re.M)
assert {"replay", "help"} <= set(commands) and {"config", "format"} <= set(topics)
options = 0
for command in commands:
    page = say(command, "--help-all")
    everywhere(command)
    section = man.split(".SS " + command + "\n")[1].split("\n.S")[0]
    part = {"man": section}
    bash = shells["bash"]
    known = re.search(r"_tapool_options.*?^    %s\) words='([^']*)'" % command, bash, re.S | re.M).group(1).split()
    zsh = re.search(r"^    %s\)\n(.*?);;" % command, shells["zsh"], re.S | re.M).group(1)
    for letter, option in re.findall(r"^  (?:-(\w),|   ) ?--([a-z-]+)", page, re.M):
        options += 1
        if option != "help":
            expect("--" + option, command + " in man", section)
        if "--" + option not in known or (letter and "-" + letter not in known):
            missing.append((command + " in bash", option))
        expect("--" + option, command + " in zsh", zsh)
    for words in re.findall(r": ([\w-]+(?:\s+\|\s+[\w-]+)+)", page):
        for word in re.split(r"\s+\|\s+", words):
            expect(word, command + " in bash", bash)
            expect(word, command + " in zsh", zsh)
            expect(word, command + " in man", section)
assert options > 60, options
names = re.findall(r"^  ([\w-]+) ", say("strategies"), re.M)
names += re.findall(r"^  [ +](\w+) ", say("help", "metrics", "sources"), re.M)
names += [m for m in re.findall(r"^  ([\w-]+)  ", say("gen"), re.M)]
for topic in topics:
    listed = say("help", topic).split("Sections: tapool help %s SECTION\n" % topic)[1:]
    names += re.findall(r"^  ([\w-]+)  ", "".join(listed), re.M)
names += topics + re.findall(r"^  ([\w-]+) ", say("help", "warnings"), re.M)
formats = re.findall(r"^  ([\w-]+)  ", say("help", "formats").split("\n\n")[0], re.M)
assert len(names) > 35 and len(formats) >= 12 and "web-server" in names and "limit" in names, names
for name in names + formats:
    everywhere(name)
assert not re.search(r"__child|__generate", man + shells["bash"].split("complete -F")[0])
assert not missing, missing
END
}

# stands_in TEXT PAGE: the page holds the text, which is escaped but for a few characters.
stands_in() {
    python3 - "$@" <<'END'
import sys
text, page = (open(name).read() for name in sys.argv[1:])
for c, name in (("'", "aq"), ("`", "ga"), ("^", "ha"), ("~", "ti")):
    text = text.replace(c, "\\(" + name)
text = "".join(("\\&" if line.startswith(".") else "") + line + "\n" for line in text.splitlines())
assert text.rstrip() in page, text[:300]
END
}

@test "man pages: clean roff, the sections, both tapool's own formats" {
    for section in NAME SYNOPSIS DESCRIPTION COMMANDS STRATEGIES SOURCES ENVIRONMENT FILES 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -qx "\.SH $section" "$SCRATCH/man" || fail "no section $section"
    done
    # the texts of the help stand in it to the letter
    for topic in format tpt; do
        for section in '' $(sections "$topic"); do
            "$TAPOOL" help "$topic" ${section:+"$section"} |
                sed '/^Sections: /,$d; s/\\/\\e/g; s/-/\\-/g; s/"/\\(dq/g' >text
            stands_in text "$SCRATCH/man-trace"
        done
    done
    SOURCE_DATE_EPOCH=86400 "$TAPOOL" __generate man >dated
    grep -qF '.TH TAPOOL 1 1970-01-02 ' dated
    command -v mandoc >/dev/null || command -v groff >/dev/null || skip "neither mandoc nor groff is installed"
    # under names that no part of a random folder's name can contradict
    cp "$SCRATCH/man" tapool.1
    cp "$SCRATCH/man-trace" tapool-trace.5
    for page in tapool.1 tapool-trace.5; do
        if command -v mandoc >/dev/null; then
            mandoc -T lint -W warning "$page" >lint || fail "mandoc:" "$(cat lint)"
        fi
        if command -v groff >/dev/null; then
            groff -ww -z -man -Tutf8 "$page" 2>lint
            [ ! -s lint ] || fail "groff:" "$(cat lint)"
        fi
    done
}

@test "the scripts are those of their shells" {
    "$BASH" -n "$SCRATCH/bash"
    command -v zsh >/dev/null || skip "zsh is not installed"
    zsh -n "$SCRATCH/zsh"
}

@test "bash: commands, options, choices, files" {
    among replay info help -- tapool ''
    offers 'doctor' tapool d
    offers '--min-time' tapool replay t.json --min
    among --strict --help -- tapool info --
    offers 'text json' tapool doctor --format ''
    offers 'json' tapool doctor --format j
    offers 'json' tapool doctor --format = j # cut at '='
    offers 'text json' tapool doctor --format =
    offers '--format=json' tapool doctor --format=j # where '=' does not cut
    offers 'auto' tapool replay --min-time ''
    offers '' tapool compare --min-time ''
    touch 'one two.json' web.tpt
    mkdir folder
    among 'one two.json' web.tpt folder -- tapool info ''
    offers 'one two.json' tapool info one
    offers 'web.tpt' tapool replay --export-json w
    offers 'web.tpt' tapool replay --json w # a flag takes no value
    offers 'web-server' tapool gen web
    offers 'config' tapool help conf
    offers 'oom' tapool help oo
    offers 'times threads' tapool help report t
    offers 'safety' tapool help config saf
    offers '' tapool help report times ''
    offers '' tapool help terms ''
    offers 'min_capacity' tapool compare a.json --metric min
    among hit_rate alloc.p99 -- tapool compare a.json --sort ''
    offers 'replay' tapool doctor --config rep
}

@test "bash: strategies, their options, sources, samples" {
    among arena lru system -- tapool replay t.json -s ''
    offers 'arena' tapool replay --strategy ar
    offers 'arena' tapool replay --strategy = ar
    offers 'arena' tapool replay -s mine = ar # LABEL=NAME
    offers 'arena_size=' tapool replay -s arena : arena_s
    offers 'arena:arena_size=' tapool replay -s arena:arena_s
    offers 'arena:checks=no,arena_size=' tapool replay -s arena:checks=no,arena_s
    offers 'lru' tapool strategies lr
    among host virtual -- tapool replay --source ''
    offers 'host+shuffle' tapool replay --source host+sh
    offers 'sqlite' tapool replay sample : sq
    offers 'sample:sqlite' tapool info sample:sq
    among sample:web sample:jq -- tapool replay sa
    among pytorch rmm -- tapool info --input-format ''
}

@test "__generate: wrong words, and a file" {
    refused 2 '^tapool: __generate takes bash, zsh, man or man-trace, and a file$' "$TAPOOL" __generate fish
    refused 2 '^tapool: __generate takes' "$TAPOOL" __generate
    ok "$TAPOOL" __generate bash here
    ok "$TAPOOL" __generate bash here
    cmp here "$SCRATCH/bash"
    refused 4 "^tapool: 'gone/here' cannot be written: No such file or directory$" "$TAPOOL" __generate bash gone/here
}
