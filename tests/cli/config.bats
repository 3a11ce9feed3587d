#!/usr/bin/env bats
# .tapool.ini, TAPOOL_* and the command line: which counts, where a value came from, what is refused.
# The levels themselves are tested in tests/unit/cmd/test_config.c.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

# A command with nothing in its environment but what stands before it as NAME=VALUE.
bare() { env -i PATH="$PATH" LC_ALL=C.UTF-8 ASAN_OPTIONS="$ASAN_OPTIONS" "$@"; }

setup() {
    enter_folder
    trace '{"op":"alloc","id":1,"size":64}' >t.json
}

# shows OPTION VALUE FROM: a row of doctor --config in $out.
shows() { grep -qE -- "^  $1 +$2 +$3\$" "$out" || fail "no row '$1 $2 $3' in:" "$(cat "$out")"; }

@test "flag before environment before file before default" {
    printf 'limit = 3\n[info]\nlimit = 4\n' >.tapool.ini
    ok bare "$TAPOOL" doctor --config info
    shows limit 4 '\.tapool\.ini:3'
    ok bare "$TAPOOL" doctor --config convert
    shows limit 3 '\.tapool\.ini:1'
    shows force no 'default, never from a \.tapool\.ini'
    ok bare TAPOOL_LIMIT=5 "$TAPOOL" doctor --config info
    shows limit 5 TAPOOL_LIMIT
    printf 'limit = many\n' >.tapool.ini
    refused 2 "^tapool: $PWD/\.tapool\.ini:1: option 'limit' is 'many', which is not a valid number$" \
        bare "$TAPOOL" info t.json
    ok bare "$TAPOOL" info t.json --limit 1
    refused 2 "^tapool: TAPOOL_LIMIT: option 'limit' is 'x', which is not a valid number$" \
        bare TAPOOL_LIMIT=x "$TAPOOL" info t.json
    ok bare "$TAPOOL" info --help # help is there even so
}

@test "what counts is what is replayed" {
    printf '[replay]\nmin-time = 0\nstrategy = arena\nstrategy = mine=bump\n' >.tapool.ini
    labels='" ".join(r["strategy"]["label"] for r in d["runs"])'
    ok bare "$TAPOOL" replay t.json --json
    is "$out" "$labels" 'arena mine'
    ok bare TAPOOL_STRATEGY='direct; lru' TAPOOL_FORMAT=json "$TAPOOL" replay t.json
    is "$out" "$labels" 'direct lru'
    ok bare TAPOOL_STRATEGY='direct;lru' "$TAPOOL" replay t.json --json -s bump
    is "$out" "$labels" bump
    ok bare TAPOOL_JSON=yes "$TAPOOL" replay t.json --format text -s bump
    matches "$out" '^t\.json '
    refused 2 "^tapool: --strict and --repair exclude each other$" \
        bare TAPOOL_STRICT=1 TAPOOL_REPAIR=1 "$TAPOOL" replay t.json
    matches "$err" "^hint: some options are set elsewhere: 'tapool doctor --config replay'$"
    ok bare TAPOOL_STRICT=1 "$TAPOOL" replay t.json --repair -s bump
    ok bare TAPOOL_SEED=3 "$TAPOOL" gen # a list, although an option is set
    refused 2 "gen needs a profile" bare "$TAPOOL" gen --seed 3
}

@test "the nearest .tapool.ini upwards; another; none" {
    mkdir -p a/b
    echo 'limit = 7' >.tapool.ini
    cd a/b
    ok bare "$TAPOOL" doctor --config info
    shows limit 7 '\.tapool\.ini:1'
    [ "$(head -n 1 "$out")" = "configuration   $WORK/.tapool.ini" ]
    echo 'limit = 8' >../.tapool.ini
    ok bare "$TAPOOL" doctor --config info
    shows limit 8 '\.tapool\.ini:1'
    echo 'limit = 9' >mine.ini
    ok bare TAPOOL_CONFIG=mine.ini "$TAPOOL" doctor --config info
    shows limit 9 'mine\.ini:1'
    ok bare TAPOOL_CONFIG= "$TAPOOL" doctor --config info
    shows limit 0 default
    refused 2 '^tapool: gone\.ini: No such file or directory$' bare TAPOOL_CONFIG=gone.ini "$TAPOOL" info x
    rm -r "$PWD"
    refused 3 '^tapool: x: no such file$' bare "$TAPOOL" info x # the current folder is gone
}

@test "what is no configuration file" {
    mkdir .tapool.ini
    refused 2 "^tapool: $PWD/\.tapool\.ini: a folder, not" bare "$TAPOOL" info t.json
    ok bare "$TAPOOL" help # takes no options, so it needs none
    rmdir .tapool.ini
    mkfifo .tapool.ini
    refused 2 ': not a regular file$' bare "$TAPOOL" info t.json
    rm .tapool.ini
    head -c 100000 /dev/zero >.tapool.ini
    refused 2 ': more than 64 KiB: not a configuration file$' bare "$TAPOOL" info t.json
    printf 'a\033]0;x\007=1\n' >.tapool.ini
    refused 2 ':1: byte 0x1b: not text$' bare "$TAPOOL" info t.json
    ln -sf nowhere .tapool.ini
    refused 2 ': No such file or directory$' bare "$TAPOOL" info t.json
    [ "$(id -u)" -ne 0 ] || return 0 # nothing is unreadable for root
    rm .tapool.ini
    echo 'limit = 1' >.tapool.ini
    chmod 0 .tapool.ini
    refused 2 ': Permission denied$' bare "$TAPOOL" info t.json
}

@test "a file of another user above our folder is not obeyed" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to give a file away"
    mkdir mine
    echo 'limit = 1' >.tapool.ini
    chown 12345 .tapool.ini
    cd mine
    refused 2 "^tapool: $WORK/\.tapool\.ini: belongs to another user and is not read$" \
        bare "$TAPOOL" info ../t.json
    ok bare TAPOOL_CONFIG=../.tapool.ini "$TAPOOL" info ../t.json
    chown 12345 . # a checkout of that user, as in a container
    ok bare "$TAPOOL" info ../t.json
}

@test "doctor --config: every option, its JSON, unused variables, pages of 80 and 100 columns" {
    printf '# for all\nmax-memory = 2GiB\n[info]\nspace = a space\n[replay]\nstrategy = arena\nstrategy=lru\n' \
        >.tapool.ini
    set -- TAPOOL_LIMIT=9 TAPOOL_MINTIME=3 TAPOOL_SAMPLES=x TAPOOL=y TAPOOL_CUDA_DRIVER=z
    ok bare "$@" "$TAPOOL" doctor --config info
    sed "s,$WORK,/home/me/project," "$out" | golden doctor-config
    ok bare "$@" "$TAPOOL" doctor --config
    tool width 100 <"$out"
    harmless "$out"
    cp "$out" text
    ok tool fits 80 env -i PATH="$PATH" "$@" "$TAPOOL" doctor --config
    ok bare "$@" "$TAPOOL" doctor --config --json
    python3 - "$out" text "$TAPOOL" "$PWD" <<'END'
import json, re, subprocess, sys
d, text = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
assert list(d) == ["schema", "tool", "file", "commands", "unused_variables"], list(d)
assert d["schema"] == "tapool.config/2" and d["file"] == sys.argv[4] + "/.tapool.ini"
assert d["unused_variables"] == ["TAPOOL_MINTIME"]
commands = {c["name"]: {o["name"]: o for o in c["options"]} for c in d["commands"]}
assert not any(name.startswith("_") for name in commands)
typed = {"help", "config"} # for the command line only
typed_of = {"sweep": {"shard", "merge", "partial", "dry-run", "report", "cite"}}
for name, options in commands.items():
    page = subprocess.run([sys.argv[3], name, "--help-all"], capture_output=True, text=True).stdout
    listed = set(re.findall(r"^  (?:-\w,|   ) ?--([a-z-]+)", page, re.M)) - typed - typed_of.get(name, set())
    assert set(options) == listed, (name, set(options) ^ listed)
    part = re.search(r"^%s\n((?:  .*\n)+)" % name, text, re.M).group(1)
    assert re.findall(r"^  ([a-z-]+) ", part, re.M) == list(options), name
replay = commands["replay"]
assert replay["strategy"] == {"name": "strategy", "value": ["arena", "lru"], "from": "file",
                              "line": 7, "variable": "TAPOOL_STRATEGY", "file_may_set": True}
assert replay["limit"]["value"] == "9" and replay["limit"]["from"] == "environment"
assert replay["space"]["value"] is None and replay["space"]["from"] == "default"
END
}

@test "doctor --config: wrong words" {
    refused 2 "^tapool: doctor --config takes one command at most$" "$TAPOOL" doctor --config info gen
    refused 2 "^tapool: unknown command 'inof'$" "$TAPOOL" doctor --config inof
    refused 2 "^tapool: 'help' has no options to configure$" "$TAPOOL" doctor --config help
    refused 2 "^tapool: '__child' has no options to configure$" "$TAPOOL" doctor --config __child
}

@test "a child process takes no configuration" {
    refused 2 "'__child' is tapool's own" bare TAPOOL_CONFIG=/nonexistent "$TAPOOL" __child
}

# tries SECTION LINE OPTION: a file that was found may not set it; nothing is run, nothing written.
tries() {
    printf '# from elsewhere\n%s\n%s\n' "$1" "$2" >.tapool.ini
    refused 2 "^tapool: $WORK/\.tapool\.ini:3: '$3' runs a program, writes or names a file: a \.tapool\.ini may not set it$" \
        bare "$TAPOOL" info t.json
    matches "$err" "^hint: give it on the command line"
}

@test "a file that came with a folder runs no program, writes nothing and names no file" {
    printf '#!/bin/sh\ntouch "%s/ran"\n' "$WORK" >evil.sh
    chmod +x evil.sh
    echo mine >precious
    ok "$TAPOOL" check t.json -s arena --update
    # each of these options of every command: tests/unit/cmd/test_config.c
    for line in 'update = yes' 'export-json = precious' 'export-markdown = link/precious'; do
        tries '[check]' "$line" "${line%% *}"
        capture bare "$TAPOOL" check
        [ "$rc" -eq 2 ]
    done
    tries '[gen]' 'OUTPUT = precious' output
    tries '' 'force = yes' force # before any section
    for line in 'base-bin = ./evil.sh' 'bin = ./evil.sh' 'baseline = ../precious'; do
        for section in '[check]' ''; do
            printf '# from elsewhere\n%s\n%s\n' "$section" "$line" >.tapool.ini
            refused 2 "^tapool: $WORK/\.tapool\.ini:3: option '${line%% *}' decides what 'check' passes: only its command line may set it$" \
                bare "$TAPOOL" info t.json
        done
    done
    [ ! -e ran ]
    [ "$(cat precious)" = mine ]
}

@test "what no found file may set the environment may, and the file that it names" {
    printf '[replay]\nexport-json = x.json\nforce = yes\n' >mine.ini
    ok bare TAPOOL_CONFIG=mine.ini "$TAPOOL" replay t.json -s bump --min-time 0
    ok bare TAPOOL_CONFIG=mine.ini "$TAPOOL" replay t.json -s bump --min-time 0
    [ -s x.json ]
    rm x.json
    ok bare TAPOOL_EXPORT_JSON=x.json "$TAPOOL" replay t.json -s bump --min-time 0
    [ -s x.json ]
    refused 2 'exists' bare TAPOOL_EXPORT_JSON=x.json "$TAPOOL" replay t.json -s bump --min-time 0
    ok bare "$TAPOOL" doctor --config check
    shows base-bin - 'default, command line only'
    shows pairs 20 default
    ok bare "$TAPOOL" doctor --config check --json
    is "$out" '{o["name"]: o["file_may_set"] for o in d["commands"][0]["options"] if o["name"] in ("bin", "pairs")}' \
        "{'bin': False, 'pairs': True}"
    ok "$TAPOOL" help config safety
    matches "$out" 'never from a \.tapool\.ini\.'
    ok "$TAPOOL" check --help
    matches "$out" 'tapool help config'
}

@test "a value that fits other commands is no error of this one" {
    ok bare TAPOOL_FORMAT=markdown "$TAPOOL" doctor
    ok bare TAPOOL_FORMAT=markdown "$TAPOOL" doctor --config doctor
    shows format text 'default; TAPOOL_FORMAT does not fit'
    echo 'format = markdown' >.tapool.ini
    ok bare "$TAPOOL" doctor
    ok bare "$TAPOOL" doctor --config doctor
    shows format text 'default; \.tapool\.ini:1 does not fit'
    ok bare "$TAPOOL" doctor --config replay
    shows format markdown '\.tapool\.ini:1'
    refused 2 "^tapool: TAPOOL_FORMAT: option 'format' is 'markdwon'" \
        bare TAPOOL_FORMAT=markdwon "$TAPOOL" doctor # fits none: a slip
    printf '[doctor]\nformat = markdown\n' >.tapool.ini
    refused 2 "\.tapool\.ini:2: option 'format' is 'markdown', which is none of" bare "$TAPOOL" doctor
}

# bats test_tags=nightly
@test "what is given closer wins over what it contradicts" {
    printf '[replay]\nverify = yes\nfits = yes\n[check]\nformat = markdown\nreason = x\n' \
        >.tapool.ini
    ok bare "$TAPOOL" replay t.json -s bump --passes usage --json
    is "$out" '"verify" in d["runs"][0]["passes"] if "passes" in d["runs"][0] else False' False
    refused 2 'passes and --verify exclude each other' bare "$TAPOOL" replay t.json -s bump --passes usage --json --verify
    ok bare TAPOOL_VALGRIND= "$TAPOOL" check t.json -s arena --update --pairs 2
    ok bare TAPOOL_VALGRIND= TAPOOL_EXPORT_JSON=x "$TAPOOL" check t.json -s arena --update --pairs 2
    [ ! -e x ]
    ok bare TAPOOL_VALGRIND= "$TAPOOL" check t.json -s arena --plan
    refused 2 '--update and --format exclude each other' "$TAPOOL" check t.json -s arena --update --format markdown
    refused 2 'goes with --update' "$TAPOOL" check --reason x
    printf '[replay]\npasses = usage\noccupy-scale = 2\n[convert]\ncompress = yes\n' >.tapool.ini
    ok bare "$TAPOOL" replay t.json -s bump --min-time 0
    matches "$out" ' ns/op '
    ok bare TAPOOL_FORMAT=csv "$TAPOOL" replay t.json -s bump --passes usage --json
    ok bare TAPOOL_EXPORT_MARKDOWN=x "$TAPOOL" replay t.json -s bump --passes usage --json
    [ ! -e x ]
    ok bare "$TAPOOL" convert t.json -o t2.json
    ok bare TAPOOL_LAYERS=4 "$TAPOOL" gen pair -o pair.json
    refused 2 "no option '--layers'" bare "$TAPOOL" gen pair -o pair2.json --layers 4
    refused 2 'compress is for' bare "$TAPOOL" convert t.json -o t3.json --compress
}
